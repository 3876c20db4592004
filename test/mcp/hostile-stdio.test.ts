import { describe, expect, test } from 'vitest';
import { callLog, watched } from '../support/mcp/hostile.ts';
import { hostileEntry as hostile } from '../support/mcp/hostile-entry.ts';
import { besideEachOther, poll } from '../support/beside.ts';

besideEachOther();

describe('a server that dies in the middle of a call', () => {
  test.concurrent('is noticed at once, started again, and the call is sent once more', async () => {
    const { connection, states } = watched(hostile());
    const log = await callLog();
    await connection.connect();
    expect(await connection.callTool('act', { log: log.path })).toEqual({ status: 'success', data: 'done' });
    expect(await log.calls()).toEqual(['act', 'act']);
    expect(states()).toEqual([
      'CONNECTING',
      'DISCOVERING',
      'READY',
      'BACKING_OFF',
      'CONNECTING',
      'DISCOVERING',
      'READY',
    ]);
  });

  test.concurrent('is noticed by its end even when what it started holds its output open', async () => {
    const { connection, states } = watched(hostile('normal', { retryAfterLoss: 'safe' }));
    await connection.connect();
    // The output is open for a minute, and a ping would have made it suspect.
    const result = await connection.callTool('orphan');
    expect(result).toMatchObject({ status: 'error', code: 'unknown-outcome' });
    expect(states()).toContain('BACKING_OFF');
    expect(states()).not.toContain('SUSPECT');
  });

  test.concurrent('twice for the same call is not given a third chance', async () => {
    const { connection } = watched(hostile());
    const log = await callLog();
    await connection.connect();
    expect(await connection.callTool('act', { log: log.path, deaths: 2 })).toMatchObject({ code: 'unknown-outcome' });
    expect(await log.calls()).toHaveLength(2);
  });

  test.concurrent('leaves its last words in the error', async () => {
    const { connection } = watched(hostile('normal', { retryAfterLoss: 'safe' }));
    await connection.connect();
    await expect(connection.call('die', {})).rejects.toMatchObject({
      code: 'unknown-outcome',
      message: expect.stringContaining('fatal: out of luck'),
      data: { exitCode: 7, stderr: expect.stringContaining('fatal: out of luck') },
    });
  });
});

describe('after a loss a call is sent once more', () => {
  test.concurrent.each([
    ['read', 'read-only', 'unless-destructive', 2],
    ['put', 'idempotent', 'unless-destructive', 2],
    ['act', 'not annotated', 'unless-destructive', 2],
    ['pay', 'destructive', 'unless-destructive', 1],
    ['read', 'read-only', 'safe', 2],
    ['put', 'idempotent', 'safe', 2],
    ['act', 'not annotated', 'safe', 1],
    ['pay', 'destructive', 'safe', 1],
  ] as const)('%s (%s) with %s: sent %i times', async (tool, _what, retryAfterLoss, sent) => {
    const { connection } = watched(hostile('normal', { retryAfterLoss }));
    const log = await callLog();
    await connection.connect();
    const result = await connection.callTool(tool, { log: log.path });
    expect(await log.calls()).toHaveLength(sent);
    expect(result).toMatchObject(sent === 2 ? { status: 'success' } : { status: 'error', code: 'unknown-outcome' });
    if (sent === 1) expect(result.error).toContain('Assume neither that it was done nor that it was not');
  });

  test.concurrent.each([
    ['act', 'once', 1],
    ['pay', 'idempotent', 2],
  ] as const)(
    'the word of the configuration beats the hints: %s as %s is sent %i times',
    async (tool, effects, sent) => {
      const { connection } = watched(hostile('normal', { overrides: { [tool]: { effects } } }));
      const log = await callLog();
      await connection.connect();
      await connection.callTool(tool, { log: log.path });
      expect(await log.calls()).toHaveLength(sent);
    },
  );
});

describe('a server that hangs', () => {
  test.concurrent('costs a call its timeout and not the connection, when it still answers a ping', async () => {
    const { connection, states } = watched(hostile());
    await connection.connect();
    expect(await connection.callTool('hang', {}, { timeoutMs: 200 })).toMatchObject({
      status: 'error',
      code: 'timeout',
    });
    expect(await connection.callTool('cancelled')).toEqual({ status: 'success', data: '1' });
    expect(states()).toEqual(['CONNECTING', 'DISCOVERING', 'READY', 'SUSPECT', 'READY']);
  });

  test.concurrent('altogether is killed and started again', async () => {
    const { connection, states } = watched(hostile());
    await connection.connect();
    expect(await connection.callTool('freeze', {}, { timeoutMs: 200 })).toMatchObject({ code: 'timeout' });
    expect(await connection.callTool('echo', { text: 'back' })).toEqual({ status: 'success', data: 'back' });
    expect(states().slice(3)).toEqual(['SUSPECT', 'BACKING_OFF', 'CONNECTING', 'DISCOVERING', 'READY']);
  });

  test.concurrent('when it is to connect fails after connectTimeoutMs', async () => {
    const { connection } = watched(hostile('silent', { connectTimeoutMs: 300 }));
    expect(await connection.connect()).toBe(false);
    expect(connection.error).toMatchObject({
      code: 'timeout',
      message: expect.stringContaining('not ready after 0.3 s'),
    });
  });
});

describe('what a server writes beside its answers', () => {
  test.concurrent('noise, broken JSON and answers that nobody waits for are survived and told', async () => {
    const { connection, oddities } = watched(hostile());
    await connection.connect();
    expect(await connection.callTool('noise')).toEqual({ status: 'success', data: 'still here' });
    expect(oddities()).toEqual(expect.arrayContaining(['noise', 'bad-message', 'unexpected']));
  });

  test.concurrent('messages in a batch are read as if each came alone, and a batch with a broken one is not', async () => {
    const { connection, oddities } = watched(hostile());
    await connection.connect();
    expect(await connection.callTool('batch')).toEqual({ status: 'success', data: 'second' });
    expect(oddities()).toEqual(['bad-message']);
  });

  // Alone, as the next one: they keep this process at work.
  test('a line of 11 MB costs only the call it answers, at once', async () => {
    const { connection, oddities, states } = watched(hostile());
    await connection.connect();
    expect(await connection.callTool('giant')).toMatchObject({
      status: 'error',
      error: expect.stringContaining('11.0 MB'),
    });
    expect(await connection.callTool('echo')).toMatchObject({ data: 'echo' });
    expect(oddities()).toEqual(['too-large']);
    expect(states()).toEqual(['CONNECTING', 'DISCOVERING', 'READY']);
  });

  test('a flood of notifications and of stderr delays the answer and loses nothing', async () => {
    const { connection } = watched(hostile());
    await connection.connect();
    expect(await connection.callTool('flood')).toEqual({ status: 'success', data: 'after the flood' });
  });

  test('millions of empty lines leave others their turn', async () => {
    const { connection } = watched(hostile());
    await connection.connect();
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    expect(await connection.callTool('blank')).toMatchObject({ data: 'after the lines' });
    clearInterval(timer);
    expect(turns).toBeGreaterThan(40);
  });

  test('asking endlessly without reading the answers ends the connection', async () => {
    const { connection } = watched(hostile('normal', { timeoutMs: 60_000 }));
    await connection.connect();
    expect(await connection.callTool('deaf')).toMatchObject({
      status: 'error',
      code: 'limit-exceeded',
      error: expect.stringContaining('does not accept the answer'),
    });
    await poll(() => connection.state).toBe('FAILED');
  });

  test.concurrent('a server that takes its answers may ask as often as it likes', async () => {
    const { connection } = watched(hostile());
    await connection.connect();
    expect(await connection.callTool('chatty')).toMatchObject({ data: 'talked' });
  });

  test.concurrent('a server that has much to read, and asks meanwhile, is not left', async () => {
    const { connection } = watched(hostile());
    await connection.connect();
    const rested = connection.callTool('nap');
    await new Promise((resolve) => setTimeout(resolve, 100));
    const much = connection.callTool('pid', { text: 'x'.repeat(900_000) });
    expect(await rested).toMatchObject({ data: 'rested' });
    expect(await much).toMatchObject({ status: 'success' });
    expect(connection.state).toBe('READY');
  });

  test.concurrent('what stands beside an answer does not lose it, and an answer that is none is an error at once', async () => {
    const { connection } = watched(hostile('normal', { timeoutMs: 60_000 }));
    await connection.connect();
    expect(await connection.callTool('beside')).toEqual({ status: 'success', data: 'read' });
    expect(await connection.callTool('odd-code')).toMatchObject({
      status: 'error',
      error: expect.stringContaining('an error that has no code and message'),
    });
  });

  test.concurrent('of two answers to one call the first counts', async () => {
    const { connection, oddities } = watched(hostile());
    await connection.connect();
    expect(await connection.callTool('double')).toEqual({ status: 'success', data: 'first' });
    expect(await connection.callTool('echo')).toMatchObject({ data: 'echo' });
    expect(oddities()).toEqual(['unexpected']);
  });

  test.concurrent('no secret of ours reaches it, only what is configured', async () => {
    process.env.SIGNALBOX_TEST_SECRET = 'hidden';
    const { connection } = watched({ ...hostile(), env: { GIVEN: 'yes' } });
    const { data } = await connection.callTool('env');
    delete process.env.SIGNALBOX_TEST_SECRET;
    expect(data).toContain('"GIVEN":"yes"');
    expect(data).toContain('"PATH":');
    expect(data).not.toContain('hidden');
  });
});

describe('a server that cannot be used', () => {
  test.concurrent.each([
    ['dies-at-start', 'not-connected', 'cannot open database'],
    ['old-version', 'protocol-error', '1999-01-01'],
    ['nameless', 'protocol-error', 'its answer to `initialize` lacks serverInfo'],
  ])('%s: %s, and says why', async (mode, code, words) => {
    const { connection } = watched(hostile(mode));
    expect(await connection.connect()).toBe(false);
    expect(connection.error).toMatchObject({ code, message: expect.stringContaining(words) });
  });

  test.concurrent('a program that is no server at all is told as noise and times out', async () => {
    const { connection, news } = watched(hostile('garbage', { connectTimeoutMs: 6000 }));
    expect(await connection.connect()).toBe(false);
    expect(news).toContainEqual(expect.objectContaining({ kind: 'noise', message: '<html>not a server</html>' }));
  });

  test.concurrent('one that starts and dies again and again runs into the limit', async () => {
    const { connection, states } = watched(hostile('dies-after-listing'), {
      limits: { maxFailures: 3, backoff: { kind: 'constant', ms: 1 } },
    });
    await connection.connect();
    await poll(() => connection.state).toBe('FAILED');
    expect(states().filter((state) => state === 'CONNECTING')).toHaveLength(3);
  });
});

describe('the list of tools', () => {
  test.concurrent('has all pages', async () => {
    const { connection } = watched(hostile('pages'));
    const tools = await connection.listTools();
    expect(tools).toHaveLength(250);
    expect(tools.at(-1)?.name).toBe('tool_249');
  });

  test.concurrent('ends when a server names the same page again', async () => {
    const { connection } = watched(hostile('endless-pages'));
    expect((await connection.listTools()).some(({ name }) => name === 'echo')).toBe(true);
  });

  test.concurrent('loses only the tools that make no sense', async () => {
    const { connection, oddities } = watched(hostile('bad-tools'));
    expect((await connection.listTools()).map(({ name }) => name)).toEqual(['good']);
    expect(oddities()).toEqual(['bad-tool', 'bad-tool', 'bad-tool', 'bad-tool']);
  });

  test.concurrent('is fetched again when the server says that it has changed', async () => {
    const { connection, news } = watched(hostile());
    await connection.connect();
    await connection.callTool('grow');
    await poll(() => connection.tools.some(({ name }) => name === 'grown_0')).toBe(true);
    expect(news).toContainEqual({ type: 'mcp.tools', server: 'hostile', added: ['grown_0'], removed: [], changed: [] });
    expect(connection.state).toBe('READY');
  });

  test.concurrent('is fetched again on demand', async () => {
    const { connection } = watched(hostile());
    const before = await connection.listTools();
    expect(await connection.listTools({ refresh: true })).toEqual(before);
  });
});

test.concurrent('progress reaches the caller, up to the answer and not beyond', async () => {
  const { connection } = watched(hostile());
  const heard: unknown[] = [];
  expect(await connection.callTool('progress', {}, { onProgress: (told) => heard.push(told) })).toMatchObject({
    data: 'whole',
  });
  expect(heard).toEqual([
    { progress: 1, total: 2, message: 'on it' },
    { progress: 2, total: 2, message: 'on it' },
  ]);
});

test.concurrent('a caller whose progress listener throws gets its answer all the same', async () => {
  const { connection } = watched(hostile());
  const onProgress = (): never => {
    throw new Error('my own fault');
  };
  expect(await connection.callTool('progress', {}, { onProgress })).toMatchObject({ data: 'whole' });
});

test.concurrent('a cancelled call ends at once, and the server is told', async () => {
  const { connection } = watched(hostile());
  await connection.connect();
  const controller = new AbortController();
  const call = connection.callTool('hang', {}, { signal: controller.signal });
  controller.abort();
  expect(await call).toMatchObject({ status: 'error', code: 'cancelled' });
  expect(await connection.callTool('cancelled')).toMatchObject({ data: '1' });
  expect(connection.state).toBe('READY');
});

test.concurrent('calls made before the connection stands wait for it, and a hundred of them come back in order', async () => {
  const { connection } = watched(hostile());
  const calls = Array.from({ length: 100 }, (_, at) => connection.callTool('echo', { text: String(at) }));
  expect((await Promise.all(calls)).map(({ data }) => data)).toEqual(
    Array.from({ length: 100 }, (_, at) => String(at)),
  );
});

test.concurrent('calls under way share one reconnect', async () => {
  const { connection, states } = watched(hostile());
  await connection.connect();
  const log = await callLog();
  const calls = ['read', 'act', 'put'].map((tool) => connection.callTool(tool, { log: log.path }));
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(['success', 'success', 'success']);
  expect(states().filter((state) => state === 'CONNECTING')).toHaveLength(2);
});
