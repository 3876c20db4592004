import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { eventName } from '../machines/events/transition-log.ts';

/** One arrow of a machine's drawing. */
export interface Edge {
  readonly machine: string;
  /** The state that it leaves, as a dotted path; empty for the machine as a whole. */
  readonly from: string;
  /** The event as people read it; `always` for a transition without one. */
  readonly event: string;
  /** The state that it leads to; null when it stays. */
  readonly to: string | null;
  /** The guard's name; null for the last resort. */
  readonly guard: string | null;
  /** The same in every version of the machine that was provided with other guards, actions or actors. */
  readonly key: string;
}

/** Every arrow of a machine, in the order of its drawing. */
export function edgesOf(machine: AnyStateMachine): readonly Edge[] {
  return nodesOf(machine.root).flatMap((node) => transitionsOf(node).map(edgeOf));
}

/** Every state of a machine, as dotted paths. */
export function statesOf(machine: AnyStateMachine): readonly string[] {
  return nodesOf(machine.root).flatMap((node) => (node.path.length === 0 ? [] : [node.path.join('.')]));
}

/** The arrow that a transition is. */
export function edgeOf(taken: AnyTransitionDefinition): Edge {
  const known = edges.get(taken);
  if (known !== undefined) return known;
  const { source } = taken;
  const from = source.path.join('.');
  const index = siblingsOf(source, taken).indexOf(taken);
  const edge: Edge = {
    machine: source.machine.id,
    from,
    event: taken.eventType === '' ? 'always' : shown(taken),
    to: taken.target?.map((node) => node.path.join('.')).join('+') ?? null,
    guard: guardName(taken.guard),
    key: `${source.machine.id}|${from}|${taken.eventType}|${index}`,
  };
  edges.set(taken, edge);
  return edge;
}

const edges = new WeakMap<AnyTransitionDefinition, Edge>();

function nodesOf(node: AnyStateNode): readonly AnyStateNode[] {
  return [node, ...Object.values(node.states).flatMap(nodesOf)];
}

function transitionsOf(node: AnyStateNode): readonly AnyTransitionDefinition[] {
  return [...node.transitions.values(), node.always ?? []].flat();
}

function siblingsOf(node: AnyStateNode, { eventType }: AnyTransitionDefinition): readonly AnyTransitionDefinition[] {
  return eventType === '' ? (node.always ?? []) : (node.transitions.get(eventType) ?? []);
}

/** An event as people read it; what an actor without an id of its own yields is named by what it does. */
function shown({ eventType, source }: AnyTransitionDefinition): string {
  for (const { id, src } of source.invoke)
    if (typeof src === 'string' && eventType.endsWith(`.${id}`))
      return eventName({ type: `${eventType.slice(0, -id.length)}${/^\d+\./.test(id) ? src : id}` });
  return eventType.startsWith('xstate.done.state') ? 'done' : eventName({ type: eventType });
}

/** A guard as it stands in the drawing: its name, and what it is asked. */
function guardName(guard: unknown): string | null {
  if (guard === undefined || guard === null) return null;
  if (typeof guard === 'string') return guard;
  const type: unknown = Reflect.get(Object(guard), 'type');
  const params: unknown = Reflect.get(Object(guard), 'params');
  if (typeof type === 'string') return typeof params === 'string' ? `${type} ${params}` : type;
  const inner: unknown = Reflect.get(Object(guard), 'guards');
  return Array.isArray(inner) ? inner.map((each) => guardName(each) ?? '?').join(' and ') : 'a function';
}
