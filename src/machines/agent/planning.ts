import { usageOfReply, usageTogether } from '../contract/run-result.ts';
import type { ComposePromptInput } from '../../actors/compose-prompt.ts';
import type { LeafError } from '../../actors/journal.ts';
import type { ToolCalling } from '../../actors/model.ts';
import type { TextCalls } from '../../parsing/reply/reply-source.ts';
import type { OutputSpec, Toolset } from '../contract/agent-setup.ts';
import type { AgentContext, Ending, PlannedCall, PlanProgress, Update } from './agent-context.ts';
import {
  assistantMessage,
  callWrittenText,
  correctionFor,
  planLimitText,
  refuseCalls,
  userMessage,
  withMessages,
} from './agent-texts.ts';
import { type CallRequest, callKey, isPolling } from '../tool-call/call-request.ts';
import type { Caller } from '../tool-call/tool-call-context.ts';
import { lookUp } from '../../tools/lookup.ts';
import { knownCalls, shortenOlderResults, toJsonMode, withoutRefused } from '../llm-call/conversation.ts';
import type { LlmCallOutput } from '../llm-call/llm-call.ts';
import { type ModelList, askedModel, learned } from '../llm-call/model-list.ts';
import { type LoopVerdict, loopStepped } from '../tool-call/loop-detection.ts';
import { mayAskAgent } from '../tool-call/recovery-progress.ts';
import { withTypedAnswer } from './read-answer.ts';
import { type ReadReply, inJsonMode, readReply } from './read-reply.ts';

/** Takes a model's reply: reads it, keeps it in the conversation, counts what it cost. */
export function takenReply(context: AgentContext, output: LlmCallOutput): Update {
  if (output.kind === 'model.failed') return {};
  return output.list === null ? replyRead(context, output) : listedReplyRead(context, output, output.list);
}

/** Of several models each is read by how it has called itself. */
function listedReplyRead(context: AgentContext, output: Replied, list: ModelList): Update {
  const { runInfo, stats } = context;
  const read = replyRead({ ...context, stats: { ...stats, heldTo: askedModel(list)?.heldTo ?? null } }, output);
  const { toolCalling } = output;
  const models = learned(list, { toolCalling, heldTo: read.stats?.heldTo ?? null });
  return { ...read, runInfo: runInfo === null ? null : { ...runInfo, models } };
}

type Replied = Extract<LlmCallOutput, { readonly kind: 'model.replied' }>;

function replyRead(context: AgentContext, output: Replied): Update {
  const isWorded = output.toolCalling === context.toolCalling || context.runInfo?.models != null;
  const before = isWorded ? context.messages : toJsonMode(context.messages);
  const { shortened, leftOut = 0 } = output;
  const messages = shortened ? shortenOlderResults(before, context.settings) : before;
  const { output: shown } = context.shown;
  const { history } = context.stats;
  const replied = readReply({
    reply: output.reply,
    tools: context.toolset.tools,
    toolCalling: output.toolCalling,
    textCalls: textCallsOf(context, output.toolCalling),
    heldTo: output.toolCalling === 'json' && context.settings.textCalls === undefined ? context.stats.heldTo : null,
    firstCall: context.stats.callsMade + 1,
    callPrefix: context.place.callPrefix,
    isKnownId: knownCalls(messages),
    plans: context.settings.plans ?? true,
    maxArgumentBytes: context.settings.maxArgumentBytes,
    shown,
  });
  const how = { shown, toolCalling: output.toolCalling, answers: context.settings.answers };
  const read = withTypedAnswer(replied, how);
  const reply = output.toolCalling === 'json' ? inJsonMode(read) : read;
  const spent = usageOfReply(output.reply);
  return {
    reply,
    messages: withMessages(messages, ...assistantMessage(reply, output.reply.providerState)),
    toolCalling: output.toolCalling,
    override: context.override.model === '' ? context.override : { ...context.override, model: '' },
    stats: {
      ...context.stats,
      history: leftOut === 0 ? history : { ...history, leftOut: history.leftOut + leftOut },
      callsMade: context.stats.callsMade + replied.calls.length,
      usage: spent === null ? context.stats.usage : usageTogether(context.stats.usage, spent),
      unusableInARow: isUsable(reply) ? 0 : context.stats.unusableInARow + 1,
      heldTo: context.override.model === '' ? heldTo(context, output.toolCalling, reply) : context.stats.heldTo,
    },
  };
}

/**
 * Which text of a reply may become a call: by the option, else by the way of calling tools. A model that calls natively
 * is held to that, so that nothing that it quotes is run.
 */
export function textCallsOf({ settings, runInfo, stats, override }: AgentContext, mode: ToolCalling): TextCalls {
  if (settings.textCalls !== undefined) return settings.textCalls;
  if (mode === 'json') return 'narrated';
  const held = override.model === '' && (stats.heldTo === NATIVE || runInfo?.callsNatively === true);
  return held || settings.toolCalling === 'native' ? 'never' : 'whole-reply';
}

/** The way of calling that the model has shown: the native one, or in json mode the first format that it wrote. */
function heldTo({ stats }: AgentContext, mode: ToolCalling, reply: ReadReply): string | null {
  if (mode === 'native') return reply.nativeCalls.length > 0 ? NATIVE : stats.heldTo;
  return stats.heldTo === null || stats.heldTo === NATIVE ? reply.form : stats.heldTo;
}

const NATIVE = 'native';

/**
 * True for a text that ends with a call in the model's own format, or in the envelope if that was requested, from a model
 * that has never called natively. Only if a turn is left to ask in: otherwise the text would be lost to the limit.
 */
export function endsWithWrittenCall(context: AgentContext): boolean {
  const { reply, stats, runInfo, toolCalling, stepsTaken, settings } = context;
  const notRun = reply?.notRun ?? null;
  if (notRun === null || !notRun.last || stats.callQuestioned) return false;
  if (stepsTaken >= settings.maxSteps || isTokenBudgetSpent(context)) return false;
  if (stats.heldTo === NATIVE || runInfo?.callsNatively === true) return false;
  return notRun.marked || (toolCalling === 'json' && notRun.form === 'envelope');
}

/** Asks the model what the call at the end of its text is: one to make, or a part of the answer. */
export function callQuestioned(context: AgentContext): Update {
  const text = callWrittenText(context.reply?.notRun?.tool ?? '');
  return {
    messages: withMessages(context.messages, userMessage(text)),
    stats: { ...context.stats, callQuestioned: true },
  };
}

/** True when the reply says what to do: answer, call or plan. */
function isUsable(reply: ReadReply): boolean {
  if (reply.plan !== null || reply.calls.length > 0 || reply.output !== null) return true;
  return reply.answer !== null && !reply.cut && reply.planError === null;
}

/** True when an answer, or the thinking before it, ran into the length limit. Asked again, the model would run into it again. */
export function isAnswerCut({ reply }: AgentContext): boolean {
  if (reply?.ended !== 'length') return false;
  // Text that is not an answer is empty or only thoughts.
  return reply.answer !== null || reply.strategy === 'text';
}

/** Tells the model what was wrong with its reply. */
export function corrected(context: AgentContext): Update {
  const { reply, stats } = context;
  if (reply === null) return {};
  const text = correctionFor(reply);
  return {
    messages: withMessages(context.messages, ...refuseCalls(reply, text), userMessage(text)),
    stats: {
      ...stats,
      errorHistory: [...stats.errorHistory, { code: 'unusable-reply', message: text, step: context.stepsTaken }],
    },
  };
}

/** Tells the model to answer, because it has planned often enough. */
export function planRefused(context: AgentContext): Update {
  if (context.reply === null) return {};
  const text = planLimitText(context.settings.maxPlanIterations);
  return {
    stats: { ...context.stats, plansRefused: context.stats.plansRefused + 1 },
    messages: withMessages(context.messages, ...refuseCalls(context.reply, text), userMessage(text)),
  };
}

/** Sets out on the plan of the reply. Calls beside it are answered as not run, once the plan is over. */
export function planTaken(context: AgentContext): Update {
  const { reply } = context;
  if (reply === null || reply.plan === null) return {};
  const plan: PlanProgress = { steps: reply.plan, index: 0, outcomes: [], toolCallId: reply.planCallId };
  return { plan, stats: { ...context.stats, planIterations: context.stats.planIterations + 1 } };
}

/** Prepares the calls of the reply: each gets its loop verdict, in order, before any of them starts. */
export function batchPrepared(context: AgentContext): Update {
  const requests = context.reply?.calls ?? [];
  const { calls, loop } = judged(context, requests);
  const refused = calls.findIndex((call) => call.verdict === 'refuse');
  const runnable = Math.min(calls.length, refused === -1 ? Infinity : refused + 1, affordableCalls(context, calls));
  const endsRun = runnable === refused + 1 && refused !== -1 ? 'loop' : runnable < calls.length ? 'budget' : null;
  return { batch: { calls, runnable, endsRun, started: 0, outcomes: {} }, loop };
}

/** A batch whose tools have changed: a call that could not run when it was prepared may run now, and has to fit as well. */
export function batchRejudged(context: AgentContext): Update {
  const { batch } = context;
  if (batch === null) return {};
  const begun = batch.calls.slice(0, batch.started).map(({ request }) => batch.outcomes[request.callId]);
  const spent = begun.reduce((sum, one) => sum + (one?.ran === false ? 0 : 1) + (one?.spent?.toolCalls ?? 0), 0);
  const affordable = batch.started + affordableCalls(context, batch.calls.slice(batch.started, batch.runnable), spent);
  return affordable >= batch.runnable ? {} : { batch: { ...batch, runnable: affordable, endsRun: 'budget' } };
}

/** How many calls fit into what others leave of the budget; a call that cannot run costs nothing. */
function affordableCalls({ settings, stats, toolset }: AgentContext, calls: readonly PlannedCall[], spent = 0): number {
  const { maxToolCalls } = settings.budget;
  if (maxToolCalls === null) return calls.length;
  let left = maxToolCalls - stats.toolCallsRun - spent;
  const over = calls.findIndex(({ request }) => {
    const found = lookUp(toolset.tools, request.tool);
    const mayRun = found.ok && found.spec.enabled && found.spec.policy !== 'deny';
    return mayRun && --left < 0;
  });
  return over === -1 ? calls.length : over;
}

/** Asks the loop detection about calls, in order, up to the first that it refuses. */
export function judged(context: AgentContext, requests: readonly CallRequest[]) {
  let { loop } = context;
  let over = false;
  const calls: PlannedCall[] = requests.map((request) => {
    if (over || isPolling(context.toolset.tools, request)) return { request, verdict: 'clear' };
    loop = loopStepped(loop, { type: 'call.proposed', key: callKey(context.toolset.tools, request) });
    const verdict: LoopVerdict = loop.context.verdict;
    over = verdict === 'refuse';
    return { request, verdict };
  });
  return { calls, loop };
}

/** The end of a run whose model gave no reply. What its server has refused is not sent with later messages. */
export function turnFailed(context: AgentContext, error: LeafError): Update {
  const { code, message } = error;
  const ending: Ending =
    code === 'content-filter'
      ? { reason: code, result: message, error: { code, message, step: context.stepsTaken } }
      : llmErrorEnding(context, error);
  return { ending, messages: withoutRefused(context.messages, code) };
}

/** The ending for a model that could not be reached, or gave no usable reply. */
export function llmErrorEnding(context: AgentContext, error: LeafError): Ending {
  return {
    reason: 'llm-error',
    result: `Unable to complete task due to LLM error: ${error.message}`,
    error: { code: error.code, message: error.message, step: context.stepsTaken },
  };
}

/** True when the run has used up the tokens that it was given. */
export function isTokenBudgetSpent({ settings: { budget }, stats: { usage } }: AgentContext): boolean {
  return budget.maxTokens !== null && usage.totalTokens >= budget.maxTokens;
}

/** What is left of the run's budget for each of so many agents below, once the calls that run now are paid. */
export function budgetLeft({ settings, stats, batch, step }: AgentContext, agents: number): Caller['budget'] {
  const { maxToolCalls, maxTokens } = settings.budget;
  const running = batch?.runnable ?? (step === null ? 0 : 1);
  const share = (most: number | null, used: number): number | null =>
    most === null ? null : Math.max(0, Math.floor((most - used) / Math.max(1, agents)));
  return {
    maxToolCalls: share(maxToolCalls, stats.toolCallsRun + running),
    maxTokens: share(maxTokens, stats.usage.totalTokens),
  };
}

/** What the calls of this turn know of their agent. Those that may start an agent share the remaining budget. */
export function callerOf(context: AgentContext): Caller {
  const { place, runInfo, batch, toolset } = context;
  const children = runInfo?.children ?? [];
  const sharing = (batch?.calls ?? []).filter(({ request }) => {
    const found = lookUp(toolset.tools, request.tool);
    if (found.ok && found.spec.origin.kind === 'agent') return children.length > 0;
    return mayAskAgent(found.ok ? found.spec.recovery : toolset.recovery);
  });
  return { agent: place.agent, children, budget: budgetLeft(context, sharing.length), recovery: toolset.recovery };
}

/** The input of the code that makes the next turn's prompt. */
export function promptInput({
  task,
  toolset,
  stepsTaken,
  stats,
  place,
  runInfo,
}: AgentContext): ComposePromptInput & { readonly toolset: Toolset; readonly output: OutputSpec | null } {
  const { planIterations, lastResult, errorHistory } = stats;
  return {
    task,
    toolset,
    output: runInfo?.output ?? null,
    agent: place.agent,
    state: { step: stepsTaken + 1, stepsTaken, planIterations, lastResult, errorHistory },
  };
}
