import type { StepData } from '../../../recovery/plan-data.ts';
import type { ToolSpec } from '../../../tools/spec.ts';
import {
  type CallFacts,
  type Moved,
  type Story,
  begins,
  callFacts,
  isBirth,
  isOwn,
  isOwnMove,
  ownerOf,
  toolRun,
} from '../walk/story.ts';
import { type Law, type Situation, news } from './law.ts';
import { tokensSpent } from './whole-run.ts';

/** What must be tried before the model sees a failure. */
export const recoveryTried: Law = {
  name: 'recovery',
  says: 'A failed call is not abandoned before the first step of its onError slot was tried, and no other call is recovered.',
  check: (situation) => {
    for (const { one: end, before } of news(situation)) {
      if (begins(end, 'callTool') && isOwn(ownerOf(end.effect))) {
        const wrong = repeatedWrongly(situation, before.length);
        if (wrong !== null) return wrong;
      }
      if (!isOwnMove(end, 'toolCall')) continue;
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
  const isByCode = Object.values(spec?.recovery ?? {}).some((slot) => slot.kind !== 'steps');
  if (spec === undefined || runs === 0 || isByCode) return null;
  const steps = stepsOf(spec);
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

/** The tool that the call at a path has run. */
function specOf({ tools }: Pick<Situation, 'tools'>, story: Story, path: string): ToolSpec | undefined {
  const run = story.findLast((one) => begins(one, 'callTool') && one.effect.id.startsWith(`${path}/`));
  return run?.kind === 'started' ? tools.find(({ name }) => name === toolRun(run.effect)?.tool) : undefined;
}

/** The steps of all slots of a tool that has them as data. */
function stepsOf({ recovery }: ToolSpec): readonly StepData[] {
  return Object.values(recovery).flatMap((slot) => (slot.kind === 'steps' ? slot.steps : []));
}

/** What must follow from how calls ended. */
export const routes: Law = {
  name: 'routes',
  says: 'A failed call leads to ERROR_RECOVERY, a denied one does not, a thrown one ends the run, a refused one ends it as a loop.',
  check: (situation) => {
    const ended = transitionsIn(situation.fresh, 'toolCall').filter(({ to }) => END.has(to));
    if (
      ended.some(({ to }) => to === 'THROWN') &&
      situation.actors[0]?.snapshot.machine.id === 'agent' &&
      situation.output?.reason !== 'thrown'
    )
      return 'a call ended as THROWN, and the run went on';
    for (const end of ended) {
      const wrong = end.actor.endsWith('/step') ? planWrong(end, situation) : null;
      if (wrong !== null) return wrong;
    }
    return batchWrong(situation) ?? escalationWrong(situation, ended);
  },
};

const END: ReadonlySet<string> = new Set(['SUCCEEDED', 'DENIED', 'FED_BACK', 'ESCALATED', 'THROWN']);
const isFailure = ({ to }: Moved): boolean => to === 'FED_BACK' || to === 'ESCALATED';
const isRefusal = ({ to, from }: Moved): boolean => to === 'DENIED' && from === 'CHECKING_LOOP';

function planWrong(end: Moved, { fresh, output }: Situation): string | null {
  const next = transitionsIn(fresh.slice(fresh.indexOf(end)), 'agent')[0];
  if (next === undefined) return null;
  if (isFailure(end) && !next.to.startsWith('ERROR_RECOVERY'))
    return `a step of a plan failed, and the agent went to ${next.to}`;
  if (isRefusal(end) && output?.reason !== 'loop')
    return 'a step was refused as a loop, and the run did not end as one';
  if (end.to === 'DENIED' && !isRefusal(end) && !next.to.startsWith('PLANNING'))
    return `a step of a plan was denied, and the agent went to ${next.to}`;
  if (end.to === 'SUCCEEDED' && !next.to.startsWith('EXECUTING_PLAN'))
    return `a step of a plan succeeded, and the agent went to ${next.to}`;
  return null;
}

function batchWrong({ story, fresh, output }: Situation): string | null {
  const left = transitionsIn(fresh, 'agent').find(
    ({ from, to }) => from.startsWith('DIRECT_EXECUTION') && !to.startsWith('DIRECT_EXECUTION'),
  );
  if (left === undefined || ['run.cancelled', 'run.expired', 'run.abandoned'].includes(left.event)) return null;
  const begun = story.findLastIndex(
    (one) => isOwnMove(one) && one.to.startsWith('DIRECT_EXECUTION') && one.from.startsWith('PLANNING'),
  );
  const calls = transitionsIn(story.slice(Math.max(begun, 0)), 'toolCall').filter(({ to }) => END.has(to));
  if (calls.some(({ to }) => to === 'THROWN')) return null;
  if (calls.some(isRefusal))
    return output?.reason === 'loop' ? null : 'a call was refused as a loop, and the run did not end as one';
  if (left.to === 'COMPLETION') return null;
  const started = story.slice(Math.max(begun, 0)).filter((one) => isBirth(one) && isOwn(one.actor)).length;
  if (started > calls.length) return `${started - calls.length} calls were under way, and the agent went to ${left.to}`;
  const failed = calls.some(isFailure);
  if (failed && !left.to.startsWith('ERROR_RECOVERY')) return `a call failed, and the agent went to ${left.to}`;
  return !failed && left.to.startsWith('ERROR_RECOVERY')
    ? 'no call failed, and the agent went to ERROR_RECOVERY'
    : null;
}

function transitionsIn(story: Story, machine: string): readonly Moved[] {
  return story.filter((one): one is Moved => isOwnMove(one, machine));
}

/** A critical escalation that no one is asked about ends the run, and nothing else ends it with that reason. */
function escalationWrong({ story, fresh, output, tools }: Situation, ended: readonly Moved[]): string | null {
  const escalated = transitionsIn(story, 'toolCall').some(({ to }) => to === 'ESCALATED');
  if (output?.reason === 'tool-error' && story.length > fresh.length && !escalated)
    return 'the run ended as a tool error, and no call had escalated';
  const assessed = transitionsIn(fresh, 'agent').some(({ from }) => from === 'ERROR_RECOVERY.ASSESSING');
  const asked = story.some((one) => begins(one, 'askEscalation'));
  const critical = ended.some((end) => end.to === 'ESCALATED' && isCritical(end, { story, tools }));
  return assessed && critical && !asked && output === null
    ? 'a critical escalation was handled by no agent, and the run continued'
    : null;
}

/** True if every way in which this tool escalates is critical, and no fixer was involved. */
function isCritical({ actor }: Moved, { story, tools }: Pick<Situation, 'story' | 'tools'>): boolean {
  const told = story.some((one) => one.kind === 'settled' && one.effect.name === 'runFixer');
  const spec = specOf({ tools }, story, actor);
  const steps = spec === undefined ? [] : stepsOf(spec);
  const severities = steps.flatMap((step) => (step.kind === 'escalate' ? [step.severity] : []));
  return !told && severities.length > 0 && severities.every((severity) => severity === 'critical');
}
