import type { CheckOutputInput, CheckOutputResult } from '../../actors/check-output.ts';
import { leafErrorOf } from '../../actors/leaf.ts';
import type { Message, ModelTool } from '../../actors/model.ts';
import type { Json } from '../../json/json.ts';
import { recoverToSchema } from '../../parsing/recover/recover-to-schema.ts';
import { DEFAULT_LIMITS } from '../../parsing/repair/repairs.ts';
import type { AgentOutput } from '../contract/run-result.ts';
import type { AgentContext, Ending, Update } from './agent-context.ts';
import { userMessage, withMessages } from './agent-texts.ts';
import { endingFor } from './endings.ts';
import { childCounted } from './escalating.ts';
import { isTokenBudgetSpent } from './planning.ts';
import type { LlmCallInput } from '../llm-call/llm-call.ts';
import { lastTurnText, outputCorrection, problemText, responseSchemaOf } from './typed-output.ts';

/** How often a model is told what is wrong with its answer before the run ends. */
export const MAX_CORRECTIONS = 2;

/** The tools of the next turn: in the last one, only those that give the answer. */
export function offeredTools({ shown, stats }: AgentContext): readonly ModelTool[] {
  if (stats.lastTurn === null) return shown.modelTools;
  return shown.output?.way === 'tool' ? shown.output.tools.map(({ tool }) => tool) : NO_TOOLS;
}

const NO_TOOLS: readonly ModelTool[] = [];

/** What the reply to the next request is to be held to; null: nothing but the way of calling. */
export function responseSchema({ shown, stats }: AgentContext): NonNullable<LlmCallInput['responseSchema']> | null {
  const { output } = shown;
  if (output === null) return null;
  const native = output.spec.mode === 'native' && stats.lastTurn !== null;
  return { answer: output.spec.schema, native: responseSchemaOf(native ? { ...output, way: 'native' } : output) };
}

/** True while a turn can be kept for the answer: not the first, and within the limit of steps. */
export function isLastTurnLeft({ shown, stats, stepsTaken, settings: { maxSteps } }: AgentContext): boolean {
  return shown.output !== null && stats.lastTurn === null && stepsTaken > 0 && stepsTaken < maxSteps;
}

/** True when the next turn is the last that the run may take, so that it has to give the answer. */
export function isLastTurnDue(context: AgentContext): boolean {
  return (
    isLastTurnLeft(context) && (context.stepsTaken === context.settings.maxSteps - 1 || isTokenBudgetSpent(context))
  );
}

/** Keeps the next turn for the answer: no tool is offered any more. */
export function lastTurnKept(context: AgentContext): Update {
  const { shown, stats, stepsTaken, settings, toolCalling } = context;
  if (shown.output === null) return {};
  const lastTurn = stepsTaken === settings.maxSteps - 1 ? ('max-steps' as const) : ('budget' as const);
  return {
    stats: { ...stats, lastTurn },
    messages: withMessages(context.messages, userMessage(lastTurnText(shown.output, toolCalling))),
  };
}

/** The answer that the author's own code is to check. */
export function outputToCheck({ reply, place, shown }: AgentContext): CheckOutputInput {
  const { ofRun = false, checkMs = 0 } = shown.output?.spec ?? {};
  return { value: reply?.output?.value ?? null, ofRun, timeoutMs: checkMs ?? 0, agent: place.agent };
}

/** Takes the result of the author's check of the answer. */
export function outputChecked({ reply }: AgentContext, result: CheckOutputResult): Update {
  if (reply?.output == null || result.ok) return {};
  return { reply: { ...reply, output: { ...reply.output, issues: result.issues } } };
}

/** True if the answer is that of a turn reserved for it, and not one that was only corrected in it. */
function isKept({ stats, stepsTaken }: AgentContext): boolean {
  const last = stats.errorHistory.at(-1);
  return stats.lastTurn !== null && !(last?.code === 'output-invalid' && last.step === stepsTaken - 1);
}

/** Ends the run with the answer. Of a turn that was kept for it the run stays stopped: it was not done. */
export function delivered(context: AgentContext, value: Json): Update {
  const { reply, stats } = context;
  const text = reply?.output?.call === null && reply.answer !== null ? reply.answer : JSON.stringify(value);
  const ending: Ending = isKept(context)
    ? endingFor(context, stats.lastTurn ?? 'max-steps')
    : { reason: 'answer', result: text, error: null };
  return {
    ending: { ...ending, output: value },
    messages: withMessages(context.messages, ...answeredCalls(context, 'The answer was accepted.')),
  };
}

/** Tells the model what is wrong with its answer. */
export function outputCorrected(context: AgentContext): Update {
  const { reply, stats, shown, toolCalling } = context;
  if (reply?.output == null || shown.output === null) return {};
  const text = outputCorrection(shown.output, reply.output, toolCalling);
  const results = answeredCalls(context, text);
  const message = problemText(reply.output.issues);
  return {
    reply: { ...reply, output: null },
    messages: withMessages(context.messages, ...results, ...(results.length > 0 ? [] : [userMessage(text)])),
    stats: {
      ...stats,
      corrections: stats.corrections + 1,
      errorHistory: [...stats.errorHistory, { code: 'output-invalid', message, step: context.stepsTaken }],
    },
  };
}

/** Answers the call of an answer that is not final: a message from a person has arrived since. */
export function outputSetAside(context: AgentContext): Update {
  const { reply } = context;
  if (reply === null) return {};
  const results = answeredCalls(context, 'The answer was received, but the user has said something since.');
  return { reply: { ...reply, output: null }, messages: withMessages(context.messages, ...results) };
}

/** The ending of a run whose answer still does not fit after it was corrected. */
export function outputInvalidEnding({ reply, stepsTaken }: AgentContext): Ending {
  return invalidEnding(problemText(reply?.output?.issues ?? []), 'output-invalid', stepsTaken);
}

/** The ending of a run whose answer could not be checked by the author's code. */
export function outputUncheckedEnding({ stepsTaken }: AgentContext, event: object): Ending {
  const { code, message } = leafErrorOf(event);
  return invalidEnding(message, code, stepsTaken);
}

function invalidEnding(problems: string, code: string, step: number): Ending {
  return {
    reason: 'output-invalid',
    result: `Unable to complete task: the answer was not accepted.\n${problems}`,
    error: { code, message: problems, step },
  };
}

/** Results for the calls of a reply that brought an answer and nothing that ran; none where they have theirs already. */
function answeredCalls({ reply, messages }: AgentContext, text: string): readonly Message[] {
  const answered = reply?.output?.call?.toolCallId ?? null;
  if (reply === null || reply.output === null || messages.at(-1)?.role !== 'assistant') return [];
  return reply.nativeCalls.map(({ id, name }): Message => {
    const content = id === answered ? text : 'not used: the answer was given beside it';
    return { role: 'tool', toolCallId: id, name, content };
  });
}

/** The answer of the agent that took the task over, to be checked against the schema like the model's own. */
export function handOverAnswered(context: AgentContext, { output, result, ...rest }: AgentOutput): Update {
  const { shown, reply } = context;
  if (shown.output === null || reply === null) return {};
  const given = output === undefined ? result : JSON.stringify(output);
  const found = recoverToSchema(given, { json: shown.output.spec.schema }, DEFAULT_LIMITS);
  const typed = found.ok
    ? { value: found.value, issues: [], repairs: found.repairs }
    : { value: null, issues: found.issues, repairs: [] };
  const answer: Message = { role: 'assistant', content: result };
  return {
    ...childCounted(context, { ...rest, result }),
    messages: withMessages(context.messages, answer),
    reply: { ...reply, answer: result, calls: [], nativeCalls: [], output: { call: null, ...typed } },
  };
}
