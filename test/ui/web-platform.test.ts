import { createContext, runInContext } from 'node:vm';
import { type OutputChunk, build } from 'rolldown';
import { expect, test } from 'vitest';
import { memoryJournal } from '../../src/journal/index.ts';
import type * as ui from '../../src/ui/index.ts';
import { chatOver } from './chat-tabs.ts';
import { PAY, payingAgent } from './paying-agent.ts';

/** `signalbox/ui` as a bundler for the web makes it: without modules of Node, and nothing else beside it. */
async function bundled(): Promise<OutputChunk> {
  const { output } = await build({
    input: new URL('../../src/ui/index.ts', import.meta.url).pathname,
    platform: 'browser',
    tsconfig: false,
    logLevel: 'warn',
    write: false,
    output: { format: 'iife', name: 'ui' },
  });
  expect(output).toHaveLength(1);
  return output[0];
}

/** What every runtime of web requests has: browsers, workers at the edge, Bun and Deno. Neither `process` nor `Buffer` nor `require`. */
const { crypto, performance, structuredClone, fetch, atob, btoa, queueMicrotask, console } = globalThis;
const WEB = {
  AbortController,
  AbortSignal,
  Event,
  EventTarget,
  Headers,
  Request,
  Response,
  ReadableStream,
  TransformStream,
  TextDecoder,
  TextEncoder,
  URL,
  URLSearchParams,
  setTimeout,
  clearTimeout,
  setInterval,
  clearInterval,
  crypto,
  performance,
  structuredClone,
  fetch,
  atob,
  btoa,
  queueMicrotask,
  console,
};

test('the handlers run where only the web is: no module of Node is reached, and no global of it', async () => {
  const { code, imports, dynamicImports } = await bundled();
  expect([imports, dynamicImports, code.match(/\bnode:\w+/g)]).toEqual([[], [], null]);
  const context = createContext({ ...WEB });
  // What a program does that reads its handlers off a bundle.
  const { uiStream, agUi, runStream, chatTransport }: typeof ui = runInContext(`${code}; ui`, context);
  const journal = memoryJournal();
  const agent = payingAgent(journal, ['Hello.', PAY, 'Paid.']);
  const options = { journal, owner: 'ada' };
  const handle = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> =>
    uiStream.serve(agent, new Request(input, init), options);
  const transport = chatTransport({ api: 'http://x/api/chat', fetch: handle });
  const chat = chatOver(transport, 'bills');
  await chat.sendMessage({ text: 'Hello?' });
  await chat.sendMessage({ text: 'Pay.' });
  const [call] = chat.lastMessage?.parts.filter(({ type }) => type === 'tool-pay') ?? [];
  const asked: unknown = Reflect.get(Object(Reflect.get(Object(call), 'approval')), 'id');
  await transport.answer('bills', [{ id: String(asked), approved: true }]);
  await chat.resumeStream();
  expect(chat.lastMessage?.parts.at(-1)).toMatchObject({ type: 'text', text: 'Paid.' });
  expect(await transport.messages('bills')).toHaveLength(4);
  const body = JSON.stringify({ threadId: 'bills', runId: 'r', messages: [] });
  const ag = await agUi.serve(agent, new Request('http://x/', { method: 'POST', body }), options);
  expect(await ag.text()).toContain('MESSAGES_SNAPSHOT');
  const run = await runStream.serve(agent, new Request('http://x/?id=bills'), options);
  expect(await run.text()).toContain('Paid.');
  await agent.close();
});

test('a global of Node would be noticed there', () => {
  for (const name of ['process', 'Buffer', 'require', 'setImmediate', 'global'])
    expect(runInContext(`typeof ${name}`, createContext({ ...WEB })), name).toBe('undefined');
});
