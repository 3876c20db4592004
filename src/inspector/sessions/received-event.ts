import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import { displayJson, displayObject } from '../frames/display-json.ts';
import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  type AnyTransitionDefinition,
  createMachine,
} from 'xstate';
import { drawMachine, transitionsFor } from '../frames/drawing.ts';
import { activeStates } from '../frames/actors.ts';

/** An event of Stately's inspect protocol, as another app has sent it. */
export type ReceivedEvent = ActorReceived | EventReceived | SnapshotReceived;

/** An actor is there. */
export interface ActorReceived extends Addressed {
  readonly type: '@xstate.actor';
  readonly name: string;
  readonly parentId: string | null;
  /** The machine's configuration as JSON; null where there is none. */
  readonly definition: string | null;
  readonly snapshot: ReceivedSnapshot;
}

/** An actor got an event. The snapshot after it shows the effect. */
export interface EventReceived extends Addressed {
  readonly type: '@xstate.event';
  readonly event: { readonly type: string };
  /** The session id of the actor that sent it; null for one outside. */
  readonly sourceId: string | null;
}

/** What an actor is after an event. */
export interface SnapshotReceived extends Addressed {
  readonly type: '@xstate.snapshot';
  readonly event: { readonly type: string } & JsonObject;
  readonly snapshot: ReceivedSnapshot;
}

/** The part of a snapshot that is shown. */
export interface ReceivedSnapshot {
  readonly status: string;
  /** Null for an actor that is not a machine. */
  readonly value: Json;
  readonly context: Json;
}

interface Addressed {
  readonly sessionId: string;
  /** Null where the sender does not know. */
  readonly rootId: string | null;
  /** Milliseconds since 1970; null if there is no usable value. */
  readonly at: number | null;
}

/** The longest id, and how much of a name is shown. */
const LONGEST_ID = 500;
const LONGEST_NAME = 200;

/** Reads one event; null for anything else. The result is plain JSON, nested no deeper than can be serialized again. */
export function readReceived(given: unknown): ReceivedEvent | null {
  if (!isJsonObject(given) || typeof given.sessionId !== 'string') return null;
  const { type, sessionId } = given;
  if (sessionId.length > LONGEST_ID) return null;
  const at = Number(given.createdAt);
  const to: Addressed = { sessionId, rootId: rootIdOf(given.rootId), at: Number.isFinite(at) && at > 0 ? at : null };
  switch (type) {
    case '@xstate.actor':
      return {
        ...to,
        type,
        name: (typeof given.name === 'string' ? given.name : sessionId).slice(0, LONGEST_NAME),
        parentId: typeof given.parentId === 'string' ? given.parentId : null,
        definition: typeof given.definition === 'string' ? given.definition : null,
        snapshot: snapshotOf(given.snapshot),
      };
    case '@xstate.event':
      return {
        ...to,
        type,
        event: { type: eventType(given.event) },
        sourceId: typeof given.sourceId === 'string' ? given.sourceId : null,
      };
    case '@xstate.snapshot':
      return { ...to, type, event: eventOf(given.event), snapshot: snapshotOf(given.snapshot) };
    default:
      return null;
  }
}

/** Events that are reported by hand carry `anonymous`. */
function rootIdOf(rootId: unknown): string | null {
  return typeof rootId === 'string' && rootId !== 'anonymous' ? rootId : null;
}

function snapshotOf(given: unknown): ReceivedSnapshot {
  const { status, value, context }: JsonObject = isJsonObject(given) ? given : {};
  return {
    status: typeof status === 'string' ? status : 'active',
    value: displayJson(value),
    context: displayJson(context),
  };
}

function eventOf(given: unknown): SnapshotReceived['event'] {
  const event = isJsonObject(given) ? displayObject(given) : {};
  return { ...event, type: eventType(event) };
}

function eventType(event: unknown): string {
  return isJsonObject(event) && typeof event.type === 'string' ? event.type.slice(0, LONGEST_NAME) : '';
}

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
