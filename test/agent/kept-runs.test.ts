import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { countEffect, runMachine } from '../../src/agent/run/run-reader.ts';
import type { RecordLine } from '../../src/journal/format/record.ts';
import { readRecording } from '../../src/journal/format/recording.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { BUNDLED } from '../support/bundled.ts';
import { calls } from '../support/replies.ts';
import { cases, SOAKING } from '../support/soak.ts';
import { modelOf, scripts, toolsOf } from '../property/agent-scripts.ts';

/** Bytes that something holds, in a process of its own. */
function bytesOf(...what: readonly string[]): Promise<number> {
  return measured(BUNDLED, what);
}

async function measured(options: readonly string[], what: readonly string[]): Promise<number> {
  const script = fileURLToPath(new URL('children/memory.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', ...options, script, ...what]);
  return Number(stdout);
}

test('a run that is kept holds each message once: ten times the turns take ten times the memory', async () => {
  const [short, long] = await Promise.all([bytesOf('a kept run of 100 turns'), bytesOf('a kept run of 1000 turns')]);
  expect(short).toBeGreaterThan(50_000);
  expect(long).toBeLessThan(3_000_000);
  expect(long).toBeLessThan(12 * short);
}, 180_000);

test('a conversation in which nothing happens is in no memory: hundreds leave what the list of runs keeps of them', async () => {
  expect(await bytesOf('a conversation of an agent, after its run')).toBeLessThan(3000);
}, 180_000);

test('what an agent has dropped from its history is in no memory, however many runs it has', async () => {
  expect(await bytesOf('what an agent has said before its history')).toBeLessThan(5000);
}, 180_000);

test('a history holds answers without the thoughts before them', async () => {
  expect(await bytesOf('the history of an agent whose model thinks aloud')).toBeLessThan(500_000);
}, 180_000);

test('an output that keeps the pieces of an answer of 100 kB does not hold the answer once for each', async () => {
  expect(await bytesOf('what an output keeps of a long answer')).toBeLessThan(10_000_000);
}, 180_000);

test('a run holds a typed answer of 50 kB that it has streamed some times, not once for each time that it grew', async () => {
  expect(await bytesOf('a run of a typed answer that was followed')).toBeLessThan(8_000_000);
}, 180_000);

test('an agent that waits for its user takes little, before its first run and after it', async () => {
  expect(await bytesOf('an idle agent')).toBeLessThan(2000);
  expect(await bytesOf('an agent after its run')).toBeLessThan(4000);
  // Of what its leaves do, only what has begun: all of it is 7 kB more. What V8 compiles meanwhile is up to 2 kB: the lower counts.
  const inRequest = await Promise.all([1, 2].map(() => bytesOf('an agent in its first request')));
  expect(Math.min(...inRequest)).toBeLessThan(28_000);
}, 180_000);

test('a full collection between runs drops no code that is compiled for the steps of machines', async () => {
  const script = fileURLToPath(new URL('children/compiled-code.ts', import.meta.url));
  const options = ['--expose-gc', '--trace-deopt', ...BUNDLED, script];
  const { stdout } = await promisify(execFile)(process.execPath, options, { maxBuffer: 2 ** 26 });
  const dropped = [...stdout.matchAll(/SharedFunctionInfo ([^>]*)>.*embedded weak objects cleared/g)];
  const names = dropped.map(([, name]) => name);
  expect(names.length).toBeGreaterThan(0);
  expect(names).not.toContain('resolveAndExecuteActionsWithContext');
  expect(names).not.toContain('microstep');
}, 180_000);

test('what has ended needs no full collection: nothing that V8 makes for good refers to a run', async () => {
  const ended = 'a run of 10 turns that has ended, without a full collection';
  expect(await bytesOf(ended)).toBeLessThan(60_000);
  // As single files, machines as XState makes them leave four times as much.
  expect(await measured(['--conditions=@signalbox/source'], [ended])).toBeLessThan(60_000);
  expect(await bytesOf('the same with a journal of its own')).toBeLessThan(60_000);
  expect(await bytesOf('a simulated run that was checked')).toBeLessThan(200_000);
}, 180_000);

test('10 000 calls leave nothing behind in their process', async () => {
  expect(await bytesOf('a process after many calls', '5', '10', '20')).toBeLessThan(500_000);
}, 180_000);

test.runIf(SOAKING)(
  '100 000 calls leave nothing behind in their process',
  async () => {
    expect(await bytesOf('a process after many calls', '100', '1', '10')).toBeLessThan(4_000_000);
  },
  300_000,
);

const untimed = (lines: readonly RecordLine[]): unknown =>
  JSON.parse(JSON.stringify(lines), (key, value) => (key === 'at' ? 0 : value));

test('what a run keeps for its recording is what a journal that was written meanwhile has, to the digest', async () => {
  await fc.assert(
    fc.asyncProperty(scripts, async ({ replies, options, approvals }) => {
      const journal = memoryJournal();
      let asked = 0;
      const agent = createAgent({
        ...options,
        journal,
        model: modelOf(replies),
        tools: toolsOf({ executed: [], allowed: new Set() }),
        permissions: { isAlwaysAllowed: () => false, add: () => undefined },
        confirm: () => (approvals[asked++ % approvals.length] === 'allow-once' ? 'allow-once' : 'deny'),
        retry: { backoff: { kind: 'constant', ms: 0 } },
        silent: true,
      });
      await agent.run('Do something');
      // The second run begins with the history of the first.
      const run = agent.run('Do it again');
      await run;
      const written = await journal.read?.(run.runId);
      expect(untimed(readRecording(run.recording()).lines)).toEqual(untimed(written?.lines ?? []));
      expect(run.recording()).toBe(run.recording());
    }),
    { seed: 20_261_122, numRuns: cases(40, 1000), endOnFailure: false },
  );
});

test('a machine that replaces one that has met many calls does the same', async () => {
  const runOnce = async () => {
    const run = createAgent({ model: scriptedModel([calls(['none']), 'Done']), seed: 1, silent: true }).run('Go');
    await run.orThrow();
    return run.transitions();
  };
  const [machine, before] = [runMachine(), await runOnce()];
  expect(runMachine()).toBe(machine);
  for (let effects = 0; effects < 20_000; effects += 1) countEffect();
  expect(runMachine()).not.toBe(machine);
  expect(runMachine()).toBe(runMachine());
  expect(await runOnce()).toEqual(before);
});
