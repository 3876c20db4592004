import { expect, onTestFinished, test, vi } from 'vitest';
import { runStore } from '../../src/store/index.ts';
import { followed } from './served-chat.ts';

const URL = 'http://chat/?id=a';

const nothing = (): Response => new Response(null, { status: 204 });

const refusedAs = (code: string, status: number): Response =>
  Response.json({ ok: false, error: { code, message: 'No.' } }, { status });

/** A stream of events whose messages a test sends. */
function stream() {
  let body: ReadableStreamDefaultController<Uint8Array> | undefined;
  const response = new Response(new ReadableStream<Uint8Array>({ start: (one) => void (body = one) }), {
    headers: { 'content-type': 'text/event-stream' },
  });
  const sendEvent = (event: object, id = ''): void =>
    body?.enqueue(new TextEncoder().encode(`id: ${id}\ndata: ${JSON.stringify({ events: [event] })}\n\n`));
  /** The begin of a run. */
  const send = (runId: string): void =>
    sendEvent({ type: 'run.started', runId, task: 'Hello', maxSteps: 3, seq: 1 }, `${runId}:1`);
  return { response, send, sendEvent, end: () => body?.close() };
}

/** What was begun by now has been done. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 20));

test('a connection that was left says nothing more, though its fetch does not end with its signal', async () => {
  const asked: (string | null)[] = [];
  const streams = [stream(), stream()];
  const late = Promise.withResolvers<void>();
  const store = runStore(URL, {
    retryMs: 1,
    fetch: async (_url, init) => {
      asked.push(new Headers(init?.headers).get('last-event-id'));
      const { response } = streams[asked.length - 1] ?? stream();
      if (asked.length === 1) await late.promise;
      return response;
    },
  });
  store.subscribe(() => undefined)();
  await settled();
  const before = store.getSnapshot();
  late.resolve();
  await settled();
  expect(store.getSnapshot()).toBe(before);
  const { until, views } = followed(store);
  await until(({ connection }) => connection === 'open');
  streams[1]?.send('own');
  await until(({ runId }) => runId === 'own');
  streams[0]?.send('left');
  await settled();
  streams[0]?.end();
  await settled();
  streams[1]?.end();
  await expect.poll(() => asked).toEqual([null, null, 'own:1']);
  expect(views.some(({ runId, connection }) => runId === 'left' || connection === 'closed')).toBe(false);
});

test('a connection that is opened again clears its own error, not that of the request that opened it', async () => {
  let asked = 0;
  const fetch = async (_url: unknown, { method }: RequestInit = {}): Promise<Response> => {
    if (method === 'POST') return refusedAs('conversation-waiting', 409);
    asked += 1;
    return asked === 1 ? refusedAs('signed-out', 401) : nothing();
  };
  const { store, until } = followed(URL, { fetch });
  expect((await until(({ connection }) => connection === 'closed')).error?.code).toBe('signed-out');
  expect(await store.send('Hello')).toBe(false);
  await until(({ connection }) => connection === 'closed' && asked === 2);
  expect(store.getSnapshot().error?.code).toBe('conversation-waiting');
});

test('a page that is signed out is not followed again for a message that is refused for the same reason', async () => {
  const asked: unknown[] = [];
  const fetch = async (_url: unknown, { method }: RequestInit = {}): Promise<Response> => {
    asked.push(method ?? 'GET');
    return refusedAs('signed-out', 401);
  };
  const { store, until } = followed(URL, { fetch });
  await until(({ connection }) => connection === 'closed');
  expect(await store.send('Hello')).toBe(false);
  await settled();
  expect(asked).toEqual(['GET', 'POST']);
});

test('a page that becomes visible asks for changes, one that is hidden or was left does not', async () => {
  const page = Object.assign(new EventTarget(), { visibilityState: 'visible' });
  Object.assign(globalThis, { document: page });
  onTestFinished(() => void Reflect.deleteProperty(globalThis, 'document'));
  let asked = 0;
  const fetch = async (): Promise<Response> => {
    asked += 1;
    return nothing();
  };
  const turn = async (visibilityState: string): Promise<number> => {
    page.visibilityState = visibilityState;
    page.dispatchEvent(new Event('visibilitychange'));
    await settled();
    return asked;
  };
  const { leave, until, store } = followed(URL, { fetch });
  await until(({ connection }) => connection === 'closed');
  expect([await turn('hidden'), await turn('visible')]).toEqual([1, 2]);
  leave();
  await settled();
  let listens = 0;
  const { addEventListener, removeEventListener } = page;
  page.addEventListener = (...given) => {
    listens += 1;
    addEventListener.apply(page, given);
  };
  page.removeEventListener = (...given) => {
    listens -= 1;
    removeEventListener.apply(page, given);
  };
  expect(await turn('visible')).toBe(2);
  store.subscribe(() => undefined)();
  await settled();
  expect(listens).toBe(0);
});

test('why a run failed is shown until the next one begins, whatever is sent meanwhile', async () => {
  const one = stream();
  const fetch = async (_url: unknown, { method }: RequestInit = {}): Promise<Response> =>
    method === 'POST' ? Response.json({ ok: true }) : one.response;
  const { store, until } = followed(URL, { fetch });
  one.send('failed');
  await until(({ runId }) => runId === 'failed');
  const error = { code: 'server-error', message: 'It broke off.' };
  const result = { status: 'failed', reason: 'model-error', result: '', output: null, usage: null, error };
  one.sendEvent({ type: 'run.finished', seq: 2, result });
  await until(({ status }) => status === 'failed');
  expect(await store.send('Again.')).toBe(true);
  expect(store.getSnapshot().error).toEqual(error);
  one.sendEvent({ type: 'run.started', runId: 'next', task: 'Again.', maxSteps: 3, seq: 1 });
  expect((await until(({ runId }) => runId === 'next')).error).toBeNull();
});

test('a view is the same object until something changes: a request that took effect is no change by itself', async () => {
  const store = runStore(URL, { fetch: async () => Response.json({ ok: true }) });
  const before = store.getSnapshot();
  expect(await store.send('Hello')).toBe(true);
  expect(store.getSnapshot()).toBe(before);
});

test('a connection ends when the last of its subscribers has gone, who may be one function given twice', async () => {
  const signals: (AbortSignal | null | undefined)[] = [];
  const one = stream();
  const store = runStore(URL, {
    fetch: async (_url, init) => {
      signals.push(init?.signal);
      return one.response;
    },
  });
  let told = 0;
  const listener = (): void => void (told += 1);
  const [leave, leaveAgain] = [store.subscribe(listener), store.subscribe(listener)];
  await settled();
  leave();
  leave();
  await settled();
  const before = told;
  one.send('r');
  await settled();
  expect([told - before, signals.map((signal) => signal?.aborted)]).toEqual([1, [false]]);
  leaveAgain();
  await settled();
  expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
  one.end();
});

test('a second subscriber of a chat in which nothing goes on asks for nothing', async () => {
  let asked = 0;
  const fetch = async (): Promise<Response> => {
    asked += 1;
    return nothing();
  };
  const { store, until } = followed(URL, { fetch });
  await until(({ connection }) => connection === 'closed');
  followed(store);
  await settled();
  expect(asked).toBe(1);
});

test('every request has the headers and credentials that were given, and those that it needs', async () => {
  const sent: unknown[] = [];
  const fetch = async (_url: unknown, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    sent.push([init.credentials, headers.get('accept'), headers.get('content-type'), headers.get('x-user')]);
    return nothing();
  };
  const headers = { accept: 'text/html', 'content-type': 'text/plain', 'x-user': 'ann' };
  const { store, until } = followed(URL, { fetch, headers, credentials: 'include' });
  await until(({ connection }) => connection === 'closed');
  await store.send('Hello');
  expect(sent.slice(0, 2)).toEqual([
    ['include', 'text/event-stream', 'text/plain', 'ann'],
    ['include', 'text/html', 'application/json', 'ann'],
  ]);
});

test('a server that is gone for long is asked again after at most 30 times of the first pause', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let asked = 0;
  const fetch = async (): Promise<Response> => {
    asked += 1;
    throw new TypeError('fetch failed');
  };
  onTestFinished(runStore(URL, { fetch, retryMs: 10 }).subscribe(() => undefined));
  await vi.advanceTimersByTimeAsync(300 * 60);
  expect(asked).toBeGreaterThanOrEqual(60);
  expect(asked).toBeLessThan(150);
});

test('a server that cannot answer now is not shown as open, whatever page its proxy sends', async () => {
  let asked = 0;
  const fetch = async (): Promise<Response> => {
    asked += 1;
    return asked < 3 ? new Response('<h1>Bad gateway</h1>', { status: 502 }) : nothing();
  };
  const { until, views } = followed(URL, { fetch, retryMs: 1 });
  await until(({ connection }) => connection === 'closed');
  expect(views.map(({ connection }) => connection)).toEqual(['connecting', 'retrying', 'retrying', 'closed']);
});

test('a connection on which something comes within each minute is kept', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  let asked = 0;
  const one = stream();
  const fetch = async (): Promise<Response> => {
    asked += 1;
    return one.response;
  };
  const store = runStore(URL, { fetch });
  onTestFinished(store.subscribe(() => undefined));
  for (const runId of ['a', 'b', 'c', 'd', 'e']) {
    await vi.advanceTimersByTimeAsync(40_000);
    one.send(runId);
  }
  await vi.advanceTimersByTimeAsync(1000);
  expect([asked, store.getSnapshot().runId, store.getSnapshot().connection]).toEqual([1, 'e', 'open']);
  one.end();
});

test('an answer that says yes with the status of an error took no effect', async () => {
  const store = runStore(URL, { fetch: async () => Response.json({ ok: true }, { status: 500 }) });
  expect(await store.send('Hello')).toBe(false);
  expect(store.getSnapshot().error?.code).toBe('request-failed');
});

test('a call that is denied without a reason names its run and what was shown, and no reason', async () => {
  const one = stream();
  const sent: unknown[] = [];
  const fetch = async (_url: unknown, { body }: RequestInit = {}): Promise<Response> => {
    if (typeof body !== 'string') return one.response;
    sent.push(JSON.parse(body));
    return Response.json({ ok: true });
  };
  const { store, until } = followed(URL, { fetch });
  one.send('r');
  one.sendEvent({ type: 'approval.requested', seq: 2, callId: 'c1', tool: 'pay', args: {}, digest: 'd1' });
  await until(({ status }) => status === 'waiting');
  expect(await store.reject('c1')).toBe(true);
  expect(sent).toEqual([{ type: 'reject', runId: 'r', callId: 'c1', digest: 'd1', text: '' }]);
});
