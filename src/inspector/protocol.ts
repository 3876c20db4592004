import type { RecordLine } from '../journal/record.ts';
import type { RunEvent } from '../machines/run-events.ts';
import type { Json, JsonObject } from '../parsing/json.ts';

/** The version of what server and page say to each other. A page that knows an older one says so instead of guessing. */
export const PROTOCOL = 1;

/** A machine's drawing as data: what XState's `machine.config` holds, functions replaced by their names. */
export interface MachineDrawing {
  /** Digest of the drawing: layouts are cached by it, and it is sent once. */
  readonly hash: string;
  readonly id: string;
  readonly root: StateDrawing;
}

/** One state of a drawing. `path` is its dotted path below the machine, empty for the root. */
export interface StateDrawing {
  readonly path: string;
  readonly name: string;
  readonly type: 'atomic' | 'compound' | 'parallel' | 'final' | 'history';
  readonly initial: string | null;
  readonly children: readonly StateDrawing[];
  readonly transitions: readonly TransitionDrawing[];
  readonly invokes: readonly { readonly id: string; readonly src: string }[];
  readonly entry: readonly string[];
  readonly exit: readonly string[];
  readonly description?: string;
}

/** One arrow. `target` null: it stays where it is. */
export interface TransitionDrawing {
  /** Unique in its drawing. */
  readonly id: string;
  /** As people read it: `tool.failed`, `after backoff`, `always`, `callLlm.done`. */
  readonly label: string;
  readonly eventType: string;
  readonly target: string | null;
  readonly guard: string | null;
  readonly actions: readonly string[];
}

/** A run, a recording, or somebody's own actor system, as the page lists it. */
export interface SessionInfo {
  readonly id: string;
  readonly kind: 'run' | 'recording' | 'system';
  readonly title: string;
  readonly agent: string;
  /** ISO 8601. */
  readonly at: string;
  readonly status: 'running' | 'answered' | 'stopped' | 'failed' | 'cancelled' | 'interrupted';
  readonly reason: string | null;
  readonly parent: { readonly runId: string; readonly entry: number } | null;
  /** What may be done with it from the page. */
  readonly can: readonly ('approve' | 'cancel' | 'send' | 'fork' | 'download')[];
}

/** An actor of a session. `path` is its id from the root down, `agent/c1/callTool`. */
export interface ActorInfo {
  readonly path: string;
  readonly parent: string | null;
  readonly src: string;
  /** Hash of its drawing; null for a leaf, which has none. */
  readonly drawing: string | null;
}

/** One move of one machine. `at` counts milliseconds from the session's beginning, `entry` is the line of the recording. */
export interface StepInfo {
  readonly n: number;
  readonly at: number;
  readonly actor: string;
  readonly event: string;
  /** The drawing's transitions that were taken. */
  readonly transitions: readonly string[];
  /** Dotted paths of all active states, before and after. */
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly entry: number | null;
}

/** Everything that the page is told, one after the other; a saved page holds the same as a list. */
export type Frame =
  | { readonly t: 'hello'; readonly protocol: number; readonly version: string; readonly live: boolean }
  | { readonly t: 'session'; readonly session: SessionInfo }
  | { readonly t: 'drawing'; readonly drawing: MachineDrawing }
  | { readonly t: 'actor'; readonly session: string; readonly actor: ActorInfo; readonly step: number }
  | { readonly t: 'actor-gone'; readonly session: string; readonly path: string; readonly step: number }
  | { readonly t: 'step'; readonly session: string; readonly step: StepInfo }
  | {
      readonly t: 'event';
      readonly session: string;
      readonly event: RunEvent;
      readonly at: number;
      readonly step: number;
    }
  | { readonly t: 'record'; readonly session: string; readonly line: number; readonly record: RecordLine }
  /** A viewer was too slow: this many frames of the session were left out; it may ask for them by `GET`. */
  | { readonly t: 'gap'; readonly session: string; readonly dropped: number };

/** What the server answers about one step, made when it is asked for: `GET /api/sessions/<id>/steps/<n>`. */
export interface StepDetail {
  readonly step: StepInfo;
  readonly event: JsonObject;
  /** The context before and after, secrets as marks. */
  readonly before: Json;
  readonly after: Json;
  /** Each transition that could have been taken on this event, in order, and what its guard said on the recorded snapshot. */
  readonly candidates: readonly {
    readonly transition: string;
    readonly guard: string | null;
    readonly passed: boolean | 'failed';
    readonly taken: boolean;
  }[];
}

/** What the page asks for: `POST /api/sessions/<id>/act`, answered with `{ ok, message?, session? }`. */
export type Act =
  | { readonly kind: 'approve'; readonly callId: string; readonly always?: boolean; readonly args?: JsonObject }
  | { readonly kind: 'reject'; readonly callId: string; readonly reason?: string }
  | { readonly kind: 'cancel'; readonly reason?: string }
  | { readonly kind: 'send'; readonly event: { readonly type: string } & JsonObject; readonly to?: string }
  | { readonly kind: 'fork'; readonly entry: number; readonly outcome?: Json };
