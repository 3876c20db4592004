import type { Effect, Entry, LeafError, OutsideEvent } from '../../actors/journal.ts';
import type { Message, Part, ToolCalling } from '../../actors/model.ts';
import type {
  AgentSettings,
  ChildSetup,
  RankedModel,
  OutputSpec,
  Toolset,
} from '../../machines/contract/agent-setup.ts';
import type { SentMessage } from '../../machines/contract/mail.ts';
import type { Json, JsonObject } from '../../json/json.ts';
import { wrongOption } from '../../json/known-options.ts';
import type { Effects } from '../../tools/spec.ts';

/** The version of the recording format that is written. A newer one is refused, unknown kinds of records are skipped. */
export const FORMAT = 1;

/** The ids that a run can have, in whatever journal: in some they name files. */
export const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Refuses the id that a program gives a new run, if it is none. */
export function checkRunId(what: string, runId: unknown): void {
  if (runId === undefined || (typeof runId === 'string' && RUN_ID.test(runId))) return;
  const rule = 'must be 1 to 128 letters, digits, dots, dashes and underscores, and begin with a letter or a digit';
  throw wrongOption(`${what}: option 'runId' ${rule}; it is ${JSON.stringify(runId)}.`);
}

/** The first line of a recording: the run's whole input. */
export interface RunRecord {
  readonly t: 'run';
  readonly format: number;
  readonly runId: string;
  /** When it began, in ISO 8601. */
  readonly at: string;
  readonly machine: { readonly id: string; readonly version: string; readonly hash: string };
  readonly agent: string;
  /** The version that the agent's option named; left out where there was none. */
  readonly version?: string;
  readonly input: string;
  /** The input as text, images and files; left out if it is only text. */
  readonly content?: readonly Part[];
  readonly cancelled?: string;
  /** Messages that people had queued before it began, for the runs after it; left out where there are none. */
  readonly queued?: readonly SentMessage[];
  readonly refused?: { readonly code: string; readonly message: string };
  readonly instructions: string;
  readonly promptByCode: boolean;
  readonly toolCalling: ToolCalling;
  /** The model had called natively before the run; left out if it had not. */
  readonly callsNatively?: boolean;
  readonly toolset: Toolset;
  readonly history: readonly Message[];
  readonly options: AgentSettings;
  readonly seed: number;
  readonly warnings: readonly string[];
  /** The agents below; left out where there is none. */
  readonly children?: readonly ChildSetup[];
  /** Code decides about escalations. */
  readonly escalates?: boolean;
  /** What the answer must be; left out where it is text. */
  readonly output?: OutputSpec;
  /** The models in the order in which they are asked; left out where there is one. */
  readonly models?: readonly RankedModel[];
  readonly metadata: JsonObject;
  /** Of a fork: the run that it comes from, and the number of the last record that it shares with it. */
  readonly parent?: { readonly runId: string; readonly entry: number };
}

/** An effect was started. `at` counts milliseconds from the beginning of the run. */
export interface StartRecord {
  readonly t: 'start';
  readonly at: number;
  readonly id: string;
  readonly name: string;
  readonly effects: Effects;
  readonly digest: string;
  readonly key: string;
  readonly request?: Json;
  /** Set for a timer: how long it runs. */
  readonly ms?: number;
}

/** A leaf has yielded. */
export type OutcomeRecord =
  | { readonly t: 'outcome'; readonly at: number; readonly id: string; readonly ok: true; readonly value: Json }
  | { readonly t: 'outcome'; readonly at: number; readonly id: string; readonly ok: false; readonly error: LeafError };

/** A timer has fired. */
export interface TimerRecord {
  readonly t: 'timer';
  readonly at: number;
  readonly id: string;
}

/** An event from outside. */
export interface EventRecord {
  readonly t: 'event';
  readonly at: number;
  readonly event: OutsideEvent;
  readonly to?: string;
  /** It was written while no process drove the run: effects that the run requested before it may be started after it. */
  readonly aside?: true;
}

/** The run has ended with this output, without its messages, which follow from the rest. */
export interface EndRecord {
  readonly t: 'end';
  readonly at: number;
  readonly output: Json;
}

/** The run was resumed: it was parked or released, or its process had ended before it. A replay ignores it. */
export interface RestartRecord {
  readonly t: 'restart';
  readonly at: number;
}

/** A note; no machine receives it. `id` is that of the effect that made it. */
export interface NoteRecord {
  readonly t: 'note';
  readonly at: number;
  readonly id?: string;
  readonly note: JsonObject;
}

/** A large payload, on the line before its first use. It means nothing by itself: readers insert it where it is referenced. */
export interface BlobRecord {
  readonly t: 'blob';
  readonly hash: string;
  readonly value: Json;
}

/** What a recording consists of; in a file {@link BlobRecord}s stand between. */
export type RecordLine =
  | RunRecord
  | StartRecord
  | OutcomeRecord
  | TimerRecord
  | EventRecord
  | EndRecord
  | RestartRecord
  | NoteRecord;

/** The record of an entry. */
export function entryRecord(entry: Entry, at: number): OutcomeRecord | TimerRecord | EventRecord | NoteRecord {
  switch (entry.t) {
    case 'outcome':
      return entry.out.ok
        ? { t: 'outcome', at, id: entry.id, ok: true, value: entry.out.value }
        : { t: 'outcome', at, id: entry.id, ok: false, error: entry.out.error };
    case 'timer':
      return { t: 'timer', at, id: entry.id };
    case 'note':
      return { t: 'note', at, id: entry.id, note: entry.note };
    case 'event':
      return { t: 'event', at, event: entry.event, ...(entry.to === undefined ? {} : { to: entry.to }) };
  }
}

/** The entry of a record; null for records that are not entries. */
export function recordedEntry(record: RecordLine): Entry | null {
  switch (record.t) {
    case 'outcome':
      return {
        t: 'outcome',
        id: record.id,
        out: record.ok ? { ok: true, value: record.value } : { ok: false, error: record.error },
      };
    case 'timer':
      return { t: 'timer', id: record.id };
    case 'note':
      return record.id === undefined ? null : { t: 'note', id: record.id, note: record.note };
    case 'event':
      return { t: 'event', event: record.event, ...(record.to === undefined ? {} : { to: record.to }) };
    default:
      return null;
  }
}

/** The record of a start; `request` is what to write of the request, already shortened against earlier ones. */
export function startRecord(effect: Omit<Effect, 'request'>, at: number, request: Json): StartRecord {
  const { id, name, effects, digest, key, ms } = effect;
  const head = { t: 'start', at, id, name, effects, digest, key } as const;
  return ms === undefined ? { ...head, request } : { ...head, ms };
}
