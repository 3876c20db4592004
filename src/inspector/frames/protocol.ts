import type { RecordLine } from '../../journal/format/record.ts';
import type { RunEvent } from '../../machines/events/run-events.ts';
import type { Json, JsonObject, JsonSchema } from '../../json/json.ts';

/*
 * How server and page talk. Every request under `/api/` carries the token, as `?token=` or `Authorization: Bearer`.
 *
 * - `GET /?token=…`                         the page: `index.html` of its folder, which loads `assets/main.js` and
 *                                           `assets/styles.css`; a saved page is made of the same files, as one script
 * - `GET /assets/<file>`                    the page's other files, the only thing that needs no token
 * - `GET /api/stream`                       SSE: `hello`, then a `session` frame for each session and each change of one
 * - `GET /api/sessions/<id>/stream`         SSE, also of a session that is still to come: of a run or a recording its lines
 *                                           from the first on, then as they are written, several in an event, each in a `data` field.
 *                                           What is not recorded, such as tokens, stands between them as `{"t":"said","event":…}`. The
 *                                           SSE id is the number of the last line, so a reconnecting `EventSource` continues where it
 *                                           was; `?from=<n>` begins after line n. The page plays the lines: it makes the frames.
 *                                           Of a run of this process they have no digests of requests; the recording has.
 *                                           Of a machine without a recording: its frames, each with its number as id
 * - `GET /api/sessions/<id>/lines`          the lines so far in one answer, as `application/x-ndjson`
 * - `GET /api/sessions/<id>/recording`      the recording, as a download
 * - `GET /api/sessions/<id>/frames`         of a machine without a recording `FramePage`: `?from=<n>&limit=<n>`, to fill a gap
 * - `GET /api/sessions/<id>/steps/<n>`      of a machine without a recording `StepDetail`
 * - `GET /api/sessions/<id>/export`         one HTML file that opens offline; `?beside=<id>` puts another session into it, to be
 *                                           compared with
 * - `POST /api/sessions/<id>/act`           an `Act` as JSON, answered with an `ActReply`
 * - `GET /api/search?q=<text>`              `SearchPage`: where the text occurs in the records of all sessions
 * - `POST /api/recordings`                  a recording as `application/x-ndjson`, answered with an `ActReply` that names
 *                                           its session
 * - `POST /api/stately`                     an event of Stately's inspect protocol, or a list of them; `?app=<name>` tells
 *                                           apps apart. Here the token for sending will do, too
 * - `WS /api/stately`                       the same as messages of a WebSocket; what is not an event is answered with an
 *                                           `ActReply`
 */

/** The version of what server and page say to each other. A page that knows an older one says so instead of guessing. */
export const PROTOCOL = 2;

/** The longest recording that the server takes from its page. */
export const MOST_RECORDING_BYTES = 100_000_000;

/** A machine's drawing as data: what XState's `machine.config` holds, functions replaced by their names. */
export interface MachineDrawing {
  /** Digest of the drawing: layouts are cached by it, and it is sent once. */
  readonly hash: string;
  readonly id: string;
  readonly root: StateDrawing;
  /**
   * The known schemas of the events that it takes, by type: the JSON Schema of the event, or of its payload without
   * the type; `false` if it cannot be sent from outside. Left out if nothing is known.
   */
  readonly events?: { readonly [type: string]: JsonSchema };
}

/**
 * What a state means, for its colour and sign. `go`: nothing in particular; `model`, `tool`: one is at work; `wait`: for a
 * person; `pause`: for time to pass; `end`: over, without saying whether it went well.
 */
export const TONES = ['go', 'model', 'tool', 'wait', 'pause', 'caution', 'danger', 'done', 'end'] as const;

/** One of {@link TONES}. */
export type Tone = (typeof TONES)[number];

/** One state of a drawing. `path` is its dotted path below the machine, empty for the root. */
export interface StateDrawing {
  readonly path: string;
  readonly name: string;
  readonly type: 'atomic' | 'compound' | 'parallel' | 'final' | 'history';
  readonly initial: string | null;
  readonly children: readonly StateDrawing[];
  readonly transitions: readonly TransitionDrawing[];
  readonly invokes: readonly { readonly id: string; readonly src: string }[];
  /** Left out: that of the state around it, else `go`. */
  readonly tone?: Tone;
  /** What a history state remembers: its own level, or all below it too. */
  readonly history?: 'shallow' | 'deep';
}

/** A state and all below it. */
export function statesIn(state: StateDrawing): readonly StateDrawing[] {
  return [state, ...state.children.flatMap(statesIn)];
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

/** A run, a recording, or a user's own actor system, as the page lists it. */
export interface SessionInfo {
  readonly id: string;
  readonly kind: 'run' | 'recording' | 'system';
  readonly title: string;
  readonly agent: string;
  /** ISO 8601. */
  readonly at: string;
  readonly status: 'running' | 'answered' | 'stopped' | 'failed' | 'cancelled' | 'interrupted';
  readonly reason: string | null;
  /** Why it cannot be shown in full: it was made by another version, or is damaged. */
  readonly problem: string | null;
  readonly parent: { readonly runId: string; readonly entry: number } | null;
  /** How many calls wait for a person; left out for none. */
  readonly waiting?: number;
  /** What may be done with it from the page. */
  readonly can: readonly ('approve' | 'cancel' | 'send' | 'fork' | 'download')[];
}

/** How a session ended, or that it did not. */
export type SessionEnding = Pick<SessionInfo, 'status' | 'reason'>;

/**
 * An actor of a session. `path` is its id from the root down, `agent/c1/callTool`. A path may be used again after its
 * actor is gone.
 */
export interface ActorInfo {
  readonly path: string;
  readonly parent: string | null;
  readonly src: string;
  /** What people call it, where that is not the end of its path: the tool of a call, the name of an agent, the id of a machine. */
  readonly name?: string;
  /** Hash of its drawing; null for a leaf, which has none. */
  readonly drawing: string | null;
}

/**
 * One transition of one machine. `at` counts milliseconds from the session's beginning. `entry` is the line of the recording
 * that caused it, from 1; null where nothing is recorded.
 */
export interface StepInfo {
  /** Counts from 1. */
  readonly n: number;
  readonly at: number;
  readonly actor: string;
  readonly event: string;
  /** The ids of the drawing's transitions that were taken. */
  readonly transitions: readonly string[];
  /** Dotted paths of all active states, before and after, the root left out. An actor that starts comes from nowhere. */
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly entry: number | null;
  /** The path of the actor that sent the event, null for one outside; left out where it is not known. */
  readonly sender?: string | null;
  /** How its actor ended with this step, where its result says so. */
  readonly tone?: Tone;
  /** The event changed nothing: guards were against it, or no active state knows it. Left out for all other steps. */
  readonly ignored?: 'blocked' | 'unknown';
}

/**
 * Everything that the page shows, one after the other, from the server or made of a recording's lines. A `step` frame comes
 * before the actors that it made, those that it ended, and the events that report it. A drawing comes before the first
 * actor that is drawn by it, once a session.
 */
export type Frame =
  | {
      readonly t: 'hello';
      readonly protocol: number;
      readonly version: string;
      /** The ids of all sessions. */
      readonly sessions: readonly string[];
    }
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
      /** The path of the agent that it is about; left out for the root's, and for tokens. */
      readonly agent?: string;
    }
  | { readonly t: 'session-gone'; readonly session: string }
  | { readonly t: 'record'; readonly session: string; readonly line: number; readonly record: RecordLine }
  /** From here on the recording has records without moves: this version would play them differently, or it is damaged. */
  | { readonly t: 'problem'; readonly session: string; readonly problem: string }
  /** How much of what there is of a recording its player has read, from 0 to 1. */
  | { readonly t: 'read'; readonly session: string; readonly share: number }
  /** A viewer was too slow: this many frames of the session were left out; it may ask for them by `GET`. */
  | { readonly t: 'gap'; readonly session: string; readonly dropped: number };

/** False for what follows from no transition, such as tokens and news of servers: it has the number of what came before it. */
export function isNumbered({ type }: RunEvent): boolean {
  return !UNNUMBERED.has(type);
}

const UNNUMBERED: ReadonlySet<RunEvent['type']> = new Set([
  'model.token',
  'output.partial',
  'output.element',
  'tool.progress',
  'question.asked',
  'question.answered',
  'mcp.changed',
  'mcp.log',
]);

/** A stretch of a session's numbered frames: `frames[0]` has the number `from + 1`. `next` null: there are no more yet. */
export interface FramePage {
  readonly from: number;
  readonly frames: readonly Frame[];
  readonly next: number | null;
}

/** What a saved page holds, as escaped JSON in `<script type="application/json" id="signalbox-saved">`. */
export interface SavedPage {
  /** Signalbox's own. */
  readonly version: string;
  /** The session that it is about, and the one that this is compared with, if any. */
  readonly sessions: readonly SavedSession[];
}

/** A session in a saved page: its recording, or the frames that were kept of a machine without one. */
export type SavedSession =
  | { readonly info: SessionInfo; readonly lines: string }
  /** `details`: of the steps in order, objects shared between them written once: read it with `unshare`. */
  | { readonly info: SessionInfo; readonly frames: readonly Frame[]; readonly details: SharedJson };

/** JSON in which equal objects occur once; made by `share`, read by `unshare`. */
export interface SharedJson {
  readonly shared: readonly Json[];
  readonly root: Json;
}

/** What is shown of one step, made when it is asked for. */
export interface StepDetail {
  readonly step: StepInfo;
  readonly event: JsonObject;
  /** The context before and after, secrets as marks. Null before a beginning, and where it is not known. */
  readonly before: Json;
  readonly after: Json;
  /** The contexts that cannot be known: an actor left its initial state at once, and does not begin the same way again. */
  readonly unknown: readonly ('before' | 'after')[];
  /** Each transition that could have been taken on this event, in order, and its guard's result on the recorded snapshot. */
  readonly candidates: readonly {
    readonly transition: string;
    readonly guard: string | null;
    readonly passed: boolean | 'failed' | 'unknown';
    readonly taken: boolean;
  }[];
}

/** Where a text was found in the records of sessions, the newest first. `partial`: not everything was searched. */
export interface SearchPage {
  readonly hits: readonly {
    readonly session: string;
    /** The line of the recording, the head being 1. */
    readonly line: number;
    readonly where: string;
    readonly excerpt: string;
  }[];
  readonly partial: boolean;
}

/** The outcome of an {@link Act}. `session` is a new one, made by a fork. */
export type ActReply =
  | { readonly ok: true; readonly session?: string }
  | { readonly ok: false; readonly message: string };

/** What the page asks for: `POST /api/sessions/<id>/act`. `send` without `to` goes to the root. */
export type Act =
  | { readonly kind: 'approve'; readonly callId: string; readonly always?: boolean; readonly args?: JsonObject }
  | { readonly kind: 'reject'; readonly callId: string; readonly reason?: string }
  | { readonly kind: 'cancel'; readonly reason?: string }
  | { readonly kind: 'send'; readonly event: { readonly type: string } & JsonObject; readonly to?: string }
  | { readonly kind: 'fork'; readonly entry: number; readonly outcome?: Json };
