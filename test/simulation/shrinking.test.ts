import { expect, test } from 'vitest';
import { type AgentOptions, createAgent, tool } from '../../src/index.ts';
import { type CheckedRun, type SimulateOptions, type SimulatedAgent, simulate } from '../../src/testing/index.ts';
import { SOAKING, cases } from '../support/soak.ts';
import { LONG_SUBJECTS } from './long-subjects.ts';
import { SOURCE_MUTANTS } from './mutants.ts';
import { inTemporaryFolder, runMutated } from './mutated-source.ts';
import { type ShrunkFailure, sharesOf, shrunkFailure } from './shrunk-failures.ts';

type Maker = (options: AgentOptions) => SimulatedAgent;

const charged = new Map<string, number>();
const charge = tool({
  name: 'charge',
  description: 'Charges the card.',
  effects: 'idempotent',
  execute: (_args, { idempotencyKey }) => {
    charged.set(idempotencyKey, (charged.get(idempotencyKey) ?? 0) + 1);
    return 'charged';
  },
});
const look = tool({ name: 'look', description: 'Looks.', effects: 'none', execute: () => 'seen' });
const cashier: Maker = (options) => createAgent({ tools: [look, charge], maxSteps: 40, ...options });

const calls = (...names: readonly string[]) => ({ content: '', toolCalls: names.map((name) => ({ name })) });
const TURNS = [calls('look'), calls('look', 'look'), calls('look', 'charge', 'look'), calls('look')];
const LONG = [...TURNS, ...TURNS, ...TURNS, ...TURNS, 'Paid.'];
const twice: SimulateOptions = {
  model: LONG,
  faults: { 'process.crash': 0.1 },
  begin: () => charged.clear(),
  check: () => Math.max(0, ...charged.values()) <= 1 || 'the card was charged twice',
};

const [{ agent: clerk, options: long }] = [LONG_SUBJECTS[0] ?? { agent: cashier, options: {} }];
/** Fails where something stands in the recording of a long run. */
const without = (wrong: RegExp): SimulateOptions => ({
  ...long,
  check: (run: CheckedRun) => !wrong.test(run.recording()) || 'there it is',
});

/** Claims that do not hold, each of an agent in runs of many turns. */
const WRONG: readonly (readonly [string, Maker, SimulateOptions])[] = [
  ['a card is charged once', cashier, twice],
  ['nobody is asked', clerk, without(/approval\.given/)],
  ['nothing runs after a refusal', clerk, without(/approval\.refused.*"name":"callTool"/s)],
  ['no tool takes too long', clerk, without(/did not finish within/)],
  ['nobody speaks after a crash', clerk, without(/"t":"restart".*message\.steered/s)],
  ['no model is busy twice', clerk, without(/rate-limited.*rate-limited/s)],
];

/** What is found in a shorter run has little that could go: one with a call of a tool has ten records. */
const LONG_RECORDS = 50;

function expectSmall(failures: readonly ShrunkFailure[]): void {
  const { kept } = sharesOf(failures);
  const { gone } = sharesOf(failures.filter(({ found }) => found >= LONG_RECORDS));
  if (SOAKING) {
    for (const { name, check, found, left } of failures)
      console.log(`${name}: ${check}, ${found} records, ${left} left`);
    const { gone: ofAll } = sharesOf(failures);
    console.log(
      `${failures.length}: in the median ${gone} of long runs is gone, ${ofAll} of all; ${kept} keep their reason.`,
    );
  }
  expect(gone).toBeGreaterThanOrEqual(0.8);
  expect(kept).toBeGreaterThanOrEqual(0.95);
}

test('of what fails in a long run a fifth is left, and it fails for the same reason', async () => {
  const failures: ShrunkFailure[] = [];
  const claims = WRONG.filter((_claim, n) => SOAKING || n % 2 === 0);
  for (const [name, agent, options] of claims)
    for (let from = 1; from <= cases(1, 10) * 60; from += 60) {
      const seeds = Array.from({ length: 60 }, (_, index) => from + index);
      // One after the other: time is the whole process's.
      const failure = await shrunkFailure(name, agent, { ...options, seeds });
      if (failure !== null) failures.push(failure);
    }
  expect(new Set(failures.map(({ name }) => name)).size).toBe(claims.length);
  expectSmall(failures);
});

test.runIf(SOAKING)('so it is with what changes to the source break', { timeout: 10_800_000 }, async () => {
  const failures: ShrunkFailure[] = [];
  await inTemporaryFolder(async (folder) => {
    for (const [n, mutant] of SOURCE_MUTANTS.entries()) {
      const options = { program: 'shrink-seeds.ts', args: ['100', '60'], timeout: 240_000 };
      const found = await runMutated(folder, mutant, options);
      if (isFailures(found)) failures.push(...found.map((one) => ({ ...one, name: `${n} ${one.name}` })));
    }
  });
  expect(failures.length).toBeGreaterThan(SOURCE_MUTANTS.length / 2);
  expectSmall(failures);
});

function isFailures(found: unknown): found is readonly ShrunkFailure[] {
  return Array.isArray(found);
}

test('what is left of a run holds the turns and the calls that it needs, and none of the others', async () => {
  const { failures } = await simulate(cashier, { ...twice, seeds: 60 });
  const [{ only, recording, records } = { only: [], recording: '', records: { found: 0, left: 0 } }] = failures;
  const asked = recording.match(/"t":"start"[^\n]*"name":"callTool"[^\n]*/g) ?? [];
  expect(asked.length).toBeLessThanOrEqual(2);
  expect(asked[0]).toContain('"tool":"charge"');
  expect(only.filter((key) => key.startsWith('without request')).length).toBeGreaterThan(0);
  expect(only.filter((key) => !key.startsWith('without '))).toHaveLength(1);
  expect(records.left).toBeLessThan(20);
});

test('a call goes together with the fault that made another one necessary', async () => {
  const pay = tool({ name: 'pay', description: 'Pays.', policy: 'confirm', effects: 'none', execute: () => 'paid' });
  const { failures } = await simulate((options) => createAgent({ tools: [pay], ...options }), {
    seeds: [24],
    model: [calls('pay', 'pay'), 'Done.'],
    faults: { 'person.reject': 0.5 },
    check: ({ recording }) => !recording().includes('"paid"') || 'it is paid',
  });
  expect(failures.map(({ drawn, records }) => [drawn, records])).toEqual([[[], { found: 13, left: 10 }]]);
});

test('a failure that needs something to be drawn is not shrunk to one that does not', async () => {
  const opened = { is: false };
  const open = tool({
    name: 'open',
    description: 'Opens an order.',
    effects: 'idempotent',
    execute: () => (opened.is = true),
  });
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    effects: 'none',
    execute: () => (opened.is ? 'paid' : 'no order'),
  });
  const { failures } = await simulate((options) => createAgent({ tools: [open, pay], ...options }), {
    seeds: 40,
    model: [calls('open'), calls('pay'), 'Paid.'],
    begin: () => (opened.is = false),
    faults: { 'tool.throw': 0.3 },
    check: ({ recording }) => !recording().includes('no order') || 'there is no order',
  });
  expect(failures).toHaveLength(1);
  expect(failures[0]?.only.some((key) => !key.startsWith('without '))).toBe(true);
});

test('two faults of which each needs the other come early together, and what came before them is gone', async () => {
  const writeOf = (drawn: readonly string[], fault: string): number => {
    const said = drawn.find((one) => one.startsWith('write ') && one.endsWith(fault));
    return Number(said?.match(/\d+/)?.[0] ?? Number.NaN);
  };
  const model = [...Array.from({ length: 8 }, () => calls('look')), 'Done.'];
  const { failures } = await simulate((options) => createAgent({ tools: [look], maxSteps: 12, ...options }), {
    seeds: [16_777_217],
    model,
    faults: { 'journal.slow': 0.05, 'process.crash': 0.05 },
    check: ({ drawn }) => {
      const between = writeOf(drawn, 'process.crash') - writeOf(drawn, 'slow');
      return !(between >= 3 && between <= 8) || 'it crashed soon after it was slow';
    },
  });
  expect(failures.map(({ only }) => only.filter((key) => !key.startsWith('without ')))).toEqual([
    ['journal.slow 1!', 'process.crash 4!'],
  ]);
  expect(failures[0]?.records).toEqual({ found: 19, left: 9 });
});

const keysOf = (only: readonly string[]): readonly string[] => only.filter((key) => !key.startsWith('without '));

test('what comes after a failure is gone, too, where nobody knows what the model says at last', async () => {
  const failure = await shrunkFailure('clerk', clerk, { ...without(/approval\.given/), seeds: [181] });
  expect(failure).toMatchObject({ found: 127, left: 13, isKept: true });
  expect(failure?.only.filter((key) => /^without requests \d+-$/.test(key))).toHaveLength(1);
});

test('a run that was cut behind a request is not longer where it is cut once more', async () => {
  const { failures } = await simulate(cashier, {
    model: () => ({ id: 'endless', complete: () => Promise.resolve(calls('look')) }),
    faults: [],
    seeds: [1],
    only: ['without requests 2-', 'without requests 4-'],
    check: () => 'never right',
  });
  expect(failures.map(({ records }) => records)).toEqual([{ found: 8, left: 4 }]);
});

test('a scripted model keeps its last words', async () => {
  const { failures } = await simulate(cashier, {
    model: [calls('charge'), calls('look'), calls('look'), 'Paid.'],
    faults: [],
    seeds: [1],
    check: ({ recording }) => !recording().includes('"tool":"charge"') || 'a card is charged',
  });
  expect(failures[0]?.records).toEqual({ found: 16, left: 8 });
  expect(failures[0]?.recording).toContain('"content":"Paid."');
});

/** Runs of a hundred records and more with a dozen faults, of which one or two are needed. */
const ENTANGLED: readonly (readonly [claim: string, seed: number, needed: number, most: number])[] = [
  ['nobody is asked', 181, 0, 13],
  ['nothing runs after a refusal', 181, 1, 17],
  ['no tool takes too long', 62, 1, 14],
  ['nobody speaks after a crash', 122, 2, 8],
  ['nobody speaks after a crash', 181, 2, 7],
];

test('of a long run with many faults a tenth is left, with the faults that are needed', async () => {
  const failures: ShrunkFailure[] = [];
  for (const [claim, seed, needed, most] of ENTANGLED) {
    const [, agent, options] = WRONG.find(([name]) => name === claim) ?? ['', clerk, {}];
    // One after the other: time is the whole process's.
    const failure = await shrunkFailure(claim, agent, { ...options, seeds: [seed] });
    expect(failure).toMatchObject({ isKept: true });
    expect(keysOf(failure?.only ?? [])).toHaveLength(needed);
    expect(failure?.left).toBeLessThanOrEqual(most);
    if (failure !== null) failures.push(failure);
  }
  expect(sharesOf(failures).gone).toBeGreaterThanOrEqual(0.88);
});

test('a failure that needs nothing to be drawn is not shrunk to a run with a fault, though that is shorter', async () => {
  const { failures } = await simulate(cashier, {
    model: [calls('look'), calls('look'), 'Paid.'],
    seeds: [5],
    faults: { 'outside.cancel': 0.3, 'journal.io': 0.2 },
    check: () => 'never right',
  });
  expect(failures.map(({ only, records }) => [keysOf(only), records])).toEqual([[[], { found: 7, left: 4 }]]);
});
