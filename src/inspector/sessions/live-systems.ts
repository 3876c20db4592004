/**
 * Owns: which actor systems are shown while they work, and under which session. Does not own: what a session shows.
 *
 * I1 What watches never stops what it watches.
 * I2 Systems that never end do not accumulate: beyond the limit, the one that was silent longest is dropped. If it
 *    takes a transition again, it is shown again from there.
 */
import { type AnyActorRef, type InspectionEvent, type AnyMachineSnapshot, isMachineSnapshot } from 'xstate';
import { OwnRedactor } from '../../actors/redactor.ts';
import { rootOf, isMachine, isRestored } from '../frames/actors.ts';
import type { WatchedActor } from '../frames/run-port.ts';
import type { SessionList } from './session-list.ts';
import { findActor, inPath } from '../../actors/leaf.ts';
import { microstepReader } from '../../machines/events/transition-log.ts';
import { checkEvent, eventSchemas } from '../frames/event-schemas.ts';
import { FrameMaker } from '../frames/frame-maker.ts';
import type { Act, ActReply } from '../frames/protocol.ts';
import { actorName } from '../frames/names.ts';
import { detailOf } from '../frames/step-details.ts';
import { ENDINGS, type LoggedOptions, LoggedSession } from './logged-session.ts';

/** What is known of an actor system, and what may be done with it. */
type SystemOptions = Pick<LoggedOptions, 'title' | 'agent' | 'can' | 'redact' | 'onChange'>;

/** The session of an actor system that is watched while it works, of its root actor. */
class SystemSession {
  readonly session: LoggedSession;
  readonly #root: AnyActorRef;
  readonly #maker: FrameMaker;
  readonly #follow: (inspected: InspectionEvent) => void;

  constructor(id: string, root: AnyActorRef, options: SystemOptions) {
    const began = performance.now();
    const session = new LoggedSession(id, {
      ...options,
      act: async (act) => (options.can.includes('send') ? send(root, act) : NOT_STEERED),
    });
    const maker = new FrameMaker({
      session: id,
      now: () => Math.round(performance.now() - began),
      emit: (frame) => session.add(frame),
      onStep: (step, source) => session.keepStep(step.n, (known) => detailOf(step, source, known)),
    });
    this.session = session;
    this.#root = root;
    this.#maker = maker;
    this.#follow = microstepReader(
      () => true,
      (microstep) => maker.microstep(microstep),
    );
  }

  next(inspected: InspectionEvent): void {
    this.#follow(inspected);
    if (inspected.actorRef !== this.#root) return;
    if (inspected.type === '@xstate.event' && inspected.event.type === 'xstate.init')
      this.#show(isRestored(this.#root));
    if (inspected.type === '@xstate.snapshot') this.#watchEnd(inspected.snapshot);
  }

  /** Shows its root as it is now: it began before anyone watched. */
  join(): void {
    this.#show(true);
  }

  /** No one watches it any more. */
  leave(): void {
    this.session.end({ status: 'stopped', reason: null });
  }

  #watchEnd(snapshot: object): void {
    const status: unknown = Reflect.get(snapshot, 'status');
    if (status !== 'active') this.session.end({ status: ENDINGS.get(status) ?? 'stopped', reason: null });
  }

  #show(joined: boolean): void {
    const snapshot: unknown = this.#root.getSnapshot();
    const logic: unknown = Reflect.get(this.#root, 'logic');
    if (isMachine(logic) && isMachineSnapshot(snapshot)) this.#maker.show(inPath(this.#root.id), snapshot, joined);
  }
}

const NOT_STEERED: ActReply = { ok: false, message: 'It is shown, not steered: it takes no events from here.' };

async function send(root: AnyActorRef, act: Act): Promise<ActReply> {
  if (act.kind !== 'send') return { ok: false, message: 'Events can be sent to it, nothing else.' };
  const { event, to } = act;
  if (event.type.startsWith('xstate.')) return { ok: false, message: `Events such as ${event.type} are XState's own.` };
  const actor = to === undefined ? root : findActor(root, to);
  if (actor === undefined) return { ok: false, message: `There is no actor ${to ?? ''}.` };
  const logic: unknown = Reflect.get(actor, 'logic');
  // Its shape is checked first: guards are asked with the event, and rely on what its type says.
  const checked = await checkEvent(event, isMachine(logic) ? eventSchemas(logic).get(event.type) : undefined);
  if (!checked.ok) return checked;
  const snapshot: unknown = actor.getSnapshot();
  if (isMachineSnapshot(snapshot) && !accepts(snapshot, checked.event))
    return { ok: false, message: `${actor.id} does not take ${event.type} now.` };
  actor.send(checked.event);
  return { ok: true };
}

function accepts(snapshot: AnyMachineSnapshot, event: { readonly type: string }): boolean {
  try {
    return snapshot.can(event);
  } catch {
    return false;
  }
}

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
  /** A page that stayed open while the process was started again must not take its systems for those that it had. */
  readonly #begun = Date.now().toString(36);

  constructor(sessions: SessionList) {
    this.#sessions = sessions;
  }

  /** Receives XState's inspection events: each actor system has its own session. */
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
  attach({ actor, title, agent, redact }: WatchedActor): () => void {
    let one = this.#attached.get(actor);
    if (one === undefined) {
      const about: About = { title, agent, can: [], redact };
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
    const id = `system-${++this.#count}-${this.#begun}`;
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
  const logic: unknown = Reflect.get(root, 'logic');
  const name = (isMachine(logic) ? actorName(root.id, logic, null) : null) ?? root.id;
  return { title: name, agent: name, can: ['send'], redact: new OwnRedactor().redact };
}

function isStart(inspected: InspectionEvent): boolean {
  return (
    inspected.type === '@xstate.actor' || (inspected.type === '@xstate.event' && inspected.event.type === 'xstate.init')
  );
}
