import { type Json, isJsonObject } from '../../../parsing/json.ts';
import { isOwn } from '../is-own.ts';
import type { Law, Moment } from '../law.ts';
import { type Happening, ownerOf } from '../story.ts';
import { textAt } from '../text-at.ts';

type Move = Extract<Happening, { kind: 'moved' }>;

/** What must follow from what the model said. */
export const turns: Law = {
  name: 'turns',
  says: 'A failed model turn ends the run, so does a reply that is refused, filtered or cut off within its answer, an unusable one is corrected twice in a row, and a plan begins with a step.',
  check: (moment) => {
    const { fresh, output } = moment;
    const failed = fresh.some((one) => isMove(one, 'llmCall') && one.to === 'FAILED');
    if (failed && moment.run.isOver() === false) return 'a model turn failed, and the run went on';
    if (failed && output !== null && output.reason !== 'llm-error' && output.reason !== 'content-filter')
      return `a model turn failed, and the run ended as ${output.reason}`;
    const wrong = endedWrongly(moment);
    if (wrong !== null) return wrong;
    const corrections = correctionsInARow(moment);
    if (fresh.some(isCorrection) && corrections > MOST + plansBegun(moment))
      return `unusable reply ${corrections} in a row was corrected again`;
    if (output?.error?.code === 'unusable-reply' && output.reason === 'llm-error' && corrections < MOST)
      return `the model was given up after ${corrections} corrections`;
    return hasEmptyPlan(moment) ? 'a plan was over before a step of it began' : null;
  },
};

/** Endings that the last reply is the reason of, and nothing else may be. */
const WITHHELD: readonly unknown[] = ['refused', 'content-filter', 'length'];

function endedWrongly({ fresh, output }: Moment): string | null {
  const turn = fresh.findLast(
    (one) => one.kind === 'settled' && one.effect.name === 'callLlm' && isOwn(ownerOf(one.effect)),
  );
  if (turn?.kind !== 'settled') return null;
  const due = turn.out.ok ? endOf(turn.out.value) : turn.out.error.code === 'content-filter' ? 'content-filter' : null;
  const ended = output?.reason ?? null;
  if (due === ended || (due === null && !WITHHELD.includes(ended))) return null;
  return `the reply was due to end the run as ${due ?? 'something else'}, and it ${ended === null ? 'went on' : `ended as ${ended}`}`;
}

function endOf(reply: Json): string | null {
  switch (textAt(reply, 'finishReason')) {
    case 'refusal':
      return 'refused';
    case 'content_filter':
      return 'content-filter';
    case 'length':
      // A call or an envelope that was cut off is told to the model.
      return isJsonObject(reply) && reply.toolCalls === undefined && !textAt(reply, 'content').startsWith('{')
        ? 'length'
        : null;
    default:
      return null;
  }
}

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
