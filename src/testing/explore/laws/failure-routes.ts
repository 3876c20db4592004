import { isOwn, type Happening, isBirth, toolRun } from '../walk/story.ts';
import type { Law, Situation } from './law.ts';

type Taken = Extract<Happening, { kind: 'moved' }>;

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
const isFailure = ({ to }: Taken): boolean => to === 'FED_BACK' || to === 'ESCALATED';
const isRefusal = ({ to, from }: Taken): boolean => to === 'DENIED' && from === 'CHECKING_LOOP';

function planWrong(end: Taken, { fresh, output }: Situation): string | null {
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
    (one) =>
      one.kind === 'moved' &&
      one.machine === 'agent' &&
      isOwn(one.actor) &&
      one.to.startsWith('DIRECT_EXECUTION') &&
      one.from.startsWith('PLANNING'),
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

function transitionsIn(story: readonly Happening[], machine: string): readonly Taken[] {
  return story.filter((one): one is Taken => one.kind === 'moved' && one.machine === machine && isOwn(one.actor));
}

/** A critical escalation that no one is asked about ends the run, and nothing else ends it with that reason. */
function escalationWrong({ story, fresh, output, tools }: Situation, ended: readonly Taken[]): string | null {
  const escalated = transitionsIn(story, 'toolCall').some(({ to }) => to === 'ESCALATED');
  if (output?.reason === 'tool-error' && story.length > fresh.length && !escalated)
    return 'the run ended as a tool error, and no call had escalated';
  const assessed = transitionsIn(fresh, 'agent').some(({ from }) => from === 'ERROR_RECOVERY.ASSESSING');
  const asked = story.some((one) => one.kind === 'started' && one.effect.name === 'askEscalation');
  const critical = ended.some((end) => end.to === 'ESCALATED' && isCritical(end, { story, tools }));
  return assessed && critical && !asked && output === null
    ? 'a critical escalation was handled by no agent, and the run continued'
    : null;
}

/** True if every way in which this tool escalates is critical, and no fixer was involved. */
function isCritical({ actor }: Taken, { story, tools }: Pick<Situation, 'story' | 'tools'>): boolean {
  const run = story.findLast(
    (one) => one.kind === 'started' && one.effect.name === 'callTool' && one.effect.id.startsWith(`${actor}/`),
  );
  const told = story.some((one) => one.kind === 'settled' && one.effect.name === 'runFixer');
  const spec = run?.kind === 'started' ? tools.find(({ name }) => name === toolRun(run.effect)?.tool) : undefined;
  const steps = Object.values(spec?.recovery ?? {}).flatMap((slot) => (slot?.kind === 'steps' ? slot.steps : []));
  const severities = steps.flatMap((step) => (step.kind === 'escalate' ? [step.severity] : []));
  return !told && severities.length > 0 && severities.every((severity) => severity === 'critical');
}
