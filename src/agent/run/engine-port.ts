import type { Message } from '../../actors/model.ts';
import type { RunRecord } from '../../journal/format/record.ts';
import type { RunHead, RunJournal } from '../../journal/run/run-journal.ts';
import type { JsonObject } from '../../json/json.ts';
import type { AgentPath, AnyResult } from '../../machines/contract/run-result.ts';
import type { RunInput } from '../options/input-parts.ts';
import type { PendingApproval } from './run.ts';

/** One run that a durable engine drives: what it is given, and where its past comes from. */
export interface EngineRun {
  readonly runId: string;
  readonly input: RunInput;
  /** What was said before. Default: nothing. */
  readonly history?: readonly Message[];
  readonly metadata?: JsonObject;
  readonly maxSteps?: number;
  /** This and `traceparent` as in the options of `agent.run`. */
  readonly context?: unknown;
  readonly traceparent?: string | undefined;
  /** Gives the run's first line as the engine keeps it; where it keeps none yet, it keeps what `make` gives. */
  readonly head: (make: () => RunRecord) => PromiseLike<RunRecord>;
  /** Opens the journal. The run waits for nothing else than its `next`. */
  readonly journal: (run: EngineHead) => RunJournal;
  /** Whether what happens now has happened in an attempt before. */
  readonly replayed: () => boolean;
  /** Called with the result, secrets as marks; null where there is none. */
  readonly onDone: (result: AnyResult | null) => void;
}

/** What an engine's journal receives about its run. */
export interface EngineHead extends Omit<RunHead, 'carried'> {
  /** The path of the actor that waits for a person's answer about a call; undefined if none does. */
  readonly waiting: (callId: string) => string | undefined;
  /** Where the run stands. */
  readonly view: () => EngineView;
  /** Puts marks in the place of secrets. */
  readonly redact: <T>(value: T) => T;
  /** Called with what an earlier attempt made; no new secret may get one of its marks. */
  readonly reserve: (value: unknown) => void;
}

/** Where a run on an engine stands. */
export interface EngineView {
  /** The state as a dotted path: `PLANNING.ASKING`. */
  readonly path: AgentPath;
  readonly stepsTaken: number;
  /** The calls and questions that wait for a person. */
  readonly pending: readonly PendingApproval[];
}

/** The error code of a question that only an event from outside can answer: an engine keeps it open, at no cost. */
export const WAITS = 'waits-for-event';

/** The key under which an agent offers to be driven by an engine. */
export const ENGINE: unique symbol = Symbol.for('signalbox.engine');

/** What an engine can drive: an agent. */
export interface Drivable {
  /** Resolves when the run is over, or was released by its journal. */
  readonly [ENGINE]: (run: EngineRun) => PromiseLike<unknown>;
}
