import { type AnyStateMachine, type AnyStateNode, type AnyTransitionDefinition, type InspectionEvent } from 'xstate';
import { eventName, isMachineSnapshot, stateText } from '../../machines/events/transition-log.ts';

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
function edgesOf(machine: AnyStateMachine): readonly Edge[] {
  return nodesOf(machine.root).flatMap((node) => [...node.transitions.values(), node.always ?? []].flat().map(edgeOf));
}

/** Every state of a machine, as dotted paths. */
function statesOf(machine: AnyStateMachine): readonly string[] {
  return nodesOf(machine.root).flatMap((node) => (node.path.length === 0 ? [] : [node.path.join('.')]));
}

/** The arrow that a transition is. */
export function edgeOf(taken: AnyTransitionDefinition): Edge {
  const known = knownEdges.get(taken);
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
  knownEdges.set(taken, edge);
  return edge;
}

const knownEdges = new WeakMap<AnyTransitionDefinition, Edge>();

function nodesOf(node: AnyStateNode): readonly AnyStateNode[] {
  return [node, ...Object.values(node.states).flatMap(nodesOf)];
}

function siblingsOf(node: AnyStateNode, { eventType }: AnyTransitionDefinition): readonly AnyTransitionDefinition[] {
  return eventType === '' ? (node.always ?? []) : (node.transitions.get(eventType) ?? []);
}

/** An event as people read it; the output of an actor without its own id is named by what it does. */
function shown({ eventType, source }: AnyTransitionDefinition): string {
  for (const { id, src } of source.invoke)
    if (typeof src === 'string' && eventType.endsWith(`.${id}`))
      return eventName({ type: `${eventType.slice(0, -id.length)}${/^\d+\./.test(id) ? src : id}` });
  return eventType.startsWith('xstate.done.state') ? 'done' : eventName({ type: eventType });
}

/** A guard as the drawing shows it: its name, and its parameters. */
function guardName(guard: unknown): string | null {
  if (guard === undefined || guard === null) return null;
  if (typeof guard === 'string') return guard;
  const type: unknown = Reflect.get(Object(guard), 'type');
  const params: unknown = Reflect.get(Object(guard), 'params');
  if (typeof type === 'string') return typeof params === 'string' ? `${type} ${params}` : type;
  const inner: unknown = Reflect.get(Object(guard), 'guards');
  return Array.isArray(inner) ? inner.map((each) => guardName(each) ?? '?').join(' and ') : 'a function';
}

/** What of one machine's drawing was taken. */
export interface MachineCoverage {
  readonly machine: string;
  readonly states: { readonly covered: number; readonly total: number; readonly missed: readonly string[] };
  readonly edges: { readonly covered: number; readonly total: number; readonly missed: readonly Edge[] };
}

/** What was taken: keys of edges, and `machine: STATE.INNER` for states. */
interface Taken {
  readonly edges: ReadonlySet<string>;
  readonly states: ReadonlySet<string>;
}

/** What of a machine was taken and what was not. A state counts when it or one within it was entered. */
export function machineCoverage(machine: AnyStateMachine, taken: Taken): MachineCoverage {
  const states = statesOf(machine);
  const edges = edgesOf(machine);
  // A state that is left at once is never seen at rest: the arrow that left it shows it.
  const left = edges.filter(({ key }) => taken.edges.has(key)).map(({ from }) => from);
  const own = [...taken.states].filter((one) => one.startsWith(`${machine.id}: `));
  // Of a parallel machine one text names a state of each region.
  const entered = [...own.flatMap((one) => one.slice(machine.id.length + 2).split('+')), ...left];
  const isEntered = (state: string): boolean => entered.some((one) => `${one}.`.startsWith(`${state}.`));
  const missedStates = states.filter((state) => !isEntered(state));
  const missedEdges = edges.filter(({ key }) => !taken.edges.has(key));
  return {
    machine: machine.id,
    states: { covered: states.length - missedStates.length, total: states.length, missed: missedStates },
    edges: { covered: edges.length - missedEdges.length, total: edges.length, missed: missedEdges },
  };
}

/** An arrow in words: `RUNNING —callTool.failed→ RECOVERING`, with its guard. */
export function edgeText({ from, event, to, guard }: Edge): string {
  const where = from === '' ? '(any)' : from;
  return `${where} —${event}${guard === null ? '' : ` [${guard}]`}→ ${to ?? '(stays)'}`;
}

const edges = new Set<string>();
const states = new Set<string>();
const watched = new WeakSet<object>();

/** Everything that machines were seen to do in this process: edges by their key, states as `machine: STATE`. */
export function takenSoFar(): { readonly edges: readonly string[]; readonly states: readonly string[] } {
  return { edges: [...edges], states: [...states] };
}

/** Notes what is done from now on in the system of actors to which a scope belongs. */
export function watchSystem(scope: unknown): void {
  const system: unknown = Reflect.get(Object(scope), 'system');
  if (typeof system !== 'object' || system === null || watched.has(system)) return;
  watched.add(system);
  const inspect: unknown = Reflect.get(system, 'inspect');
  if (typeof inspect === 'function') Reflect.apply(inspect, system, [note]);
}

function note(inspected: InspectionEvent): void {
  if (inspected.type !== '@xstate.microstep') return;
  for (const taken of inspected._transitions) edges.add(edgeOf(taken).key);
  noteState(inspected.snapshot);
}

/** Notes the state in which a machine is. */
export function noteState(snapshot: unknown): void {
  if (isMachineSnapshot(snapshot)) states.add(`${snapshot.machine.id}: ${stateText(snapshot.value)}`);
}

/** The environment variable in which the reporter names the folder for what its workers note. */
export const COVERAGE_FOLDER = 'SIGNALBOX_COVERAGE_FOLDER';
