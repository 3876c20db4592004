import type {
  AnyStateMachine,
  StateValueFrom,
  AnyActorRef,
  AnyMachineSnapshot,
  AnyTransitionDefinition,
  InspectionEvent,
  StateValue,
} from 'xstate';
import { actorPath } from '../../actors/leaf.ts';
import type { Transition } from './run-events.ts';

/** One microstep of one machine below the observed root. */
export interface Microstep {
  readonly actor: AnyActorRef;
  readonly path: string;
  readonly machine: string;
  readonly event: { readonly type: string };
  readonly snapshot: AnyMachineSnapshot;
  /** The definitions that were followed; none when the machine started or took no notice of the event. */
  readonly taken: readonly AnyTransitionDefinition[];
  readonly transition: Transition | null;
}

/**
 * Reads XState's inspection stream: every microstep of every machine whose root `belongs` accepts, with readable names.
 * The listener is called synchronously and must not throw.
 */
export function microstepReader(
  belongs: (actor: AnyActorRef) => boolean,
  listener: (microstep: Microstep) => void,
): (inspected: InspectionEvent) => void {
  const known = new Map<AnyActorRef, { readonly path: string; value: string }>();
  const unstarted: Microstep[] = [];

  const tell = (microstep: Microstep): void => {
    // XState inspects a child's first steps before the step of the parent that made it; people read it the other way.
    if (microstep.event.type === 'xstate.init' && parentOf(microstep.actor) !== undefined) {
      // Of several that begin in each other, too: what comes after its own last step was made by this one.
      const isMadeHere = isBelow(microstep.actor);
      const place = unstarted.findLastIndex(({ actor }) => actor === microstep.actor || !isMadeHere(actor)) + 1;
      return void unstarted.splice(place, 0, microstep);
    }
    listener(microstep);
    for (const held of unstarted.splice(0)) listener(held);
  };

  return (inspected) => {
    if (inspected.type !== '@xstate.microstep') return;
    const { actorRef: actor, event, snapshot, _transitions: taken } = inspected;
    if (!isActor(actor) || !isMachineSnapshot(snapshot) || !belongs(actor)) return;
    const before = known.get(actor) ?? { path: actorPath(actor), value: taken[0]?.source.path.join('.') ?? '' };
    const from = before.value;
    const to = stateText(snapshot.value);
    before.value = to;
    known.set(actor, before);
    const isTransition = from !== to || taken.some((transition) => transition.target !== undefined);
    const transition =
      isTransition && snapshot.status !== 'stopped' ? { actor: before.path, event: eventName(event), from, to } : null;
    tell({ actor, path: before.path, machine: snapshot.machine.id, event, snapshot, taken, transition });
    if (snapshot.status !== 'active') known.delete(actor);
  };
}

function parentOf(actor: AnyActorRef): AnyActorRef | undefined {
  return Reflect.get(actor, '_parent');
}

/** The states of a machine as dotted paths: what reads states by name breaks by type when one is renamed. */
export type PathOf<TMachine extends AnyStateMachine> = PathsIn<StateValueFrom<TMachine>>;

type PathsIn<TValue> = TValue extends string
  ? TValue
  : { [K in keyof TValue & string]: `${K}.${PathsIn<NonNullable<TValue[K]>>}` }[keyof TValue & string];

/** True for a state text of this state, or of one inside it. */
export function isIn<TMachine extends AnyStateMachine>(
  state: string,
  path: PathOf<TMachine> | keyof Extract<StateValueFrom<TMachine>, object>,
): boolean {
  return state === path || state.startsWith(`${String(path)}.`);
}

/** True for a transition that has led to this state. */
export function isAt<TMachine extends AnyStateMachine>(transition: Transition | null, path: PathOf<TMachine>): boolean {
  return transition?.to === path;
}

/** True for an actor below `root`, or the root itself. */
export function isBelow(root: AnyActorRef): (actor: AnyActorRef) => boolean {
  return (actor) => {
    for (let at: AnyActorRef | undefined = actor; at !== undefined; at = parentOf(at)) if (at === root) return true;
    return false;
  };
}

function isActor(actor: object): actor is AnyActorRef {
  return 'start' in actor && 'getSnapshot' in actor;
}

/** True for the snapshot of a machine, and not of a leaf or an actor of another kind. */
export function isMachineSnapshot(snapshot: unknown): snapshot is AnyMachineSnapshot {
  return typeof snapshot === 'object' && snapshot !== null && 'machine' in snapshot && 'value' in snapshot;
}

/** A state value as one dotted path; parallel regions are joined with `+`. */
export function stateText(value: StateValue): string {
  if (typeof value === 'string') return value;
  return Object.entries(value)
    .map(([name, inner]) =>
      inner === undefined || (typeof inner === 'object' && Object.keys(inner).length === 0)
        ? name
        : `${name}.${stateText(inner)}`,
    )
    .join('+');
}

/** Names a done event by what its output is, an error by who failed, a delay by its name. */
export function eventName(event: { readonly type: string }): string {
  const { type } = event;
  if (type.startsWith('xstate.done.actor.')) {
    const output: unknown = Reflect.get(event, 'output');
    const kind: unknown = typeof output === 'object' && output !== null ? Reflect.get(output, 'kind') : undefined;
    return typeof kind === 'string' ? kind : `${type.slice('xstate.done.actor.'.length)}.done`;
  }
  if (type.startsWith('xstate.error.actor.')) return `${type.slice('xstate.error.actor.'.length)}.failed`;
  if (type.startsWith('xstate.after.')) return `after.${type.slice('xstate.after.'.length).split('.')[0] ?? ''}`;
  if (type === 'xstate.init') return 'started';
  if (type === 'xstate.stop') return 'stopped';
  return type;
}
