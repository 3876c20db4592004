import type { Effect, OutsideEvent } from '../../actors/journal.ts';
import type { LeafWork } from '../../actors/leaf.ts';
import type { Redactor } from '../../actors/redactor.ts';
import type { RunPort } from '../../inspector/frames/run-port.ts';
import type { RunRecord } from '../../journal/format/record.ts';
import type { RunJournal } from '../../journal/run/run-journal.ts';
import type { Json } from '../../json/json.ts';
import type { SentMessage } from '../../machines/contract/mail.ts';
import type { RunEvent, RunEventBody } from '../../machines/events/run-events.ts';
import type { AnyResult } from '../../machines/contract/run-result.ts';
import type { PendingLogins } from './pending-approvals.ts';
import type { AnyRun } from './run.ts';

/** What a run needs to begin, found out before it does. */
export interface RunStart {
  /** Redacted: secrets in it are already marks. */
  readonly head: RunRecord;
  /** What the leaves do for this agent. */
  readonly work: LeafWork;
  /**
   * Opens the journal; `place` returns the machine's state as a dotted path, `waiting` the path of the actor that waits
   * for an answer about a call.
   */
  readonly journal: (
    accepts: (event: OutsideEvent, to: string | undefined) => boolean,
    place: () => string,
    waiting: (callId: string) => string | undefined,
  ) => RunJournal;
  /** Where the run can be inspected while it is live. Default: nowhere. */
  readonly inspector?: RunPort | null;
}

/** Makes the start of a run, at the very moment at which it starts; `cancelled`: the reason, if it was cancelled. */
export type MakeStart = (cancelled: string | undefined) => RunStart;

/** What a run is made of. */
export interface RunPlan {
  readonly runId: string;
  readonly task: string;
  /** Waits for what the run needs, at most until it is cancelled. */
  readonly prepare: (signal: AbortSignal) => MakeStart | Promise<MakeStart>;
  readonly context: unknown;
  readonly traceparent?: string | undefined;
  readonly recordTokens?: boolean | undefined;
  readonly redactor: Redactor;
  /** Whether what happens now is played from a recording. While it is, whatever fails makes the result reject. */
  readonly replayed: () => boolean;
  /** Resolves when nothing is played any more; answers to waiting calls are held until then. */
  readonly caughtUp?: Promise<unknown>;
  /** Whether a cancel from before it had begun took effect. Left out for a run without a past, which such a cancel always ends. */
  readonly cancelled?: Promise<boolean>;
  /** Starts another run from a record of this one, and gives its id; left out where that would lead nowhere. */
  readonly fork?: (recording: string, entry: number, outcome: Json | undefined) => Promise<string>;
  /** Left out if there is no listener: events are then made on demand. */
  readonly onEvent?: ((event: RunEvent) => void) | undefined;
  /** The sign-ins that the agent's servers wait for. */
  readonly logins?: PendingLogins;
  /** Gets the system prompt of each request. */
  readonly onPrompt?: (prompt: string) => void;
  /** Called once, before the result is known to anyone else; null if there is none because the replay failed. */
  readonly onDone: (result: AnyResult | null) => void | Promise<void>;
  /** Whether the run may be released. Default: no. */
  readonly resumable?: boolean;
  /** The run is released as soon as it waits only for effects for which this returns true. Default: never. */
  readonly parksOn?: ((effect: Effect) => boolean) | undefined;
  /** Called whenever the machine has come to rest; while it is played from a recording only when that is over. */
  readonly onStable?: () => void;
  /** Starts the runs after this one with queued messages, in order. Default: they are not started. */
  readonly next?: NextRuns | undefined;
}

/** What becomes of messages that were queued in a run that has ended, each in its turn. */
export type NextRuns = (messages: readonly SentMessage[]) => readonly Promise<NextRun>[];

/** The run whose input is a queued message, `kept` if a later process begins it, null if none does. */
export type NextRun = { readonly runId: string } | 'kept' | null;

/** A run, and what its agent may do with it beyond what the handle offers. */
export interface StartedRun {
  readonly run: AnyRun;
  /** Puts an event from outside in order; false when the run does not take it. */
  readonly send: (event: OutsideEvent) => Promise<boolean>;
  /** Takes a message back that it has not delivered, behind those that were sent before. */
  readonly withdraw: (id: string) => Promise<boolean>;
  /** Whose permissions it has, if not the agent's own. */
  owner?: string;
  /** Whether it is being released: requests to it now go to whoever has it next. */
  readonly isLetGo: () => boolean;
  /** Reports something that is not part of the run itself; it has the number of the event before it. */
  readonly announce: (body: RunEventBody) => void;
}
