import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Confirm } from '../../src/actors/ask-approval.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { Run } from '../../src/agent/run/run.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import { unpaired } from './agent-scripts.ts';
import {
  NAMES,
  type AnswerScript,
  type CallScript,
  type Execution,
  callScripts,
  modelOf,
  onErrorOf,
  toolsOf,
  verdictsOf,
} from './call-scripts.ts';
import { cases, seedOr } from '../support/soak.ts';

const parameters = { seed: seedOr(20_261_122), numRuns: cases(100, 3200), endOnFailure: false } as const;

/** What was agreed to: these arguments of this call, or every call of this tool. */
interface Agreed {
  readonly calls: Set<string>;
  readonly tools: Set<string>;
}

const isQuestion = (args: unknown): boolean => typeof args === 'object' && args !== null && 'question' in args;
const key = (callId: string, args: unknown) => `${callId} ${JSON.stringify(args)}`;

function setUp(script: CallScript) {
  const executed: Execution[] = [];
  const agreed: Agreed = { calls: new Set(), tools: new Set() };
  const answers = answersOf(script.answers);
  const confirm: Confirm = ({ callId, tool, args }) => {
    const { how } = answers();
    if (how === 'throw') throw new Error('the line is dead');
    if (how === 'never') return 'deny';
    if (how === 'allow' || how === 'edit') agreed.calls.add(key(callId, args));
    if ((how === 'always' || how === 'edit-always') && !('question' in args)) agreed.tools.add(tool);
    if (how === 'deny') return 'deny';
    return how === 'allow' || how === 'edit' ? 'allow-once' : 'always-allow';
  };
  const kept = new Set<string>();
  const options = (): AgentOptions => ({
    model: modelOf(script),
    models: { other: modelOf(script) },
    tools: toolsOf(script, executed),
    onError: onErrorOf(script.agentOnError),
    onEscalation: verdictsOf(script),
    permissions: { isAlwaysAllowed: (tool) => kept.has(tool), add: (tool) => void kept.add(tool) },
    confirm: script.wait ? 'wait' : confirm,
    timeouts: { approvalMs: 10 },
    parallelToolCalls: script.parallel,
    maxSteps: 8,
    seed: 3,
    silent: true,
  });
  const helper = createAgent({ ...options(), name: 'helper' });
  const agent = createAgent({ ...options(), name: 'chief', children: [helper] });
  return { agent, executed, agreed, answers };
}

function answersOf(answers: readonly AnswerScript[]): () => AnswerScript {
  let asked = 0;
  return () => answers[asked++ % answers.length] ?? { how: 'deny', args: {} };
}

/** Follows a run to its end and answers what it asks, as somebody at a screen would. */
async function followed(run: Run, { agreed, answers }: ReturnType<typeof setUp>, wait: boolean) {
  const events: RunEvent[] = [];
  for await (const event of run) {
    events.push(event);
    if (!wait || event.type !== 'approval.requested') continue;
    const { how, args } = answers();
    const { callId, tool } = event;
    if (how === 'allow' || how === 'always') {
      agreed.calls.add(key(callId, event.args));
      if (how === 'always' && !isQuestion(event.args)) agreed.tools.add(tool);
      await run.approve(callId, { always: how === 'always' });
    } else if (how === 'edit' || how === 'edit-always') {
      agreed.calls.add(key(callId, args));
      if (how === 'edit-always' && !isQuestion(event.args)) agreed.tools.add(tool);
      await run.approve(callId, { always: how === 'edit-always', args });
    } else if (how !== 'never') await run.reject(callId, 'no');
  }
  return events;
}

function expectAllowed({ tools }: CallScript, { executed, agreed }: ReturnType<typeof setUp>): void {
  for (const { index, callId, args } of executed) {
    const { policy, enabled } = tools[index] ?? { policy: 'deny', enabled: false };
    expect(enabled && policy !== 'deny').toBe(true);
    if (policy === 'confirm')
      expect(agreed.tools.has(NAMES[index] ?? '') || agreed.calls.has(`${callId} ${args}`)).toBe(true);
    const { n }: { readonly n: unknown } = JSON.parse(args);
    expect(Number.isInteger(n) && Number(n) <= 2).toBe(true);
  }
}

function repeatsUnknown({ executionError }: CallScript['agentOnError']): boolean {
  if (executionError === undefined || executionError.as === 'nothing') return false;
  return executionError.steps.some(({ kind, whenUnknown }) => kind === 'retry' && whenUnknown);
}

/** A call runs at most once and eight times more; after an unknown outcome not at all, unless a step says so. */
function expectBounded({ tools, agentOnError }: CallScript, executed: readonly Execution[]): void {
  const repeats = [agentOnError, ...tools.map(({ onError }) => onError)].some(repeatsUnknown);
  for (const callId of new Set(executed.map((one) => one.callId))) {
    const runs = executed.filter((one) => one.callId === callId);
    expect(runs.length).toBeLessThanOrEqual(9);
    const lost = runs.findIndex(({ index, behaviour }) => behaviour === 'lost' && tools[index]?.effects === 'once');
    if (!repeats && lost !== -1) expect(runs.length).toBe(lost + 1);
  }
}

function expectOneEnd(events: readonly RunEvent[], whole: boolean): void {
  const ended = events.flatMap((event) =>
    event.type === 'tool.finished' || event.type === 'tool.denied' ? [event.callId] : [],
  );
  expect(new Set(ended).size).toBe(ended.length);
  const begun = events.flatMap((event) => (event.type === 'tool.started' ? [event.callId] : []));
  if (whole) expect(begun.filter((callId) => !ended.includes(callId))).toEqual([]);
}

/** Of a run that was stopped, calls under way are not counted among what it used. */
function hasEnded(callId: string, events: readonly RunEvent[], reason: string): boolean {
  return reason !== 'thrown' || events.some((event) => event.type === 'tool.finished' && event.callId === callId);
}

test('whatever tools, failures, policies, answers and steps: only what may run runs, each call ends once, every run ends', async () => {
  await fc.assert(
    fc.asyncProperty(callScripts, async (script) => {
      const set = setUp(script);
      const run = set.agent.run('Do something');
      const events = await followed(run, set, script.wait);
      const result = await run;
      expectAllowed(script, set);
      expectBounded(script, set.executed);
      expectOneEnd(events, result.reason !== 'thrown');
      expect(unpaired(result.messages)).toEqual([]);
      expect(['answered', 'stopped', 'failed']).toContain(result.status);
      expect(result.error?.code).not.toBe('internal');
      const own = set.executed.filter(({ callId }) => !callId.includes('.') && hasEnded(callId, events, result.reason));
      const used = result.toolsUsed.filter((name) => name !== 'helper');
      expect(new Set(used)).toEqual(new Set(own.map(({ index }) => NAMES[index])));

      const again = replay(run.recording(), setUp(script).agent);
      expect({ ...(await again), durationMs: 0 }).toEqual({ ...result, durationMs: 0 });
      expect(again.transitions()).toEqual(run.transitions());
    }),
    parameters,
  );
});

test('the same holds for a run that is cancelled at any moment', async () => {
  await fc.assert(
    fc.asyncProperty(callScripts, fc.nat({ max: 300 }), async (script, moment) => {
      const set = setUp(script);
      const run = set.agent.run('Do something');
      const following = followed(run, set, script.wait);
      for (let turn = 0; turn < moment; turn++) await Promise.resolve();
      const took = await run.cancel('enough');
      const began = set.executed.length;
      const result = await run;
      const events = await following;
      expect(result.status === 'cancelled').toBe(took);
      if (took) expect(set.executed.length).toBe(began);
      expectAllowed(script, set);
      expectBounded(script, set.executed);
      expectOneEnd(events, false);
      expect(unpaired(result.messages)).toEqual([]);
    }),
    { ...parameters, numRuns: cases(60, 2000) },
  );
});
