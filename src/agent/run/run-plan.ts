import type { Effect, OutsideEvent, Redactor } from '../../actors/journal.ts';
import type { LeafWork } from '../../actors/leaf.ts';
import type { RunPort } from '../../inspector/frames/run-port.ts';
import type { RunRecord } from '../../journal/format/record.ts';
import type { RunJournal } from '../../journal/run/run-journal.ts';
import type { Json } from '../../json/json.ts';
import type { SentMessage } from '../../machines/contract/mail.ts';
import type { RunEvent, RunEventBody } from '../../machines/events/run-events.ts';
import type { AnyResult } from '../../machines/contract/run-result.ts';
import type { RunOptions } from '../options/run-options.ts';
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

/** What a run is asked to do. */
export interface AskedRun {
  readonly runId: string;
  readonly task: string;
  readonly given: Pick<RunOptions, 'context' | 'traceparent'>;
  /** Resolves when nothing is played any more; answers to waiting calls are held until then. */
  readonly caughtUp?: Promise<unknown> | undefined;
  /** Whether a cancel from before it had begun took effect. Left out for a run without a past, which such a cancel always ends. */
  readonly cancelled?: Promise<boolean> | undefined;
  /** Whether its journal can resume it; otherwise it is never released. Default: no. */
  readonly resumable?: boolean;
  /** Called whenever the machine has come to rest; while it is played from a recording only when that is over. */
  readonly onStable?: (() => void) | undefined;
  /** Starts the runs after this one with queued messages, in order. Default: they are not started. */
  readonly next?: NextRuns | undefined;
}

/** What a run is made of. */
export interface RunPlan {
  readonly run: AskedRun;
  readonly redactor: Redactor;
  readonly recordTokens?: boolean | undefined;
  /** Starts another run from a record of this one, and gives its id; left out where that would lead nowhere. */
  readonly fork?: ((recording: string, entry: number, outcome: Json | undefined) => Promise<string>) | undefined;
  /** Left out if there is no listener: events are then made on demand. */
  readonly onEvent?: ((event: RunEvent) => void) | undefined;
  /** The sign-ins that the agent's servers wait for. */
  readonly logins?: PendingLogins;
  /** The run is released as soon as it waits only for effects for which this returns true. Default: never. */
  readonly parksOn?: ((effect: Effect) => boolean) | undefined;
  /** Waits for what the run needs, at most until it is cancelled. */
  prepare(signal: AbortSignal): MakeStart | Promise<MakeStart>;
  /** Whether what happens now is played from a recording. While it is, whatever fails makes the result reject. */
  replayed(): boolean;
  /** Gets the system prompt of each request. */
  onPrompt?(prompt: string): void;
  /** Called once, before the result is known to anyone else; null if there is none because the replay failed. */
  onDone(result: AnyResult | null): void | Promise<void>;
}

/** What becomes of messages that were queued in a run that has ended, each in its turn. */
export type NextRuns = (messages: readonly SentMessage[]) => readonly Promise<NextRun>[];

/** The run whose input is a queued message, `kept` if a later process begins it, null if none does. */
export type NextRun = { readonly runId: string } | 'kept' | null;

/** A run, and what its agent may do with it beyond what the handle offers. */
export interface StartedRun {
  readonly run: AnyRun;
  /** Puts an event from outside in order; false when the run does not take it. */
  send(event: OutsideEvent): Promise<boolean>;
  /** Takes a message back that it has not delivered, behind those that were sent before. */
  withdraw(id: string): Promise<boolean>;
  /** Whose permissions it has, if not the agent's own. */
  owner: string | undefined;
  /** Whether it is being released: requests to it now go to whoever has it next. */
  isLetGo(): boolean;
  /** Reports something that is not part of the run itself; it has the number of the event before it. */
  announce(body: RunEventBody): void;
}
