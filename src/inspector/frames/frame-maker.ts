/**
 * Owns: turning what a run does into frames, and their order. Does not own: where the run comes from (live, or played
 * back), nor who sees the frames.
 *
 * I1 The frames of a run that is watched and of its recording are the same: nothing is taken from a clock of its own.
 * I2 A step's frame comes before the frames of the actors that it made or ended, and those before its events.
 */
import { type AnyActorRef, type AnyMachineSnapshot, type AnyStateMachine } from 'xstate';
import type { RecordLine } from '../../journal/format/record.ts';
import { recordedEntry } from '../../journal/format/record.ts';
import type { RunEvent } from '../../machines/events/run-events.ts';
import { type Move, eventName } from '../../machines/events/transition-log.ts';
import { type Moment, firstMoment, inputOf, isBeginning, isRestored } from './beginning.ts';
import { drawMachine, transitionIds } from './drawing.ts';
import { loopMatter, loopOf } from './loop-moves.ts';
import { logicName } from './names.ts';
import { snapshotOf } from './newborns.ts';
import type { Frame } from './protocol.ts';
import { initialStates, statesOf } from './states-of.ts';

/** A step beside its frame: what its details are made of. */
export interface StepMatter {
  readonly event: { readonly type: string };
  readonly before: Moment;
  readonly after: Moment;
  readonly taken: Move['taken'];
}

/** Makes the frames of one session. */
export interface FrameMaker {
  record(record: RecordLine): void;
  move(move: Move): void;
  event(event: RunEvent): void;
  /** A machine has started, and may not move for long. */
  started(path: string, src: string, machine: AnyStateMachine, snapshot: AnyMachineSnapshot): void;
  /** A machine that has moved before anybody watched comes into view as it is now. */
  joined(path: string, src: string, machine: AnyStateMachine, snapshot: AnyMachineSnapshot): void;
  /** The same run goes on in other actors than those that were watched so far. */
  adopt(): void;
  /** Frames for who comes late to a session that is not recorded: the actors that live, and how they are drawn. */
  standing(): readonly Frame[];
}

interface FrameMakerOptions {
  readonly session: string;
  /** `numbered` false: the frame is no part of a recording and may be missed. */
  readonly emit: (frame: Frame, numbered: boolean) => void;
  /** Gets what each step's details are made of, right after its frame. */
  readonly onStep?: (n: number, matter: StepMatter) => void;
  /** How a child was when it was made; by default it is looked at then. */
  readonly bornAs?: (child: AnyActorRef) => AnyMachineSnapshot | null;
  /** For sessions without records: milliseconds since they began. */
  readonly now?: () => number;
}

interface Seen {
  states: readonly string[];
  /** How it stands: worked out when somebody asks where it has begun and moves on at once. */
  moment: Moment;
  /** It came into view when it was at work already, with the actors that it had. */
  readonly joined: boolean;
  children: object | null;
  /** By id. Null: somebody of this id lives, but which actor it is was not seen yet. */
  readonly known: Map<string, object | null>;
}

interface Newborn {
  readonly machine: AnyStateMachine;
  readonly snapshot: AnyMachineSnapshot | null;
  /** It has moved already: the states of its snapshot are the first that are shown. */
  readonly joined?: true;
  /** Left out where its beginning is past, or there is no actor. */
  readonly actor?: AnyActorRef;
}

const STARTED: { readonly type: string; readonly input?: unknown } = { type: 'xstate.init' };

/** What an actor is told when it starts: its input, if it has one. */
function startOf({ actor }: Newborn): typeof STARTED {
  const input = actor === undefined ? undefined : inputOf(actor);
  return input === undefined ? STARTED : { ...STARTED, input };
}

/** A maker of frames; one a session. */
export function frameMaker(options: FrameMakerOptions): FrameMaker {
  const { session, emit, onStep, bornAs = snapshotOf, now } = options;
  const seen = new Map<string, Seen>();
  const drawn = new Set<string>();
  const actors = new Map<string, Frame>();
  const drawings: Frame[] = [];
  let at = 0;
  let line = 0;
  let entry: number | null = null;
  let n = 0;

  const tell = (frame: Frame): void => emit(frame, true);

  const draw = (machine: AnyStateMachine): string => {
    const drawing = drawMachine(machine);
    if (!drawn.has(drawing.hash)) {
      drawn.add(drawing.hash);
      const frame: Frame = { t: 'drawing', drawing };
      drawings.push(frame);
      tell(frame);
    }
    return drawing.hash;
  };

  const born = (actor: { path: string; parent: string | null; src: string; machine: AnyStateMachine | null }): void => {
    const { path, parent, src, machine } = actor;
    const drawing = machine === null ? null : draw(machine);
    const frame: Frame = { t: 'actor', session, actor: { path, parent, src, drawing }, step: n };
    actors.set(path, frame);
    tell(frame);
  };

  const gone = (path: string): void => {
    const below = [...actors.keys()].filter((other) => other === path || other.startsWith(`${path}/`));
    for (const one of below.toReversed()) {
      actors.delete(one);
      seen.delete(one);
      tell({ t: 'actor-gone', session, path: one, step: n });
    }
  };

  const enter = (path: string, src: string, actor: Newborn): Seen => {
    const { snapshot, joined = false, machine } = actor;
    const place: Seen = { states: [], moment: null, joined, children: null, known: new Map() };
    seen.set(path, place);
    if (!actors.has(path)) {
      const parent = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : null;
      born({ path, parent, src, machine });
    }
    const initial = joined && snapshot !== null ? statesOf(snapshot) : initialStates(machine);
    // With transitions to take at once the snapshot is ahead of the initial states, and its moves are yet to be told.
    const still = snapshot !== null && String(statesOf(snapshot)) === String(initial);
    const stands = still ? snapshot : null;
    const event = startOf(actor);
    const moment = actor.actor === undefined ? stands : firstMoment({ machine, input: event.input, seen: stands });
    step(path, place, { event, before: null, after: moment, taken: [], to: initial });
    if (still) followChildren(path, place, snapshot);
    return place;
  };

  const placeOf = (path: string, src: string, actor: Newborn): Seen => seen.get(path) ?? enter(path, src, actor);

  const step = (path: string, place: Seen, matter: StepMatter & { readonly to: readonly string[] }): void => {
    const { event, after, taken, to } = matter;
    const eventless = taken.length > 0 && taken.every(({ eventType }) => eventType === '');
    n += 1;
    tell({
      t: 'step',
      session,
      step: {
        n,
        at,
        actor: path,
        event: eventless ? 'always' : eventName(event),
        transitions: idsOf(taken),
        from: place.states,
        to,
        entry,
      },
    });
    onStep?.(n, matter);
    place.states = to;
    place.moment = after;
  };

  const followChildren = (path: string, place: Seen, snapshot: AnyMachineSnapshot): void => {
    const children: { readonly [id: string]: AnyActorRef | undefined } = snapshot.children;
    if (children === place.children) return;
    const isPast = place.joined && place.children === null;
    place.children = children;
    for (const [id, before] of place.known) {
      const child = children[id];
      if (child === before || (before === null && child !== undefined)) continue;
      place.known.delete(id);
      gone(`${path}/${id}`);
    }
    for (const id of Object.keys(children)) {
      const child = children[id];
      if (child === undefined || place.known.get(id) === child) continue;
      const fresh = !place.known.has(id);
      place.known.set(id, child);
      if (!fresh) continue;
      const { src, machine } = sourceOf(child);
      if (machine === null) born({ path: `${path}/${id}`, parent: path, src, machine });
      else {
        const birth = isPast || isRestored(child) ? ({ joined: true } as const) : { actor: child };
        enter(`${path}/${id}`, src, { machine, snapshot: bornAs(child), ...birth });
      }
    }
  };

  /** The agent steps its loop detection by itself, as a value in its context; it is shown like an actor. */
  const followLoop = (path: string, before: AnyMachineSnapshot | null, after: AnyMachineSnapshot): void => {
    const loop = loopOf(after);
    if (loop === null) return;
    const earlier = before === null ? null : loopOf(before);
    const loopPath = `${path}/${loop.machine.id}`;
    if (loop === earlier && seen.has(loopPath)) return;
    const place = placeOf(loopPath, loop.machine.id, { machine: loop.machine, snapshot: loop });
    const matter = loopMatter(earlier, loop);
    if (matter !== null) step(loopPath, place, { ...matter, to: statesOf(loop) });
  };

  return {
    record: (record) => {
      line += 1;
      at = record.t === 'run' ? 0 : record.at;
      if (record.t === 'run' || recordedEntry(record) !== null) entry = line;
      tell({ t: 'record', session, line, record });
    },
    move: ({ actor, path, snapshot, event, taken, machine }) => {
      if (snapshot.status === 'stopped') return;
      if (now !== undefined) at = now();
      const place = placeOf(path, machine, { machine: snapshot.machine, snapshot, actor });
      if (taken.length === 0) return;
      const before = place.moment;
      if (isBeginning(before)) before.wentTo({ snapshot, event, taken });
      step(path, place, { event, before, after: snapshot, taken, to: statesOf(snapshot) });
      followChildren(path, place, snapshot);
      followLoop(path, isBeginning(before) ? null : before, snapshot);
      if (snapshot.status !== 'active') for (const id of place.known.keys()) gone(`${path}/${id}`);
    },
    started: (path, src, machine, snapshot) => {
      if (now !== undefined) at = now();
      placeOf(path, src, { machine, snapshot });
    },
    joined: (path, src, machine, snapshot) => {
      if (now !== undefined) at = now();
      placeOf(path, src, { machine, snapshot, joined: true });
    },
    event: (event) => {
      const { type } = event;
      const numbered = type !== 'model.token' && type !== 'mcp.changed' && type !== 'mcp.log';
      if (now !== undefined) at = now();
      // The beginning of a run that goes on from a recording is played; here it is told like any other.
      emit(
        { t: 'event', session, event: event.replayed ? { ...event, replayed: false } : event, at, step: n },
        numbered,
      );
    },
    adopt: () => {
      for (const place of seen.values()) {
        place.children = null;
        for (const id of place.known.keys()) place.known.set(id, null);
      }
    },
    standing: () => [...drawings, ...actors.values()],
  };
}

function idsOf(taken: Move['taken']): readonly string[] {
  const [only, more] = taken;
  return only === undefined || more !== undefined ? taken.flatMap(transitionIds) : transitionIds(only);
}

function sourceOf(child: AnyActorRef): { readonly src: string; readonly machine: AnyStateMachine | null } {
  const logic: unknown = Reflect.get(child, 'logic');
  const machine = isMachine(logic) ? logic : null;
  const named = typeof child.src === 'string' && !child.src.startsWith('xstate.invoke.') ? child.src : null;
  return { src: named ?? machine?.id ?? logicName(logic) ?? child.id, machine };
}

/** True for the logic of a statechart. */
export function isMachine(logic: unknown): logic is AnyStateMachine {
  return typeof logic === 'object' && logic !== null && 'root' in logic && 'implementations' in logic;
}
