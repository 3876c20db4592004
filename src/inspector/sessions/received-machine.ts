import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  type AnyTransitionDefinition,
  createMachine,
} from 'xstate';
import { type Json, isJsonObject } from '../../json/json.ts';
import { drawMachine, transitionsFor } from '../frames/drawing.ts';
import { activeStates } from '../frames/actors.ts';
import type { ReceivedSnapshot } from './received-event.ts';

/** The longest definition, in characters, and the most active states of a machine that cannot be asked for them. */
const LONGEST_DEFINITION = 1_000_000;
const MOST_STATES = 1000;

/**
 * A machine made from another app's definition: it can be drawn and asked, and is never run. Its states are in alphabetical
 * order, because their client sends them so, and cut off below its depth limit. Null for what is not a machine, and for what
 * is too large to be made one without holding up others.
 */
export function receivedMachine(definition: string): AnyStateMachine | null {
  if (definition.length > LONGEST_DEFINITION) return null;
  try {
    const config: unknown = JSON.parse(definition);
    if (!isJsonObject(config) || !isJsonObject(config.states)) return null;
    const machine = createMachine(config);
    // Only now are targets found that are not there.
    drawMachine(machine);
    return machine;
  } catch {
    return null;
  }
}

/** What an actor of another app is, as a snapshot of its machine; null where the two do not fit. */
export function resolved(
  machine: AnyStateMachine | null,
  { value, context }: ReceivedSnapshot,
): AnyMachineSnapshot | null {
  if (machine === null || (typeof value !== 'string' && !isJsonObject(value))) return null;
  try {
    const snapshot: AnyMachineSnapshot = machine.resolveState({ value: stateValue(value), context });
    return snapshot;
  } catch {
    return null;
  }
}

/** The dotted paths of all active states, from the snapshot, else from its value alone. */
export function receivedStates(snapshot: AnyMachineSnapshot | null, value: Json): readonly string[] {
  return snapshot === null ? pathsIn(value, '').slice(0, MOST_STATES) : activeStates(snapshot);
}

/**
 * Which transitions an event has most likely led through, from outside: of those that it could have taken, the innermost
 * in each region whose targets are active afterwards.
 */
export function likelyTaken(
  before: AnyMachineSnapshot,
  event: { readonly type: string },
  after: AnyMachineSnapshot,
): readonly AnyTransitionDefinition[] {
  const then = new Set<AnyStateNode>(after._nodes);
  const same = String(activeStates(before)) === String(activeStates(after));
  const fits = ({ target }: AnyTransitionDefinition): boolean => target?.every((node) => then.has(node)) ?? same;
  const taken = new Set<AnyTransitionDefinition>();
  const nodes: readonly AnyStateNode[] = before._nodes;
  for (const innermost of nodes.filter(({ type }) => type === 'atomic' || type === 'final'))
    for (let node: AnyStateNode | undefined = innermost; node !== undefined; node = node.parent) {
      const found = transitionsFor(node, event.type).find(fits);
      if (found === undefined) continue;
      taken.add(found);
      break;
    }
  return [...taken];
}

function pathsIn(value: Json, above: string): readonly string[] {
  const below = (key: string): string => (above === '' ? key : `${above}.${key}`);
  if (typeof value === 'string') return [below(value)];
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => [below(key), ...pathsIn(inner, below(key))]);
}

type Value = string | { readonly [key: string]: Value };

function stateValue(value: unknown): Value {
  if (typeof value === 'string') return value;
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, stateValue(inner)]));
}
