import { deepFreeze } from '../../json/json.ts';
import type { Message, ProviderState } from '../../actors/model.ts';
import { cutMiddle, type ToolResult, imagesOf, withoutMedia } from '../../tools/result.ts';
import { mayHaveHappened } from '../../tools/error-text.ts';
import { resultText } from '../llm-call/conversation.ts';
import type { CallOutcome, CallRequest } from '../tool-call/call-request.ts';
import type { AgentContext, PlanProgress, Failure } from './agent-context.ts';
import { NO_PLANS, type ReadReply } from './read-reply.ts';

/** How many replies in a row may be unusable before the run ends. */
export const MAX_UNUSABLE = 3;

/** A tool's result as the model reads it: JSON, its middle cut out when it is too long. */
export function resultForModel(result: ToolResult, maxChars: number): string {
  return cutMiddle(JSON.stringify(result), maxChars);
}

/** The message to a model whose reply cannot be used: what was wrong, and what to send instead. */
export function correctionFor(reply: ReadReply): string {
  if (reply.ambiguous)
    return 'Your reply holds several different JSON objects, and it is not clear which one counts; none was used. Send exactly one.';
  if (reply.planError === NO_PLANS)
    return 'Plans are switched off, and yours was not run. Call a tool for the first step, or answer.';
  if (reply.planError !== null)
    return `Your plan cannot be run: ${reply.planError}. Send it again as a list of steps, each with "tool" and "tool_args", or answer.`;
  if (reply.ended === 'length')
    return 'Your reply was cut off by the length limit before it said what to do. Send it again, shorter.';
  if (reply.cut) return 'The JSON of your reply ended early, before it was closed. Send it again, whole.';
  if (reply.malformed)
    return 'Your tool call could not be read. Send it again: the name of the tool, and its arguments as one JSON object.';
  if (reply.text.trim() === '') return 'Your reply was empty. Answer the user, or call a tool.';
  return 'Your reply holds neither an answer nor a tool call. Answer the user, or call a tool.';
}

/** Asks a model whose text ends with a call that was not run what it meant. */
export function callWrittenText(tool: string): string {
  return `Your reply ends with a call of '${tool}' written as text; it was not run. If you want that call, send it again and nothing else. If it is a part of your answer, send the whole answer again.`;
}

/** The demand to answer, when a model keeps planning beyond its limit. */
export function planLimitText(limit: number): string {
  return `You have made ${limit} plan(s), which is the limit; this one was not run. Do not plan again: answer the user now with what you know.`;
}

/** What stands before the results of a plan that has been carried out. */
export const PLAN_DONE =
  'All steps of the plan are done. Answer the user now, or make a new plan if something is missing.';

/** What stands before the results of a plan that a limit stopped. */
export const PLAN_STOPPED = 'The plan stopped at a limit of the run: its other steps were not run.';

/** What stands before the results of a plan that stopped at a denied step. */
export const PLAN_DENIED =
  'The plan stopped, because a step of it was denied. Go on without it: answer the user, or find another way.';

/** The steps of a plan with their outcomes. */
export function planReport(plan: PlanProgress, note: string, maxChars: number): string {
  const steps = plan.outcomes.map(
    (outcome, step) =>
      `{"step":${step},"tool":${JSON.stringify(outcome.tool)},"result":${resultForModel(outcome.result, maxChars)}}`,
  );
  const left = plan.steps.slice(plan.outcomes.length).map((step) => step.tool);
  const rest = left.length === 0 ? '' : `,"not_run":${JSON.stringify(left)}`;
  return `{"note":${JSON.stringify(note)},"steps":[${steps.join(',')}]${rest}}`;
}

/** What ERROR_RECOVERY hands to the model: all that it needs to find another way. */
export function recoveryText(task: string, failure: Failure): string {
  const failed = failure.failed.map(
    ({ tool, args, error }) =>
      `- Tool: ${cutMiddle(tool, 1000)}\n  Arguments: ${cutMiddle(JSON.stringify(args), 1000)}\n  Error: ${error}`,
  );
  const lines = [...headOf(failure), ...failed, `Original task: ${task}`];
  if (failure.succeeded.length > 0) lines.push(`Already succeeded: ${failure.succeeded.join(', ')}`);
  if (failure.left.length > 0) lines.push(`Planned but not run: ${failure.left.join(', ')}`);
  return lines.join('\n');
}

/** Another way must not be asked for where the first may have taken effect. */
function headOf({ failed }: Failure): readonly string[] {
  const unknown = [...new Set(failed.flatMap(({ tool, outcomeUnknown }) => (outcomeUnknown === true ? [tool] : [])))];
  const others = unknown.length === 0 || failed.some(({ outcomeUnknown }) => outcomeUnknown !== true);
  return [
    ...(others ? ['Tool execution failed. Please try an alternative approach.'] : []),
    ...unknown.map(mayHaveHappened),
  ];
}

/** One outcome in a few words, for the list of what succeeded. */
export function shortOutcome(outcome: CallOutcome): string {
  return `${outcome.tool}(${cutMiddle(JSON.stringify(outcome.args), 200)})`;
}

/** The conversation with more messages at its end. Messages are frozen: they are shared by reference from here on. */
export function withMessages(messages: readonly Message[], ...more: readonly Message[]): readonly Message[] {
  return [...messages, ...more.map((message) => deepFreeze(message))];
}

/** The assistant's own turn; nothing for an empty reply, which some servers refuse to take back. Its state goes with its calls. */
export function assistantMessage(reply: ReadReply, providerState?: ProviderState): readonly Message[] {
  const { nativeCalls: toolCalls } = reply;
  const state = providerState === undefined ? {} : { providerState };
  if (toolCalls.length > 0) return [{ role: 'assistant', content: reply.text, toolCalls, ...state }];
  return reply.text.trim() === '' ? [] : [{ role: 'assistant', content: reply.text }];
}

/** A result, in the form in which its call came. */
export function resultMessage(request: CallRequest, tool: string, text: string): Message {
  return request.toolCallId === null
    ? { role: 'user', content: resultText(tool, text) }
    : { role: 'tool', toolCallId: request.toolCallId, name: tool, content: text };
}

/** A result, cut to what the model gets of it. */
export function toolMessage(context: AgentContext, request: CallRequest, tool: string, result: ToolResult): Message {
  return resultMessage(request, tool, resultForModel(asTold(context, result), context.settings.maxToolResultChars));
}

/** What the model receives of a result: never base64, and with an error the number of steps left. */
export function asTold({ settings, stepsTaken }: AgentContext, result: ToolResult): ToolResult {
  const told = settings.images === undefined ? result : withoutMedia(result, settings.images);
  const failed = result.status === 'error' && result.denied !== true;
  return failed ? { ...told, attemptsLeft: settings.maxSteps - stepsTaken } : told;
}

/** The images of results, for a model that takes them: a message for each result that has some, after all results. */
export function imageMessages({ settings }: AgentContext, outcomes: readonly CallOutcome[]): readonly Message[] {
  if (settings.images !== 'sent') return [];
  return outcomes.flatMap(({ tool, result }): readonly Message[] => {
    const images = imagesOf(result);
    const text = resultText(tool, `its images (${images.length}), in their order`);
    return images.length === 0 ? [] : [{ role: 'user', content: [{ type: 'text', text }, ...images] }];
  });
}

/** A word of ours to the model. */
export function userMessage(content: string): Message {
  return { role: 'user', content };
}

/** Answers to all native calls of a reply that is not carried out, so that no call stays without a result. */
export function refuseCalls(reply: ReadReply, text: string): readonly Message[] {
  return reply.nativeCalls.map((call) => ({ role: 'tool', toolCallId: call.id, name: call.name, content: text }));
}
