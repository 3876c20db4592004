import { expect, onTestFinished, test, vi } from 'vitest';
import { createAgent, tool } from '../../src/index.ts';
import { toResponse } from '../../src/inspector/index.ts';
import { memoryJournal } from '../../src/journal/index.ts';
import { runStore } from '../../src/store/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { agUi, chatTransport, runStream, uiStream } from '../../src/ui/index.ts';
import { chatOver, textOf } from './chat-tabs.ts';

/** What a proxy that lets no answer last passes on of one: all until the first sign of life. */
function untilSign(response: Response): Response {
  const cut = new TransformStream<Uint8Array, Uint8Array>({
    transform: (piece, controller) => {
      controller.enqueue(piece);
      if (new TextDecoder().decode(piece).startsWith(':')) controller.terminate();
    },
  });
  return new Response(response.body?.pipeThrough(cut) ?? null, response);
}

/** More streams than the transport opens in vain. */
const STREAMS = 15;

/** An agent whose tool takes until `resolve` is called, with a clock of its own. */
function slowAgent() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const journal = memoryJournal();
  const { promise: looked, resolve } = Promise.withResolvers<string>();
  const look = tool({ name: 'look', description: 'Looks.', effects: 'none', execute: () => looked });
  const script = [{ content: 'I look.', toolCalls: [{ name: 'look', arguments: {} }] }, 'Tea.'];
  const agent = createAgent({ model: scriptedModel(script), tools: [look], silent: true, journal });
  onTestFinished(() => agent.close());
  return { agent, journal, resolve };
}

/** The same behind such a proxy: its tool ends once its page has opened as many streams. */
function behindProxy() {
  const { agent, journal, resolve } = slowAgent();
  /** When each stream was asked for. */
  const asked: number[] = [];
  const fetch = async (input: unknown, init?: RequestInit): Promise<Response> => {
    const request = new Request(new URL(String(input), 'http://x'), init);
    const { serve } = request.url.includes('/api/chat') ? uiStream : runStream;
    const response = await serve(agent, request, { journal, owner: 'ada' });
    if (response.headers.get('content-type') !== 'text/event-stream') return response;
    if (asked.push(performance.now()) === STREAMS) resolve('tea');
    return untilSign(response);
  };
  return { asked, fetch };
}

/** Lets time pass until this is over, at most ten minutes. */
async function passed(what: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  void what.finally(() => over.abort());
  for (let seconds = 0; !over.signal.aborted && seconds < 600; seconds += 1) await vi.advanceTimersByTimeAsync(1000);
}

test('a tool that takes longer than ten streams of a chat may last is waited for', async () => {
  const { asked, fetch } = behindProxy();
  const chat = chatOver(chatTransport({ fetch }), 'tea');
  await passed(chat.sendMessage({ text: 'What is there?' }));
  expect([chat.status, chat.error, textOf(chat.lastMessage)]).toEqual(['ready', undefined, 'I look.Tea.']);
  expect(asked).toHaveLength(STREAMS);
});

test('a page of useRun opens the next stream within a second, however many were cut', async () => {
  const { asked, fetch } = behindProxy();
  const store = runStore('http://x/api/run?id=tea', { fetch });
  const { promise: done, resolve } = Promise.withResolvers<void>();
  onTestFinished(
    store.subscribe(() => {
      if (store.getSnapshot().status === 'answered') resolve();
    }),
  );
  await passed(store.send('What is there?'));
  await passed(done);
  expect(store.getSnapshot().messages.map(({ text }) => text)).toEqual(['What is there?', 'I look.', 'Tea.']);
  expect(asked).toHaveLength(STREAMS);
  const gaps = asked.slice(1).map((at, index) => at - (asked[index] ?? 0));
  // Each lasts four seconds.
  expect(Math.max(...gaps)).toBeLessThan(5500);
  // The first has brought something.
  expect(gaps[0]).toBeLessThan(4200);
});

/** Each stream is this text, and is over; `asked` counts them. */
function onlyStreams(text: string) {
  const { fetch } = behindProxy();
  const counted = { asked: 0 };
  const broken = async (input: unknown, init?: RequestInit): Promise<Response> => {
    const response = await fetch(input, init);
    if (response.headers.get('content-type') !== 'text/event-stream') return response;
    counted.asked += 1;
    return new Response(text, response);
  };
  return { counted, broken };
}

test.each([
  ['the beginning of a message', 'id: 1'],
  ['nothing that can be read', 'data: {"type"\n\n'],
])('streams that bring %s are not opened for ever by a chat', async (_, text) => {
  const { counted, broken } = onlyStreams(text);
  const chat = chatOver(chatTransport({ fetch: broken }), 'tea');
  await passed(chat.sendMessage({ text: 'What is there?' }));
  expect(chat.status).toBe('error');
  expect(counted.asked).toBe(11);
});

test.each([
  ['the beginning of a message', 'id: 1'],
  ['nothing that can be read', 'data: {"type"\n\n'],
  ['only what is not recorded', 'data: {"state":"PLANNING.ASKING"}\n\n'],
])('streams that bring %s are opened ever more rarely by useRun', async (_, text) => {
  const { counted, broken } = onlyStreams(text);
  const store = runStore('http://x/api/run?id=tea', { fetch: broken });
  onTestFinished(store.subscribe(() => undefined));
  await passed(store.send('What is there?'));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(counted.asked).toBeGreaterThan(5);
  expect(counted.asked).toBeLessThan(15);
});

const post = (path: string, body: object): Request =>
  new Request(`http://x${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

const asked = [{ id: 'm', role: 'user', content: 'Look.', parts: [{ type: 'text', text: 'Look.' }] }];

test.each(['uiStream', 'runStream', 'agUi', 'toResponse'] as const)(
  '%s: a stream is never silent for the five seconds after which some proxies end it',
  async (kind) => {
    const { agent, journal, resolve } = slowAgent();
    const options = { journal, owner: 'ada' };
    const answer = async (): Promise<Response> => {
      if (kind === 'toResponse') return toResponse(agent.run('Look.'));
      const body = { id: 'tea', threadId: 'tea', runId: 'r', tools: [], context: [], messages: asked };
      if (kind === 'uiStream') return uiStream.serve(agent, post('/api/chat', body), options);
      if (kind === 'agUi') return agUi.serve(agent, post('/api/ag-ui', body), options);
      await runStream.serve(agent, post('/api/run?id=tea', { type: 'send', text: 'Look.' }), options);
      return runStream.serve(agent, new Request('http://x/api/run?id=tea'), options);
    };
    const heard: number[] = [];
    const read = async (): Promise<void> => {
      for await (const _ of (await answer()).body ?? []) heard.push(performance.now());
    };
    const over = read();
    const began = performance.now();
    setTimeout(() => resolve('tea'), 30_000);
    await passed(over);
    expect(performance.now() - began).toBeGreaterThanOrEqual(30_000);
    expect(Math.max(...heard.map((at, index) => at - (heard[index - 1] ?? began)))).toBeLessThan(5000);
  },
);
