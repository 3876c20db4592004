import type { AskEscalationInput, AskApprovalInput } from '../../actors/ask-approval.ts';
import { leafErrorOf } from '../../actors/leaf.ts';
import type { Message } from '../../actors/model.ts';
import type { EscalationError } from '../../json/errors.ts';
import { isJsonObject } from '../../json/json.ts';
import { higher, type Verdict } from '../../recovery/verdicts.ts';
import { type AgentContext, type RunInfo, type RunStats, type Ending, type Update, shownBy } from './agent-context.ts';
import {
  type AgentInput,
  type PromptChange,
  type ToolsChanged,
  type Toolset,
  childrenAfter,
  toolsetAfter,
} from '../contract/agent-setup.ts';
import { recoveryText, userMessage, withMessages } from './agent-texts.ts';
import { toJsonMode } from '../llm-call/conversation.ts';
import type { ModelList } from '../llm-call/model-list.ts';
import { type Stopping, childInput, spentBy, withSpentByStopped } from '../tool-call/delegation.ts';
import { failureTold } from './execution.ts';
import { batchRejudged, budgetLeft } from './planning.ts';
import { type AgentOutput, NOTHING_SPENT, type Spent, endingInWords, usageTogether } from '../contract/run-result.ts';

/** The question to the author's `onEscalation`. */
export function escalationInput({ failure, place, settings }: AgentContext): AskEscalationInput {
  return { agent: place.agent, error: failure?.escalation ?? NO_ERROR, timeoutMs: settings.fixMs };
}

/** The tool whose call was escalated, also if a repair agent did so. */
export function toolHandedUp({ source, originalError }: EscalationError): string {
  if (originalError?.kind === 'unknown-tool') return originalError.name;
  return originalError !== undefined && 'tool' in originalError ? (originalError.tool ?? source) : source;
}

const NO_ERROR: EscalationError = { kind: 'escalation', source: '', reason: '', severity: 'high', attempts: 0 };

/** Takes a verdict. The same one for the same error applies once; severity only rises. */
export function verdictTaken(context: AgentContext, verdict: Verdict | null): Update {
  const { failure, stats } = context;
  if (failure === null || failure.escalation === null) return {};
  const { escalation } = failure;
  if (verdict === null) return { failure: { ...failure, verdict: 'unhandled' } };
  if (verdict.kind === 'escalate') {
    const { reason, severity } = verdict;
    const raised = { ...escalation, reason, severity: higher(escalation.severity, severity) };
    return { failure: { ...failure, escalation: raised, verdict: 'unhandled' } };
  }
  const key = `${verdict.kind} ${escalation.source} ${escalation.reason}`;
  if (stats.verdicts.includes(key)) return { failure: { ...failure, verdict: 'unhandled' } };
  return { failure: { ...failure, verdict }, stats: { ...stats, verdicts: [...stats.verdicts, key] } };
}

/** Notes that no decision was made: the code failed, or no person could be asked. */
export function verdictMissed(context: AgentContext, event: { readonly type: string }): Update {
  const update = verdictTaken(context, null);
  if (!event.type.startsWith('xstate.error.actor.')) return update;
  const { message } = leafErrorOf(event);
  const entry = { code: 'escalation-handler', message: `onEscalation failed: ${message}`, step: context.stepsTaken };
  return { ...update, stats: { ...context.stats, errorHistory: [...context.stats.errorHistory, entry] } };
}

/** What was decided, when it is of this kind. */
export function verdictOf<K extends Verdict['kind']>(
  { failure }: AgentContext,
  kind: K,
): Extract<Verdict, { readonly kind: K }> | null {
  const verdict = failure?.verdict ?? null;
  return isOfKind(verdict, kind) ? verdict : null;
}

function isOfKind<K extends Verdict['kind']>(
  verdict: Verdict | 'unhandled' | null,
  kind: K,
): verdict is Extract<Verdict, { readonly kind: K }> {
  return verdict !== null && verdict !== 'unhandled' && verdict.kind === kind;
}

/**
 * Lets another model take the next turn. If nothing of the failed turn ran, that turn is asked again as it was; otherwise
 * the model is told what happened.
 */
export function askedOfAnotherModel(context: AgentContext): Update {
  const { failure, messages, override, stats } = context;
  const model = verdictOf(context, 'retryWithModel')?.model ?? '';
  if (failure === null) return {};
  const turn = messages.findLastIndex(({ role }) => role === 'assistant');
  const asItWas = { failure: null, messages: messages.slice(0, turn), stats: { ...stats, lastTurn: null } };
  const again = failure.ran || turn === -1 ? failureTold(context) : asItWas;
  return { ...again, override: { ...override, model } };
}

/** The models that a turn may ask; null: one, which is the agent's own or that of a verdict. */
export function modelsAsked({ runInfo, override }: AgentContext): ModelList | null {
  return override.model === '' ? (runInfo?.models ?? null) : null;
}

/** The conversation as a turn begins with it. That of several models is worded for each of them in turn. */
export function messagesAsked(context: AgentContext): readonly Message[] {
  const { runInfo, override, toolCalling, stats } = context;
  const messages = stats.history.leftOut === 0 ? context.messages : context.messages.slice(stats.history.leftOut);
  const isUnworded = runInfo?.models != null && override.model !== '' && toolCalling === 'json';
  return isUnworded ? toJsonMode(messages) : messages;
}

/** Limits the rest of the run to a skill. */
export function limitedToSkill(context: AgentContext): Update {
  const skill = verdictOf(context, 'reroute')?.name ?? null;
  const toolset = limited(context.toolset, skill);
  return {
    ...failureTold(context),
    toolset,
    shown: shownBy(context.runInfo, toolset, context.settings),
    override: { ...context.override, skill },
  };
}

/** Takes other tools; a run that is limited to a skill stays so, and a resumed run stays as strict as it was. */
export function toolsTaken(context: AgentContext, told: ToolsChanged): Update {
  const { override } = context;
  const isRestart = told.restart !== undefined;
  const runInfo = promptedAnew(context.runInfo, told.prompt);
  const toolset = limited(toolsetAfter(context.toolset, told.toolset, isRestart), override.skill);
  return {
    toolset,
    ...batchRejudged({ ...context, toolset }),
    shown: shownBy(runInfo, toolset, context.settings),
    ...(runInfo === null || told.children === undefined
      ? { runInfo }
      : { runInfo: { ...runInfo, children: childrenAfter(runInfo.children, told.children, isRestart) } }),
  };
}

function promptedAnew(runInfo: RunInfo | null, change: PromptChange | undefined): RunInfo | null {
  if (runInfo === null || change === undefined) return runInfo;
  if ('native' in change) return { ...runInfo, fixedPrompt: change, promptByCode: false };
  return { ...runInfo, fixedPrompt: null, instructions: change.instructions, promptByCode: change.byCode };
}

/** What of a toolset a run may use that is limited to a skill. */
export function limited(toolset: Toolset, skill: string | null): Toolset {
  if (skill === null) return toolset;
  const skills = toolset.skills.filter(({ name }) => name === skill);
  const tools = toolset.tools.filter(({ name }) => skills.some((note) => note.tools.includes(name)));
  return { ...toolset, tools, skills, servers: [] };
}

/** What a person is asked, by the way that approvals take. */
export function questionInput(context: AgentContext): AskApprovalInput {
  const { failure, place, stats } = context;
  const question = verdictOf(context, 'askHuman')?.question ?? '';
  return {
    callId: `${place.callPrefix}q${stats.verdicts.length}`,
    tool: toolHandedUp(failure?.escalation ?? NO_ERROR),
    args: { question },
    reason: question,
    agent: place.agent,
  };
}

/** A person's answer, as an approval with an `answer` among its arguments, or without: yes. */
export function answerOf(event: { readonly type: string }): string {
  const args: unknown = Reflect.get(event, 'args');
  const reason: unknown = Reflect.get(event, 'reason');
  if (event.type === 'approval.refused') return typeof reason === 'string' && reason !== '' ? `no: ${reason}` : 'no';
  if (!isJsonObject(args)) return 'yes';
  return typeof args.answer === 'string' ? args.answer : JSON.stringify(args);
}

/** What an event says to a question: of a person, or of the function that decides about calls. */
export function answerGiven(event: { readonly type: string }): 'yes' | 'no' | 'none' {
  if (event.type === 'approval.given') return 'yes';
  if (event.type === 'approval.refused') return 'no';
  const decision: unknown = Reflect.get(Object(Reflect.get(event, 'output')), 'decision');
  if (decision === undefined || decision === 'nobody') return 'none';
  return decision === 'deny' ? 'no' : 'yes';
}

/** Hands a person's answer to the model, beside the failure that it was asked about. */
export function answerTold(context: AgentContext, answer: string): Update {
  const { failure, task, messages } = context;
  const question = verdictOf(context, 'askHuman')?.question ?? '';
  if (failure === null) return {};
  const text = `${recoveryText(task, failure)}\nA person was asked: ${question}\nThey answered: ${answer}`;
  return { failure: null, messages: withMessages(messages, userMessage(text)) };
}

/** The whole task, for the child that it is handed to. */
export function handOverInput(context: AgentContext): AgentInput {
  const { place, runInfo, stats, task } = context;
  const name = verdictOf(context, 'reroute')?.name;
  return childInput({
    setup: runInfo?.children.find(({ tool }) => tool === name),
    task,
    agent: place.agent,
    callId: `${place.callPrefix}h${stats.verdicts.length}`,
    budget: budgetLeft(context, 1),
  });
}

/** The ending given by the child that the task was handed to. */
export function handedOver(context: AgentContext, output: AgentOutput): Update {
  const { result, reason, status } = output;
  const answer = { role: 'assistant', content: result } as const;
  return {
    ...childCounted(context, output),
    messages: status === 'answered' ? withMessages(context.messages, answer) : context.messages,
    ending: { reason, status, result, error: output.error ?? null },
  };
}

/** The child could not do it either: its failure is the agent's own now. */
export function handOverFailed(context: AgentContext, output: AgentOutput): Update {
  const { failure, task } = context;
  if (failure === null) return {};
  const tool = verdictOf(context, 'reroute')?.name ?? '';
  const before = failure.escalation ?? NO_ERROR;
  const error = output.nested?.escalation ?? before;
  return {
    ...childCounted(context, output),
    failure: {
      ...failure,
      failed: [...failure.failed, { tool, args: { task }, error: endingInWords(output) }],
      escalation: { ...error, severity: higher(before.severity, error.severity) },
      verdict: 'unhandled',
    },
  };
}

export function childCounted({ stats }: AgentContext, output: AgentOutput): Update {
  return { stats: withSpent(stats, spentBy(output)) };
}

/** Counts what the agent that was to take over has used, if it is stopped. */
export function stoppedCounted({ stats }: AgentContext, self: Stopping): Update {
  return { stats: withSpent(stats, withSpentByStopped(NOTHING_SPENT, self, ['childAgent'])) };
}

/** What a run has counted, with what agents and calls below it have used. */
export function withSpent(stats: RunStats, spent: Spent): RunStats {
  if (spent === NOTHING_SPENT) return stats;
  const { usage, toolCalls } = spent;
  return { ...stats, usage: usageTogether(stats.usage, usage), toolCallsRun: stats.toolCallsRun + toolCalls };
}

/** The ending of a run that keeps what there is. */
export function partialEnding(context: AgentContext): Ending {
  const text = verdictOf(context, 'partialResult')?.text ?? '';
  return { reason: 'tool-error', status: 'stopped', result: text, error: escalationEntry(context) };
}

/** The ending of a run that its `onEscalation` stopped hard. */
export function stoppedByVerdict(context: AgentContext): Ending {
  const reason = verdictOf(context, 'throwException')?.reason ?? '';
  const escalation = context.failure?.escalation ?? NO_ERROR;
  const error = { code: 'thrown', message: reason, step: context.stepsTaken, tool: toolHandedUp(escalation) };
  return { reason: 'thrown', result: `Stopped by '${escalation.source}': ${reason}`, error };
}

/** The ending of a run whose escalation was not taken here: critical at the root, any below it. */
export function escalatedEnding(context: AgentContext): Ending {
  const escalation = context.failure?.escalation ?? NO_ERROR;
  return {
    reason: 'tool-error',
    result: `Unable to complete task due to tool error: ${escalation.reason}`,
    error: escalationEntry(context),
    escalation,
  };
}

function escalationEntry({ failure, stepsTaken }: AgentContext): NonNullable<Ending['error']> {
  const escalation = failure?.escalation ?? NO_ERROR;
  return { code: 'escalation', message: escalation.reason, step: stepsTaken, tool: toolHandedUp(escalation) };
}
