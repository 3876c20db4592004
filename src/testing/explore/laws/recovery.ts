import type { StepData } from '../../../recovery/plan-data.ts';
import type { ToolSpec } from '../../../tools/spec.ts';
import { type CallFacts, callFacts, isOwn, type Happening, ownerOf, toolRun } from '../walk/story.ts';
import { type Law, type Situation, news } from './law.ts';
import { tokensSpent } from './run-limits.ts';

/** What must be tried before the model sees a failure. */
export const recoveryTried: Law = {
  name: 'recovery',
  says: 'A failed call is not given up before the first step of its onError slot was tried, nor recovered when nothing is wrong.',
  check: (situation) => {
    for (const { one: end, before } of news(situation)) {
      if (end.kind === 'started' && end.effect.name === 'callTool' && isOwn(ownerOf(end.effect))) {
        const wrong = repeatedWrongly(situation, before.length);
        if (wrong !== null) return wrong;
      }
      if (end.kind !== 'moved' || end.machine !== 'toolCall' || !isOwn(end.actor)) continue;
      const upTo = [...before, end];
      const facts = callFacts(upTo, end.actor);
      if (end.to.startsWith('RECOVERING') && !end.from.startsWith('RECOVERING')) {
        if (facts.lastLeaf === 'callTool' && facts.latest === 'done') return 'a call that had succeeded was recovered';
        if (facts.lastLeaf === 'checkArgs' && facts.accepted !== null)
          return 'arguments that the tool had accepted were rejected';
      }
      if (end.to === 'SUCCEEDED' && facts.lastLeaf === 'callTool' && facts.latest !== 'done')
        return 'a call that failed counted as a success';
      if (end.to !== 'FED_BACK' || facts.lastLeaf !== 'callTool') continue;
      const { maxTokens } = situation.settings?.budget ?? { maxTokens: null };
      const canPay = maxTokens === null || tokensSpent(upTo) < maxTokens;
      const wrong = givenUpWrongly(specOf(situation, upTo, end.actor), facts, canPay);
      if (wrong !== null) return wrong;
    }
    return null;
  },
};

/** A tool is repeated as often as its steps allow, and after the pause that they ask for. */
function repeatedWrongly({ story, tools }: Situation, at: number): string | null {
  const start = story[at];
  if (start?.kind !== 'started') return null;
  const path = ownerOf(start.effect);
  const { runs } = callFacts(story.slice(0, at), path);
  const spec = tools.find(({ name }) => name === toolRun(start.effect)?.tool);
  const slots = Object.values(spec?.recovery ?? {});
  if (spec === undefined || runs === 0 || slots.some((slot) => slot?.kind !== 'steps')) return null;
  const steps = slots.flatMap((slot) => (slot?.kind === 'steps' ? slot.steps : []));
  const allowed = steps.reduce((sum, step) => sum + repetitions(step), 1);
  if (runs + 1 > allowed) return `'${spec.name}' ran ${runs + 1} times, and its steps allow ${allowed}`;
  const before = story.findLastIndex(
    (one, index) => index < at && one.kind === 'settled' && ownerOf(one.effect) === path,
  );
  const paused = story.slice(before, at).some((one) => one.kind === 'fired');
  const [only, ...others] = steps;
  return only?.kind === 'retry' && others.length === 0 && only.backoff !== null && !paused
    ? `'${spec.name}' was repeated without its pause`
    : null;
}

function repetitions(step: StepData): number {
  if (step.kind === 'retry') return step.maxAttempts - 1;
  if (step.kind === 'fix-agent') return step.retries;
  return step.kind === 'fix' || step.kind === 'sanitize' ? 1 : 0;
}

/** `canPay`: there are tokens left for an agent that repairs. */
function givenUpWrongly(
  spec: ToolSpec | undefined,
  { runs, brokenChecks, asked, latest }: CallFacts,
  canPay: boolean,
): string | null {
  const slot = spec?.recovery.executionError;
  if (spec === undefined || slot === undefined) return null;
  if (slot.kind === 'chosen-by-code')
    return asked.includes('steps') ? null : `the onError function of '${spec.name}' was not asked`;
  const [first] = slot.steps;
  const hopeless = latest === 'unknown' && spec.effects === 'once';
  switch (first?.kind) {
    case 'retry':
      return runs + brokenChecks < Math.min(first.maxAttempts, 2) && (!hopeless || first.whenUnknown)
        ? `'${spec.name}' was not retried`
        : null;
    case 'escalate':
    case 'throw':
      return `'${spec.name}' was to ${first.kind}, and its error was fed back`;
    case 'substitute':
      return asked.includes('substitute') ? null : `no substitute was asked for '${spec.name}'`;
    case 'fix':
    case 'sanitize':
    case 'fix-agent':
      if (first.kind === 'fix-agent' && !canPay) return null;
      return hopeless || asked.includes(first.kind) ? null : `the step ${first.kind} of '${spec.name}' was not tried`;
    default:
      return null;
  }
}

function specOf({ tools }: Situation, story: readonly Happening[], path: string): ToolSpec | undefined {
  const run = story.findLast(
    (one) => one.kind === 'started' && one.effect.name === 'callTool' && one.effect.id.startsWith(`${path}/`),
  );
  return run?.kind === 'started' ? tools.find(({ name }) => name === toolRun(run.effect)?.tool) : undefined;
}
