import { type Json, isJsonObject } from '../../../json/json.ts';
import type { RunReason } from '../../../machines/contract/run-result.ts';
import { type Happening, isBirth, isOwnMove, isOwnTurn, textAt } from '../walk/story.ts';
import type { Law, Situation } from './law.ts';
import { tokensSpent } from './whole-run.ts';

/** What must follow from what the model said. */
export const turns: Law = {
  name: 'turns',
  says: 'A model turn that failed, was refused, filtered or cut off in its answer ends the run; unusable replies are corrected at most twice in a row; a plan begins with a step.',
  check: (situation) => {
    const { fresh, output } = situation;
    const failed = fresh.some((one) => isOwnMove(one, 'llmCall') && one.to === 'FAILED');
    if (failed && situation.run.isOver() === false) return 'a model turn failed, and the run went on';
    if (failed && output !== null && output.reason !== 'llm-error' && output.reason !== 'content-filter')
      return `a model turn failed, and the run ended as ${output.reason}`;
    const wrong = endedWrongly(situation, failed);
    if (wrong !== null) return wrong;
    const { inARow, sinceSteer } = corrections(situation);
    if (fresh.some(isCorrection) && sinceSteer > MOST + plansBegun(situation))
      return `unusable reply ${inARow} in a row was corrected again`;
    if (output?.error?.code === 'unusable-reply' && output.reason === 'llm-error' && inARow < MOST)
      return `the model was given up after ${inARow} corrections`;
    return hasEmptyPlan(situation) ? 'a plan was over before a step of it began' : null;
  },
};

/** A reply that is withheld or cut off within its answer ends the run as that; nothing else does. */
function endedWrongly({ fresh, output, actors, schema }: Situation, failed: boolean): string | null {
  const turn = fresh.findLast(isOwnTurn);
  // A model turn that is explored by itself is part of no run.
  if (actors[0]?.snapshot.machine.id !== 'agent') return null;
  if (turn === undefined || (!turn.out.ok && !failed)) return null;
  const told = ENDS.get(turn.out.ok ? textAt(turn.out.value, 'finishReason') : turn.out.error.code);
  const ended = output?.reason;
  // An answer that has a schema is asked for again where it was cut off.
  if (told === 'length' && schema !== null) return null;
  if (told === ended || (told === 'length' && turn.out.ok && !isPlainText(turn.out.value))) return null;
  if (told !== undefined)
    return `the run should have ended as ${told}, and ${ended === undefined ? 'went on' : `ended as ${ended}`}`;
  return WITHHELD.has(ended) ? `the run ended as ${ended}, and the server had not said so` : null;
}

/** How servers say that a reply is not what the model wanted to say. */
const ENDS: ReadonlyMap<string, RunReason> = new Map([
  ['refusal', 'refused'],
  ['content_filter', 'content-filter'],
  ['content-filter', 'content-filter'],
  ['length', 'length'],
]);

const WITHHELD: ReadonlySet<RunReason | undefined> = new Set(ENDS.values());

/** A call or an envelope that was cut off may be reported to the model instead. */
function isPlainText(reply: Json): boolean {
  return isJsonObject(reply) && reply.toolCalls === undefined && !/[{<]/.test(textAt(reply, 'content'));
}

const STEPS: ReadonlySet<string> = new Set(['PLANNING.ASKING', 'EXECUTING_PLAN.RUNNING_STEP']);
const MOST = 2;

function isCorrection(one: Happening): boolean {
  return isOwnMove(one) && one.from === 'PLANNING.DECIDING' && one.to === 'PLANNING.CHECKING_BUDGET';
}

/**
 * What is used, a call, a plan or an answer that is held against its schema, ends a row. A message that arrives together
 * with an answer is handled like a correction, and the count restarts after it.
 */
function corrections({ story }: Situation) {
  const used = story.findLastIndex(
    (one) => isOwnMove(one) && /^(EXECUTING_PLAN|DIRECT_EXECUTION|PLANNING\.DELIVERING)/.test(one.to),
  );
  const row = story.slice(used + 1);
  const steered = row.findLastIndex((one) => one.kind === 'told' && textAt(one.event, 'type') === 'message.steered');
  const behind = row.slice(steered + 1).filter(isCorrection).length;
  return { inARow: row.filter(isCorrection).length, sinceSteer: steered === -1 ? behind : behind - 1 };
}

/** Beside corrections, the demand to answer after the last plan takes the same way, once. */
function plansBegun({ story }: Situation): number {
  return story.some((one) => isOwnMove(one) && one.to.startsWith('EXECUTING_PLAN')) ? 1 : 0;
}

function hasEmptyPlan({ story, fresh, schema, settings }: Situation): boolean {
  const begun = story.findLastIndex(
    (one) => isOwnMove(one) && one.from === 'PLANNING.DECIDING' && one.to.startsWith('EXECUTING_PLAN'),
  );
  if (
    begun === -1 ||
    !fresh.some((one) => isOwnMove(one) && one.from === 'EXECUTING_PLAN.NEXT_STEP' && one.to.startsWith('PLANNING'))
  )
    return false;
  // The last step of the run is kept for an answer that has a schema.
  const steps = story.slice(0, begun).filter((one) => isOwnMove(one) && STEPS.has(one.to)).length;
  if (schema !== null && steps === (settings?.maxSteps ?? 0) - 1) return false;
  // So it is once the calls of the budget are made, delegated ones included.
  const births = story.slice(0, begun).filter(isBirth).length;
  if (schema !== null && births >= (settings?.budget.maxToolCalls ?? Infinity)) return false;
  // And once the tokens are spent, by the reply that proposed the plan as well.
  if (schema !== null && tokensSpent(story.slice(0, begun)) >= (settings?.budget.maxTokens ?? Infinity)) return false;
  return !story.slice(begun).some((one) => isOwnMove(one) && one.to === 'EXECUTING_PLAN.RUNNING_STEP');
}
