/**
 * Owns: which actors of other apps belong together, and under which session they are shown. Does not own: what a session
 * shows.
 *
 * I1 Apps that use the same ids are told apart: by their names, and those that are connected by their connections.
 * I2 A connection that is lost ends what it told of. Who comes back goes on where it was, and what it tells once more is
 *    not shown once more.
 */
import { type ReceivedEvent, readReceived } from './received-event.ts';
import { receivedSession } from './received-session.ts';
import type { Room } from '../server/room.ts';
import type { Ending } from './session-info.ts';
import type { SessionList } from './session-list.ts';
import { type Teller, type ToldSystem, goesOn, isBeginning, leave, newTeller, takeOver } from './teller.ts';

/** Takes events of Stately's inspect protocol. */
export interface ReceivedSystems {
  /** Takes one; false when it is none. A root that begins again is an app that was started again. */
  receive(event: unknown, app?: string): boolean;
  /** An app that will send through a connection of its own, which says of itself whether it is at its end. */
  connect(app: string, isLeaving: () => boolean): ReceivedConnection;
}

/** The connection of an app. */
export interface ReceivedConnection {
  /** Takes an event; false when it is none. */
  receive(event: unknown): boolean;
  closed(ending: Ending): void;
}

interface ReceivedSystemsOptions {
  readonly sessions: SessionList;
  readonly room: Room;
  /** A session is over. */
  readonly retire: (id: string) => void;
  /** A session that was over goes on. */
  readonly revive: (id: string) => void;
}

/** No actor systems of other apps yet. */
export function receivedSystems({ sessions, room, retire, revive }: ReceivedSystemsOptions): ReceivedSystems {
  const systems = new Set<ToldSystem>();
  const cutOff = new Set<ToldSystem>();
  const byName = new Map<string, Teller>();
  let count = 0;

  const begin = (event: ReceivedEvent, rootId: string, teller: Teller): ToldSystem => {
    const id = `stately-${++count}`;
    const { app } = teller;
    const name = isBeginning(event) ? event.name : rootId;
    const received = receivedSession(id, rootId, {
      title: app === '' ? name : `${app}: ${name}`,
      app: app === '' ? name : app,
      onChange: () => {
        sessions.changed(id);
        if (isRunning(system)) return revive(id);
        room.leave(id);
        retire(id);
      },
    });
    const began = isBeginning(event) ? event.at : null;
    const system: ToldSystem = { id, app, rootId, received, actors: new Set(), began, teller, latest: 0, toldUntil: 0 };
    const close = (): void => {
      leave(system);
      systems.delete(system);
      cutOff.delete(system);
      if (teller.byRoot.size === 0 && byName.get(app) === teller) byName.delete(app);
      received.session.close();
    };
    systems.add(system);
    teller.byRoot.set(rootId, system);
    sessions.add({ ...received.session, close });
    return system;
  };
  const systemOf = (event: ReceivedEvent, teller: Teller): ToldSystem => {
    const { sessionId } = event;
    const parentId = event.type === '@xstate.actor' ? event.parentId : null;
    const known = teller.byActor.get(sessionId) ?? teller.byActor.get(parentId ?? '');
    const rootId = known?.rootId ?? event.rootId ?? sessionId;
    const found = teller.byRoot.get(rootId);
    const again = found !== undefined && sessionId === rootId && isBeginning(event) && found.actors.has(sessionId);
    if (found !== undefined && !again) return found;
    const same = [...systems].findLast((system) => system.app === teller.app && goesOn(system, event));
    if (same !== undefined && teller.isLeaving !== null) {
      takeOver(teller, same);
      if (cutOff.delete(same)) same.received.resume();
      return same;
    }
    if (found !== undefined) {
      leave(found);
      found.received.end({ status: 'interrupted', reason: null });
    }
    return begin(event, rootId, teller);
  };
  const take = (event: ReceivedEvent, teller: Teller): void => {
    const system = systemOf(event, teller);
    const { id, received, actors } = system;
    if (isRunning(system)) room.touch(id);
    if (event.at !== null && event.at <= system.toldUntil) return;
    if (event.type === '@xstate.event') return received.event(event);
    system.latest = Math.max(system.latest, event.at ?? 0);
    actors.add(event.sessionId);
    teller.byActor.set(event.sessionId, system);
    if (event.type === '@xstate.actor') received.actor(event);
    else received.snapshot(event);
    if (event.snapshot.status === 'active' || event.sessionId === system.rootId) return;
    actors.delete(event.sessionId);
    teller.byActor.delete(event.sessionId);
  };

  return {
    receive: (given, app = '') => {
      const event = readReceived(given);
      if (event === null) return false;
      const teller = byName.get(app) ?? newTeller(app, null);
      byName.set(app, teller);
      take(event, teller);
      return true;
    },
    connect: (app, isLeaving) => {
      const teller = newTeller(app, isLeaving);
      return {
        receive: (given) => {
          const event = readReceived(given);
          if (event === null) return false;
          take(event, teller);
          return true;
        },
        closed: (ending) => {
          for (const system of teller.byRoot.values()) {
            leave(system);
            if (!isRunning(system)) continue;
            cutOff.add(system);
            system.received.end(ending);
          }
        },
      };
    },
  };
}

function isRunning({ received }: ToldSystem): boolean {
  return received.session.info().status === 'running';
}
