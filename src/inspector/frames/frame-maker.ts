/**
 * Owns: turning what a run does into frames, and their order. Does not own: where the run comes from (live, or played
 * back), or who sees the frames.
 *
 * I1 The frames of a run that is watched and of its recording are the same: it has no clock of its own.
 * I2 A step's frame comes before the frames of the actors that it made or ended, and those before its events.
 */
import { inPath } from '../../actors/leaf.ts';
import { recordedEntry, type RecordLine } from '../../journal/format/record.ts';
import type { RunEvent } from '../../machines/events/run-events.ts';
import { eventName, type Microstep } from '../../machines/events/transition-log.ts';
import { activeStates, actorInput, initialOf, isEventless, isMachine, isRestored, snapshotOf } from './actors.ts';
import { drawMachine, transitionIds, transitionsFor } from './drawing.ts';
import { initialSnapshot, isInitial, type LazySnapshot, type StepSource } from './step-details.ts';
import { actorName, agentAbove, logicName } from './names.ts';
import { type ActorInfo, type Frame, isNumbered, type StepInfo } from './protocol.ts';
import { endingTone } from './state-tones.ts';
import { agentMachine } from '../../machines/agent/agent.ts';
import { loopDetectionMachine } from '../../machines/tool-call/loop-detection.ts';
import type { AnyActorRef, AnyMachineSnapshot, AnyStateMachine } from 'xstate';

/** What the makers of frames have in common. */
export interface FrameOptions {
  /** The id of the session in the frames. */
  readonly session: string;
  readonly emit: (frame: Frame) => void;
  /** Gets what each step's details are made of, right after its frame. */
  readonly onStep?: (step: StepInfo, source: StepSource) => void;
}

interface FrameMakerOptions extends FrameOptions {
  /** For sessions without records: milliseconds since they began. */
  readonly now?: () => number;
}

interface Seen {
  readonly path: string;
  states: readonly string[];
  /** How it stands: worked out on demand where it began and left its initial state at once. */
  snapshot: LazySnapshot;
  /** It came into view when it was at work already, with the actors that it had. */
  readonly joined: boolean;
  children: object | null;
  /** By id. Null: an actor of this id lives, but which one it is was not seen yet. */
  readonly known: Map<string, object | null>;
}

/** A machine that comes into view. */
interface Arrival {
  readonly machine: AnyStateMachine;
  readonly snapshot: AnyMachineSnapshot | null;
  /** It has moved already: the states of its snapshot are the first that are shown. */
  readonly joined?: boolean;
  /** Left out where its beginning is past, or there is no actor. */
  readonly actor?: AnyActorRef;
}

/** Makes the frames of one session. */
export class FrameMaker {
  readonly #options: FrameMakerOptions;
  readonly #session: string;
  readonly #seen = new Map<string, Seen>();
  /** The paths of those that live. */
  readonly #actors = new Set<string>();
  readonly #drawings = new Set<string>();
  #at = 0;
  #line = 0;
  #entry: number | null = null;
  #n = 0;
  /** The path of the agent that moved last: what is reported after a move is about it. */
  #agent = '';

  constructor(options: FrameMakerOptions) {
    this.#options = options;
    this.#session = options.session;
  }

  record(record: RecordLine): void {
    this.#line += 1;
    this.#at = record.t === 'run' ? 0 : record.at;
    if (record.t === 'run' || recordedEntry(record) !== null) this.#entry = this.#line;
    // A line that is sent while the run is live has no digests, and a page shows the same when it is loaded again.
    const shown = record.t === 'start' ? { ...record, digest: '', key: '' } : record;
    this.#emit({ t: 'record', session: this.#session, line: this.#line, record: shown });
  }

  microstep({ actor, path, snapshot, event, taken, machine }: Microstep): void {
    if (snapshot.status === 'stopped') return;
    this.#lookAtClock();
    const seen = this.#seenAt(path, machine, { machine: snapshot.machine, snapshot, actor });
    this.#agent = agentAbove(path);
    if (taken.length === 0) return this.#ignore(seen, event, snapshot);
    const before = seen.snapshot;
    if (isInitial(before)) before.wentTo({ snapshot, event, taken });
    const tone = endingTone(snapshot);
    const to = activeStates(snapshot);
    this.#step(seen, { event, before, after: snapshot, taken, to }, tone === undefined ? {} : { tone });
    this.#followChildren(seen, snapshot);
    this.#followLoop(path, isInitial(before) ? null : before, snapshot);
    if (snapshot.status !== 'active') for (const id of seen.known.keys()) this.#gone(`${path}/${inPath(id)}`);
  }

  /** A machine has started, and may take no transition for long; or, when it is `joined`, took some before anyone watched. */
  show(path: string, snapshot: AnyMachineSnapshot, joined: boolean): void {
    this.#lookAtClock();
    const { machine } = snapshot;
    this.#seenAt(path, machine.id, { machine, snapshot, joined });
  }

  event(event: RunEvent): void {
    this.#lookAtClock();
    const agent = isNumbered(event) && event.child !== undefined ? { agent: this.#agent } : {};
    this.#emit({ t: 'event', session: this.#session, event, at: this.#at, step: this.#n, ...agent });
  }

  #lookAtClock(): void {
    this.#at = this.#options.now?.() ?? this.#at;
  }

  #emit(frame: Frame): void {
    this.#options.emit(frame);
  }

  #draw(machine: AnyStateMachine): string {
    const drawing = drawMachine(machine);
    if (!this.#drawings.has(drawing.hash)) this.#emit({ t: 'drawing', drawing });
    this.#drawings.add(drawing.hash);
    return drawing.hash;
  }

  #born(
    actor: Pick<ActorInfo, 'path' | 'parent' | 'src'>,
    arrival: Pick<Arrival, 'machine' | 'snapshot'> | null,
  ): void {
    const { path } = actor;
    const drawing = arrival === null ? null : this.#draw(arrival.machine);
    const name = arrival === null ? null : actorName(path, arrival.machine, arrival.snapshot);
    const info = { ...actor, ...(name === null ? {} : { name }), drawing };
    this.#actors.add(path);
    this.#emit({ t: 'actor', session: this.#session, actor: info, step: this.#n });
  }

  #gone(path: string): void {
    const below = [...this.#actors].filter((other) => other === path || other.startsWith(`${path}/`));
    for (const one of below.toReversed()) {
      this.#actors.delete(one);
      this.#seen.delete(one);
      this.#emit({ t: 'actor-gone', session: this.#session, path: one, step: this.#n });
    }
  }

  #seenAt(path: string, src: string, arrival: Arrival): Seen {
    return this.#seen.get(path) ?? this.#enter(path, src, arrival);
  }

  #enter(path: string, src: string, { snapshot, machine, actor, joined = false }: Arrival): Seen {
    const seen: Seen = { path, states: [], snapshot: null, joined, children: null, known: new Map() };
    this.#seen.set(path, seen);
    if (!this.#actors.has(path)) {
      const parent = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : null;
      this.#born({ path, parent, src }, { machine, snapshot });
    }
    const initial = joined && snapshot !== null ? activeStates(snapshot) : initialOf(machine).paths;
    // With transitions to take at once the snapshot is ahead of the initial states, and its microsteps are yet to be reported.
    const still = snapshot !== null && String(activeStates(snapshot)) === String(initial);
    const stands = still ? snapshot : null;
    const input = actor === undefined ? undefined : actorInput(actor);
    const event = { type: 'xstate.init', ...(input === undefined ? {} : { input }) };
    const after = actor === undefined ? stands : initialSnapshot({ machine, input, seen: stands });
    this.#step(seen, { event, before: null, after, taken: [], to: initial });
    if (still) this.#followChildren(seen, snapshot);
    return seen;
  }

  #step(
    seen: Seen,
    { to, ...source }: StepSource & { readonly to: readonly string[] },
    more: Pick<StepInfo, 'tone' | 'ignored'> = {},
  ): void {
    const { event, after, taken } = source;
    this.#n += 1;
    const step: StepInfo = {
      n: this.#n,
      at: this.#at,
      actor: seen.path,
      event: isEventless(taken) ? 'always' : eventName(event),
      transitions: taken.flatMap(transitionIds),
      from: seen.states,
      to,
      entry: this.#entry,
      ...more,
    };
    this.#emit({ t: 'step', session: this.#session, step });
    this.#options.onStep?.(step, source);
    seen.states = to;
    seen.snapshot = after;
  }

  /** An event arrived, and the machine stays as it was. What XState says to itself is not shown. */
  #ignore(seen: Seen, event: Microstep['event'], snapshot: AnyMachineSnapshot): void {
    const before = seen.snapshot;
    if (before === null || snapshot.status !== 'active' || event.type.startsWith('xstate.')) return;
    const isKnown = snapshot._nodes.some((node) => transitionsFor(node, event.type).length > 0);
    const source = { event, before, after: before, taken: [] };
    this.#step(seen, { ...source, to: seen.states }, { ignored: isKnown ? 'blocked' : 'unknown' });
  }

  #followChildren(seen: Seen, snapshot: AnyMachineSnapshot): void {
    const children: { readonly [id: string]: AnyActorRef | undefined } = snapshot.children;
    if (children === seen.children) return;
    const { path, known, joined } = seen;
    const isPast = joined && seen.children === null;
    seen.children = children;
    for (const [id, before] of known) {
      const child = children[id];
      if (child === before || (before === null && child !== undefined)) continue;
      known.delete(id);
      this.#gone(`${path}/${inPath(id)}`);
    }
    for (const id of Object.keys(children)) {
      const child = children[id];
      if (child === undefined || known.get(id) === child) continue;
      const fresh = !known.has(id);
      known.set(id, child);
      if (fresh) this.#enterChild(path, id, child, isPast);
    }
  }

  #enterChild(parent: string, id: string, child: AnyActorRef, isPast: boolean): void {
    const path = `${parent}/${inPath(id)}`;
    const logic: unknown = Reflect.get(child, 'logic');
    const snapshot = snapshotOf(child);
    // A child agent has no machine of its own: it uses the one above it.
    const machine: AnyStateMachine | null = isMachine(logic) ? logic : (snapshot?.machine ?? null);
    const named = typeof child.src === 'string' && !child.src.startsWith('xstate.invoke.') ? child.src : null;
    const src = named ?? machine?.id ?? logicName(logic) ?? child.id;
    if (machine === null) return this.#born({ path, parent, src }, null);
    const birth = isPast || isRestored(child) ? { joined: true } : { actor: child };
    this.#enter(path, src, { machine, snapshot, ...birth });
  }

  /** The agent steps its loop detection by itself, as data in its context; it is shown like an actor. */
  #followLoop(path: string, before: AnyMachineSnapshot | null, after: AnyMachineSnapshot): void {
    const loop = loopOf(after);
    if (loop === null) return;
    const { machine } = loop;
    const seen = this.#seenAt(`${path}/${machine.id}`, machine.id, { machine, snapshot: loop });
    const source = loopStep(before === null ? null : loopOf(before), loop);
    if (source !== null) this.#step(seen, { ...source, to: activeStates(loop) });
  }
}

/** The loop detection of an agent; null for another machine. */
function loopOf({ machine, context }: AnyMachineSnapshot): AnyMachineSnapshot | null {
  return machine.config === agentMachine.config ? loopDetectionMachine.resolveState(context.loop) : null;
}

/** What moved the loop detection between two snapshots of its agent, as one transition; null when nothing did. */
function loopStep(before: AnyMachineSnapshot | null, after: AnyMachineSnapshot): StepSource | null {
  if (before === null || sameMemory(before, after)) return null;
  const type = before.context.recent === after.context.recent ? 'round.settled' : 'call.proposed';
  const from = before.machine.root.states[String(before.value)];
  const possible = [from, before.machine.root].flatMap((node) => node?.transitions.get(type) ?? []);
  const taken = possible.find(({ target = [from] }) => target.some((node) => node?.key === String(after.value)));
  return { event: { type }, before, after, taken: taken === undefined ? [] : [taken] };
}

/** Equal, though perhaps not the same: a settled round counts its failures again, and a run that is joined is another's copy. */
function sameMemory(one: AnyMachineSnapshot, other: AnyMachineSnapshot): boolean {
  return one.value === other.value && isEqual(one.context, other.context);
}

function isEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every((key) => isEqual(Reflect.get(one, key), Reflect.get(other, key)));
}
