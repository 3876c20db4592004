import { isOwn } from '../is-own.ts';
import type { Law, Moment } from '../law.ts';
import type { Happening } from '../story.ts';

type Move = Extract<Happening, { kind: 'moved' }>;

/** What must follow from what the model said. */
export const turns: Law = {
  name: 'turns',
  says: 'A failed model turn ends the run, an unusable reply is corrected twice in a row, and a plan begins with a step.',
  check: (moment) => {
    const { fresh, output } = moment;
    const failed = fresh.some((one) => isMove(one, 'llmCall') && one.to === 'FAILED');
    if (failed && moment.run.isOver() === false) return 'a model turn failed, and the run went on';
    if (failed && output !== null && output.reason !== 'llm-error')
      return `a model turn failed, and the run ended as ${output.reason}`;
    const corrections = correctionsInARow(moment);
    if (fresh.some(isCorrection) && corrections > MOST + plansBegun(moment))
      return `unusable reply ${corrections} in a row was corrected again`;
    if (output?.error?.code === 'unusable-reply' && output.reason === 'llm-error' && corrections < MOST)
      return `the model was given up after ${corrections} corrections`;
    return hasEmptyPlan(moment) ? 'a plan was over before a step of it began' : null;
  },
};

const MOST = 2;

function isMove(one: Happening, machine: string): one is Move {
  return one.kind === 'moved' && one.machine === machine && isOwn(one.actor);
}

function isCorrection(one: Happening): boolean {
  return isMove(one, 'agent') && one.from === 'PLANNING.DECIDING' && one.to === 'PLANNING.CHECKING_BUDGET';
}

function correctionsInARow({ story }: Moment): number {
  const used = story.findLastIndex((one) => isMove(one, 'agent') && /^(EXECUTING_PLAN|DIRECT_EXECUTION)/.test(one.to));
  return story.slice(used + 1).filter(isCorrection).length;
}

/** Beside corrections, the demand to answer after the last plan takes the same way, once. */
function plansBegun({ story }: Moment): number {
  return story.some((one) => isMove(one, 'agent') && one.to.startsWith('EXECUTING_PLAN')) ? 1 : 0;
}

function hasEmptyPlan({ story, fresh }: Moment): boolean {
  const begun = story.findLastIndex(
    (one) => isMove(one, 'agent') && one.from === 'PLANNING.DECIDING' && one.to.startsWith('EXECUTING_PLAN'),
  );
  if (
    begun === -1 ||
    !fresh.some(
      (one) => isMove(one, 'agent') && one.from === 'EXECUTING_PLAN.NEXT_STEP' && one.to.startsWith('PLANNING'),
    )
  )
    return false;
  return !story.slice(begun).some((one) => isMove(one, 'agent') && one.to === 'EXECUTING_PLAN.RUNNING_STEP');
}
