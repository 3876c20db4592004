/**
 * Owns: which actor systems are shown while they work, and under which session. Does not own: what a session shows.
 *
 * I1 Whoever watches never stops what it watches.
 * I2 Systems that never end do not add up: of more than there is room for, the one that was silent longest goes. Should
 *    it move again, it is shown again, from there on.
 */
import type { AnyActorRef, InspectionEvent, Observer } from 'xstate';
import { createVault } from '../../actors/vault.ts';
import type { Room } from '../server/room.ts';
import { rootOf } from './root-of.ts';
import type { WatchedActor } from '../run-port.ts';
import type { SessionList } from './session-list.ts';
import { type SystemOptions, type SystemSession, systemSession } from './system-session.ts';

/** The actor systems of one inspector. */
export interface LiveSystems {
  /** An observer for `createActor(machine, { inspect })` that gives each actor system a session of its own. */
  readonly inspect: Observer<InspectionEvent> & ((inspected: InspectionEvent) => void);
  /** Shows an actor that may be at work already, until the returned function is called as often as this was. */
  attach(watched: WatchedActor): () => void;
  close(): void;
}

interface LiveSystemsOptions {
  readonly sessions: SessionList;
  readonly room: Room;
  /** A session is over. */
  readonly retire: (id: string) => void;
}

interface Attached {
  readonly about: About;
  readonly unsubscribe: () => void;
  times: number;
}

type About = Pick<SystemOptions, 'title' | 'agent' | 'can' | 'seal'>;

/** No actor systems yet. */
export function liveSystems({ sessions, room, retire }: LiveSystemsOptions): LiveSystems {
  const shown = new WeakMap<AnyActorRef, SystemSession>();
  const attached = new Map<AnyActorRef, Attached>();
  let count = 0;

  const begin = (root: AnyActorRef, about: About): SystemSession => {
    const id = `system-${++count}`;
    const system = systemSession(id, root, {
      ...about,
      onChange: () => {
        sessions.changed(id);
        if (system.session.info().status === 'running') return;
        room.leave(id);
        retire(id);
      },
    });
    shown.set(root, system);
    sessions.add(system.session);
    room.touch(id, () => shown.delete(root));
    return system;
  };

  const next = (inspected: InspectionEvent): void => {
    try {
      const root = rootOf(inspected.actorRef);
      if (root === null) return;
      let system = shown.get(root);
      if (system === undefined) {
        system = begin(root, attached.get(root)?.about ?? ownOf(root));
        if (!isBeginning(inspected)) system.join();
      }
      const { id, info } = system.session;
      if (info().status === 'running') room.touch(id, () => shown.delete(root));
      system.next(inspected);
    } catch {
      // I1.
    }
  };

  return {
    inspect: Object.assign(next, { next }),
    attach: ({ actor, title, agent, seal }) => {
      let one = attached.get(actor);
      if (one === undefined) {
        const about: About = { title, agent, can: [], seal };
        const { unsubscribe } = actor.system.inspect(next);
        one = { about, unsubscribe, times: 0 };
        attached.set(actor, one);
        begin(actor, about).join();
      }
      one.times += 1;
      return () => {
        one.times -= 1;
        if (one.times > 0) return;
        one.unsubscribe();
        attached.delete(actor);
        shown.get(actor)?.leave();
        shown.delete(actor);
      };
    },
    close: () => {
      for (const { unsubscribe } of attached.values()) unsubscribe();
      attached.clear();
    },
  };
}

function ownOf(root: AnyActorRef): About {
  const vault = createVault(() => []);
  return { title: root.id, agent: root.id, can: ['send'], seal: vault.seal };
}

function isBeginning(inspected: InspectionEvent): boolean {
  return (
    inspected.type === '@xstate.actor' || (inspected.type === '@xstate.event' && inspected.event.type === 'xstate.init')
  );
}
