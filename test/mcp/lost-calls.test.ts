import { setImmediate as nextTick } from 'node:timers/promises';
import { SimulatedClock } from 'xstate';
import { expect, test } from 'vitest';
import { createMcpConnection } from '../../src/mcp/index.ts';
import { LinkFault } from '../../src/mcp/wire/faults.ts';
import { scriptedWorld } from '../support/mcp/scripted-dial.ts';

function scripted(patienceMs = 4000) {
  const clock = new SimulatedClock();
  const world = scriptedWorld();
  const connection = createMcpConnection('s', { command: 'x' }, { dial: world.dial, clock, seed: 3, patienceMs });
  const pass = async (ms = 0): Promise<void> => {
    clock.increment(ms);
    for (let at = 0; at < 8; at += 1) await nextTick();
  };
  return { world, connection, pass };
}

const lost = (delivered: boolean) => new LinkFault('unreachable', 'cut', { delivered });

test('what an older link still says of a call that was sent again changes nothing', async () => {
  const { world, connection, pass } = scripted();
  const call = connection.callTool('read', { call: 1 });
  await pass();
  world.open()[0]?.onDown(new LinkFault('exited', 'died', { delivered: true }));
  await pass(1000);
  expect(world.arrived.map(({ generation }) => generation)).toEqual([1, 2]);
  world.arrived[0]?.fail(lost(true));
  await pass();
  world.arrived[1]?.answer();
  expect(await call).toEqual({ status: 'success', data: 'read' });
});

test('a call that may have arrived once is of unknown outcome, even when it surely did not arrive the second time', async () => {
  const { world, connection, pass } = scripted();
  const call = connection.callTool('act', { call: 1 });
  await pass();
  world.arrived[0]?.fail(lost(true));
  await pass(1000);
  world.arrived[1]?.fail(lost(false));
  expect(await call).toMatchObject({ code: 'unknown-outcome' });
});

test('a call that surely did not arrive either time was not carried out', async () => {
  const { world, connection, pass } = scripted();
  const call = connection.callTool('pay', { call: 1 });
  await pass();
  world.arrived[0]?.fail(lost(false));
  await pass(1000);
  world.arrived[1]?.fail(lost(false));
  expect(await call).toMatchObject({
    code: 'lost-before-send',
    error: expect.stringContaining('It was not carried out'),
  });
});

test('a destructive call that was made before the tools were known is not sent twice either', async () => {
  const { world, connection, pass } = scripted();
  const call = connection.callTool('pay', { call: 1 });
  await pass();
  world.arrived[0]?.fail(lost(true));
  expect(await call).toMatchObject({ code: 'unknown-outcome' });
  await pass(60_000);
  expect(world.arrived).toHaveLength(1);
});

test.each([
  ['a call that waits to be sent again may have been carried out', 'act', true],
  ['one that only reads needs no warning', 'read', false],
])('when a server is disconnected, %s', async (_, tool, isUnknown) => {
  const { world, connection, pass } = scripted();
  const call = connection.callTool(tool, { call: 1 });
  await pass();
  world.refuse('unreachable');
  world.open()[0]?.onDown(new LinkFault('exited', 'died', { delivered: true }));
  await pass();
  await connection.disconnect();
  const told = `MCP server 's' was disconnected.${isUnknown ? " Whether 'act' was or will be carried out is unknown." : ''}`;
  expect(await call).toEqual({ status: 'error', code: 'cancelled', error: told });
});

test.each([['before it was sent'], ['after the server had turned it away until later']])(
  'a call of a server that is disconnected %s was not carried out',
  async (when) => {
    const { world, connection, pass } = scripted();
    if (when === 'before it was sent') world.refuse('unreachable');
    const call = connection.callTool('pay', { call: 1 });
    await pass();
    world.arrived[0]?.fail(
      new LinkFault('refused', 'HTTP 429', { delivered: true, data: { status: 429, retryAfterMs: 900 } }),
    );
    await pass();
    await connection.disconnect();
    expect(await call).toEqual({ status: 'error', code: 'cancelled', error: "MCP server 's' was disconnected." });
  },
);

test('a call whose time is up while it waits to be sent again is of unknown outcome', async () => {
  const { world, connection, pass } = scripted();
  await connection.connect();
  world.refuse('unreachable');
  const call = connection.callTool('act', { call: 1 }, { timeoutMs: 2000 });
  await pass();
  world.open()[0]?.onDown(new LinkFault('exited', 'died', { delivered: true }));
  await pass(2000);
  expect(await call).toMatchObject({ code: 'unknown-outcome' });
});

test('a new link is made only after the old one has ended, even when it is asked for at once', async () => {
  const { world, connection, pass } = scripted();
  await connection.connect();
  world.open()[0]?.onDown(new LinkFault('exited', 'died', { delivered: true }));
  const again = connection.connect();
  await pass();
  expect(await again).toBe(true);
  expect(world.mostOpen()).toBe(1);
});

test('calls wait for a server that is down as long as their patience lasts, and are told why it is', async () => {
  const { world, connection, pass } = scripted(1500);
  world.refuse('unreachable');
  const call = connection.callTool('read');
  const outcomes: string[] = [];
  void call.then(({ code }) => outcomes.push(JSON.stringify(code)));
  await pass(1400);
  expect(outcomes).toEqual([]);
  await pass(200);
  expect(await call).toMatchObject({ code: 'not-connected', error: expect.stringContaining('refused by the test') });
});

test('a call is not kept waiting for the next attempt when its patience is over and none is going on', async () => {
  const { world, connection, pass } = scripted(1500);
  world.refuse('unreachable');
  void connection.connect();
  for (let at = 0; at < 20; at += 1) await pass(500);
  const call = connection.callTool('read');
  const state = connection.state;
  await pass(1500);
  expect(state).toBe('BACKING_OFF');
  expect(connection.state).toBe('BACKING_OFF');
  expect(await call).toMatchObject({ code: 'not-connected' });
});

test('news of an older link do not disturb the new one', async () => {
  const { world, connection, pass } = scripted();
  await connection.connect();
  const [first] = world.open();
  first?.onDown(new LinkFault('exited', 'died', { delivered: true }));
  await pass(1000);
  await pass(1000);
  expect(connection.state).toBe('READY');
  first?.onDown(new LinkFault('exited', 'died once more', { delivered: true }));
  first?.onDoubt('a late doubt');
  await pass();
  expect(connection.state).toBe('READY');
  expect(world.open()).toHaveLength(1);
});

test('a call that broke in the middle waits for the reconnect with its whole patience, however long it had run', async () => {
  const { world, connection, pass } = scripted(4000);
  const call = connection.callTool('read', { call: 1 });
  await pass();
  await pass(60_000);
  world.refuse('unreachable');
  world.open()[0]?.onDown(new LinkFault('exited', 'died', { delivered: true }));
  for (let at = 0; at < 6; at += 1) await pass(500);
  world.refuse(null);
  for (let at = 0; at < 20 && world.arrived.length < 2; at += 1) await pass(500);
  world.arrived[1]?.answer();
  expect(await call).toEqual({ status: 'success', data: 'read' });
});

test('no more than a thousand calls wait', async () => {
  const { connection } = scripted();
  const calls = Array.from({ length: 1001 }, (_, at) => connection.callTool('read', { call: at }));
  expect(await calls[1000]).toMatchObject({ code: 'queue-full' });
  await connection.disconnect();
  expect((await Promise.all(calls.slice(0, 1000))).every(({ code }) => code === 'cancelled')).toBe(true);
});

test('a server that answers no ping is left in peace while another call explains it, and replaced when none does', async () => {
  const { world, connection, pass } = scripted();
  const long = connection.callTool('read', { call: 1 }, { timeoutMs: 20_000 });
  const short = connection.callTool('read', { call: 2 }, { timeoutMs: 1000 });
  await pass();
  world.silence();
  await pass(1000);
  expect(await short).toMatchObject({ code: 'timeout' });
  expect(connection.state).toBe('SUSPECT');
  await pass(2500);
  expect(connection.state).toBe('READY');
  await pass(20_000);
  expect(await long).toMatchObject({ code: 'timeout' });
  await pass(2500);
  expect(connection.state).toBe('BACKING_OFF');
  expect(connection.error).toMatchObject({ code: 'timeout', message: expect.stringContaining('not even a ping') });
});

test.each([
  ['once', 1, { code: 'unknown-outcome' }],
  ['idempotent', 2, { status: 'success' }],
] as const)(
  'a call that may be repeated as `%s`, of a tool that is not listed any more, is sent %i times',
  async (effects, times, outcome) => {
    const { world, connection, pass } = scripted();
    world.unlist('pay');
    await connection.connect();
    const call = connection.callTool('pay', { call: 1 }, { effects });
    await pass();
    world.arrived[0]?.fail(lost(true));
    await pass(1000);
    world.arrived[1]?.answer();
    expect(await call).toMatchObject(outcome);
    expect(world.arrived).toHaveLength(times);
  },
);

test('a call that was made while its tool was listed as destructive is not sent twice when the tool is not listed any more', async () => {
  const { world, connection, pass } = scripted();
  await connection.connect();
  world.refuse('unreachable');
  world.open()[0]?.onDown(new LinkFault('exited', 'died', { delivered: true }));
  const call = connection.callTool('pay', { call: 1 });
  world.unlist('pay');
  world.refuse(null);
  await pass(1000);
  world.arrived[0]?.fail(lost(true));
  await pass(1000);
  expect(await call).toMatchObject({ code: 'unknown-outcome' });
  expect(world.arrived).toHaveLength(1);
});
