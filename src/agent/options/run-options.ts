import { wrongOption } from '../../json/known-options.ts';
import type { AgentOptions } from './agent-options.ts';
import type { CheckOutput } from './output-options.ts';
import type { OutputMode } from '../../machines/contract/agent-setup.ts';
import type { Message } from '../../actors/model.ts';
import type { Recording } from '../../journal/format/recording.ts';
import type { RunSummary } from '../../journal/format/tally.ts';
import type { RunPort } from '../../inspector/frames/run-port.ts';
import type { RunReason, RunResult } from '../../machines/contract/run-result.ts';
import type { ForkOptions } from '../../journal/replay/fork.ts';
import type { JournalStore } from '../../journal/run/run-journal.ts';
import { toJson } from '../../json/to-json.ts';
import { type JsonObject, isJsonObject } from '../../json/json.ts';

/** Options of one run. */
export interface RunOptions<TContext = unknown, TSchema = undefined> {
  /** Cancels the run when it aborts. If it is already aborted, the result is `cancelled` without any request. */
  readonly signal?: AbortSignal | undefined;
  /** Overrides the agent's for this run. */
  readonly maxSteps?: number | undefined;
  /**
   * The schema of this run's answer, instead of the agent's `outputSchema`; the agent's `outputMode` and `checkOutput`
   * then do not apply.
   */
  readonly outputSchema?: TSchema | undefined;
  /** How the answer is given, like `outputMode` of `createAgent`. Only with `outputSchema`. */
  readonly outputMode?: OutputMode | undefined;
  /** Checks the answer, like `checkOutput` of `createAgent`. Only with `outputSchema`. */
  readonly checkOutput?: CheckOutput<TContext, TSchema> | undefined;
  /** Your own value for tools, `validateArgs` and `confirm`; never shown to the model or recorded. */
  readonly context?: TContext | undefined;
  /**
   * The trace that the run belongs to, as in the W3C header of that name: `00-<32 hex digits>-<16 hex digits>-01`. MCP servers get
   * it with each call. A value in another form is not sent.
   */
  readonly traceparent?: string | undefined;
  /**
   * What happens while another run is live: `refuse` throws an `AgentBusyError`; `queue` starts this one when that is over;
   * `steer` sends the input to the live run's model and returns that run; `interrupt` does so at once. Default `refuse`.
   */
  readonly whenBusy?: (typeof WHEN_BUSY)[number] | undefined;
  /**
   * Asks the last input again: the model sees it once, without its earlier answer. If that had called tools, the earlier input stays
   * as well, with all that followed it. Default false.
   */
  readonly again?: boolean | undefined;
  /** JSON in the recording's first line. */
  readonly metadata?: JsonObject | undefined;
  /** Names the run and its file: letters, digits, dots, dashes and underscores. Default: a fresh id that sorts by time. */
  readonly runId?: string | undefined;
  /** Shows this run on the inspector's page: `true` for the process's own, or one of `createInspector`. */
  readonly inspect?: boolean | RunPort | Promise<RunPort> | undefined;
  /**
   * Ends here with the status `waiting` and the reason `parked` as soon as only people or long timers are waited for, and
   * leaves the run in the journal: any process continues it with `agent.resume` or `agent.wake`. Calls that need an approval
   * wait for it, as with `confirm: 'wait'`, unless the agent has another `confirm`. Needs a journal. Default false.
   */
  readonly park?: boolean | undefined;
  /** Where this run is kept. Default: the agent's `journal`. */
  readonly journal?: JournalStore | undefined;
  /** Writes a trace: `true` into the agent's `outputDir`, a text to the file at that path. Default: the agent's `trace`. */
  readonly trace?: boolean | string | undefined;
}

/** How a run of an agent is forked: one forked from an inspector's page is shown on that page. */
export interface ForkRunOptions extends ForkOptions, Pick<RunOptions, 'inspect'> {}

/** The metadata of a run as JSON. Throws a `TypeError` for anything else. */
export function metadataOf(metadata: unknown, what = 'agent.run'): JsonObject {
  const json = toJson(metadata ?? {});
  if (json.ok && isJsonObject(json.value)) return json.value;
  throw wrongOption(`${what}: option 'metadata' must be a JSON object${json.ok ? '' : `: ${json.reason}`}.`);
}

/** The metadata key that names a run's conversation, and the one that names its owner, if that differs. */
const CONVERSATION = 'conversation';
const OWNER = 'conversationOwner';

/** A conversation, as a run of it names it. */
export interface ConversationName {
  readonly id: string;
  readonly owner: string;
}

/** The metadata that assigns a run to a conversation. */
export function conversationMetadata({ id, owner }: ConversationName): JsonObject {
  return { [CONVERSATION]: id, ...(owner === id ? {} : { [OWNER]: owner }) };
}

/** The metadata of a run that belongs to no conversation, such as a fork. */
export function withoutConversation({ [CONVERSATION]: _id, [OWNER]: _owner, ...rest }: JsonObject): JsonObject {
  return rest;
}

/** The owner whose "always allow" counts in a recorded run; undefined: the agent itself. */
export function ownerIn({ metadata }: { readonly metadata: JsonObject }): string | undefined {
  const owner = metadata[OWNER] ?? metadata[CONVERSATION];
  return typeof owner === 'string' ? owner : undefined;
}

/** Random bytes, made for many ids at once: each call costs as much as the rest of a run's start. */
let bytes = new Uint8Array(0);
let unused = 0;

/** A fresh run id: 10 characters of time, so that ids sort by it, and 10 random ones. A valid file name on every system. */
export function newRunId(): string {
  let chance = '';
  for (let at = 0; at < 10; at += 1) {
    if (unused === bytes.length) [bytes, unused] = [crypto.getRandomValues(new Uint8Array(1000)), 0];
    chance += ((bytes[unused++] ?? 0) % 32).toString(32);
  }
  return `${Date.now().toString(32).padStart(10, '0')}-${chance}`;
}

/** The input of `agent.logic` when it is invoked or spawned. */
export interface AgentLogicInput {
  readonly task: string;
  readonly history?: readonly Message[];
  readonly context?: unknown;
  /**
   * What stopping the actor does to its run: `release` (default) releases it, to be resumed from the journal, and
   * cancels it if there is no such journal; `cancel` always ends it.
   */
  readonly onStop?: 'release' | 'cancel';
}

/** How an agent is closed. */
export interface CloseOptions {
  /** How long runs may take to end, in milliseconds. Default 5000. */
  readonly graceMs?: number | undefined;
  /** What happens to live runs. Default `cancel`. */
  readonly runs?: 'cancel' | 'release' | undefined;
}

/** Options that can be changed between runs. */
export type ConfigurableOptions = Pick<
  AgentOptions,
  'output' | 'confirm' | 'permissions' | 'defaultPolicy' | 'model' | 'instructions'
>;

/** How `listTools` lists. */
export interface ListToolsOptions {
  /** With descriptions and schemas. Default false. */
  readonly verbose?: boolean | undefined;
}

/** The `context` of runs that are continued, which is never written: one value, or one for each run. */
interface ContextOptions<TContext> {
  /** The value that their tools get. */
  readonly context?: TContext | undefined;
  /**
   * Instead of `context`: asked for each run before it is continued. A run for which it throws or rejects is left as it is, with that error.
   *
   * @example contextFor: ({ metadata }) => sessionOf(metadata.userId)
   */
  readonly contextFor?: ((run: RunSummary) => TContext | Promise<TContext>) | undefined;
}

/** Which runs `agent.resumeOrphans` resumes. */
export interface OrphanOptions<TContext = unknown> extends ContextOptions<TContext> {
  /** Only runs that began at least this many milliseconds ago. Default 0: all whose lock is free. */
  readonly olderThan?: number | undefined;
  /** At most this many, oldest first. Default: all. */
  readonly limit?: number | undefined;
}

/** A run that could not be resumed, and why: a `ResumeError`, a `RecordingError` or an error of the journal. */
export interface RefusedRun {
  readonly runId: string;
  readonly error: unknown;
}

/** The result of `agent.resumeOrphans`. */
export interface ResumedOrphans<TRun> {
  /** The runs that are now live here. Each can be awaited. */
  readonly runs: readonly TRun[];
  readonly refused: readonly RefusedRun[];
}

/** How a waiting call is approved. */
export interface ApprovalOptions {
  /** Also allows the tool from now on, without asking again. */
  readonly always?: boolean | undefined;
  /** Arguments to use instead; they are validated again. */
  readonly args?: JsonObject | undefined;
  /** The reason, for the tool: `execute` gets it as `approvalReason`. It is recorded. */
  readonly reason?: string | undefined;
}

/** How a message is sent to a run. */
export interface SteerOptions {
  /** Makes it one message, however often it is sent. Default: a new message each time. */
  readonly id?: string | undefined;
  /** Discards the model request in flight, so that the message is read at once. Tools continue. Default false. */
  readonly interrupt?: boolean | undefined;
}

/** How a message for the next run is sent. */
export interface QueueOptions extends Pick<SteerOptions, 'id'> {
  /** Of the run that it becomes. Default: none. */
  readonly metadata?: JsonObject | undefined;
}

/**
 * Whether a message was delivered. If not: the reason why the run ended, `over` if it had ended before, `too-many`
 * beyond `maxSteers`, or `kept` if the run is not live now: it is then delivered when the run is resumed.
 */
export type Delivery =
  | { readonly delivered: true; readonly step: number; readonly runId: string }
  | { readonly delivered: false; readonly reason: RunReason | 'over' | 'too-many' | 'kept' };

/** Which stored runs `agent.wake` continues. */
export interface WakeOptions<TContext = unknown> extends ContextOptions<TContext> {
  /** Timers due by then (a number is in milliseconds since 1970) count as expired. Default: now. */
  readonly due?: Date | number | undefined;
  /** At most this many runs, oldest first; those that cannot continue do not count. Default 100. */
  readonly limit?: number | undefined;
}

/** A stored run that was continued. */
export interface WokenRun {
  readonly runId: string;
  /** How it ended, with the status `waiting` if it was parked again; null if it could not be resumed. */
  readonly result: RunResult<unknown> | null;
  /** Why it could not be resumed. */
  readonly error: Error | null;
}

/** What the run of a queued message has of the run that the message was sent to. */
export type Inherited = Pick<RunOptions, 'context' | 'park'> & { readonly owner?: string | undefined };

/** What to do with a new input while another run is live. */
export const WHEN_BUSY = ['refuse', 'queue', 'steer', 'interrupt'] as const;

/** Options of a conversation. */
export interface ConversationOptions {
  /** The owner: "always allow" applies to that owner only, in all of their conversations. Default: the conversation's id. */
  readonly owner?: string | undefined;
}

/** Options of a resumed run. */
export interface ResumeOptions extends Pick<
  RunOptions,
  'context' | 'traceparent' | 'signal' | 'trace' | 'inspect' | 'park'
> {
  /**
   * Migrates a recording that was made by other machines to one that these can replay. Called for no other recordings;
   * the run is then stored as migrated.
   */
  readonly migrate?: ((recording: Recording) => Recording) | undefined;
}
