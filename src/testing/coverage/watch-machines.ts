import { type InspectionEvent, StateMachine } from 'xstate';
import { isMachineSnapshot, stateText } from '../../machines/events/transition-log.ts';
import { edgeOf } from './edges.ts';

const edges = new Set<string>();
const states = new Set<string>();
const watched = new WeakSet<object>();

/** Everything that machines have done in this process since they are watched: edges by their key, states as `machine: STATE`. */
export function takenSoFar(): { readonly edges: readonly string[]; readonly states: readonly string[] } {
  return { edges: [...edges], states: [...states] };
}

type AnyMethod = (this: unknown, ...args: unknown[]) => unknown;

/**
 * Notes what every machine of this process does from now on, in actors and where a machine is stepped by hand. It hooks
 * between XState and its machines, which is why it belongs in tests only.
 */
export function watchMachines(): void {
  wrap('transition', 2);
  wrap('getInitialSnapshot', 0);
}

/** Lets a method of all machines pass through us; its argument at `scopeAt` is the scope of the actor. */
function wrap(method: 'transition' | 'getInitialSnapshot', scopeAt: number): void {
  const original: unknown = Reflect.get(StateMachine.prototype, method);
  if (!isMethod(original) || watched.has(original)) return;
  const watching: AnyMethod = function watching(...args) {
    watchSystem(args[scopeAt]);
    const snapshot = Reflect.apply(original, this, args);
    noteState(snapshot);
    return snapshot;
  };
  watched.add(watching);
  Reflect.set(StateMachine.prototype, method, watching);
}

function isMethod(value: unknown): value is AnyMethod {
  return typeof value === 'function';
}

function watchSystem(scope: unknown): void {
  const system: unknown = typeof scope === 'object' && scope !== null ? Reflect.get(scope, 'system') : undefined;
  if (typeof system !== 'object' || system === null || watched.has(system)) return;
  watched.add(system);
  const inspect: unknown = Reflect.get(system, 'inspect');
  if (isMethod(inspect)) Reflect.apply(inspect, system, [note]);
}

function note(inspected: InspectionEvent): void {
  if (inspected.type !== '@xstate.microstep') return;
  for (const taken of inspected._transitions) edges.add(edgeOf(taken).key);
  noteState(inspected.snapshot);
}

function noteState(snapshot: unknown): void {
  if (isMachineSnapshot(snapshot)) states.add(`${snapshot.machine.id}: ${stateText(snapshot.value)}`);
}

/** The environment variable in which the reporter names the folder for what its workers note. */
export const COVERAGE_FOLDER = 'SIGNALBOX_COVERAGE_FOLDER';
