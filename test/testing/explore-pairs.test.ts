import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { agentMachine } from '../../src/machines/agent/agent.ts';
import { toolCallMachine } from '../../src/machines/tool-call/tool-call.ts';
import { recover } from '../../src/recovery/recover.ts';
import type { Slot } from '../../src/recovery/steps.ts';
import { explorePaths, fakeTool, scriptedModel } from '../../src/testing/index.ts';
import { tool } from '../../src/tools/tool.ts';
import { cases } from '../support/soak.ts';
import { becoming } from '../machines/mutants/mutant.ts';

const mender = createAgent({ name: 'mender', implementedBy: () => null });
const STEPS: { readonly [name: string]: Slot | undefined } = {
  none: undefined,
  retry: recover.retry({ maxAttempts: 2 }),
  pause: recover.retry({ maxAttempts: 2, backoff: recover.constant(5) }),
  fix: recover.fix(() => null),
  sanitize: recover.sanitize(() => null),
  substitute: recover.substitute(() => null),
  feedback: recover.feedback(),
  escalate: recover.escalate('too hard'),
  throw: recover.throwException('stop'),
  mender: recover.fix(mender),
  chosen: () => recover.feedback(),
  'fix, then retry': [recover.fix(() => null), recover.retry({ maxAttempts: 2 })],
};

const FACTORS = {
  policy: ['allow', 'confirm', 'always', 'deny'],
  check: ['none', 'schema', 'code'],
  recovery: Object.keys(STEPS),
  below: ['nobody', 'an agent'],
  plans: ['no', 'yes'],
  changes: ['nothing', 'confirm', 'deny after a restart'],
} as const;

type Row = { readonly [factor in keyof typeof FACTORS]: string };

/** Every combination; a few of them together hold every pair of two factors' values. */
function combinations(): readonly Row[] {
  let rows: readonly object[] = [{}];
  for (const [factor, values] of Object.entries(FACTORS))
    rows = rows.flatMap((row) => values.map((value) => ({ ...row, [factor]: value })));
  return rows.filter((row): row is Row => Object.keys(FACTORS).every((factor) => factor in row));
}

function pairsOf(row: Row): readonly string[] {
  const values = Object.entries(row);
  return values.flatMap(([a, x], i) => values.slice(i + 1).map(([b, y]) => `${a} ${x}, ${b} ${y}`));
}

function pairwise(): readonly Row[] {
  const all = combinations().map((row) => ({ row, pairs: pairsOf(row) }));
  const missing = new Set(all.flatMap(({ pairs }) => pairs));
  const chosen: Row[] = [];
  while (missing.size > 0) {
    const news = ({ pairs }: { readonly pairs: readonly string[] }) => pairs.filter((pair) => missing.has(pair)).length;
    const best = all.reduce((one, other) => (news(other) > news(one) ? other : one));
    for (const pair of best.pairs) missing.delete(pair);
    chosen.push(best.row);
  }
  return chosen;
}

function agentOf({ policy, check, recovery, below, plans }: Row) {
  const inputSchema = { type: 'object' as const, properties: { q: { type: 'string' as const } }, required: ['q'] };
  const made = tool({
    name: 'dig',
    description: 'Digs.',
    effects: 'idempotent',
    ...(check === 'none' ? {} : { inputSchema }),
    ...(check === 'code' ? { validateArgs: (args: unknown) => args } : {}),
    execute: () => null,
  });
  const slot = STEPS[recovery];
  const quiet: AgentOptions = { model: scriptedModel([]), silent: true, maxSteps: 1 };
  const look = fakeTool('look', [1], { effects: 'idempotent' });
  const worker = createAgent({ ...quiet, name: 'worker', tools: [look] });
  return createAgent({
    ...quiet,
    maxSteps: plans === 'yes' ? 2 : 1,
    tools: [made],
    children: below === 'nobody' ? [] : [worker],
    defaultPolicy: policy === 'allow' || policy === 'deny' ? policy : 'confirm',
    permissions: { isAlwaysAllowed: () => policy === 'always', add: () => undefined },
    ...(slot === undefined ? {} : { onError: { executionError: slot, deserializationError: slot, invalidArgs: slot } }),
  });
}

function eventsOf({ changes }: Row) {
  if (changes === 'nothing') return {};
  return { events: changes === 'confirm' ? becoming('confirm', 'live') : becoming('deny', 'restart') };
}

const ROWS = pairwise();
const OPTIONS = { maxPaths: cases(60, 2000), maxViolations: 1 };

describe('agents of every pair of policy, check, recovery, agents below, plans and changes', () => {
  test('are a few, and no pair is left out', () => {
    const pairs = new Set(ROWS.flatMap(pairsOf));
    expect(
      combinations()
        .flatMap(pairsOf)
        .filter((pair) => !pairs.has(pair)),
    ).toEqual([]);
    expect(ROWS.length).toBeLessThan(60);
  });

  test.each(ROWS)(
    'break no law: policy $policy, check $check, recovery $recovery, below $below, plans $plans, changes $changes',
    async (row) => {
      const found = await explorePaths(agentOf(row), { ...OPTIONS, ...eventsOf(row) });
      expect(found.violations.map(({ law, message, path }) => ({ law, message, path }))).toEqual([]);
    },
  );
});

test('a retry that takes a failed check for a failed run is found among them', async () => {
  const guards: NonNullable<Parameters<typeof toolCallMachine.provide>[0]['guards']> = {
    mayRunAgain: ({ context }) => context.error?.kind === 'execution',
  };
  const wrong = agentMachine.provide({ actors: { toolCall: toolCallMachine.provide({ guards }) } });
  const laws: string[] = [];
  for (const row of ROWS.filter(({ check, recovery }) => check === 'code' && /retry|pause|chosen/.test(recovery))) {
    const found = await explorePaths(wrong, { ...OPTIONS, ...eventsOf(row), agent: agentOf(row) });
    laws.push(...found.violations.map(({ law }) => law));
  }
  expect(new Set(laws).size).toBeGreaterThan(0);
  expect(['permission', 'arguments']).toEqual(expect.arrayContaining([...new Set(laws)]));
});
