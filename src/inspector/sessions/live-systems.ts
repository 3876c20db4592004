/**
 * Owns: which actor systems are shown while they work, and under which session. Does not own: what a session shows.
 *
 * I1 What watches never stops what it watches.
 * I2 Systems that never end do not add up: of more than there is room for, the one that was silent longest goes. Should
 *    it move again, it is shown again, from there on.
 */
import type { AnyActorRef, InspectionEvent } from 'xstate';
import { createVault } from '../../actors/vault.ts';
import { rootOf } from '../frames/actors.ts';
import type { WatchedActor } from '../frames/run-port.ts';
import type { SessionList } from './session-list.ts';
import { type SystemOptions, SystemSession } from './system-session.ts';

type About = Omit<SystemOptions, 'onChange'>;

interface Attached {
  readonly about: About;
  readonly unsubscribe: () => void;
  times: number;
}

/** The actor systems of one inspector. */
export class LiveSystems {
  readonly #sessions: SessionList;
  readonly #shown = new WeakMap<AnyActorRef, SystemSession>();
  readonly #attached = new Map<AnyActorRef, Attached>();
  #count = 0;

  constructor(sessions: SessionList) {
    this.#sessions = sessions;
  }

  /** Takes what XState says to an observer: each actor system has a session of its own. */
  next(inspected: InspectionEvent): void {
    try {
      const root = rootOf(inspected.actorRef);
      if (root === null) return;
      let system = this.#shown.get(root);
      if (system === undefined) {
        system = this.#begin(root, this.#attached.get(root)?.about ?? ownOf(root));
        if (!isStart(inspected)) system.join();
      }
      const { id, isRunning } = system.session;
      if (isRunning) this.#sessions.touch(id, () => this.#shown.delete(root));
      system.next(inspected);
    } catch {
      // I1.
    }
  }

  /** Shows an actor that may be at work already, until the returned function is called as often as this was. */
  attach({ actor, title, agent, seal }: WatchedActor): () => void {
    let one = this.#attached.get(actor);
    if (one === undefined) {
      const about: About = { title, agent, can: [], seal };
      const { unsubscribe } = actor.system.inspect((inspected) => this.next(inspected));
      one = { about, unsubscribe, times: 0 };
      this.#attached.set(actor, one);
      this.#begin(actor, about).join();
    }
    one.times += 1;
    return () => {
      one.times -= 1;
      if (one.times > 0) return;
      one.unsubscribe();
      this.#attached.delete(actor);
      this.#shown.get(actor)?.leave();
      this.#shown.delete(actor);
    };
  }

  close(): void {
    for (const { unsubscribe } of this.#attached.values()) unsubscribe();
    this.#attached.clear();
  }

  #begin(root: AnyActorRef, about: About): SystemSession {
    const id = `system-${++this.#count}`;
    const system = new SystemSession(id, root, {
      ...about,
      onChange: () => {
        this.#sessions.changed(id);
        if (!system.session.isRunning) this.#sessions.retire(id);
      },
    });
    this.#shown.set(root, system);
    this.#sessions.add(system.session);
    this.#sessions.touch(id, () => this.#shown.delete(root));
    return system;
  }
}

function ownOf(root: AnyActorRef): About {
  return { title: root.id, agent: root.id, can: ['send'], seal: createVault(() => []).seal };
}

function isStart(inspected: InspectionEvent): boolean {
  return (
    inspected.type === '@xstate.actor' || (inspected.type === '@xstate.event' && inspected.event.type === 'xstate.init')
  );
}
