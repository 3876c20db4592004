import type { ReceivedEvent } from './received-event.ts';
import { readReceived } from './received-event.ts';
import { type ReceivedSession, receivedSession } from './received-session.ts';
import type { Room } from './room.ts';
import type { SessionList } from './session-list.ts';

interface ReceivedSystemsOptions {
  readonly sessions: SessionList;
  readonly room: Room;
  /** A session is over. */
  readonly retire: (id: string) => void;
}

interface Known {
  readonly id: string;
  readonly rootId: string;
  readonly app: string;
  readonly received: ReceivedSession;
  /** The session ids of its actors. */
  readonly actors: Set<string>;
}

/**
 * Shows the actor systems of other apps, from events of Stately's inspect protocol: takes one, and says whether it is one.
 * Apps that use the same ids are told apart by their names. A root that begins again is an app that was started again.
 */
export function receivedSystems({
  sessions,
  room,
  retire,
}: ReceivedSystemsOptions): (event: unknown, app?: string) => boolean {
  const byRoot = new Map<string, Known>();
  const byActor = new Map<string, Known>();
  let count = 0;

  const key = (app: string, sessionId: string): string => `${app}\n${sessionId}`;
  const forget = ({ app, rootId, actors }: Known): void => {
    byRoot.delete(key(app, rootId));
    for (const actor of actors) byActor.delete(key(app, actor));
  };
  const begin = (rootId: string, app: string, name: string): Known => {
    const id = `stately-${++count}`;
    const received = receivedSession(id, rootId, {
      title: app === '' ? name : `${app}: ${name}`,
      app: app === '' ? name : app,
      onChange: () => {
        sessions.changed(id);
        if (received.session.info().status === 'running') return;
        room.leave(id);
        retire(id);
      },
    });
    const known: Known = { id, rootId, app, received, actors: new Set() };
    byRoot.set(key(app, rootId), known);
    sessions.add(received.session);
    return known;
  };
  const systemOf = (event: ReceivedEvent, app: string): Known => {
    const { sessionId } = event;
    const parentId = event.type === '@xstate.actor' ? event.parentId : null;
    const known = byActor.get(key(app, sessionId)) ?? byActor.get(key(app, parentId ?? ''));
    const rootId = known?.rootId ?? event.rootId ?? sessionId;
    const found = byRoot.get(key(app, rootId));
    const again = event.type === '@xstate.actor' && sessionId === rootId && found?.actors.has(sessionId) === true;
    if (found !== undefined && !again) return found;
    if (found !== undefined) {
      forget(found);
      found.received.end('interrupted');
    }
    return begin(rootId, app, event.type === '@xstate.actor' && sessionId === rootId ? event.name : rootId);
  };

  return (given, app = '') => {
    const event = readReceived(given);
    if (event === null) return false;
    const system = systemOf(event, app);
    const { id, received, actors } = system;
    if (received.session.info().status === 'running') room.touch(id, () => forget(system));
    if (event.type === '@xstate.event') return true;
    actors.add(event.sessionId);
    byActor.set(key(app, event.sessionId), system);
    if (event.type === '@xstate.actor') received.actor(event);
    else received.snapshot(event);
    if (event.snapshot.status === 'active' || event.sessionId === system.rootId) return true;
    actors.delete(event.sessionId);
    byActor.delete(key(app, event.sessionId));
    return true;
  };
}
