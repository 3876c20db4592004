import type { RunQuery, RunSummary } from '../format/tally.ts';
import type { Effect, Journal, OutsideEvent, Perform } from '../../actors/journal.ts';
import type { Json } from '../../json/json.ts';
import type { RecordLine, RunRecord } from '../format/record.ts';
import type { Recording } from '../format/recording.ts';
import type { RepairedRun } from '../format/cut-recording.ts';
import type { RunRequests } from './run-requests.ts';

/** A journal that also takes events from outside. */
export interface RunJournal extends Journal {
  /**
   * Puts an event from outside in order. Resolves true once it is durable, false when its target does not take it any
   * more: it is over, or was never there.
   */
  send(event: OutsideEvent, to?: string): Promise<boolean>;
  /** How long ago the run began, in milliseconds; while it is played from a recording, as recorded. Default: counted from now. */
  at?(): number;
  /** Releases a run that cannot continue here: it has no end, and can be taken again. Called instead of `end`. */
  abandon?(): Promise<void>;
  /** Whether no entry is waiting to be delivered to the machine. A journal without it parks no runs. */
  isIdle?(): boolean;
  /**
   * Lets a run go that can be taken again: its work is aborted, nothing more is started, and `next` gives null. What is
   * known of it is written when it is then abandoned. A journal without it holds its runs to their ends.
   */
  release?(): void;
}

/**
 * A journal that does some things in a way of its own, and all else as another. That one may be an object of a class, whose
 * methods are lost by spreading it.
 */
export function journalOver(journal: RunJournal, own: Partial<RunJournal>): RunJournal {
  return {
    open: (effect, perform, fired) => journal.open(effect, perform, fired),
    close: (id) => journal.close(id),
    next: () => journal.next(),
    send: (event, to) => journal.send(event, to),
    end: (output) => journal.end(output),
    ...(journal.at === undefined ? {} : { at: () => journal.at?.() ?? 0 }),
    ...(journal.isIdle === undefined ? {} : { isIdle: () => journal.isIdle?.() === true }),
    ...(journal.release === undefined ? {} : { release: () => journal.release?.() }),
    ...(journal.abandon === undefined ? {} : { abandon: async () => journal.abandon?.() }),
    ...own,
  };
}

/** What a journal receives about the run that it keeps. */
export interface RunHead {
  readonly head: RunRecord;
  /** Whether the actor at a path (the root without one) takes this event now. */
  readonly accepts: (event: OutsideEvent, to: string | undefined) => boolean;
  /** Set for a run that continues where a recording stops. */
  readonly carried?: Carried;
}

/** What a journal takes over of a run that has a past. */
export interface Carried {
  /** How long ago the run began, in milliseconds. */
  readonly at: number;
  /** What is written first, in the place of the head: of a resumed run the restart, of a fork all that it shares. */
  readonly records: readonly RecordLine[];
  /** Shortens requests against those of the past. */
  readonly write: (effect: Effect) => Json;
  /** Effects whose starts are recorded, to be launched again in this order. */
  readonly open: readonly CarriedEffect[];
  /** Timers that expired meanwhile, in due order. */
  readonly overdue: readonly string[];
}

/** An effect that is launched; of a timer that was started before, how much of its time is left. */
export interface CarriedEffect {
  readonly effect: Effect;
  readonly perform: Perform;
  readonly leftMs?: number;
  /** Fires a timer before its time. */
  readonly fired?: Promise<unknown> | undefined;
}

/** A place where runs are kept: the option `journal` of an agent. A store of your own needs `open` only. */
export interface JournalStore {
  /** Begins the record of one run. Throws when it cannot be kept there. */
  open(run: RunHead): RunJournal;
  /**
   * Makes the caller the only writer of a run that is there already, at its end; null when there is none. A torn tail is
   * cut. Rejects with a `JournalError` (code `run-locked`) while another process writes it.
   */
  take?(runId: string): Promise<TakenRun | null>;
  /** What is recorded of a run so far; null when there is none. */
  read?(runId: string): Promise<Recording | null>;
  /** Changes when a run has more records or was made anew; null when there is none. Without it, a followed run is read again and again. */
  revision?(runId: string): Promise<string | null>;
  /**
   * Calls `changed` whenever a run may have more records, whoever writes them, until the function that it returns is
   * called. With it, a run is followed without frequent polling; it is still polled every few seconds.
   */
  changes?(runId: string, changed: () => void): () => void;
  /** The runs that match, newest first. */
  list?(query?: RunQuery): Promise<readonly RunSummary[]>;
  /** Removes a run; false if there was none. Rejects with a `JournalError` (`run-locked`) while another process writes it. */
  remove?(runId: string): Promise<boolean>;
  /**
   * Cuts a damaged run off before its first damage, so that it can be read and taken again; null when there is none. Rejects
   * as `remove` does, and with a `RecordingError` when nothing of it is whole.
   */
  repair?(runId: string): Promise<RepairedRun | null>;
  /**
   * Makes the caller the only holder of a name, among all processes that use this store, until the returned function is
   * called; null while another has it. The names of a dead process become free. It locks a conversation: without it,
   * two processes that begin runs of the same conversation at the same moment may both succeed.
   */
  claim?(name: string): Promise<(() => void | Promise<void>) | null>;
  /** Where the secrets of a run are kept while it lasts, apart from its recording. Without it they are in memory alone. */
  readonly secrets?: RunSecrets;
  /**
   * How processes reach a run that another one drives. Without it, `agent.approve`, `steer`, `cancel` and the like reject with a
   * `JournalError` (`run-locked`) there.
   */
  readonly requests?: RunRequests;
}

/** A store that also lists, continues, repairs and removes runs, as those of Signalbox do. */
export type WholeStore = JournalStore & Required<Omit<JournalStore, 'changes'>>;

/** The secrets of runs, by their marks such as `«secret:1»`. A run's secrets are deleted when it ends or is removed. */
export interface RunSecrets {
  /** Adds to a run's secrets. They are durable when this returns. */
  keep(runId: string, secrets: Readonly<Record<string, string>>): void;
  /** A run's secrets; empty if there are none. */
  read(runId: string): Readonly<Record<string, string>>;
}

/**
 * A run that was taken for writing: what it holds, and where to write on. Closing the sink gives it back, and so does a
 * write that fails. Large payloads are the sink's business: it is given whole records.
 */
export interface TakenRun {
  readonly recording: Recording;
  readonly sink: Sink;
}

/** Where a live journal writes. A promise means: not durable before it resolves. */
export interface Sink {
  append(records: readonly RecordLine[]): void | Promise<void>;
  /**
   * Puts these records, the head first, in the place of all that is recorded, in one step: after a crash there is the one
   * or the other. Without it, a run that is migrated is removed and begun again.
   */
  replace?(records: readonly RecordLine[]): void | Promise<void>;
  /** Calls `doubted` when another process may have taken the run: a run that waits then appends nothing, to find out. */
  onDoubt?(doubted: () => void): void;
  close(): void | Promise<void>;
}

/** Gives a run back. What was written counts, and what could not be says why: that its place cannot be tidied up changes neither. */
export async function giveBack(sink: Pick<Sink, 'close'>): Promise<void> {
  try {
    await sink.close();
  } catch {
    // It is free once its place can be tidied up.
  }
}
