/**
 * Owns: which actors of other apps belong together, and under which session they are shown. Does not own: what a session
 * shows.
 *
 * I1 Apps that use the same ids are distinguished by their names, and connected ones by their connections.
 * I2 A connection that is lost ends what it reported. An app that comes back continues where it was, and what it
 *    reports again is not shown again.
 */
import { isTextWithinDepth } from '../../json/depth.ts';
import { parsedText } from '../../json/json.ts';
import type { ActReply, SessionEnding } from '../frames/protocol.ts';
import { type ActorReceived, type ReceivedEvent, readReceived } from './received-event.ts';
import { ReceivedSession } from './received-session.ts';
import type { SessionList } from './session-list.ts';

/** The connection of an app. */
export interface ReceivedConnection {
  /** Takes an event; false when it is none. */
  receive(event: unknown): boolean;
  closed(ending: SessionEnding): void;
}

/** Where events come from: all apps that give themselves the same name, or one connection. */
interface AppSource {
  readonly app: string;
  /** For a connection: whether it is at its end. Null for a name. */
  readonly isLeaving: (() => boolean) | null;
  readonly byRoot: Map<string, ReceivedSystem>;
  readonly byActor: Map<string, ReceivedSystem>;
}

/** An actor system of another app. */
interface ReceivedSystem {
  readonly app: string;
  readonly rootId: string;
  readonly received: ReceivedSession;
  /** The session ids of its actors. */
  readonly actors: Set<string>;
  /** When its root began, as it was reported; null where it was not. */
  readonly began: number | null;
  /** Null: it is no longer reported. */
  source: AppSource | null;
  /** The time of the latest event. */
  latest: number;
  /** All up to here was reported before its connection was lost. */
  knownUntil: number;
}

/** Takes events of Stately's inspect protocol, and shows the actor systems that they are about. */
export class ReceivedSystems {
  readonly #sessions: SessionList;
  readonly #systems = new Set<ReceivedSystem>();
  readonly #cutOff = new Set<ReceivedSystem>();
  readonly #byName = new Map<string, AppSource>();
  #count = 0;

  constructor(sessions: SessionList) {
    this.#sessions = sessions;
  }

  /** Takes an event; false when it is none. A root that begins again is an app that was started again. */
  receive(given: unknown, app = ''): boolean {
    const event = readReceived(given);
    if (event === null) return false;
    const source = this.#byName.get(app) ?? newSource(app, null);
    this.#byName.set(app, source);
    this.#take(event, source);
    return true;
  }

  /** An app that sends through its own connection, which reports when it ends. */
  connect(app: string, isLeaving: () => boolean): ReceivedConnection {
    const source = newSource(app, isLeaving);
    return {
      receive: (given) => {
        const event = readReceived(given);
        if (event !== null) this.#take(event, source);
        return event !== null;
      },
      closed: (ending) => {
        for (const system of source.byRoot.values()) {
          leave(system);
          if (!isRunning(system)) continue;
          this.#cutOff.add(system);
          system.received.session.end(ending);
        }
      },
    };
  }

  #take(event: ReceivedEvent, source: AppSource): void {
    const system = this.#systemOf(event, source);
    const { received, actors, rootId } = system;
    if (isRunning(system)) this.#sessions.touch(received.session.id);
    if (event.at !== null && event.at <= system.knownUntil) return;
    if (event.type === '@xstate.event') return received.event(event);
    system.latest = Math.max(system.latest, event.at ?? 0);
    actors.add(event.sessionId);
    source.byActor.set(event.sessionId, system);
    if (event.type === '@xstate.actor') received.actor(event);
    else received.snapshot(event);
    if (event.snapshot.status === 'active' || event.sessionId === rootId) return;
    actors.delete(event.sessionId);
    source.byActor.delete(event.sessionId);
  }

  #systemOf(event: ReceivedEvent, source: AppSource): ReceivedSystem {
    const { sessionId } = event;
    const parentId = event.type === '@xstate.actor' ? event.parentId : null;
    const known = source.byActor.get(sessionId) ?? source.byActor.get(parentId ?? '');
    const rootId = known?.rootId ?? event.rootId ?? sessionId;
    const found = source.byRoot.get(rootId);
    const again = found !== undefined && sessionId === rootId && isBeginning(event) && found.actors.has(sessionId);
    if (found !== undefined && !again) return found;
    const same = [...this.#systems].findLast((system) => system.app === source.app && continues(system, event));
    if (same !== undefined && source.isLeaving !== null) {
      takeOver(source, same);
      if (this.#cutOff.delete(same)) same.received.session.resume();
      return same;
    }
    if (found !== undefined) {
      leave(found);
      found.received.session.end({ status: 'interrupted', reason: null });
    }
    return this.#begin(event, rootId, source);
  }

  #begin(event: ReceivedEvent, rootId: string, source: AppSource): ReceivedSystem {
    const id = `stately-${++this.#count}`;
    const { app } = source;
    const name = isBeginning(event) ? event.name : rootId;
    const received = new ReceivedSession({
      id,
      rootId,
      title: app === '' ? name : `${app}: ${name}`,
      app: app === '' ? name : app,
      onChange: () => {
        this.#sessions.changed(id);
        if (isRunning(system)) this.#sessions.revive(id);
        else this.#sessions.retire(id);
      },
      onClose: () => {
        leave(system);
        this.#systems.delete(system);
        this.#cutOff.delete(system);
        if (source.byRoot.size === 0 && this.#byName.get(app) === source) this.#byName.delete(app);
      },
    });
    const began = isBeginning(event) ? event.at : null;
    const system: ReceivedSystem = {
      app,
      rootId,
      received,
      actors: new Set(),
      began,
      source,
      latest: 0,
      knownUntil: 0,
    };
    this.#systems.add(system);
    source.byRoot.set(rootId, system);
    this.#sessions.add(received.session);
    return system;
  }
}

function isRunning({ received }: ReceivedSystem): boolean {
  return received.session.isRunning;
}

/** One that has reported nothing yet. */
function newSource(app: string, isLeaving: AppSource['isLeaving']): AppSource {
  return { app, isLeaving, byRoot: new Map(), byActor: new Map() };
}

/** From now on it is this one that reports a system. */
function takeOver(source: AppSource, system: ReceivedSystem): void {
  leave(system);
  system.source = source;
  system.knownUntil = system.latest;
  source.byRoot.set(system.rootId, system);
  for (const actor of system.actors) source.byActor.set(actor, system);
}

/** It is no longer reported. */
function leave(system: ReceivedSystem): void {
  const { source, actors, rootId } = system;
  source?.byRoot.delete(rootId);
  for (const actor of actors) source?.byActor.delete(actor);
  system.source = null;
}

/** Whether an event is the beginning of a whole system. */
function isBeginning(event: ReceivedEvent): event is ActorReceived {
  return (
    event.type === '@xstate.actor' && event.parentId === null && (event.rootId ?? event.sessionId) === event.sessionId
  );
}

/**
 * Whether an event that comes through a new connection is of a system that another one reported. Ids alone do not
 * decide it, since every program counts from the same number: the system must no longer be reported, and if this is a
 * beginning, it must be its own.
 */
function continues({ rootId, began, source, actors }: ReceivedSystem, event: ReceivedEvent): boolean {
  if (source !== null && source.isLeaving?.() !== true) return false;
  if (isBeginning(event)) return rootId === event.sessionId && began !== null && began === event.at;
  return rootId === event.rootId || actors.has(event.sessionId);
}

/** A text of more levels takes long to read. What is deep in one of fewer is cut where it is shown. */
const DEEPEST = 200_000;

/** Takes one event of Stately's protocol, or a list of them, as JSON; what is none is counted and left out. */
export function receiveText(text: string, receive: (event: unknown) => boolean): ActReply {
  const given = isTextWithinDepth(text, DEEPEST) ? parsedText(text) : null;
  const events: readonly unknown[] = Array.isArray(given) ? given : [given];
  const refused = events.filter((event) => !receive(event)).length;
  if (refused === 0) return { ok: true };
  return { ok: false, message: `${refused} of ${events.length} are not events of Stately's inspect protocol.` };
}
