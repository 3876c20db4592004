import type { Message } from '../../actors/model.ts';
import type { AgentContext, Batch, PlanProgress, Failure, Update } from './agent-context.ts';
import {
  asTold,
  imageMessages,
  PLAN_DENIED,
  PLAN_DONE,
  PLAN_STOPPED,
  planReport,
  recoveryText,
  resultForModel,
  resultMessage,
  shortOutcome,
  toolMessage,
  userMessage,
  withMessages,
} from './agent-texts.ts';
import type { EscalationError, ToolError } from '../../json/errors.ts';
import { higher } from '../../recovery/verdicts.ts';
import { describeToolError } from '../../tools/error-text.ts';
import { MAKE_PLAN } from './system-prompt.ts';
import { type CallOutcome, type CallRequest, boundedCall, callKey } from '../tool-call/call-request.ts';
import { resultText } from '../llm-call/conversation.ts';
import { loopStepped } from '../tool-call/loop-detection.ts';
import { resolvePlaceholders } from './placeholders.ts';
import { callerOf, judged } from './planning.ts';
import { type ErrorEntry, NOTHING_SPENT, spentTogether, usageTogether } from '../contract/run-result.ts';
import type { ToolCallInput } from '../tool-call/tool-call-context.ts';

/** Keeps the outcome of one call of the batch. */
export function outcomeTaken(context: AgentContext, outcome: CallOutcome): Update {
  const { batch } = context;
  if (batch === null) return {};
  return { batch: { ...batch, outcomes: { ...batch.outcomes, [outcome.callId]: outcome } } };
}

/** The outcomes so far, in the order of the calls. */
export function outcomesInOrder(batch: Batch | null): readonly CallOutcome[] {
  if (batch === null) return [];
  return batch.calls.flatMap(({ request }) => batch.outcomes[request.callId] ?? []);
}

/** Closes the batch: one result for every call, in call order, and what follows from them. `notBegun`: stopped before they ran. */
export function batchClosed(context: AgentContext, notBegun?: ReadonlySet<string>): Update {
  const { batch } = context;
  if (batch === null) return {};
  const outcomes = outcomesInOrder(batch);
  const isHeld = batch.calls.every(({ request }) => batch.outcomes[request.callId]?.result.status !== 'error');
  const messages = inCallOrder(
    context,
    batch.calls.map(({ request }, index) => {
      const started = index < batch.started && notBegun?.has(request.callId) !== true;
      return callMessage(context, { request, outcome: batch.outcomes[request.callId], started });
    }),
    isHeld && outcomes.length === batch.calls.length,
  );
  return {
    batch: null,
    ...heldOutput(context, isHeld && outcomes.length === batch.calls.length),
    messages: withMessages(context.messages, ...messages, ...imageMessages(context, outcomes)),
    ...accounted(
      context,
      batch.calls.map(({ request }) => request),
      outcomes,
    ),
    failure: failureOf(context, outcomes, []),
  };
}

/** An answer that was given beside the calls counts once all of them have succeeded. */
function heldOutput({ reply }: AgentContext, counts: boolean): Update {
  return reply?.output == null || counts ? {} : { reply: { ...reply, output: null } };
}

/** The results in the order of the reply's calls. A plan that could not be read and an answer are answered as well. */
function inCallOrder({ reply }: AgentContext, results: readonly Message[], counts: boolean): readonly Message[] {
  if (reply === null || reply.nativeCalls.length <= results.length) return results;
  const left = [...results];
  return reply.nativeCalls.flatMap(({ id, name }): readonly Message[] => {
    if (left[0]?.toolCallId === id) return left.splice(0, 1);
    const isGiven = counts && id === reply.output?.call?.toolCallId;
    const other = name === MAKE_PLAN ? SECOND_PLAN : isGiven ? HELD : NOT_HELD;
    const cannot = `This plan cannot be run: ${reply.planError ?? 'it could not be read'}.`;
    const content = id === reply.planCallId ? cannot : other;
    return [{ role: 'tool', toolCallId: id, name, content }];
  });
}

const SECOND_PLAN = 'not run: a reply can hold only one plan';
const HELD = 'The answer was taken; the calls beside it ran first.';
const NOT_HELD = 'not used: a call beside it did not succeed. Look at its result, then give the answer again.';

function callMessage(
  context: AgentContext,
  {
    request,
    outcome,
    started,
  }: { readonly request: CallRequest; readonly outcome: CallOutcome | undefined; readonly started: boolean },
): Message {
  if (outcome !== undefined) return toolMessage(context, request, outcome.tool, outcome.result);
  return resultMessage(request, request.tool, started ? STOPPED : NOT_RUN);
}

/** What stands in the place of a result when a call was stopped while it ran. */
export const STOPPED = 'cancelled while it ran: nobody knows whether it took effect';
const NOT_RUN = 'not run: the run ended before this call';

/** Prepares the plan's next step: placeholders are replaced and the loop detection is asked. */
export function stepPrepared(context: AgentContext): Update {
  const { plan, stats } = context;
  const next = plan?.steps[plan.index];
  if (plan === null || next === undefined) return {};
  const resolved = resolvePlaceholders(
    next.args,
    plan.outcomes.map((outcome) => outcome.result),
  );
  const request: CallRequest = {
    callId: `${context.place.callPrefix}${stats.callsMade + 1}`,
    tool: next.tool,
    args: resolved.ok ? resolved.args : next.args,
    unreadable: resolved.ok ? null : { raw: JSON.stringify(next.args), reason: resolved.reason, truncated: false },
    toolCallId: null,
  };
  const { calls, loop } = judged(context, [boundedCall(request, context.settings.maxArgumentBytes)]);
  return {
    step: calls[0] ?? null,
    loop,
    stats: { ...stats, callsMade: stats.callsMade + 1 },
    stepsTaken: context.stepsTaken + 1,
  };
}

/** Keeps the outcome of the plan's step and moves on to the next. */
export function stepTaken(context: AgentContext, outcome: CallOutcome): Update {
  const { plan, step } = context;
  if (plan === null || step === null) return {};
  const after: PlanProgress = { ...plan, index: plan.index + 1, outcomes: [...plan.outcomes, outcome] };
  return { plan: after, step: null, ...accounted(context, [step.request], [outcome]) };
}

/** Hands the results of a plan to the model: it is done, or stopped at a denied step. */
export function planClosed(context: AgentContext): Update {
  const { plan } = context;
  if (plan === null) return {};
  const isDenied = plan.outcomes.at(-1)?.kind === 'tool.denied';
  const note = isDenied ? PLAN_DENIED : plan.index < plan.steps.length ? PLAN_STOPPED : PLAN_DONE;
  return { plan: null, step: null, messages: withMessages(context.messages, ...planMessages(context, plan, note)) };
}

/** Drops a plan whose step failed: what ran is reported to the model, the failure kept for ERROR_RECOVERY. */
export function planDropped(context: AgentContext): Update {
  const { plan } = context;
  if (plan === null) return {};
  const left = plan.steps.slice(plan.outcomes.length).map((step) => step.tool);
  const note = 'The plan was dropped, because a step of it failed.';
  return {
    plan: null,
    step: null,
    messages: withMessages(context.messages, ...planMessages(context, plan, note)),
    failure: failureOf(context, plan.outcomes, left),
  };
}

/** What the conversation gets of a plan that is over. */
export function planMessages(context: AgentContext, carriedOut: PlanProgress, note: string): readonly Message[] {
  const { maxToolResultChars } = context.settings;
  const outcomes = carriedOut.outcomes.map((outcome) => ({
    ...outcome,
    result: asTold(context, outcome.result),
  }));
  const plan = { ...carriedOut, outcomes };
  const images = imageMessages(context, carriedOut.outcomes);
  if (plan.toolCallId !== null) {
    const report = planReport(plan, note, maxToolResultChars);
    const results = (context.reply?.nativeCalls ?? []).map(({ id, name }): Message => {
      const content = id === plan.toolCallId ? report : 'not run: a plan was given';
      return { role: 'tool', toolCallId: id, name, content };
    });
    return [...results, ...images];
  }
  const results = plan.outcomes.map((outcome): Message => {
    return userMessage(resultText(outcome.tool, resultForModel(outcome.result, maxToolResultChars)));
  });
  return [...results, ...images, userMessage(note)];
}

/** Hands the failure to the model, which is to find another way. */
export function failureTold(context: AgentContext): Update {
  if (context.failure === null) return {};
  return {
    failure: null,
    messages: withMessages(context.messages, userMessage(recoveryText(context.task, context.failure))),
  };
}

function failureOf({ settings }: AgentContext, outcomes: readonly CallOutcome[], left: readonly string[]): Failure {
  return {
    failed: outcomes.flatMap((outcome) => {
      if (!('error' in outcome)) return [];
      const { tool, args, error } = outcome;
      const unknown = settings.texts !== undefined && isOutcomeUnknown(error);
      return [{ tool, args, error: describeToolError(error), ...(unknown ? { outcomeUnknown: true } : {}) }];
    }),
    succeeded: outcomes.filter((outcome) => outcome.kind === 'tool.succeeded').map(shortOutcome),
    left,
    escalation: worstEscalation(outcomes),
    verdict: null,
    ran: outcomes.some((outcome) => outcome.ran),
  };
}

function isOutcomeUnknown(error: ToolError): boolean {
  if (error.kind === 'escalation') return error.originalError !== undefined && isOutcomeUnknown(error.originalError);
  return error.kind === 'execution' && error.outcomeUnknown === true;
}

function worstEscalation(outcomes: readonly CallOutcome[]): EscalationError | null {
  let worst: EscalationError | null = null;
  for (const outcome of outcomes) {
    if (outcome.kind !== 'tool.escalated' || outcome.error.kind !== 'escalation') continue;
    if (worst === null || higher(worst.severity, outcome.error.severity) !== worst.severity) worst = outcome.error;
  }
  return worst;
}

/** What outcomes change in the run's stats: tools used, errors, the loop detection. */
export function accounted(
  context: AgentContext,
  requests: readonly CallRequest[],
  outcomes: readonly CallOutcome[],
): Update {
  const entries = outcomes.flatMap((outcome) => errorEntry(context, outcome));
  const ran = outcomes.filter((outcome) => outcome.ran);
  const { stats } = context;
  const spent = outcomes.reduce(
    (sum, one) => (one.spent === undefined ? sum : spentTogether(sum, one.spent)),
    NOTHING_SPENT,
  );
  const used = new Set([...stats.toolsUsed, ...ran.map((outcome) => outcome.tool)]);
  return {
    loop: roundSettled(context, requests, outcomes),
    stats: {
      ...stats,
      lastResult: outcomes.at(-1)?.result ?? stats.lastResult,
      toolCallsRun: stats.toolCallsRun + ran.length + spent.toolCalls,
      usage: spent === NOTHING_SPENT ? stats.usage : usageTogether(stats.usage, spent.usage),
      toolsUsed: used.size === stats.toolsUsed.length ? stats.toolsUsed : [...used],
      errorHistory: entries.length === 0 ? stats.errorHistory : [...stats.errorHistory, ...entries],
      lastFailure: entries.at(-1) ?? (ran.length > 0 ? null : stats.lastFailure),
    },
  };
}

/** The loop detection counts failures in a row: a round without any, after none, changes nothing. */
function roundSettled(
  { loop, toolset }: AgentContext,
  requests: readonly CallRequest[],
  outcomes: readonly CallOutcome[],
) {
  const isQuiet = outcomes.every((outcome) => !('error' in outcome)) && Object.keys(loop.context.failures).length === 0;
  if (isQuiet) return loop;
  const keys = new Map(requests.map((request) => [request.callId, callKey(toolset.tools, request)]));
  const results = outcomes.map((outcome) => ({
    key: keys.get(outcome.callId) ?? '',
    error: 'error' in outcome ? describeToolError(outcome.error) : null,
  }));
  return loopStepped(loop, { type: 'round.settled', results });
}

function errorEntry(context: AgentContext, outcome: CallOutcome): readonly ErrorEntry[] {
  if (outcome.kind === 'tool.thrown')
    return [{ code: 'thrown', message: outcome.reason, step: context.stepsTaken, tool: outcome.tool }];
  if (!('error' in outcome)) return [];
  const { error } = outcome;
  const code = error.kind === 'execution' && error.timedOut ? 'timeout' : error.kind;
  return [{ code, message: describeToolError(error), step: context.stepsTaken, tool: outcome.tool }];
}

/** The input of the plan step that was prepared. */
export function stepInput(context: AgentContext): ToolCallInput {
  const { step, toolset, settings } = context;
  const nothing: CallRequest = { callId: 'c0', tool: '', args: null, unreadable: null, toolCallId: null };
  return {
    request: step?.request ?? nothing,
    verdict: step?.verdict ?? 'clear',
    tools: toolset.tools,
    settings,
    caller: callerOf(context),
  };
}
