import type { Law, Moment } from '../law.ts';
import { callFacts } from '../call-facts.ts';
import type { Happening } from '../story.ts';
import type { ToolSpec } from '../../../tools/spec.ts';
import { isJsonObject } from '../../../parsing/json.ts';

type Move = Extract<Happening, { kind: 'moved' }>;

/** What must follow from how calls ended. */
export const routes: Law = {
  name: 'routes',
  says: 'A failed call leads to ERROR_RECOVERY, a denied one does not, a thrown one ends the run, a refused one ends it as a loop.',
  check: (moment) => {
    const ended = movesIn(moment.fresh, 'toolCall').filter(({ to }) => END.has(to));
    if (
      ended.some(({ to }) => to === 'THROWN') &&
      moment.actors[0]?.snapshot.machine.id === 'agent' &&
      moment.output?.reason !== 'thrown'
    )
      return 'a call ended as THROWN, and the run went on';
    for (const end of ended) {
      const wrong = end.actor.endsWith('/step') ? planWrong(end, moment) : null;
      if (wrong !== null) return wrong;
    }
    return batchWrong(moment);
  },
};

const END: ReadonlySet<string> = new Set(['SUCCEEDED', 'DENIED', 'FED_BACK', 'ESCALATED', 'THROWN']);
const isFailure = ({ to }: Move): boolean => to === 'FED_BACK' || to === 'ESCALATED';
const isRefusal = ({ to, from }: Move): boolean => to === 'DENIED' && from === 'CHECKING_LOOP';

function planWrong(end: Move, { fresh, output }: Moment): string | null {
  const next = movesIn(fresh.slice(fresh.indexOf(end)), 'agent')[0];
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

function batchWrong({ story, fresh, output }: Moment): string | null {
  const left = movesIn(fresh, 'agent').find(
    ({ from, to }) => from.startsWith('DIRECT_EXECUTION') && !to.startsWith('DIRECT_EXECUTION'),
  );
  if (left === undefined || ['run.cancelled', 'run.expired'].includes(left.event)) return null;
  const begun = story.findLastIndex(
    (one) =>
      one.kind === 'moved' &&
      one.machine === 'agent' &&
      one.to.startsWith('DIRECT_EXECUTION') &&
      one.from.startsWith('PLANNING'),
  );
  const calls = movesIn(story.slice(Math.max(begun, 0)), 'toolCall').filter(({ to }) => END.has(to));
  if (calls.some(({ to }) => to === 'THROWN')) return null;
  if (calls.some(isRefusal))
    return output?.reason === 'loop' ? null : 'a call was refused as a loop, and the run did not end as one';
  if (left.to === 'COMPLETION') return null;
  const failed = calls.some(isFailure);
  if (failed && !left.to.startsWith('ERROR_RECOVERY')) return `a call failed, and the agent went to ${left.to}`;
  return !failed && left.to.startsWith('ERROR_RECOVERY')
    ? 'no call failed, and the agent went to ERROR_RECOVERY'
    : null;
}

function movesIn(story: readonly Happening[], machine: string): readonly Move[] {
  return story.filter((one): one is Move => one.kind === 'moved' && one.machine === machine);
}

/** What must be tried before the model hears of a failure. */
export const recoveryTried: Law = {
  name: 'recovery',
  says: 'A failed call is not given up before the first step of its onError slot was tried, nor recovered when nothing is wrong.',
  check: (moment) => {
    for (const [index, end] of moment.fresh.entries()) {
      if (end.kind !== 'moved' || end.machine !== 'toolCall') continue;
      const upTo = moment.story.slice(0, moment.story.length - moment.fresh.length + index + 1);
      const facts = callFacts(upTo, end.actor);
      if (end.to.startsWith('RECOVERING') && !end.from.startsWith('RECOVERING')) {
        if (facts.lastLeaf === 'callTool' && facts.latest === 'done') return 'a call that had succeeded was recovered';
        if (facts.lastLeaf === 'checkArgs' && facts.accepted !== null)
          return 'arguments that the tool had accepted were rejected';
      }
      if (end.to !== 'FED_BACK' || facts.lastLeaf !== 'callTool') continue;
      const wrong = givenUpWrongly(specOf(moment, upTo, end.actor), facts);
      if (wrong !== null) return wrong;
    }
    return null;
  },
};

function givenUpWrongly(
  spec: ToolSpec | undefined,
  { runs, asked, latest }: ReturnType<typeof callFacts>,
): string | null {
  const slot = spec?.recovery.executionError;
  if (spec === undefined || slot === undefined) return null;
  if (slot.kind === 'chosen-by-code')
    return asked.includes('steps') ? null : `the onError function of '${spec.name}' was not asked`;
  const [first] = slot.steps;
  const hopeless = latest === 'unknown' && spec.effects === 'once';
  switch (first?.kind) {
    case 'retry':
      return runs < Math.min(first.maxAttempts, 2) && (!hopeless || first.whenUnknown)
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
      return hopeless || asked.includes(first.kind) ? null : `the step ${first.kind} of '${spec.name}' was not tried`;
    default:
      return null;
  }
}

function specOf({ tools }: Moment, story: readonly Happening[], path: string): ToolSpec | undefined {
  const run = story.findLast(
    (one) => one.kind === 'started' && one.effect.name === 'callTool' && one.effect.id.startsWith(`${path}/`),
  );
  const request = run?.kind === 'started' ? run.effect.request : null;
  return isJsonObject(request) ? tools.find(({ name }) => name === request.tool) : undefined;
}
