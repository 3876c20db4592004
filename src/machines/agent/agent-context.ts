import type { Message, ToolCalling } from '../../actors/model.ts';
import type { EscalationError } from '../../json/errors.ts';
import type { Json } from '../../json/json.ts';
import type { PlanStep } from '../../parsing/calls/call-forms.ts';
import type { Verdict } from '../../recovery/verdicts.ts';
import type { ToolResult } from '../../tools/result.ts';
import {
  type AgentInput,
  type AgentSettings,
  type AgentSetup,
  type ChildSetup,
  DEFAULT_SETTINGS,
  type OutputSpec,
  type Place,
  ROOT_PLACE,
  type Toolset,
} from '../contract/agent-setup.ts';
import type { CallOutcome, CallRequest } from '../tool-call/call-request.ts';
import { type LoopSnapshot, type LoopVerdict, loopBegun } from '../tool-call/loop-detection.ts';
import { toJsonMode } from '../llm-call/conversation.ts';
import { type ModelList, modelList } from '../llm-call/model-list.ts';
import type { ReadReply } from './read-reply.ts';
import { type Mail, NO_MAIL } from '../contract/mail.ts';
import type { AgentState, ErrorEntry, RunReason, RunStatus, RunUsage } from '../contract/run-result.ts';
import type { PromptTexts } from '../../actors/compose-prompt.ts';
import { type Shown, fromToolset, promptsOf } from './system-prompt.ts';

/** A call of the current turn or plan step, before it starts. */
export interface PlannedCall {
  readonly request: CallRequest;
  readonly verdict: LoopVerdict;
}

/** The calls of one model turn. */
export interface Batch {
  readonly calls: readonly PlannedCall[];
  /** How many of them may start: all, or those up to the first refused one. */
  readonly runnable: number;
  /** Why the run ends once they have settled. */
  readonly endsRun: 'loop' | 'budget' | null;
  readonly started: number;
  readonly outcomes: { readonly [callId: string]: CallOutcome };
}

/** A plan on its way. */
export interface PlanProgress {
  readonly steps: readonly PlanStep[];
  readonly index: number;
  readonly outcomes: readonly CallOutcome[];
  /** The native call that brought the plan, to be answered with its results. */
  readonly toolCallId: string | null;
}

/** One of the calls that failed. */
interface FailedCall {
  readonly tool: string;
  readonly args: unknown;
  readonly error: string;
  /** It is unknown whether it took effect. */
  readonly outcomeUnknown?: boolean;
}

/** Calls that failed and were not repaired, for the model to decide what to do instead. */
export interface Failure {
  readonly failed: readonly FailedCall[];
  readonly succeeded: readonly string[];
  readonly left: readonly string[];
  /** The worst of those that were escalated. */
  readonly escalation: EscalationError | null;
  /** What was decided about it; null while nothing was. */
  readonly verdict: Verdict | 'unhandled' | null;
  /** At least one of the turn's calls ran, so that the turn cannot be asked again as if nothing had happened. */
  readonly ran: boolean;
}

/** How the run ends. `error` null: that of the latest calls, if one of them failed, is shown instead. */
export interface Ending {
  readonly reason: RunReason;
  readonly result: string;
  readonly error: ErrorEntry | null;
  /** Set where the reason alone does not say it. */
  readonly status?: RunStatus;
  /** What is escalated to the agent above, if there is one. */
  readonly escalation?: EscalationError;
  /** The answer as a value, where it has a schema and fits it. */
  readonly output?: Json;
  /** What the model had said when the run was cancelled. */
  readonly partialAnswer?: string;
}

/** What a run knows of its agent, except what has its own field. */
export interface RunInfo {
  readonly agent: string;
  readonly instructions: string;
  readonly promptByCode: boolean;
  /** The prompt, if it stays as it was first made; null: it follows from instructions and tools. */
  readonly fixedPrompt: PromptTexts | null;
  readonly callsNatively: boolean;
  readonly seed: number;
  readonly warnings: readonly string[];
  readonly children: readonly ChildSetup[];
  readonly escalates: boolean;
  readonly output: OutputSpec | null;
  /** The models of the run, where there are several, and what it has learned of them. */
  readonly models: ModelList | null;
}

/** What a run has counted and collected. */
export interface RunStats {
  /** How many messages of the conversation were there before the run, and how many of the oldest are not sent any more. */
  readonly history: { readonly length: number; readonly leftOut: number };
  readonly planIterations: number;
  readonly plansRefused: number;
  readonly unusableInARow: number;
  /** Answers that did not fit the schema, each reported to the model. */
  readonly corrections: number;
  /** The limit for which the last turn was reserved for the answer; null: none was. */
  readonly lastTurn: 'max-steps' | 'budget' | null;
  readonly callsMade: number;
  /** How the model has been seen to call: `native`, or the format of its text; null: it has not. */
  readonly heldTo: string | null;
  /** The model was asked once what a call at the end of its text meant. */
  readonly callQuestioned: boolean;
  readonly toolCallsRun: number;
  readonly usage: RunUsage;
  readonly toolsUsed: readonly string[];
  readonly lastResult: ToolResult | null;
  readonly lastFailure: ErrorEntry | null;
  readonly errorHistory: readonly ErrorEntry[];
  readonly states: readonly AgentState[];
  /** Messages from people to the run while it worked. */
  readonly mail: Mail;
  /** Verdicts that were carried out, each with the error that it was for: the same one applies once. */
  readonly verdicts: readonly string[];
}

/** What verdicts changed about the rest of the run. */
export interface RunOverride {
  /** The model that is asked the next turn; empty: the agent's own. */
  readonly model: string;
  /** The skill that the run is limited to; null: it is not. */
  readonly skill: string | null;
}

/**
 * The memory of one run. Every step copies it, which is cheap up to eighteen members: objects that are assembled from
 * more become hash tables, fifty times as slow. So what belongs together stands together.
 */
export interface AgentContext {
  readonly task: string;
  readonly settings: AgentSettings;
  /** null: nothing is known yet, and the run asks first. */
  readonly runInfo: RunInfo | null;
  readonly toolset: Toolset;
  readonly shown: Shown;
  readonly toolCalling: ToolCalling;
  /** The conversation: the starting history, then what this run added. */
  readonly messages: readonly Message[];
  readonly reply: ReadReply | null;
  readonly plan: PlanProgress | null;
  /** The plan step that runs now. */
  readonly step: PlannedCall | null;
  readonly batch: Batch | null;
  readonly failure: Failure | null;
  readonly loop: LoopSnapshot;
  readonly stepsTaken: number;
  readonly stats: RunStats;
  readonly ending: Ending | null;
  readonly place: Place;
  readonly override: RunOverride;
}

/** What an action changes of it. */
export type Update = Partial<AgentContext>;

const NOTHING: Toolset = { tools: [], servers: [], skills: [], recovery: {} };

const NEW_STATS: RunStats = {
  history: { length: 0, leftOut: 0 },
  planIterations: 0,
  plansRefused: 0,
  unusableInARow: 0,
  corrections: 0,
  lastTurn: null,
  callsMade: 0,
  heldTo: null,
  callQuestioned: false,
  toolCallsRun: 0,
  usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
  toolsUsed: [],
  lastResult: null,
  lastFailure: null,
  errorHistory: [],
  states: [],
  mail: NO_MAIL,
  verdicts: [],
};

const NO_OVERRIDE: RunOverride = { model: '', skill: null };

/** The memory that a run starts with. */
export function initialContext(input: AgentInput): AgentContext {
  const history = wordedFor(input.setup, input.history ?? []);
  // A refused message was not sent, and is not sent with later ones.
  const content = input.refused === undefined ? input.content : undefined;
  const task: Message = { role: 'user', content: content ?? input.task };
  return {
    task: input.task,
    ...fromSetup(input.setup ?? null),
    messages: [...history, Object.freeze(task)],
    reply: null,
    plan: null,
    step: null,
    batch: null,
    failure: null,
    stepsTaken: 0,
    stats: {
      ...NEW_STATS,
      history: { length: history.length, leftOut: 0 },
      mail: { ...NO_MAIL, queued: input.queued ?? [] },
    },
    ending: endingBeforeStart(input),
    place: input.place ?? ROOT_PLACE,
    override: NO_OVERRIDE,
  };
}

/** Takes the setup that a run without one has asked for. */
export function setupTaken({ messages }: AgentContext, setup: AgentSetup): Partial<AgentContext> {
  return { ...fromSetup(setup), messages: wordedFor(setup, messages) };
}

/** The messages as an agent's model takes them. With several models, each request is worded for the one that gets it. */
function wordedFor(setup: AgentSetup | undefined, messages: readonly Message[]): readonly Message[] {
  return setup?.toolCalling === 'json' && setup.models === undefined ? toJsonMode(messages) : messages;
}

/** What follows from an agent's setup; a run without one asks for it first. */
function fromSetup(setup: AgentSetup | null) {
  const toolset = setup?.toolset ?? NOTHING;
  const settings = setup?.settings ?? DEFAULT_SETTINGS;
  return {
    settings,
    loop: loopBegun(settings.maxConsecutiveRepeats),
    runInfo: setup === null ? null : runInfoOf(setup),
    toolset,
    shown: fromToolset(setup?.instructions ?? '', toolset, setup?.settings, setup?.output),
    toolCalling: setup?.toolCalling ?? ('native' as const),
  };
}

function runInfoOf(setup: AgentSetup): RunInfo {
  const { agent, instructions, promptByCode, callsNatively, seed, warnings, children, escalates } = setup;
  const given = { agent, instructions, promptByCode, callsNatively, seed, warnings, children, escalates };
  const models = setup.models === undefined ? null : modelList(setup.models);
  return { ...given, fixedPrompt: null, output: setup.output ?? null, models };
}

/** What the model receives about a toolset, by the agent's current prompt. */
export function shownBy(runInfo: RunInfo | null, toolset: Toolset, settings: AgentSettings): Shown {
  const shown = fromToolset(runInfo?.instructions ?? '', toolset, settings, runInfo?.output);
  const fixed = runInfo?.fixedPrompt ?? null;
  return fixed === null ? shown : { ...shown, prompts: promptsOf(fixed) };
}

function endingBeforeStart({ cancelled, refused }: AgentInput): Ending | null {
  if (cancelled !== undefined) return cancelledEnding({ reason: cancelled }, 0);
  if (refused === undefined) return null;
  return {
    reason: 'tool-error',
    result: `Unable to complete task: ${refused.message}`,
    error: { ...refused, step: 0 },
  };
}

/** The ending of a run that was cancelled; `why` is the caller's reason, or empty. */
export function cancelledEnding(
  { reason: why = '' }: { readonly type?: string; readonly reason?: string },
  steps: number,
): Ending {
  return {
    reason: 'cancelled',
    result: `[Cancelled after ${steps} step(s)]`,
    error: { code: 'cancelled', message: why === '' ? 'The run was cancelled.' : why, step: steps },
  };
}

/** A reply that the user has stopped: what they have seen of it stays in the conversation, as it stays on their page. */
export function partialAnswerKept(
  { ending, messages, shown }: AgentContext,
  { partialAnswer = '' }: { readonly type?: string; readonly partialAnswer?: string },
): Partial<AgentContext> {
  if (ending === null || partialAnswer === '' || shown.output !== null) return {};
  const said: Message = Object.freeze({ role: 'assistant', content: partialAnswer });
  return { ending: { ...ending, partialAnswer }, messages: [...messages, said] };
}
