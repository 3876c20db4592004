import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { SimulatedClock } from 'xstate';
import { watched } from '../support/mcp/hostile.ts';
import { startHostileHttp } from '../support/mcp/hostile-http.ts';
import { besideEachOther, poll } from '../support/beside.ts';

besideEachOther();

/** Lets time pass for a connection until this is over: ten times as fast, and not while the process is held up. Gives how much. */
async function passing(clock: SimulatedClock, what: Promise<unknown>): Promise<number> {
  const over = new AbortController();
  void what.finally(() => over.abort());
  let passed = 0;
  for (; !over.signal.aborted; passed += 50) {
    clock.increment(50);
    await wait(5);
  }
  return passed;
}

describe.concurrent.each(['sse', 'json'] as const)('a server over HTTP that answers with %s', (answer) => {
  test.concurrent('is connected, called, and left with a goodbye', async () => {
    const server = await startHostileHttp({ answer });
    const { connection } = watched({ url: server.url });
    expect(await connection.connect()).toBe(true);
    expect(await connection.callTool('echo')).toEqual({ status: 'success', data: 'echo' });
    await connection.disconnect();
    expect(server.counts.get('DELETE')).toBe(1);
  });

  test.concurrent('may answer in many short lines, but not with more than the limit of a message in all', async () => {
    const server = await startHostileHttp({ answer });
    const { connection, states } = watched({ url: server.url }, { limits: { mcp: { messageBytes: 10_000 } } });
    await connection.connect();
    expect(await connection.callTool('lines')).toMatchObject({ status: 'success' });
    const error = expect.stringContaining('limits.mcp.messageBytes allows (10000)');
    expect(await connection.callTool('many_lines')).toMatchObject({ status: 'error', code: 'limit-exceeded', error });
    expect(await connection.callTool('echo')).toMatchObject({ data: 'echo' });
    expect(states()).toEqual(['CONNECTING', 'DISCOVERING', 'READY']);
  });

  test.concurrent('that is killed in the middle of a call is noticed at once, and the call says so within 5 s', async () => {
    const server = await startHostileHttp({ answer });
    const clock = new SimulatedClock();
    const { connection, states } = watched({ url: server.url }, { clock });
    await connection.connect();
    const call = connection.callTool('hang');
    await poll(() => server.calls).toEqual(['hang']);
    await server.die();
    // No time has passed for it, so that no timer has led to a ping.
    await poll(() => states().includes('BACKING_OFF')).toBe(true);
    const passed = await passing(clock, call);
    expect(await call).toMatchObject({ status: 'error', code: 'not-connected' });
    expect(passed).toBeLessThan(5000);
  });

  test.concurrent('that is killed and comes back gets the call once more', async () => {
    const server = await startHostileHttp({ answer });
    const { connection } = watched({ url: server.url });
    await connection.connect();
    const calls = [connection.callTool('hang', {}, { timeoutMs: 5000 }), connection.callTool('hang_pay')];
    await poll(() => server.calls.length).toBe(2);
    await server.die();
    await server.revive();
    expect(await calls[1]).toMatchObject({ code: 'unknown-outcome' });
    await poll(() => server.calls).toEqual(['hang', 'hang_pay', 'hang']);
    expect(await connection.callTool('echo')).toMatchObject({ data: 'echo' });
    expect(await calls[0]).toMatchObject({ code: 'timeout' });
  });

  test.concurrent.each([404, 400] as const)(
    'that has forgotten the session (%i) gets a new one, and the call is carried out once',
    async (status) => {
      const server = await startHostileHttp({ answer });
      const { connection } = watched({ url: server.url });
      await connection.connect();
      server.expire(status);
      const calls = ['pay', 'echo', 'pay'].map((tool) => connection.callTool(tool));
      expect((await Promise.all(calls)).map(({ data }) => data)).toEqual(['pay', 'echo', 'pay']);
      expect(server.calls).toHaveLength(3);
      expect(server.counts.get('initialize')).toBe(2);
    },
  );

  test.concurrent('that freezes costs a call its timeout, and then the connection is made anew', async () => {
    const server = await startHostileHttp({ answer });
    const { connection, states } = watched({ url: server.url });
    await connection.connect();
    server.freeze();
    expect(await connection.callTool('echo', {}, { timeoutMs: 300 })).toMatchObject({ code: 'timeout' });
    await poll(() => states().includes('BACKING_OFF')).toBe(true);
  });
});

test.concurrent.each([401, 403])(
  'a server that wants authorization (%i) is asked once and not again',
  async (status) => {
    const server = await startHostileHttp();
    server.refuse(status);
    const { connection } = watched({ url: server.url });
    expect(await connection.connect()).toBe(false);
    expect(connection.state).toBe('AUTH_REQUIRED');
    const calls = Array.from({ length: 5 }, () => connection.callTool('echo'));
    for (const result of await Promise.all(calls)) expect(result).toMatchObject({ code: 'auth-required' });
    expect(server.counts.get('initialize')).toBe(1);
    server.refuse(null);
    expect(await connection.connect()).toBe(true);
  },
);

test.concurrent('a server of the older transport that wants authorization is asked once, too', async () => {
  const server = await startHostileHttp({ old: true });
  server.refuse(401);
  const { connection } = watched({ url: server.url, type: 'sse' });
  expect(await connection.connect()).toBe(false);
  expect(connection.state).toBe('AUTH_REQUIRED');
  expect(server.counts.get('GET')).toBe(1);
});

test.concurrent('a web page is no server, and is not asked again', async () => {
  const server = await startHostileHttp({ page: true });
  const { connection } = watched({ url: server.url });
  expect(await connection.connect()).toBe(false);
  expect(connection.state).toBe('FAILED');
  expect(connection.error).toMatchObject({ code: 'protocol-error', message: expect.stringContaining('text/html') });
});

test.concurrent('an authorization that ends in the middle of it all is noticed with the next call', async () => {
  const server = await startHostileHttp();
  const { connection } = watched({ url: server.url });
  await connection.connect();
  server.refuse(401);
  expect(await connection.callTool('echo')).toMatchObject({ code: 'auth-required' });
  expect(connection.state).toBe('AUTH_REQUIRED');
});

test.concurrent('a server that is idle when it is killed is missed before the next call', async () => {
  const server = await startHostileHttp();
  const { connection, states } = watched({ url: server.url });
  await connection.connect();
  await poll(() => server.counts.get('GET')).toBe(1);
  await server.die();
  await poll(() => states().includes('BACKING_OFF')).toBe(true);
  await server.revive();
  expect(await connection.callTool('echo')).toMatchObject({ data: 'echo' });
});

test.concurrent('a server that dies behind a gateway, which holds the streams open, is found by a ping within 5 s', async () => {
  const server = await startHostileHttp();
  const clock = new SimulatedClock();
  const { connection, states } = watched({ url: server.url }, { clock });
  await connection.connect();
  const call = connection.callTool('hang_pay');
  await poll(() => server.calls).toEqual(['hang_pay']);
  server.refuse(502);
  expect(await passing(clock, call)).toBeLessThan(5000);
  expect(await call).toMatchObject({ code: 'unknown-outcome' });
  expect(states().slice(3, 5)).toEqual(['SUSPECT', 'BACKING_OFF']);
});

test.concurrent.each([502, 503, 504, 524])(
  'a destructive call that a gateway answers with %i may have been carried out: it is not sent again, and the model is told',
  async (status) => {
    const server = await startHostileHttp({ gateway: status });
    const { connection } = watched({ url: server.url });
    await connection.connect();
    expect(await connection.callTool('pay')).toMatchObject({
      code: 'unknown-outcome',
      error: expect.stringContaining(`HTTP ${status}`),
    });
    expect(server.calls).toEqual(['pay']);
    expect(await connection.callTool('echo')).toMatchObject({ data: 'echo' });
  },
);

test.concurrent('a slow server that answers pings is left in peace', async () => {
  const server = await startHostileHttp();
  const clock = new SimulatedClock();
  const { connection, states } = watched({ url: server.url }, { clock });
  await connection.connect();
  const call = connection.callTool('hang', {}, { timeoutMs: 4500 });
  expect(await passing(clock, call)).toBeGreaterThanOrEqual(4500);
  expect(await call).toMatchObject({ code: 'timeout' });
  expect(server.counts.get('ping')).toBeGreaterThanOrEqual(2);
  expect(states()).not.toContain('BACKING_OFF');
});

describe.concurrent('a stream that breaks before the answer came', () => {
  test.concurrent('is taken up again where the server allows it', async () => {
    const server = await startHostileHttp();
    const { connection } = watched({ url: server.url });
    await connection.connect();
    expect(await connection.callTool('resumable')).toEqual({ status: 'success', data: 'resumed' });
  });

  test.concurrent('is taken up until the answer comes, where the server repeats what is known as well', async () => {
    const server = await startHostileHttp();
    const clock = new SimulatedClock();
    const { connection } = watched({ url: server.url }, { clock });
    await connection.connect();
    const far: number[] = [];
    const call = connection.callTool('repeats', {}, { onProgress: ({ progress }) => far.push(progress) });
    // What is repeated at first has an answer's time to be taken for one.
    expect(await passing(clock, call)).toBeGreaterThan(2000);
    expect(await call).toEqual({ status: 'success', data: 'resumed' });
    expect(far).toEqual([1]);
    expect(server.counts.get('tools/call')).toBe(1);
  });

  test.concurrent('is no reason to pass over an answer under a foreign id on a stream that carries all answers', async () => {
    const server = await startHostileHttp({ old: true });
    const { connection } = watched({ url: server.url });
    await connection.connect();
    expect(await connection.callTool('foreign')).toMatchObject({ code: 'protocol-error' });
  });

  test.concurrent.each(['unresumable', 'cut'])('for good (%s) loses only its call, and at once', async (tool) => {
    const server = await startHostileHttp();
    const { connection, states } = watched({ url: server.url, retryAfterLoss: 'safe' });
    await connection.connect();
    let isOtherOver = false;
    const other = connection.callTool('hang', {}, { timeoutMs: 4000 }).finally(() => (isOtherOver = true));
    expect(await connection.callTool(tool)).toMatchObject({ code: 'unknown-outcome' });
    expect(isOtherOver).toBe(false);
    expect(await other).toMatchObject({ code: 'timeout' });
    expect(states()).not.toContain('BACKING_OFF');
  });
});

test.concurrent('a refusal of one request (HTTP 400) that is not about the session costs only that call', async () => {
  const server = await startHostileHttp();
  const { connection, states } = watched({ url: server.url });
  await connection.connect();
  expect(await connection.callTool('refused')).toMatchObject({
    code: 'protocol-error',
    error: expect.stringContaining('HTTP 400: Unsupported protocol version: 2025-11-25'),
  });
  expect(await connection.callTool('echo')).toMatchObject({ data: 'echo' });
  expect(states()).not.toContain('BACKING_OFF');
});

test.concurrent('a call that is answered with 404 in two sessions is refused, says so, and is not sent for ever', async () => {
  const server = await startHostileHttp();
  const { connection } = watched({ url: server.url });
  await connection.connect();
  const { error, code } = await connection.callTool('gone');
  expect(code).toBe('protocol-error');
  expect(error).toContain("refused the request for 'gone': it does not know our session any more (HTTP 404)");
  expect(error).not.toContain('lost before');
  expect(server.counts.get('tools/call')).toBe(2);
  expect(server.counts.get('initialize')).toBeLessThan(4);
  expect(await connection.callTool('echo')).toMatchObject({ data: 'echo' });
});

describe('a server that asks', () => {
  test('gets its answers, some at a time', async () => {
    const server = await startHostileHttp();
    const { connection } = watched({ url: server.url });
    await connection.connect();
    expect(await connection.callTool('asks')).toEqual({ status: 'success', data: 'asks' });
    await poll(() => server.counts.get('POST')).toBe(500);
    expect(server.mostAnswersAtOnce()).toBeLessThan(50);
    expect(await connection.callTool('echo')).toEqual({ status: 'success', data: 'echo' });
  });

  test('faster than it takes the answers is left', async () => {
    const server = await startHostileHttp();
    const { connection } = watched({ url: server.url });
    await connection.connect();
    expect(await connection.callTool('asks_on')).toMatchObject({
      status: 'error',
      code: 'limit-exceeded',
      error: expect.stringContaining('does not accept the answer'),
    });
    await poll(() => connection.state).toBe('FAILED');
    expect(server.counts.get('POST') ?? 0).toBeLessThan(2000);
  });
});

describe.concurrent('a redirect', () => {
  test.concurrent.each([307, 308])('(%i) within the origin is followed, with headers', async (status) => {
    const server = await startHostileHttp({ moved: { status, location: '/mcp/' } });
    const { connection } = watched({ url: server.url, headers: { Authorization: 'Bearer mine' } });
    expect(await connection.callTool('echo')).toMatchObject({ data: 'echo' });
    expect(new Set(server.authorizations)).toEqual(new Set(['Bearer mine']));
  });

  test.concurrent('in a circle is an error at once, and is not tried again', async () => {
    const server = await startHostileHttp({ moved: { status: 307, location: '/mcp' } });
    const { connection, states } = watched({ url: server.url });
    expect(await connection.connect()).toBe(false);
    expect(connection.error).toMatchObject({
      code: 'protocol-error',
      message: expect.stringContaining(`it redirected a request 6 times, the last time from ${server.url} (HTTP 307)`),
    });
    expect(states()).toEqual(['CONNECTING', 'FAILED']);
    expect(server.counts.get('initialize')).toBe(6);
  });

  test.concurrent.each([302, 307])('(%i) to another origin is not, and is named', async (status) => {
    const other = await startHostileHttp();
    const server = await startHostileHttp({ moved: { status, location: `${other.url}?key=abc` } });
    const { connection } = watched({ url: server.url, headers: { Authorization: 'Bearer mine' } });
    expect(await connection.connect()).toBe(false);
    expect(connection.state).toBe('FAILED');
    expect(connection.error?.message).toContain(`it redirects to ${other.url} (HTTP ${status})`);
    expect(connection.error?.message).not.toContain('abc');
    expect(other.authorizations).toEqual([]);
    expect(server.counts.get('initialize')).toBe(1);
  });
});

test.concurrent('a server that offers no stream of its own is no worse for it', async () => {
  const server = await startHostileHttp({ listens: false });
  const { connection, oddities, states } = watched({ url: server.url });
  await connection.connect();
  expect(await connection.callTool('echo')).toMatchObject({ data: 'echo' });
  expect(oddities()).toEqual([]);
  expect(states()).toEqual(['CONNECTING', 'DISCOVERING', 'READY']);
});

describe.concurrent('a server of the older transport', () => {
  test.concurrent('is found out and spoken to', async () => {
    const server = await startHostileHttp({ old: true });
    const { connection } = watched({ url: server.url });
    expect(await connection.connect()).toBe(true);
    expect(connection.info?.transport).toBe('sse');
    expect(await connection.callTool('echo')).toEqual({ status: 'success', data: 'echo' });
  });

  test.concurrent('that is killed in the middle of a call is noticed at once', async () => {
    const server = await startHostileHttp({ old: true });
    const { connection, states } = watched({ url: server.url, type: 'sse' });
    await connection.connect();
    const call = connection.callTool('hang_pay');
    await poll(() => server.calls).toEqual(['hang_pay']);
    await server.die();
    expect(await call).toMatchObject({ code: 'unknown-outcome' });
    expect(states()).toContain('BACKING_OFF');
  });
});

test.concurrent('an address where nothing listens is a plain failure, within the patience of a call', async () => {
  const server = await startHostileHttp();
  await server.die();
  const { connection } = watched({ url: server.url }, { patienceMs: 500 });
  const since = performance.now();
  expect(await connection.callTool('echo')).toMatchObject({
    code: 'not-connected',
    error: expect.stringContaining('ECONNREFUSED'),
  });
  expect(performance.now() - since).toBeLessThan(3000);
});

test.concurrent('headers of the configuration go with every request', async () => {
  const server = await startHostileHttp();
  const { connection } = watched({ url: server.url, headers: { Authorization: 'Bearer mine' } });
  await connection.callTool('echo');
  await connection.disconnect();
  expect(server.authorizations.length).toBeGreaterThan(4);
  expect(new Set(server.authorizations)).toEqual(new Set(['Bearer mine']));
});

test.concurrent('a server that refuses what follows its answer to initialize is told so, not that its version is unknown', async () => {
  const server = await startHostileHttp({ forgets: true });
  const { connection } = watched({ url: server.url });
  expect(await connection.connect()).toBe(false);
  expect(connection.error?.message).toContain(
    'after its answer to `initialize` it failed: it does not know our session any more (HTTP 404)',
  );
});

test.concurrent.each([429, 503])(
  'a server that is busy (%i) right after its answer to initialize is tried again',
  async (status) => {
    const server = await startHostileHttp({ stumbles: status });
    const { connection } = watched({ url: server.url });
    expect(await connection.callTool('echo')).toMatchObject({ data: 'echo' });
    expect(server.counts.get('initialize')).toBe(2);
  },
);
