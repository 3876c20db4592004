import type { ActorReceived, ReceivedEvent } from './received-event.ts';
import type { ReceivedSession } from './received-session.ts';

/** Who tells of actors: all that give themselves the same name, or one connection. */
export interface Teller {
  readonly app: string;
  /** For a connection: whether it is at its end. Null for a name. */
  readonly isLeaving: (() => boolean) | null;
  readonly byRoot: Map<string, ToldSystem>;
  readonly byActor: Map<string, ToldSystem>;
}

/** An actor system of another app. */
export interface ToldSystem {
  readonly id: string;
  readonly app: string;
  readonly rootId: string;
  readonly received: ReceivedSession;
  /** The session ids of its actors. */
  readonly actors: Set<string>;
  /** When its root began, as it was told; null where it was not. */
  readonly began: number | null;
  /** Null: nobody tells of it any more. */
  teller: Teller | null;
  /** The latest moment that was told of. */
  latest: number;
  /** All up to here was told before its connection was lost. */
  toldUntil: number;
}

/** One that has told of nothing yet. */
export function newTeller(app: string, isLeaving: Teller['isLeaving']): Teller {
  return { app, isLeaving, byRoot: new Map(), byActor: new Map() };
}

/** From now on it is this one that tells of a system. */
export function takeOver(teller: Teller, system: ToldSystem): void {
  leave(system);
  system.teller = teller;
  system.toldUntil = system.latest;
  teller.byRoot.set(system.rootId, system);
  for (const actor of system.actors) teller.byActor.set(actor, system);
}

/** Nobody tells of it any more. */
export function leave(system: ToldSystem): void {
  const { teller, actors, rootId } = system;
  teller?.byRoot.delete(rootId);
  for (const actor of actors) teller?.byActor.delete(actor);
  system.teller = null;
}

/** Whether an event is the beginning of a whole system. */
export function isBeginning(event: ReceivedEvent): event is ActorReceived {
  return (
    event.type === '@xstate.actor' && event.parentId === null && (event.rootId ?? event.sessionId) === event.sessionId
  );
}

/**
 * Whether an event that comes through a new connection is of a system that another one told of. Ids alone do not say so,
 * since every program counts from the same number: nobody tells of it any more, and if this is a beginning, it is its own.
 */
export function goesOn({ rootId, began, teller, actors }: ToldSystem, event: ReceivedEvent): boolean {
  if (teller !== null && teller.isLeaving?.() !== true) return false;
  if (isBeginning(event)) return rootId === event.sessionId && began !== null && began === event.at;
  return rootId === event.rootId || actors.has(event.sessionId);
}
