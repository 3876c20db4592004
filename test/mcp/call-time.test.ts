import { setImmediate as nextTick } from 'node:timers/promises';
import { SimulatedClock } from 'xstate';
import { expect, test } from 'vitest';
import type { McpElicitationAnswer } from '../../src/mcp/config/answers.ts';
import { createMcpConnection } from '../../src/mcp/index.ts';
import { scriptedWorld } from '../support/mcp/scripted-dial.ts';

const QUESTION = { server: 's', message: 'Sure?', schema: { type: 'object' } };
const io = { signal: new AbortController().signal };

/** A call on a connection that gives it a second, three in all; `outcome` is its code when it has one. */
async function calling() {
  const clock = new SimulatedClock();
  const world = scriptedWorld();
  const answers: ((answer: McpElicitationAnswer) => void)[] = [];
  const elicit = (): Promise<McpElicitationAnswer> => new Promise((resolve) => answers.push(resolve));
  const config = { command: 'x', timeoutMs: 1000, maxTotalMs: 3000 };
  const connection = createMcpConnection('s', config, {
    dial: world.dial,
    clock,
    seed: 3,
    elicit,
    limits: { mcp: { questionsPerCall: 30 } },
  });
  const pass = async (ms = 0): Promise<void> => {
    clock.increment(ms);
    for (let at = 0; at < 8; at += 1) await nextTick();
  };
  const seen: string[] = [];
  void connection.callTool('act').then(({ code, error }) => seen.push(`${JSON.stringify(code)} ${error ?? ''}`));
  await pass();
  const [request] = world.arrived;
  const ask = async (): Promise<void> => {
    // The last question of a call that is over is withdrawn.
    Promise.resolve(world.open()[0]?.answers.elicit?.(QUESTION, io)).catch(() => undefined);
    await pass();
  };
  const decline = async (): Promise<void> => {
    answers.shift()?.({ action: 'decline' });
    await pass();
  };
  return { pass, seen, ask, decline, progress: () => request?.progress(), answer: () => request?.answer() };
}

test('a call that is silent for its time is over', async () => {
  const { pass, seen } = await calling();
  await pass(999);
  expect(seen).toEqual([]);
  await pass(1);
  expect(seen).toEqual([expect.stringMatching(/^"timeout".* within 1 s\. Whether/)]);
});

test('word of progress begins its time anew, and another silence ends it', async () => {
  const { pass, seen, progress } = await calling();
  await pass(900);
  progress();
  await pass(900);
  progress();
  await pass(999);
  expect(seen).toEqual([]);
  await pass(1);
  expect(seen).toEqual([expect.stringContaining('within 1 s. ')]);
});

test('no progress prolongs it beyond its longest time in all', async () => {
  const { pass, seen, progress } = await calling();
  for (let at = 0; at < 5; at += 1) {
    await pass(500);
    progress();
  }
  await pass(499);
  expect(seen).toEqual([]);
  await pass(1);
  expect(seen).toEqual([expect.stringContaining('within 3 s, though it was at work')]);
});

test('its time rests while a person thinks, and begins anew with the answer', async () => {
  const { pass, seen, ask, decline, progress } = await calling();
  await pass(900);
  await ask();
  await pass(1_000_000);
  progress();
  await pass(1_000_000);
  await decline();
  await pass(999);
  expect(seen).toEqual([]);
  await pass(1);
  expect(seen).toEqual([expect.stringContaining('timeout')]);
});

test('with two questions open it rests until both are answered', async () => {
  const { pass, seen, ask, decline, answer } = await calling();
  await ask();
  await ask();
  await pass(5000);
  await decline();
  await pass(5000);
  expect(seen).toEqual([]);
  await decline();
  answer();
  await pass();
  expect(seen).toEqual(['undefined ']);
});

test('a server that asks again and again does not hold a call for ever', async () => {
  const { pass, seen, ask, decline } = await calling();
  for (let at = 0; at < 20; at += 1) {
    await ask();
    await pass(5000);
    await decline();
  }
  expect(seen).toEqual([]);
  await ask();
  await pass(1000);
  expect(seen).toEqual([expect.stringContaining('timeout')]);
});
