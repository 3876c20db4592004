import { setImmediate as nextTick } from 'node:timers/promises';
import { createActor, SimulatedClock } from 'xstate';
import { describe, expect, test } from 'vitest';
import {
  type McpLister,
  listMcpTools,
  type McpPinger,
  pingMcp,
  type McpConnector,
  connectMcp,
} from '../../src/actors/mcp/connect-mcp.ts';
import { McpError, type McpErrorCode } from '../../src/actors/mcp/mcp-calls.ts';
import { mcpConnectionMachine } from '../../src/machines/mcp/mcp-connection.ts';
import type { McpConnectionLimits } from '../../src/machines/mcp/mcp-connection-parts.ts';

const GREETING = { title: 'x', version: '1', protocolVersion: '1', capabilities: {}, transport: 'stdio' };

interface World {
  readonly connect?: McpConnector['connect'];
  readonly listTools?: McpLister['listTools'];
  readonly ping?: McpPinger['ping'];
  readonly limits?: Partial<McpConnectionLimits>;
  readonly seed?: number;
}

const failing = (code: McpErrorCode) => () => Promise.reject(new McpError(code, 'files', 'as planned'));

function start({ connect, listTools, ping, limits = {}, seed = 1 }: World = {}) {
  const clock = new SimulatedClock();
  const machine = mcpConnectionMachine.provide({
    actors: {
      connectMcp: connectMcp({ connect: connect ?? (() => Promise.resolve(GREETING)) }),
      listMcpTools: listMcpTools({ listTools: listTools ?? (() => Promise.resolve([])) }),
      pingMcp: pingMcp({ ping: ping ?? (() => Promise.resolve('alive')) }),
    },
  });
  const actor = createActor(machine, { input: { server: 'files', seed, limits }, clock });
  const visited: string[] = [];
  actor.start();
  actor.subscribe(({ value }) => {
    const state = typeof value === 'string' ? value : (Object.keys(value)[0] ?? '');
    if (visited.at(-1) !== state) visited.push(state);
  });
  const pass = async (ms = 0): Promise<void> => {
    clock.increment(ms);
    await nextTick();
  };
  return { actor, visited, pass };
}

test('connects when it is wanted, and is READY only after the tools are listed', async () => {
  const listed = Promise.withResolvers<[]>();
  const { actor, visited, pass } = start({ listTools: () => listed.promise });
  actor.send({ type: 'connection.wanted' });
  await pass();
  expect(visited.at(-1)).toBe('DISCOVERING');
  listed.resolve([]);
  await pass();
  expect(visited).toEqual(['CONNECTING', 'DISCOVERING', 'READY']);
});

test('waits longer after each failure, up to 30 s, and gives up after the eighth', async () => {
  const { actor, visited, pass } = start({ connect: failing('not-connected') });
  actor.send({ type: 'connection.wanted' });
  await pass();
  for (const longest of [500, 1000, 2000, 4000, 8000, 16_000, 30_000]) {
    expect(visited.at(-1)).toBe('BACKING_OFF');
    await pass(longest);
  }
  expect(visited.filter((state) => state === 'CONNECTING')).toHaveLength(8);
  expect(visited.at(-1)).toBe('FAILED');
  expect(actor.getSnapshot().context.error).toMatchObject({ code: 'not-connected', message: 'as planned' });
});

test('two connections do not come back in step', async () => {
  const waits = await Promise.all(
    [1, 2, 3, 4].map(async (seed) => {
      const { actor, visited, pass } = start({ connect: failing('not-connected'), seed });
      actor.send({ type: 'connection.wanted' });
      await pass();
      let waited = 0;
      for (; visited.filter((state) => state === 'CONNECTING').length < 2; waited += 1) await pass(1);
      return waited;
    }),
  );
  expect(new Set(waits).size).toBe(4);
  expect(Math.max(...waits)).toBeLessThanOrEqual(500);
});

describe('a connection that gave up', () => {
  const givenUp = async (connect: McpConnector['connect']) => {
    const world = start({ connect, limits: { maxFailures: 1 } });
    world.actor.send({ type: 'connection.wanted' });
    await world.pass();
    expect(world.visited).toEqual(['CONNECTING', 'FAILED']);
    return world;
  };

  test('rests, then a call may make it try once', async () => {
    const { actor, visited, pass } = await givenUp(failing('not-connected'));
    actor.send({ type: 'call.wanted' });
    expect(visited.at(-1)).toBe('FAILED');
    await pass(1000);
    expect(visited.filter((state) => state === 'CONNECTING')).toHaveLength(2);
    await pass(60_000);
    expect(visited.filter((state) => state === 'CONNECTING')).toHaveLength(2);
  });

  test('tries at once when a person asks for it', async () => {
    const { actor, visited } = await givenUp(failing('not-connected'));
    actor.send({ type: 'connection.wanted' });
    expect(visited.at(-1)).toBe('CONNECTING');
  });
});

test.each(['spawn-failed', 'protocol-error'] as const)('%s is not tried again by itself', async (code) => {
  const { actor, visited, pass } = start({ connect: failing(code) });
  actor.send({ type: 'connection.wanted' });
  await pass();
  await pass(120_000);
  expect(visited).toEqual(['CONNECTING', 'FAILED']);
});

test('authorization that is missing is waited for, whatever calls come', async () => {
  const { actor, visited, pass } = start({ connect: failing('auth-required') });
  actor.send({ type: 'connection.wanted' });
  await pass();
  actor.send({ type: 'call.wanted' });
  await pass(120_000);
  expect(visited).toEqual(['CONNECTING', 'AUTH_REQUIRED']);
});

test('what an older link reports changes nothing', async () => {
  const { actor, visited, pass } = start();
  actor.send({ type: 'connection.wanted' });
  await pass();
  const error = { code: 'not-connected', message: 'gone' };
  actor.send({ type: 'link.lost', generation: 1, error });
  await pass(500);
  await pass();
  expect(actor.getSnapshot().context.generation).toBe(2);
  const before = [...visited];
  actor.send({ type: 'link.lost', generation: 1, error });
  actor.send({ type: 'link.doubted', generation: 1 });
  actor.send({ type: 'tools.changed', generation: 1 });
  await pass(1000);
  expect(visited).toEqual(before);
  expect(actor.getSnapshot().context.listings).toBe(2);
});

test('a doubtful link that answers a ping is READY again, one that does not is replaced', async () => {
  let alive = true;
  const ping = (): Promise<'alive'> => (alive ? Promise.resolve('alive') : Promise.reject(new Error('silence')));
  const { actor, visited, pass } = start({ ping });
  actor.send({ type: 'connection.wanted' });
  await pass();
  actor.send({ type: 'link.doubted', generation: 1 });
  await pass();
  alive = false;
  actor.send({ type: 'link.doubted', generation: 1 });
  await pass();
  await pass(500);
  await pass();
  expect(visited.slice(3)).toEqual([
    'SUSPECT',
    'READY',
    'SUSPECT',
    'BACKING_OFF',
    'CONNECTING',
    'DISCOVERING',
    'READY',
  ]);
});

test('a link that is lost again and again, with no answer in between, runs into the limit', async () => {
  const { actor, visited, pass } = start({ limits: { maxFailures: 3 } });
  actor.send({ type: 'connection.wanted' });
  await pass();
  for (const generation of [1, 2, 3]) {
    actor.send({ type: 'link.lost', generation, error: { code: 'not-connected', message: 'gone' } });
    await pass(2000);
    await pass();
  }
  expect(visited.at(-1)).toBe('FAILED');
});

test.each([
  ['an answered call', { type: 'link.proved', generation: 2 } as const, 0],
  ['ten seconds of peace', null, 10_000],
])('%s lets the failures be forgotten', async (_what, event, ms) => {
  const { actor, pass } = start({ limits: { maxFailures: 2 } });
  const error = { code: 'not-connected', message: 'gone' };
  actor.send({ type: 'connection.wanted' });
  await pass();
  actor.send({ type: 'link.lost', generation: 1, error });
  await pass(500);
  await pass();
  if (event !== null) actor.send(event);
  await pass(ms);
  expect(actor.getSnapshot().context.failures).toBe(0);
});

test('a burst of announcements costs one new list, and none is overlooked', async () => {
  const asked: PromiseWithResolvers<[]>[] = [];
  const listTools = (): Promise<[]> => {
    const answer = Promise.withResolvers<[]>();
    asked.push(answer);
    return answer.promise;
  };
  const { actor, visited, pass } = start({ listTools });
  actor.send({ type: 'connection.wanted' });
  await pass();
  asked[0]?.resolve([]);
  await pass();
  for (let at = 0; at < 50; at += 1) actor.send({ type: 'tools.changed', generation: 1 });
  await pass(100);
  expect(asked).toHaveLength(2);
  actor.send({ type: 'tools.changed', generation: 1 });
  asked[1]?.resolve([]);
  await pass();
  await pass(100);
  expect(asked).toHaveLength(3);
  expect(visited).toEqual(['CONNECTING', 'DISCOVERING', 'READY']);
});

test.each(['CONNECTING', 'READY', 'BACKING_OFF'])(
  'stopped in %s it stays stopped until it is wanted',
  async (state) => {
    const connect = state === 'BACKING_OFF' ? failing('not-connected') : undefined;
    const { actor, visited, pass } = start(connect === undefined ? {} : { connect });
    actor.send({ type: 'connection.wanted' });
    if (state !== 'CONNECTING') await pass();
    expect(visited.at(-1)).toBe(state);
    actor.send({ type: 'connection.stopped' });
    actor.send({ type: 'call.wanted' });
    await pass(120_000);
    expect(visited.at(-1)).toBe('STOPPED');
    actor.send({ type: 'connection.wanted' });
    expect(visited.at(-1)).toBe('CONNECTING');
  },
);
