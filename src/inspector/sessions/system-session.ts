import { type AnyActorRef, type AnyMachineSnapshot, type InspectionEvent, isMachineSnapshot } from 'xstate';
import { findActor } from '../../actors/leaf.ts';
import { moveReader } from '../../machines/events/transition-log.ts';
import { checkEvent } from '../frames/check-event.ts';
import { eventSchemas } from '../frames/event-schemas.ts';
import { isRestored } from '../frames/beginning.ts';
import { frameMaker, isMachine } from '../frames/frame-maker.ts';
import { loggedSession } from './logged-session.ts';
import type { Act, ActReply, SessionInfo, StepInfo } from '../frames/protocol.ts';
import type { Session } from './session.ts';
import type { Ending } from './session-info.ts';
import { detailOf } from '../frames/step-details.ts';

/** The session of an actor system that is watched while it works. */
export interface SystemSession {
  readonly session: Session;
  next(inspected: InspectionEvent): void;
  /** Shows its root as it is now: it began before anybody watched. */
  join(): void;
  /** Nobody watches it any more. */
  leave(): void;
}

/** What is told of an actor system, and who may do what with it. */
export interface SystemOptions {
  readonly title: string;
  readonly agent: string;
  readonly can: SessionInfo['can'];
  /** Puts marks in the place of secrets. */
  readonly seal: <T>(value: T) => T;
  readonly onChange: () => void;
}

/** Makes the session of an actor system, of its root actor. */
export function systemSession(id: string, root: AnyActorRef, options: SystemOptions): SystemSession {
  const { title, agent, can, seal, onChange } = options;
  const began = performance.now();
  const at = new Date().toISOString();
  let latest: StepInfo | null = null;
  let ending: Ending = { status: 'running', reason: null };
  const running = (): boolean => ending.status === 'running';

  const { session, tell, keepStep } = loggedSession(id, {
    info: () => ({
      id,
      kind: 'system',
      title,
      agent,
      at,
      ...ending,
      problem: null,
      parent: null,
      can: running() ? can : [],
    }),
    standing: () => maker.standing(),
    seal,
    act: async (act) => (can.includes('send') ? send(root, act) : NOT_STEERED),
  });
  const maker = frameMaker({
    session: id,
    now: () => Math.round(performance.now() - began),
    emit: (frame, numbered) => {
      if (frame.t === 'step') latest = frame.step;
      tell(frame, numbered);
    },
    onStep: (n, matter) => {
      const info = latest;
      if (info !== null) keepStep(n, () => detailOf(info, matter));
    },
  });
  const follow = moveReader(() => true, maker.move);

  const end = (status: Ending['status']): void => {
    if (!running()) return;
    ending = { status, reason: null };
    onChange();
  };
  const watchEnd = (snapshot: unknown): void => {
    const status: unknown = typeof snapshot === 'object' && snapshot !== null ? Reflect.get(snapshot, 'status') : null;
    if (status !== 'active') end(status === 'done' ? 'answered' : status === 'error' ? 'failed' : 'stopped');
  };
  const show = (how: 'started' | 'joined'): void => {
    const snapshot: unknown = root.getSnapshot();
    const logic: unknown = Reflect.get(root, 'logic');
    if (isMachine(logic) && isMachineSnapshot(snapshot)) maker[how](root.id, logic.id, logic, snapshot);
  };

  return {
    session,
    next: (inspected) => {
      follow(inspected);
      if (inspected.actorRef !== root) return;
      if (inspected.type === '@xstate.event' && inspected.event.type === 'xstate.init')
        show(isRestored(root) ? 'joined' : 'started');
      if (inspected.type === '@xstate.snapshot') watchEnd(inspected.snapshot);
    },
    join: () => show('joined'),
    leave: () => end('stopped'),
  };
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
