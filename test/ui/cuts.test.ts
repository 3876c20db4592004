import { HttpAgent } from '@ag-ui/client';
import type { Message } from '@ag-ui/core';
import { type UIMessage, type UIMessageChunk, isToolUIPart } from 'ai';
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { type JournalStore, type Model, type ModelReply, createAgent, tool } from '../../src/index.ts';
import { memoryJournal } from '../../src/journal/index.ts';
import { agTexts } from '../../src/ui/ag-ui/ag-texts.ts';
import { uiTexts } from '../../src/ui/ai-sdk/ui-texts.ts';
import { standingOf } from '../../src/ui/base/owned-runs.ts';
import { begun } from '../../src/ui/base/run-feed.ts';
import { FROM_START, type SsePosition, readPosition } from '../../src/ui/base/sse.ts';
import { chatTransport, uiStream } from '../../src/ui/index.ts';
import { cases, seedOr } from '../support/soak.ts';
import { chatOver, textOf, until } from './chat-tabs.ts';
import { messageOf } from './recorded-groups.ts';

const RUN = 'cut-run';
const NAMES = { threadId: 'thread', runId: 'ag' };
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A model that says its replies word by word, and breaks off once in the middle. */
function talker(replies: readonly (ModelReply | { readonly content: string; readonly breaks: true })[]): Model {
  let at = 0;
  return {
    complete: async (_request, { onToken }) => {
      const reply = replies[at++];
      if (reply === undefined) throw new Error('beyond the script');
      for (const text of reply.content.match(/\S+\s*/g) ?? []) {
        onToken?.({ kind: 'text', text });
        await pause(20);
      }
      await pause(150);
      if ('breaks' in reply) throw Object.assign(new Error('cut off'), { code: 'overloaded' });
      return reply;
    },
  };
}

const look = tool({ name: 'look', description: 'Looks.', effects: 'none', execute: () => ({ degrees: 31 }) });
const pay = tool({ name: 'pay', description: 'Pays.', policy: 'confirm', effects: 'once', execute: () => 'paid' });
const uses = (content: string, ...names: string[]): ModelReply => ({
  content,
  toolCalls: names.map((name) => ({ name, arguments: name === 'clerk' ? { task: 'Look.' } : {} })),
});

/** Streams of one run as it went on, of both protocols, from its beginning to its end. */
interface Streams {
  readonly journal: JournalStore;
  readonly ui: string;
  readonly ag: string;
}

async function streamed(): Promise<Streams> {
  const journal = memoryJournal();
  const clerk = createAgent({
    name: 'clerk',
    description: 'Looks.',
    silent: true,
    streaming: true,
    model: talker([uses('', 'look'), { content: 'It is 31 degrees.' }]),
    tools: [look],
  });
  const agent = createAgent({
    silent: true,
    streaming: true,
    confirm: 'wait',
    journal,
    children: [clerk],
    tools: [look, pay],
    model: talker([
      { content: 'This half sentence is void and', breaks: true },
      uses('I will look at it now, twice.', 'look', 'clerk'),
      uses('Now I pay, and pay again.', 'pay', 'pay'),
      { content: 'It is warm, and one bill of two is paid.' },
    ]),
  });
  const run = agent.run('Look and pay.', { runId: RUN });
  await begun(journal, run.runId, () => true);
  const all = async (texts: (after: SsePosition) => AsyncGenerator<string>): Promise<string> => {
    let text = '';
    for await (const part of texts(FROM_START)) text += part;
    const waited = (await standingOf(journal, RUN))?.position ?? 0;
    await answered.promise;
    for await (const part of texts({ line: waited, messages: null })) text += part;
    return text;
  };
  const answered = Promise.withResolvers<void>();
  const signal = new AbortController().signal;
  const ui = all((after) => uiTexts({ journal, runId: RUN, after, signal, state: false }));
  const ag = all((after) => agTexts({ journal, runId: RUN, names: NAMES, after, posted: [], signal, state: null }));
  while (run.pending.length < 2) await pause(20);
  await pause(400);
  const [first, second] = run.pending;
  void agent.approve(RUN, first?.callId ?? '');
  await agent.reject(RUN, second?.callId ?? '', 'too much');
  answered.resolve();
  const texts = { journal, ui: await ui, ag: await ag };
  expect((await run).status).toBe('answered');
  await agent.close();
  return texts;
}

let streams: Streams;
beforeAll(async () => {
  streams = await streamed();
});

/** The messages of a stream, each with its id. */
function messagesOf(text: string): readonly { readonly id: SsePosition | null; readonly data: string }[] {
  return text.split('\n\n').flatMap((message) => {
    const data = /^data: (.*)$/m.exec(message)?.[1];
    return data === undefined ? [] : [{ id: readPosition(/^id: (.*)$/m.exec(message)?.[1] ?? ''), data }];
  });
}

function positionIn(messages: ReturnType<typeof messagesOf>): SsePosition {
  return messages.findLast(({ id }) => id !== null)?.id ?? FROM_START;
}

async function uiRead(messages: ReturnType<typeof messagesOf>, before: UIMessage | undefined) {
  const chunks = messages.filter(({ data }) => data !== '[DONE]').map(({ data }): UIMessageChunk => JSON.parse(data));
  if (chunks.length === 0) return before;
  const errors: unknown[] = [];
  // Shows what it has: the beginning of a step alone does not.
  const all: readonly UIMessageChunk[] = [...chunks, { type: 'message-metadata', messageMetadata: {} }];
  const last = await messageOf(all, before, (error) => void errors.push(error));
  expect(errors).toEqual([]);
  return last;
}

async function uiRest(after: SsePosition) {
  let text = '';
  const signal = new AbortController().signal;
  for await (const part of uiTexts({ journal: streams.journal, runId: RUN, after, signal, state: false })) text += part;
  return messagesOf(text);
}

test('a client of the AI SDK that is cut off anywhere has what one has that never was', async () => {
  const live = messagesOf(streams.ui);
  expect(streams.ui).toContain('half');
  const whole = await uiRead(live, undefined);
  expect(JSON.stringify(whole)).not.toContain('half');
  expect(await uiRead(await uiRest(FROM_START), undefined)).toMatchObject({ id: RUN, parts: whole?.parts ?? [] });
  await fc.assert(
    fc.asyncProperty(fc.nat(live.length), fc.nat(1000), async (cut, again) => {
      const first = live.slice(0, cut);
      const rest = await uiRest(positionIn(first));
      const second = rest.slice(0, Math.floor((rest.length * again) / 1000));
      const third = await uiRest(positionIn([...first, ...second]));
      const cutOnce = await uiRead(first, undefined);
      const cutTwice = await uiRead(second, cutOnce);
      expect((await uiRead(third, cutTwice))?.parts).toEqual(whole?.parts);
    }),
    { numRuns: cases(100, 10_000), seed: seedOr(11) },
  );
}, 600_000);

async function agRead(messages: ReturnType<typeof messagesOf>, before: readonly Message[], isCut: boolean) {
  const text = messages.map(({ data }) => `data: ${data}\n\n`).join('');
  const fetch = async (): Promise<Response> => new Response(text, { headers: { 'content-type': 'text/event-stream' } });
  const client = new HttpAgent({ url: 'http://x', fetch, initialMessages: [...before] });
  // A stream that is cut off has no end; all else that is wrong with it is an error, too.
  if (text !== '') await client.runAgent().catch((error: unknown) => (isCut ? null : Promise.reject(error)));
  return client.messages;
}

async function agRest(after: SsePosition, posted: readonly Message[]) {
  let text = '';
  const signal = new AbortController().signal;
  const options = { journal: streams.journal, runId: RUN, names: NAMES, after, posted, signal, state: null };
  for await (const part of agTexts(options)) text += part;
  return messagesOf(text);
}

test('a client of AG-UI that is cut off anywhere has what one has that never was', async () => {
  const live = messagesOf(streams.ag);
  expect(streams.ag).toContain('half');
  // The stream ended once, for the approvals.
  const parted = live.findIndex(({ data }) => data.includes('"interrupt"')) + 1;
  const before = await agRead(live.slice(0, parted), [], false);
  const whole = await agRead(live.slice(parted), before, false);
  expect(JSON.stringify(whole)).not.toContain('half');
  expect(await agRead(await agRest(FROM_START, []), [], false)).toEqual(whole);
  await fc.assert(
    fc.asyncProperty(fc.nat(parted), fc.nat(1000), async (cut, again) => {
      const first = live.slice(0, cut);
      const cutOnce = await agRead(first, [], true);
      const rest = await agRest(positionIn(first), cutOnce);
      const second = rest.slice(0, Math.floor((rest.length * again) / 1000));
      const cutTwice = await agRead(second, cutOnce, true);
      const third = await agRest(positionIn([...first, ...second]), cutTwice);
      expect(await agRead(third, cutTwice, false)).toEqual(whole);
    }),
    { numRuns: cases(80, 10_000), seed: seedOr(12) },
  );
}, 600_000);

test('groups have the same bytes live, and when they are read later', async () => {
  const recorded = (text: string): string =>
    text
      .split('\n\n')
      .filter((message) => message.startsWith('id: '))
      .join('\n\n');
  const later = async (texts: AsyncGenerator<string>): Promise<string> => {
    let text = '';
    for await (const part of texts) text += part;
    return recorded(text);
  };
  const { journal, ui, ag } = streams;
  const signal = new AbortController().signal;
  const from = { journal, runId: RUN, after: FROM_START, signal };
  expect(recorded(ui)).toBe(await later(uiTexts({ ...from, state: false })));
  // The clients of AG-UI continue a text whose beginning they were shown: of its messages they get what is left.
  const whole = new Map(
    (await later(agTexts({ ...from, names: NAMES, posted: [], state: null }))).split('\n\n').map(idAndEvent),
  );
  const live = new Map(recorded(ag).split('\n\n').map(idAndEvent));
  const said: string[] = [];
  for (const [id, { delta = '', ...event }] of whole) {
    const got = live.get(id);
    const { delta: left = '', ...same }: WithDelta = got ?? event;
    if (got === undefined) expect(event.type).toMatch(/^TEXT_MESSAGE_(?:START|CONTENT)$/);
    else if (left !== delta) expect(event.type).toBe('TEXT_MESSAGE_CONTENT');
    if (got === undefined || left !== delta) said.push(String(event.messageId));
    expect([same, delta.endsWith(left)]).toEqual([event, true]);
  }
  for (const messageId of said)
    expect(ag).toContain(`\n\ndata: {"type":"TEXT_MESSAGE_START","messageId":"${messageId}"`);
  expect([...live.keys()].filter((id) => !whole.has(id))).toEqual([]);
});

interface WithDelta {
  readonly type: string;
  readonly messageId?: string;
  readonly delta?: string;
}

function idAndEvent(text: string): readonly [string, WithDelta] {
  const [id = '', data = ''] = text.split('\ndata: ');
  return [id, JSON.parse(data)];
}

test('a connection that breaks before anything arrived loses nothing, repeats nothing, and begins no second run', async () => {
  const journal = memoryJournal();
  const replies: ModelReply[] = [{ content: 'One.' }, uses('I pay now.', 'pay'), { content: 'It is paid.' }];
  const agent = createAgent({ silent: true, confirm: 'wait', journal, tools: [pay], model: talker(replies) });
  let cuts = 0;
  const transport = chatTransport({
    fetch: async (input, init) => {
      const request = new Request(new URL(String(input), 'http://x'), init);
      const response = await uiStream.serve(agent, request, { journal, owner: 'ada' });
      if (cuts === 0) return response;
      cuts -= 1;
      // The run is over, or waits, before the client comes back.
      await response.text();
      const pull = (controller: ReadableStreamDefaultController): void => controller.error(new TypeError('cut'));
      return new Response(new ReadableStream({ pull }), response);
    },
  });
  const chat = chatOver(transport, 'bills');
  for (const text of ['Hello.', 'Pay.']) {
    cuts = 2;
    await chat.sendMessage({ text });
  }
  const approval = chat.lastMessage?.parts.find((part) => isToolUIPart(part) && part.approval !== undefined);
  cuts = 2;
  await chat.addToolApprovalResponse({
    id: approval !== undefined && isToolUIPart(approval) ? (approval.approval?.id ?? '') : '',
    approved: true,
  });
  await until(() => chat.status === 'ready' && textOf(chat.lastMessage).endsWith('It is paid.'));
  expect(chat.messages.map(textOf)).toEqual(['Hello.', 'One.', 'Pay.', 'I pay now.It is paid.']);
  expect(chat.lastMessage?.parts.filter(isToolUIPart).map(({ state }) => state)).toEqual(['output-available']);
  expect(await journal.list?.()).toHaveLength(2);
  await agent.close();
});
