import { expect, onTestFinished, test, vi } from 'vitest';
import { createAgent } from '../../src/index.ts';
import { memoryJournal } from '../../src/journal/index.ts';
import { runStore } from '../../src/store/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { agUi, chatTransport, runStream, uiStream } from '../../src/ui/index.ts';
import { chatOver, tab, textOf, until } from './chat-tabs.ts';
import { serveWeb } from './http-chat.ts';

const page = (status: number): Response =>
  new Response('<!doctype html><p>data: sign in</p>\n\ndata: in\n\n', {
    status,
    headers: { 'content-type': 'text/html' },
  });

/** A chat behind a proxy, which may answer by itself, or pass on the beginning of an answer. */
async function behind(proxy: (count: number, ours: () => Promise<Response>) => Response | Promise<Response>) {
  const journal = memoryJournal();
  const agent = createAgent({ model: scriptedModel(['One two three.']), silent: true, journal });
  const asked: string[] = [];
  const { url, close } = await serveWeb(async (request) => {
    asked.push(`${request.method} ${new URL(request.url).pathname}`);
    return proxy(asked.length, async () => uiStream.serve(agent, request, { journal, owner: 'ada' }));
  });
  for (const end of [close, () => agent.close()]) onTestFinished(end);
  return { asked, ...tab(url, 'count') };
}

/** A stream that breaks before the text. */
async function half(response: Response): Promise<Response> {
  const text = await response.text();
  return new Response(text.slice(0, text.indexOf('text-start')), response);
}

test('a page to sign in on is no answer: nothing is asked twice, and the error says so', async () => {
  const { chat, transport, asked } = await behind(() => page(200));
  await chat.sendMessage({ text: 'Count.' });
  const said = 'HTTP 200, not from uiStream.serve';
  expect([chat.status, chat.error?.message]).toEqual(['error', said]);
  expect(asked).toEqual(['POST /api/chat']);
  await chat.resumeStream();
  expect([chat.status, chat.error?.message]).toEqual(['error', said]);
  await expect(transport.messages('count')).rejects.toThrow(said);
  await expect(transport.stop('count')).rejects.toThrow(said);
  await expect(transport.steer('count', 'Faster.')).rejects.toThrow(said);
  expect(asked).toHaveLength(5);
});

test("a gateway's page is not shown as the error; a sentence in plain text is", async () => {
  const { transport, chat } = await behind((count) =>
    count === 1 ? page(502) : new Response('Too many.', { status: 429 }),
  );
  await expect(transport.messages('count')).rejects.toThrow('HTTP 502, not from uiStream.serve');
  await chat.sendMessage({ text: 'Count.' });
  expect(chat.error?.message).toBe('Too many.');
});

test.each([200, 401])(
  'a stream that breaks is not asked for again and again where a page answers with %d',
  async (status) => {
    const { chat, asked } = await behind(async (count, ours) => (count === 1 ? half(await ours()) : page(status)));
    await chat.sendMessage({ text: 'Count.' });
    expect(chat.status).toBe('error');
    expect(asked).toHaveLength(2);
  },
);

test.each([429, 503])('a stream that breaks is asked for again where a page answers with %d', async (status) => {
  const { chat, asked } = await behind(async (count, ours) =>
    count === 1 ? half(await ours()) : count === 2 ? page(status) : ours(),
  );
  await chat.sendMessage({ text: 'Count.' });
  expect([chat.status, textOf(chat.lastMessage)]).toEqual(['ready', 'One two three.']);
  expect(asked).toHaveLength(3);
});

test('a server that asks for a pause gets it, unless the chat is stopped meanwhile', async () => {
  const later = () => new Response('Later.', { status: 503, headers: { 'retry-after': '1' } });
  const gap: number[] = [];
  const { chat } = await behind(async (count, ours) => {
    gap.push(performance.now());
    return count === 1 ? half(await ours()) : count === 2 ? later() : ours();
  });
  await chat.sendMessage({ text: 'Count.' });
  expect(textOf(chat.lastMessage)).toBe('One two three.');
  expect((gap[2] ?? 0) - (gap[1] ?? 0)).toBeGreaterThan(990);

  const never = () => new Response('Later.', { status: 429, headers: { 'retry-after': '3600' } });
  const other = await behind(async (count, ours) => (count === 1 ? half(await ours()) : never()));
  const sent = other.chat.sendMessage({ text: 'Count.' });
  await vi.waitFor(() => expect(other.asked).toHaveLength(2));
  await other.chat.stop();
  await sent;
  expect(other.chat.status).toBe('ready');
  expect(other.asked).toHaveLength(2);
  await expect(other.transport.messages('count')).rejects.toMatchObject({ status: 429, retryAfterMs: 3_600_000 });
});

test('a method that is not served is answered with those that are', async () => {
  const journal = memoryJournal();
  const agent = createAgent({ model: scriptedModel([]), silent: true, journal });
  const request = () => new Request('http://x/?id=a', { method: 'DELETE' });
  const options = { journal, owner: 'ada' };
  const answers = await Promise.all([
    uiStream.serve(agent, request(), options),
    runStream.serve(agent, request(), options),
    agUi.serve(agent, request(), options),
  ]);
  expect(answers.map(({ status, headers }) => [status, headers.get('allow')])).toEqual([
    [405, 'GET, POST'],
    [405, 'GET, POST'],
    [405, 'POST'],
  ]);
});

test('two messages at once, of which the first loses its connection: each is continued with its own answer', async () => {
  const journal = memoryJournal();
  const agent = createAgent({ model: scriptedModel(['One.', 'Two.']), silent: true, journal });
  onTestFinished(() => agent.close());
  const { promise: isCut, resolve: cut } = Promise.withResolvers<void>();
  let asked = 0;
  const transport = chatTransport({
    fetch: async (input, init) => {
      const request = new Request(new URL(String(input), 'http://x'), init);
      const response = await uiStream.serve(agent, request, { journal, owner: 'ada' });
      if (++asked > 1) return response;
      const beginning = new TextEncoder().encode(await (await half(response)).text());
      const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
        if (controller.desiredSize === 1) controller.enqueue(beginning);
        await isCut;
        controller.error(new TypeError('network error'));
      };
      return new Response(new ReadableStream({ pull }), response);
    },
  });
  const chat = chatOver(transport, 'count');
  const first = chat.sendMessage({ text: 'Count.' });
  await until(() => chat.messages.length === 2);
  await chat.sendMessage({ text: 'Go on.' });
  cut();
  await first;
  expect(chat.messages.map(textOf)).toEqual(['Count.', 'One.', 'Go on.', 'Two.']);
});

test('a refusal has the code that the server gave, or one that says that it was another server', async () => {
  const { transport, chat } = await behind((count, ours) =>
    count === 1 ? ours() : Response.json({ error: 'unauthorized' }, { status: 401 }),
  );
  await expect(transport.steer('count', 'Faster.')).rejects.toMatchObject({ code: 'over', status: 409 });
  await expect(transport.messages('count')).rejects.toMatchObject({ code: 'request-failed', status: 401 });
  await chat.sendMessage({ text: 'Count.' });
  expect(chat.error).toMatchObject({ code: 'request-failed', status: 401 });
});

test.each([
  ['nothing', '', 'text/plain'],
  ['a text', 'OK', 'text/plain'],
  ['other data', '{}', 'application/json'],
  ['half of an answer', '{"runId":"x', 'application/json'],
  ['null', 'null', 'application/json'],
])(
  '%s with status 200 is no answer: nothing is asked twice, nothing is said to have arrived',
  async (_what, text, type) => {
    const { chat, transport, asked } = await behind(() => new Response(text, { headers: { 'content-type': type } }));
    const error = { code: 'request-failed', message: 'HTTP 200, not from uiStream.serve' };
    await chat.sendMessage({ text: 'Count.' });
    expect([chat.status, asked]).toEqual(['error', ['POST /api/chat']]);
    expect(chat.error).toMatchObject(error);
    await chat.resumeStream();
    expect(chat.error).toMatchObject(error);
    await expect(transport.messages('count')).rejects.toMatchObject(error);
    await expect(transport.stop('count')).rejects.toMatchObject(error);
    await expect(transport.steer('count', 'Faster.')).rejects.toMatchObject(error);
    await expect(transport.answer('count', [{ id: 'x', approved: true }])).rejects.toMatchObject(error);
    expect(asked).toHaveLength(6);
  },
);

test('a stream on which nothing comes any more, not even the sign that it stands, is asked for again', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const asked: string[] = [];
  const chunk = (id: number, data: object): string => `id: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
  const texts = [chunk(1, { type: 'start', messageId: 'r' }), `${chunk(2, { type: 'finish' })}data: [DONE]\n\n`];
  const transport = chatTransport({
    fetch: async (url, init) => {
      asked.push(`${init?.method ?? 'GET'} ${String(url)} ${new Headers(init?.headers).get('last-event-id')}`);
      const text = new TextEncoder().encode(texts.shift());
      // It says this, and is silent from then on.
      const body = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(text) });
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    },
  });
  const chat = chatOver(transport, 'count');
  const sent = chat.sendMessage({ text: 'Count.' });
  await vi.advanceTimersByTimeAsync(30_000);
  expect([asked.length, chat.status]).toEqual([1, 'submitted']);
  await vi.advanceTimersByTimeAsync(40_000);
  await sent;
  expect([chat.status, asked[1]]).toEqual(['ready', 'GET /api/chat/count/stream?run=r 1']);
});

test('streams say that nothing on their way may hold them back to compress them', async () => {
  const journal = memoryJournal();
  const agent = createAgent({ model: scriptedModel(['Hi.']), silent: true, journal });
  onTestFinished(() => agent.close());
  const { url, close } = await serveWeb(async (request) =>
    (request.url.endsWith('/ag') ? agUi : request.method === 'POST' ? uiStream : runStream).serve(agent, request, {
      journal,
      owner: 'ada',
    }),
  );
  onTestFinished(close);
  const post = (path: string, body: object) => fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) });
  const message = { id: 'm', role: 'user', content: 'Hello.', parts: [{ type: 'text', text: 'Hello.' }] };
  const streams = [
    await post('/chat', { id: 'a', messages: [message] }),
    await post('/ag', { threadId: 'b', runId: 'r', messages: [message] }),
    await fetch(`${url}/run?id=a`),
  ];
  for (const { headers } of streams) expect(headers.get('cache-control')).toBe('no-cache, no-transform');
  for (const one of streams) await one.text();
});

test('a cache on the way, such as Varnish, keeps no answer: neither that nothing is new nor the messages of another user', async () => {
  const journal = memoryJournal();
  const agent = createAgent({ model: scriptedModel(['Hi.', 'Ho.']), silent: true, journal });
  onTestFinished(() => agent.close());
  const kept = new Map<string, Response>();
  const ask = (user: string) => async (input: string | URL | Request, init?: RequestInit) => {
    const request = new Request(new URL(String(input), 'http://app.example'), init);
    const before = request.method === 'GET' ? kept.get(request.url) : undefined;
    if (before !== undefined) return before.clone();
    const server = new URL(request.url).pathname === '/run' ? runStream : uiStream;
    const response = await server.serve(agent, request, { journal, owner: user });
    // What it may keep by itself, for everybody.
    const mayKeep = !/no-store|no-cache|private/.test(response.headers.get('cache-control') ?? '');
    if (request.method === 'GET' && mayKeep) kept.set(request.url, response.clone());
    return response;
  };
  const [ann, bob] = [chatTransport({ fetch: ask('ann') }), chatTransport({ fetch: ask('bob') })];
  const store = runStore('/run?id=a', { fetch: ask('ann') });
  const seen: string[] = [];
  onTestFinished(store.subscribe(() => void seen.push(store.getSnapshot().connection)));
  await expect.poll(() => seen).toContain('closed');
  expect([await ann.messages('a'), await ann.reconnectToStream({ chatId: 'a' })]).toEqual([[], null]);
  expect(await store.send('Hello.')).toBe(true);
  await expect.poll(() => store.getSnapshot().status).toBe('answered');
  expect((await ann.messages('a')).length).toBe(2);
  expect(await bob.messages('a')).toEqual([]);
  expect([...kept.keys()]).toEqual([]);
});
