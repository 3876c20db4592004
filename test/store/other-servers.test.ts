import { expect, onTestFinished, test, vi } from 'vitest';
import { type RunSnapshot, runStore } from '../../src/store/index.ts';
import { followed, isDone, onHttp, paid, payCall, runsIn, servedChat } from './served-chat.ts';

const page = (): Response => new Response('<p>Sign in</p>', { headers: { 'content-type': 'text/html' } });

test('what a page to sign in on answers took no effect: a message that did not arrive is not said to be sent', async () => {
  const asked: string[] = [];
  const url = await onHttp((request) => {
    asked.push(request.method);
    return new URL(request.url).pathname === '/login' ? page() : Response.redirect(new URL('/login', request.url), 303);
  });
  const { store, until, views } = followed(`${url}/?id=a`);
  const view = await until(({ connection }) => connection === 'closed');
  expect(view.error).toEqual({ code: 'request-failed', message: 'HTTP 200, not from runStream.serve' });
  expect(views.some(({ connection }) => connection === 'open')).toBe(false);
  // It is not asked again and again.
  expect(asked).toEqual(['GET', 'GET']);
  expect(await store.send('Hello')).toBe(false);
  expect(store.getSnapshot().error?.code).toBe('request-failed');
});

test('a chat in which nothing goes on has no error in a browser either', async () => {
  // Chromium, Firefox and WebKit give a 204 of the network an empty stream; in Node its body is null.
  const answer = (): Response => Object.defineProperty(new Response(null, { status: 204 }), 'body', { value: empty() });
  const empty = (): ReadableStream => new ReadableStream({ start: (body) => body.close() });
  const { until, views } = followed('http://chat/?id=a', { fetch: async () => answer() });
  await until(({ connection }) => connection === 'closed');
  expect(views.filter(({ error }) => error !== null)).toEqual([]);
});

test('nothing is sent where there is no run or call to send it to, and the view says so', async () => {
  const asked: unknown[] = [];
  const fetch = async (_url: unknown, { method }: RequestInit = {}): Promise<Response> => {
    asked.push(method);
    return new Response(null, { status: 204 });
  };
  for (const type of ['stop', 'steer', 'approve', 'reject'] as const) {
    const store = runStore('http://chat/?id=a', { fetch });
    expect(store.getSnapshot().error).toBeNull();
    expect(await store[type]('call-1')).toBe(false);
    expect(store.getSnapshot().error).toEqual({ code: 'over', message: 'No such run or call is open.' });
    expect(await store.send('Hello')).toBe(true);
    expect(store.getSnapshot().error).toBeNull();
  }
  expect(asked).toEqual(['POST', 'POST', 'POST', 'POST']);
});

test('a tab that stops or answers what another tab began is refused, and shows what that is', async () => {
  const { url } = await servedChat([payCall(5), 'Paid.']);
  const tab = followed(`${url}/?id=a`);
  const other = followed(`${url}/?id=a`);
  for (const { until } of [tab, other]) await until(({ connection }) => connection === 'closed');
  await other.store.send('Pay 5.');
  await other.until(({ status }) => status === 'waiting');
  expect(await tab.store.stop()).toBe(false);
  expect(tab.store.getSnapshot().error?.code).toBe('over');
  const { pending } = await tab.until(({ status }) => status === 'waiting');
  // A second click on the same button.
  const clicks = [1, 2].map(() => tab.store.approve(pending[0]?.callId ?? ''));
  expect(await Promise.all(clicks)).toContain(true);
  await tab.until(isDone);
  expect(await tab.store.approve(pending[0]?.callId ?? '')).toBe(false);
  expect(tab.store.getSnapshot()).toMatchObject({ status: 'answered', error: { code: 'over' } });
  expect(paid).toEqual([5]);
});

test('a proxy that asks for a pause is asked again; nothing is an error then', async () => {
  let refusals = 2;
  const { url, journal } = await servedChat(['Hi.'], {
    around: async (request, answer) =>
      request.method === 'GET' && refusals-- > 0 ? new Response('Slower.', { status: 429 }) : answer(),
  });
  const { store, until, views } = followed(`${url}/?id=a`);
  expect(await store.send('Hello')).toBe(true);
  await until(isDone);
  expect(refusals).toBeLessThan(0);
  expect(views.filter(({ error }) => error !== null)).toEqual([]);
  expect(await runsIn(journal)).toBe(1);
});

test.each([
  ['7', 7000],
  ['3600', 600_000],
  ['1e99', 600_000],
])('a server that asks for a pause of %s s is asked again after %d ms', async (pause, ms) => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let asked = 0;
  const answer = async (): Promise<Response> => {
    asked += 1;
    return new Response('Slower.', { status: 503, headers: { 'retry-after': pause } });
  };
  onTestFinished(runStore('http://chat/?id=a', { fetch: answer, retryMs: 1 }).subscribe(() => undefined));
  await vi.advanceTimersByTimeAsync(ms - 1);
  expect(asked).toBe(1);
  await vi.advanceTimersByTimeAsync(3);
  expect(asked).toBe(2);
});

test.each(['{"error":"unauthorized"}', '{"error":{"reason":"expired"}}', '{"error":null}', 'null', '"no"', '[]', ''])(
  'an answer of another server, such as %s, is an error with a code and a sentence, and is not asked for again and again',
  async (body) => {
    let asked = 0;
    const url = await onHttp(() => {
      asked += 1;
      return new Response(body, { status: 401 });
    });
    const { store, until } = followed(`${url}/?id=a`);
    const error = { code: 'request-failed', message: 'HTTP 401, not from runStream.serve' };
    expect((await until(({ connection }) => connection === 'closed')).error).toEqual(error);
    expect(asked).toBe(1);
    expect(await store.send('Hello')).toBe(false);
    expect(store.getSnapshot().error).toEqual(error);
  },
);

test('a message whose answer is lost may have arrived: the view shows whether it did', async () => {
  const { url, journal } = await servedChat(['Hi.'], {
    around: async (request, answer) => {
      const response = await answer();
      return request.method === 'POST' ? new Response('<h1>Gateway timeout</h1>', { status: 504 }) : response;
    },
  });
  const { store, until } = followed(`${url}/?id=a`);
  await until(({ connection }) => connection === 'closed');
  expect(await store.send('Hello')).toBe(false);
  expect((await until(isDone)).messages.map(({ text }) => text)).toEqual(['Hello', 'Hi.']);
  expect(await runsIn(journal)).toBe(1);
});

test('a connection that was refused and works again is no error any more; a refused request stays one', async () => {
  let isSignedIn = true;
  const { url } = await servedChat(['Hi.'], {
    around: async (_request, answer) => {
      if (isSignedIn) return answer();
      return Response.json({ error: { code: 'signed-out', message: 'Sign in.' } }, { status: 401 });
    },
  });
  const { store, until, leave } = followed(`${url}/?id=a`);
  await store.send('Hello');
  const { messages } = await until(isDone);
  leave();
  /** The page is left, and looked at again. */
  const back = async (): Promise<RunSnapshot> => {
    await new Promise((resolve) => setTimeout(resolve));
    const again = followed(store);
    await again.until(({ connection }) => connection === 'connecting');
    const view = await again.until(({ connection }) => connection === 'closed');
    again.leave();
    return view;
  };
  isSignedIn = false;
  expect((await back()).error?.code).toBe('signed-out');
  isSignedIn = true;
  expect(await back()).toMatchObject({ messages, error: null, status: 'answered' });
  expect(await store.stop()).toBe(false);
  expect((await back()).error?.code).toBe('over');
});

test('a connection on which nothing comes any more, not even the sign that it stands, is opened again', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const asked: (string | null)[] = [];
  const started = { type: 'run.started', runId: 'r', task: 'Hello', maxSteps: 3, seq: 1, replayed: false };
  const isOn = { type: 'step.started', step: 2, limit: 3, seq: 2, replayed: false };
  const store = runStore('http://app.example/?id=a', {
    fetch: async (_url, init) => {
      asked.push(new Headers(init?.headers).get('last-event-id'));
      const [id, event] = asked.length === 1 ? ['r:1', started] : ['r:2', isOn];
      const text = new TextEncoder().encode(`id: ${id}\ndata: ${JSON.stringify({ events: [event] })}\n\n`);
      // It says this, and is silent from then on.
      const body = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(text) });
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    },
  });
  onTestFinished(store.subscribe(() => undefined));
  await vi.advanceTimersByTimeAsync(20_000);
  expect([asked.length, store.getSnapshot().runId]).toEqual([1, 'r']);
  await vi.advanceTimersByTimeAsync(50_000);
  expect(asked).toEqual([null, 'r:1']);
  expect(store.getSnapshot()).toMatchObject({ step: 2, connection: 'open', error: null });
});
