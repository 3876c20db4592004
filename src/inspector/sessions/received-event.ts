import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import { displayJson, displayObject } from '../frames/display-json.ts';

/** An event of Stately's inspect protocol, as another app has sent it. */
export type ReceivedEvent = ActorReceived | EventReceived | SnapshotReceived;

/** An actor is there. */
export interface ActorReceived extends Addressed {
  readonly type: '@xstate.actor';
  readonly name: string;
  readonly parentId: string | null;
  /** The machine's configuration as JSON; null where there is none. */
  readonly definition: string | null;
  readonly snapshot: ReceivedSnapshot;
}

/** An actor got an event. The snapshot after it shows the effect. */
export interface EventReceived extends Addressed {
  readonly type: '@xstate.event';
  readonly event: { readonly type: string };
  /** The session id of the actor that sent it; null for one outside. */
  readonly sourceId: string | null;
}

/** What an actor is after an event. */
export interface SnapshotReceived extends Addressed {
  readonly type: '@xstate.snapshot';
  readonly event: { readonly type: string } & JsonObject;
  readonly snapshot: ReceivedSnapshot;
}

/** The part of a snapshot that is shown. */
export interface ReceivedSnapshot {
  readonly status: string;
  /** Null for an actor that is not a machine. */
  readonly value: Json;
  readonly context: Json;
}

interface Addressed {
  readonly sessionId: string;
  /** Null where the sender does not know. */
  readonly rootId: string | null;
  /** Milliseconds since 1970; null if there is no usable value. */
  readonly at: number | null;
}

/** The longest id, and how much of a name is shown. */
const LONGEST_ID = 500;
const LONGEST_NAME = 200;

/** Reads one event; null for anything else. The result is plain JSON, nested no deeper than can be serialized again. */
export function readReceived(given: unknown): ReceivedEvent | null {
  if (!isJsonObject(given) || typeof given.sessionId !== 'string') return null;
  const { type, sessionId } = given;
  if (sessionId.length > LONGEST_ID) return null;
  const at = Number(given.createdAt);
  const to: Addressed = { sessionId, rootId: rootIdOf(given.rootId), at: Number.isFinite(at) && at > 0 ? at : null };
  switch (type) {
    case '@xstate.actor':
      return {
        ...to,
        type,
        name: (typeof given.name === 'string' ? given.name : sessionId).slice(0, LONGEST_NAME),
        parentId: typeof given.parentId === 'string' ? given.parentId : null,
        definition: typeof given.definition === 'string' ? given.definition : null,
        snapshot: snapshotOf(given.snapshot),
      };
    case '@xstate.event':
      return {
        ...to,
        type,
        event: { type: eventType(given.event) },
        sourceId: typeof given.sourceId === 'string' ? given.sourceId : null,
      };
    case '@xstate.snapshot':
      return { ...to, type, event: eventOf(given.event), snapshot: snapshotOf(given.snapshot) };
    default:
      return null;
  }
}

/** Events that are reported by hand carry `anonymous`. */
function rootIdOf(rootId: unknown): string | null {
  return typeof rootId === 'string' && rootId !== 'anonymous' ? rootId : null;
}

function snapshotOf(given: unknown): ReceivedSnapshot {
  const { status, value, context }: JsonObject = isJsonObject(given) ? given : {};
  return {
    status: typeof status === 'string' ? status : 'active',
    value: displayJson(value),
    context: displayJson(context),
  };
}

function eventOf(given: unknown): SnapshotReceived['event'] {
  const event = isJsonObject(given) ? displayObject(given) : {};
  return { ...event, type: eventType(event) };
}

function eventType(event: unknown): string {
  return isJsonObject(event) && typeof event.type === 'string' ? event.type.slice(0, LONGEST_NAME) : '';
}
