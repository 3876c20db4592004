import { isJsonObject, type Json } from '../../../json/json.ts';
import { type Story, begins, isOwnCheck, isOwnMove, isOwnTurn, textAt, wasHandedOver } from '../walk/story.ts';
import { issuesOf } from '../../../parsing/schema/fit.ts';
import type { Law } from './law.ts';

/** How a run may end. */
export const ends: Law = {
  name: 'ends',
  says: 'Every path ends in COMPLETION, with a result that says why; no machine ends in an error.',
  check: ({ actors, run, output, settings, fresh }) => {
    if (run.isEndless()) return 'a machine made transitions without end, waiting for nothing';
    const failed = fresh.find((one) => one.kind === 'moved' && MACHINE_FAILED.test(one.event));
    if (failed?.kind === 'moved') return `a machine within ${failed.actor} ended in an error (${failed.event})`;
    const broken = actors.find(({ snapshot }) => snapshot.status === 'error');
    if (broken !== undefined) return `${broken.path} ended in an error: ${messageOf(broken.snapshot.error)}`;
    if (!run.isOver() || settings === null || output === null) return null;
    if (actors[0]?.state !== 'COMPLETION' || output.states.at(-1) !== 'COMPLETION')
      return `the run was over in ${actors[0]?.state ?? 'no state'}`;
    return output.error?.message === '' || output.result.includes('without a reason')
      ? 'the run ended without a reason'
      : null;
  },
};

/** A call or a turn of the model that did not end by itself. */
const MACHINE_FAILED = /^(?:llmCall|step|childAgent|c[\d.r-]+)\.failed$/;

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : JSON.stringify(error);
}

/** What must not be left behind. */
export const nothingLeft: Law = {
  name: 'nothing-left',
  says: 'A finished run leaves nothing open, and a cancel ends it at once, as cancelled.',
  check: ({ run, fresh, output }) => {
    const cancelled = fresh.some((one) => one.kind === 'told' && one.event.type === 'run.cancelled' && one.to === null);
    if (cancelled && !run.isOver()) return 'the run was cancelled and went on';
    if (cancelled && output !== null && output.reason !== 'cancelled')
      return `the run was cancelled and ended as ${output.reason}`;
    if (!run.isOver() || run.open.size === 0) return null;
    return `the run was over, and ${[...run.open.keys()].join(', ')} was left open`;
  },
};

/** What may be called a success. */
export const honesty: Law = {
  name: 'honesty',
  says: 'Success is reported only for an answer of the model.',
  check: ({ story, output, schema }) => {
    if (output === null) return null;
    const { success, status, reason, result } = output;
    if (success !== (status === 'answered') || success !== (reason === 'answer'))
      return `success is ${success}, the status ${status} and the reason ${reason}`;
    // A task that was handed over is answered by the agent that took it.
    if (!success || schema !== null || wasHandedOver(story)) return null;
    const last = story.findLast(isOwnTurn);
    const reply = last?.out.ok === true && isJsonObject(last.out.value) ? last.out.value : {};
    if (reply.finishReason === 'length') return 'an answer that was cut off counted as an answer';
    return result !== '' && textAt(reply, 'content').includes(result) ? null : 'success was claimed without an answer';
  },
};

/** What an answer that has a schema must be. */
export const fittingOutput: Law = {
  name: 'output',
  says: 'Success means an answer that fits its schema, a failure has none, no tool runs while it is checked, and it is corrected at most twice.',
  check: ({ story, output, schema }) => {
    if (schema === null) return null;
    const own = story.filter((one) => one.kind !== 'moved' || isOwnMove(one));
    const corrections = own.filter(
      (one) => one.kind === 'moved' && one.from === 'PLANNING.DELIVERING.CORRECTING' && one.to.startsWith('PLANNING'),
    ).length;
    if (corrections > 2) return `an answer was corrected for the ${corrections}th time`;
    const checked = own.findLastIndex((one) => one.kind === 'moved' && one.to === 'PLANNING.DELIVERING.CHECKING');
    const after = own.slice(checked + 1);
    const left = after.findIndex((one) => one.kind === 'moved');
    const during = checked === -1 ? [] : after.slice(0, left === -1 ? undefined : left);
    if (during.some((one) => begins(one, 'callTool'))) return 'a tool ran after the answer was given';
    if (output === null) return null;
    const value = output.output;
    if (value === undefined) return output.success ? 'success was claimed without an answer' : null;
    if (output.status !== 'answered' && output.status !== 'stopped')
      return `an answer stands beside the status ${output.status}`;
    const [issue] = issuesOf(acceptedValue(story) ?? value, schema);
    return issue === undefined ? null : `the answer does not fit its schema: ${issue.path} ${issue.message}`;
  },
};

/** What code accepted as the answer, before it made anything of it; undefined: it accepted none. */
function acceptedValue(story: Story): Json | undefined {
  const check = story.findLast(isOwnCheck);
  const isAccepted = check?.out.ok === true && isJsonObject(check.out.value) && check.out.value.ok === true;
  return isAccepted && isJsonObject(check.effect.request) ? check.effect.request.value : undefined;
}

/** What the model receives before it is asked again. */
export const oneResult: Law = {
  name: 'results',
  says: 'Every call id gets exactly one result, in call order, before the model is asked again.',
  check: ({ fresh, output }) => {
    for (const one of fresh) {
      if (one.kind !== 'started' || one.effect.name !== 'callLlm' || !isJsonObject(one.effect.request)) continue;
      const wrong = unanswered(one.effect.request.messages);
      if (wrong !== null) return wrong;
    }
    return output === null ? null : unanswered(output.messages);
  },
};

function unanswered(messages: unknown): string | null {
  if (!Array.isArray(messages)) return null;
  let due: string[] = [];
  for (const message of messages.filter(isJsonObject)) {
    if (message.role === 'tool') {
      const next = due.shift();
      if (next !== message.toolCallId)
        return `a result of ${textAt(message, 'toolCallId')} came where ${next ?? 'none'} was due`;
      continue;
    }
    if (due.length > 0) return `${due.join(', ')} got no result`;
    due = Array.isArray(message.toolCalls)
      ? message.toolCalls.filter(isJsonObject).map((call) => textAt(call, 'id'))
      : [];
  }
  return due.length > 0 ? `${due.join(', ')} got no result` : null;
}

/** The budget of steps. That it falls on every cycle is checked on the graph of all states. */
export const stepBudget: Law = {
  name: 'budget',
  says: 'The step budget shrinks on every cycle, and no step beyond maxSteps begins.',
  check: ({ story, settings, output }) => {
    if (settings === null) return null;
    const steps = entered(story, 'PLANNING.ASKING') + entered(story, 'EXECUTING_PLAN.RUNNING_STEP');
    if (steps > settings.maxSteps) return `step ${steps} began, and maxSteps is ${settings.maxSteps}`;
    return output?.reason === 'max-steps' && steps < settings.maxSteps && !wasHandedOver(story)
      ? `the run ended at the step limit after ${steps} of ${settings.maxSteps} steps`
      : null;
  },
};

/** The number of plans. */
export const planLimit: Law = {
  name: 'plans',
  says: 'No more than maxPlanIterations plans are run, and none within that limit is refused.',
  check: ({ story, settings, output, fresh }) => {
    if (settings === null || settings.maxPlanIterations === 0) return null;
    const plans = story.filter(
      (one) => isOwnMove(one) && one.from === 'PLANNING.DECIDING' && one.to.startsWith('EXECUTING_PLAN'),
    ).length;
    if (plans > settings.maxPlanIterations)
      return `plan ${plans} was carried out, and maxPlanIterations is ${settings.maxPlanIterations}`;
    const refused = output?.reason === 'plan-limit' && fresh.some((one) => isOwnMove(one));
    return refused && plans < settings.maxPlanIterations
      ? `the run ended at the plan limit after ${plans} plans`
      : null;
  },
};

/** The option `budget`. */
export const spending: Law = {
  name: 'spending',
  says: 'No call runs beyond budget.maxToolCalls, no model turn begins once budget.maxTokens is spent, and usage counts every reply.',
  check: ({ story, settings, fresh, output, schema }) => {
    if (settings === null) return null;
    const { maxToolCalls, maxTokens } = settings.budget;
    const calls = new Set(
      story.flatMap((one) => (begins(one, 'callTool') ? [textAt(one.effect.request, 'callId')] : [])),
    ).size;
    if (maxToolCalls !== null && calls > maxToolCalls) return `call ${calls} ran, and maxToolCalls is ${maxToolCalls}`;
    const spent = tokensSpent(story);
    // A server may say any number, and sums of those depend on their order.
    if (output !== null && Math.abs(output.usage.totalTokens - spent) > spent / 2 ** 50)
      return `the run used ${spent} tokens, and its usage counts ${output.usage.totalTokens}`;
    const isEarly = maxToolCalls === null && (maxTokens === null || spent < maxTokens);
    if (output?.reason === 'budget' && isEarly && !wasHandedOver(story))
      return `the run ended at its budget after ${calls} calls and ${spent} tokens`;
    const turn = fresh.some((one) => isOwnMove(one) && one.to === 'PLANNING.ASKING');
    const isKept = schema !== null && turnsAfter(story, maxTokens) === 1;
    return maxTokens !== null && turn && spent >= maxTokens && !isKept
      ? `a model turn began after ${spent} of ${maxTokens} tokens`
      : null;
  },
};

/** How many tokens have been used, those of agents below included. */
export function tokensSpent(story: Story): number {
  return story.reduce((sum, one) => sum + (one.kind === 'settled' && one.out.ok ? tokensOf(one.out.value) : 0), 0);
}

/** How many turns began after the tokens were spent: one is kept for an answer that has a schema. */
function turnsAfter(story: Story, maxTokens: number | null): number {
  let spent = 0;
  let turns = 0;
  for (const one of story)
    if (one.kind === 'settled' && one.out.ok) spent += tokensOf(one.out.value);
    else if (isOwnMove(one) && one.to === 'PLANNING.ASKING' && maxTokens !== null && spent >= maxTokens) turns += 1;
    // What a person says meanwhile voids the turn.
    else if (isOwnMove(one) && one.event === 'message.steered' && one.to !== one.from) turns = Math.max(0, turns - 1);
  return turns;
}

function tokensOf(value: Json): number {
  if (!isJsonObject(value) || !isJsonObject(value.usage)) return 0;
  return typeof value.usage.totalTokens === 'number' ? value.usage.totalTokens : 0;
}

/** How often the agent came into a state, itself and not one within it. */
function entered(story: Story, state: string): number {
  return story.filter((one) => isOwnMove(one) && one.to === state).length;
}
