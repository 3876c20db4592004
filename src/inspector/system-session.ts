import {
  type AnyActorRef,
  type AnyMachineSnapshot,
  type InspectionEvent,
  type Observer,
  isMachineSnapshot,
} from 'xstate';
import { findActor } from '../actors/leaf.ts';
import { createVault } from '../actors/vault.ts';
import { moveReader } from '../machines/transition-log.ts';
import { type NumberedFrame, frameLog } from './frame-log.ts';
import { type StepMatter, frameMaker, isMachine } from './frame-maker.ts';
import type { Act, ActReply, StepDetail, StepInfo } from './protocol.ts';
import type { Session } from './session.ts';
import type { Ending } from './session-info.ts';
import { detailOf } from './step-details.ts';

/** The session of somebody's own actor system: nothing is recorded, so what was long ago is forgotten. */
export interface SystemSession {
  readonly session: Session;
  next(inspected: InspectionEvent): void;
}

const KEPT = 4096;
const BATCH = 200;

/** Makes the session of an actor system, of its root actor. */
export function systemSession(
  id: string,
  root: AnyActorRef,
  { title, onChange }: { readonly title: string; readonly onChange: () => void },
): SystemSession {
  const began = performance.now();
  const at = new Date().toISOString();
  const log = frameLog(KEPT);
  const vault = createVault(() => []);
  const steps = new Map<number, { readonly info: StepInfo; readonly matter: StepMatter }>();
  let latest: StepInfo | null = null;
  let ending: Ending = { status: 'running', reason: null };

  const maker = frameMaker({
    session: id,
    now: () => Math.round(performance.now() - began),
    emit: (frame, numbered) => {
      if (frame.t === 'step') latest = frame.step;
      log.push(frame, numbered);
    },
    onStep: (n, matter) => {
      if (latest !== null) steps.set(n, { info: latest, matter });
      steps.delete(n - KEPT);
    },
  });
  const follow = moveReader(() => true, maker.move);

  const watchEnd = (snapshot: unknown): void => {
    const status: unknown = typeof snapshot === 'object' && snapshot !== null ? Reflect.get(snapshot, 'status') : null;
    if (ending.status !== 'running' || status === 'active') return;
    ending = { status: status === 'done' ? 'answered' : status === 'error' ? 'failed' : 'stopped', reason: null };
    onChange();
  };

  const session: Session = {
    id,
    info: () => ({
      id,
      kind: 'system',
      title,
      agent: title,
      at,
      ...ending,
      problem: null,
      parent: null,
      can: ending.status === 'running' ? ['send'] : [],
    }),
    async *follow(from, signal) {
      const left = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      let place = log.placeAfter(from) ?? -1;
      let number = from;
      while (!signal.aborted && !log.closed) {
        const { start } = log;
        if (place < start.place) {
          yield late(maker.standing(), { t: 'gap', session: id, dropped: start.number - number });
          place = start.place;
          number = start.number;
          continue;
        }
        const batch = log.read(place, BATCH);
        place += batch.length;
        number = batch.findLast((one) => one.number !== null)?.number ?? number;
        if (batch.length > 0) yield batch;
        else await Promise.race([log.wait(place), left]);
      }
    },
    page: (from, limit) => {
      const place = log.placeAfter(from) ?? log.start.place;
      const batch = log.read(place, limit).filter(({ number }) => number !== null);
      const last = batch.at(-1)?.number ?? from;
      return Promise.resolve({
        from: Math.max(from, log.start.number),
        frames: batch.map(({ frame }) => frame),
        next: last < log.count && batch.length > 0 ? last : null,
      });
    },
    detail: (n) => {
      const step = steps.get(n);
      return Promise.resolve(step === undefined ? null : vault.seal(detailOf(step.info, step.matter)));
    },
    recording: () => null,
    saved: () => {
      const held = [...steps.values()].map(({ info, matter }): StepDetail => vault.seal(detailOf(info, matter)));
      const frames = log.read(log.start.place, KEPT).map(({ frame }) => frame);
      return Promise.resolve({
        frames: [{ t: 'session', session: { ...session.info(), can: [] } }, ...frames],
        details: held,
      });
    },
    act: (act) => Promise.resolve(send(root, act)),
    close: log.close,
  };

  return {
    session,
    next: (inspected) => {
      follow(inspected);
      if (inspected.actorRef !== root) return;
      if (inspected.type === '@xstate.event' && inspected.event.type === 'xstate.init') {
        const snapshot: unknown = root.getSnapshot();
        const logic: unknown = Reflect.get(root, 'logic');
        if (isMachine(logic) && isMachineSnapshot(snapshot)) maker.started(root.id, logic.id, logic, snapshot);
      }
      if (inspected.type === '@xstate.snapshot') watchEnd(inspected.snapshot);
    },
  };
}

function late(standing: ReturnType<ReturnType<typeof frameMaker>['standing']>, gap: NumberedFrame['frame']) {
  return [...standing, gap].map((frame): NumberedFrame => ({ number: null, frame }));
}

function send(root: AnyActorRef, act: Act): ActReply {
  if (act.kind !== 'send') return { ok: false, message: 'Events can be sent to it, nothing else.' };
  const { event, to } = act;
  if (event.type.startsWith('xstate.')) return { ok: false, message: `Events such as ${event.type} are XState's own.` };
  const actor = to === undefined ? root : findActor(root, to);
  const snapshot: unknown = actor?.getSnapshot();
  if (actor === undefined) return { ok: false, message: `There is no actor ${to ?? ''}.` };
  if (isMachineSnapshot(snapshot) && !accepts(snapshot, event))
    return { ok: false, message: `${actor.id} does not take ${event.type} now.` };
  actor.send(event);
  return { ok: true };
}

function accepts(snapshot: AnyMachineSnapshot, event: { readonly type: string }): boolean {
  try {
    return snapshot.can(event);
  } catch {
    return false;
  }
}

/** An observer for `createActor(machine, { inspect })` that gives each actor system a session of its own. */
export function systemObserver(
  begin: (root: AnyActorRef) => SystemSession,
): Observer<InspectionEvent> & ((inspected: InspectionEvent) => void) {
  const systems = new WeakMap<AnyActorRef, SystemSession>();
  const next = (inspected: InspectionEvent): void => {
    try {
      const root = rootOf(inspected.actorRef);
      if (root === null) return;
      let system = systems.get(root);
      if (system === undefined) {
        system = begin(root);
        systems.set(root, system);
      }
      system.next(inspected);
    } catch {
      // Whoever watches must not stop what it watches.
    }
  };
  return Object.assign(next, { next });
}

function rootOf(actor: object): AnyActorRef | null {
  let at: object = actor;
  for (let parent: unknown = Reflect.get(at, '_parent'); typeof parent === 'object' && parent !== null;) {
    at = parent;
    parent = Reflect.get(at, '_parent');
  }
  return isActor(at) ? at : null;
}

function isActor(actor: object): actor is AnyActorRef {
  return 'getSnapshot' in actor && 'send' in actor;
}
