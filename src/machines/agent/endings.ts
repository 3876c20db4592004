import type { ToolResult } from '../../tools/result.ts';
import type { AgentContext, Ending, PlannedCall, PlanProgress } from './agent-context.ts';
import { llmErrorEnding } from './planning.ts';
import { leafErrorOf } from '../../actors/leaf.ts';
import { STOPPED, batchClosed, planMessages } from './execution.ts';
import type { CallOutcome } from '../tool-call/call-request.ts';
import { type Stopping, callsNotBegun, withSpentByStopped } from '../tool-call/delegation.ts';
import { closeOpenCalls } from '../llm-call/conversation.ts';
import { withMessages } from './agent-texts.ts';
import { withSpent } from './escalating.ts';
import type { ReadReply } from './read-reply.ts';
import type { Mail } from '../contract/mail.ts';
import { type AgentOutput, NOTHING_SPENT, type RunReason, type RunStatus } from '../contract/run-result.ts';

const STATUS: { readonly [reason in RunReason]: RunStatus } = {
  answer: 'answered',
  'max-steps': 'stopped',
  loop: 'stopped',
  'plan-limit': 'stopped',
  timeout: 'stopped',
  budget: 'stopped',
  length: 'stopped',
  'output-invalid': 'failed',
  refused: 'failed',
  'content-filter': 'failed',
  'llm-error': 'failed',
  'tool-error': 'failed',
  thrown: 'failed',
  cancelled: 'cancelled',
  released: 'waiting',
  parked: 'waiting',
};

/** The reasons of endings that need no more than the run's memory. */
export type PlainReason = Exclude<
  RunReason,
  'llm-error' | 'tool-error' | 'thrown' | 'cancelled' | 'released' | 'parked' | 'output-invalid'
>;

/** The endings that need no more than the run's memory. */
export function endingFor(context: AgentContext, reason: PlainReason): Ending {
  const text = endingText(context, reason);
  if (reason !== 'refused' && reason !== 'content-filter' && reason !== 'length')
    return { reason, result: text, error: null };
  // A partial reply is paid for: it is the result, and the error says why it is not an answer.
  const said = wordsOf(context.reply);
  const error = { code: reason, message: text, step: context.stepsTaken };
  return { reason, result: said === '' ? text : said, error };
}

/** The part of a reply for the user: its answer as far as there is one, else its text, unless that holds only thoughts. */
function wordsOf(reply: ReadReply | null): string {
  const words = reply?.answer ?? (reply?.strategy === 'text' ? '' : reply?.text) ?? '';
  return words.trim() === '' ? '' : words;
}

function endingText(context: AgentContext, reason: PlainReason): string {
  switch (reason) {
    case 'answer':
      return context.reply?.answer ?? '';
    case 'max-steps':
      return `Reached maximum steps limit (${context.settings.maxSteps} steps).`;
    case 'loop':
      return 'Task stopped due to repeated tool call loop.';
    case 'plan-limit':
      return `Reached maximum plan iterations limit (${context.settings.maxPlanIterations} plans).`;
    case 'timeout':
      return `Reached the time limit of the run (${context.settings.totalMs ?? 0} ms).`;
    case 'budget':
      return 'Reached the budget of the run.';
    case 'refused':
      return 'The model refused to answer.';
    case 'content-filter':
      return "A content filter stopped the model's reply.";
    case 'length':
      return lengthText(context);
  }
}

function lengthText({ reply, settings: { maxTokens } }: AgentContext): string {
  const what =
    wordsOf(reply) === ''
      ? 'The model used up its tokens while it was thinking, before it answered'
      : 'The answer was cut off by the length limit';
  const limit =
    maxTokens === null ? 'set maxTokens, which is left to the server' : `raise maxTokens, which is ${maxTokens}`;
  return `${what}: ${limit}.`;
}

/** The ending of a run that a tool's recovery stopped hard. */
export function thrownEnding(context: AgentContext, outcome: CallOutcome): Ending {
  const reason = outcome.kind === 'tool.thrown' ? outcome.reason : 'a tool call ended the run';
  const error = { code: 'thrown', message: reason, step: context.stepsTaken, tool: outcome.tool };
  return { reason: 'thrown', result: `Stopped by '${outcome.tool}': ${reason}`, error };
}

/** The ending of a run that its driver has abandoned. */
export function abandonedEnding(
  { stepsTaken }: AgentContext,
  { code, message }: { readonly code: string; readonly message: string },
): Ending {
  return {
    reason: 'thrown',
    result: `Unable to complete task: ${message}`,
    error: { code, message, step: stepsTaken },
  };
}

/** The ending for work of a turn that failed. Of what the user's code could not do the model is innocent. */
export function failureEnding(context: AgentContext, event: { readonly type: string }): Ending {
  return (event.type === 'xstate.error.actor.llmCall' ? llmErrorEnding : abandonedEnding)(context, leafErrorOf(event));
}

/** The ids of the calls that are stopped at the end, as actors below the agent. */
function openCalls({ batch, step }: AgentContext): readonly string[] {
  const started = batch?.calls.slice(0, batch.started).map(({ request }) => request.callId) ?? [];
  return step === null ? started : [...started, STEP];
}

/** The actor that carries out a step of a plan. */
const STEP = 'step';

/** Settles what is open at the end: results that came in are kept, and every call that has none gets one. */
export function openCallsSettled(context: AgentContext, self: Stopping): Partial<AgentContext> {
  const open = openCalls(context);
  const notBegun = callsNotBegun(self, open);
  const settled = context.batch === null ? {} : batchClosed(context, notBegun);
  const { messages, stats } = { ...context, ...settled };
  const { plan } = context;
  const step = notBegun.has(STEP) ? null : context.step;
  const planned =
    plan === null ? [] : planMessages(context, stopped(plan, step), 'The run ended before the plan was done.');
  return {
    ...settled,
    stats: withSpent(stats, withSpentByStopped(NOTHING_SPENT, self, open)),
    messages: closeOpenCalls(
      withMessages(messages, ...planned),
      'cancelled: the run ended before this call had a result',
    ),
  };
}

/** A plan whose step was stopped while it ran: that step is neither done nor left. */
function stopped(plan: PlanProgress, step: PlannedCall | null): PlanProgress {
  if (step === null) return plan;
  const { callId, tool, args } = step.request;
  const result: ToolResult = { status: 'error', error: STOPPED };
  return {
    ...plan,
    outcomes: [...plan.outcomes, { kind: 'tool.thrown', callId, tool, args, result, ran: true, reason: STOPPED }],
  };
}

/** Messages from people that were not received. */
function undeliveredOf({ waiting, queued }: Mail): Pick<AgentOutput, 'undelivered'> {
  if (waiting.length + queued.length === 0) return {};
  const steers = waiting.map((message) => ({ ...message, kind: 'steer' as const }));
  return { undelivered: [...steers, ...queued.map((message) => ({ ...message, kind: 'queue' as const }))] };
}

/** What the machine ends with. */
export function outputOf(context: AgentContext): AgentOutput {
  const ending: Ending = context.ending ?? {
    reason: 'llm-error' as const,
    result: 'The run ended without a reason.',
    error: null,
  };
  const status = ending.status ?? STATUS[ending.reason];
  const error = ending.error ?? (status === 'answered' ? null : context.stats.lastFailure);
  return {
    result: ending.result,
    success: status === 'answered',
    status,
    reason: ending.reason,
    ...(error === null ? {} : { error }),
    stepsTaken: context.stepsTaken,
    stepsLimit: context.settings.maxSteps,
    toolsUsed: context.stats.toolsUsed,
    planIterations: context.stats.planIterations,
    usage: context.stats.usage,
    errorHistory: context.stats.errorHistory,
    states: context.stats.states,
    messages: context.messages.slice(context.stats.history.length),
    ...(ending.output === undefined ? {} : { output: ending.output }),
    ...(ending.partialAnswer === undefined ? {} : { partialAnswer: ending.partialAnswer }),
    ...undeliveredOf(context.stats.mail),
    ...(context.place.agent === ''
      ? {}
      : { nested: { toolCalls: context.stats.toolCallsRun, escalation: ending.escalation ?? null } }),
  };
}
