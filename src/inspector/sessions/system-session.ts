import { type AnyActorRef, type AnyMachineSnapshot, type InspectionEvent, isMachineSnapshot } from 'xstate';
import { findActor } from '../../actors/leaf.ts';
import { moveReader } from '../../machines/events/transition-log.ts';
import { isMachine, isRestored } from '../frames/actors.ts';
import { checkEvent, eventSchemas } from '../frames/event-schemas.ts';
import { FrameMaker } from '../frames/frame-maker.ts';
import type { Act, ActReply, StepInfo } from '../frames/protocol.ts';
import { detailOf } from '../frames/step-details.ts';
import { ENDINGS, type LoggedOptions, LoggedSession } from './logged-session.ts';

/** What is known of an actor system, and what may be done with it. */
export type SystemOptions = Pick<LoggedOptions, 'title' | 'agent' | 'can' | 'seal' | 'onChange'>;

/** The session of an actor system that is watched while it works, of its root actor. */
export class SystemSession {
  readonly session: LoggedSession;
  readonly #root: AnyActorRef;
  readonly #maker: FrameMaker;
  readonly #follow: (inspected: InspectionEvent) => void;

  constructor(id: string, root: AnyActorRef, options: SystemOptions) {
    const began = performance.now();
    const session = new LoggedSession(id, {
      ...options,
      standing: () => maker.standing(),
      act: async (act) => (options.can.includes('send') ? send(root, act) : NOT_STEERED),
    });
    let latest: StepInfo | null = null;
    const maker = new FrameMaker({
      session: id,
      now: () => Math.round(performance.now() - began),
      emit: (frame, numbered) => {
        if (frame.t === 'step') latest = frame.step;
        session.add(frame, numbered);
      },
      onStep: (n, source) => {
        const step = latest;
        if (step !== null) session.keepStep(n, () => detailOf(step, source));
      },
    });
    this.session = session;
    this.#root = root;
    this.#maker = maker;
    this.#follow = moveReader(
      () => true,
      (move) => maker.move(move),
    );
  }

  next(inspected: InspectionEvent): void {
    this.#follow(inspected);
    if (inspected.actorRef !== this.#root) return;
    if (inspected.type === '@xstate.event' && inspected.event.type === 'xstate.init')
      this.#show(isRestored(this.#root));
    if (inspected.type === '@xstate.snapshot') this.#watchEnd(inspected.snapshot);
  }

  /** Shows its root as it is now: it began before anybody watched. */
  join(): void {
    this.#show(true);
  }

  /** Nobody watches it any more. */
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
    if (isMachine(logic) && isMachineSnapshot(snapshot)) this.#maker.show(this.#root.id, snapshot, joined);
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
