import type { SessionEnding } from './protocol.ts';
import type { AnyActorRef } from 'xstate';
import type { OutsideEvent } from '../../actors/journal.ts';
import type { RecordLine, RunRecord } from '../../journal/format/record.ts';
import type { Json, JsonObject } from '../../json/json.ts';
import type { RunEventBody } from '../../machines/events/run-events.ts';
import type { Microstep } from '../../machines/events/transition-log.ts';

/** A run as the inspector receives it: its records, what is not recorded while someone watches, and what may be done with it. */
export interface WatchedRun {
  readonly head: RunRecord;
  /** Reads the records one after the other, null when there are no more yet. */
  reader(): () => RecordLine | null;
  /** Null: no one watches any more. A watcher that comes while the run is being attached receives all microsteps. */
  watch(watcher: RunWatcher | null): void;
  /** What the agent's own model has streamed of the reply that it is at, as tokens that begin it anew; none: it is at none. */
  said(): readonly Unrecorded[];
  /** The recording so far, as JSON lines. */
  recording(): string;
  approve(callId: string, how: { readonly always?: boolean; readonly args?: JsonObject }): Promise<boolean>;
  reject(callId: string, reason: string): Promise<boolean>;
  cancel(reason: string): Promise<boolean>;
  send(event: OutsideEvent, to: string | undefined): Promise<boolean>;
  /** Starts a new run from the entry on that line, with another outcome if one is given; returns its id. */
  readonly fork?: (entry: number, outcome: Json | undefined) => Promise<string>;
}

/** What an agent reports of a run afterwards. */
export interface Attachment {
  /** How many calls of the run wait for a person now. */
  waiting?(calls: number): void;
  /** The run is over, and how: there will be no more records. */
  ended(ending: SessionEnding): void;
}

/** An actor beside the runs, such as the connection to an MCP server. It may be at work already. */
export interface WatchedActor {
  readonly title: string;
  readonly agent: string;
  readonly actor: AnyActorRef;
  /** Puts marks in the place of secrets: nothing else has put marks into what the actor holds. */
  readonly redact: <T>(value: T) => T;
}

/** Where agents hand their runs in. */
export interface RunPort {
  /** Watchers get each microstep, which costs; without it the run reports only that there are more records. Default: false. */
  readonly needsMicrosteps?: boolean;
  attach(run: WatchedRun): Attachment;
  /** Shows an actor until the returned function is called. A port that shows runs alone has no such method. */
  attachActor?(watched: WatchedActor): () => void;
}

/** Watches a run while it is at work. Called synchronously; what it throws is ignored. */
export interface RunWatcher {
  /** There is another line to be read. */
  onLine(): void;
  /** Something was reported that is not recorded. */
  onUnrecorded(what: Unrecorded): void;
  /** Called where the port needs it. */
  onMicrostep?(microstep: Microstep): void;
}

/** What no record holds: a remark of a leaf, such as a token, with the id of its effect; or an event, such as news of a server. */
export type Unrecorded = { readonly id: string; readonly note: JsonObject } | { readonly event: RunEventBody };

/** Where the lines of a recording come from: a run at work, or a file. */
export interface LineSource {
  /** Reads the lines from the first on, null when there are no more yet. */
  reader(): () => RecordLine | null;
  /** As that of {@link WatchedRun}; a file has none. */
  said?(): readonly Unrecorded[];
  /** Begins to watch; returns a function that stops it. */
  watch(watcher: Pick<RunWatcher, 'onLine' | 'onUnrecorded'>): () => void;
}
