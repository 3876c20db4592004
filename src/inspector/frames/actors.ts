import { memberOf } from '../../json/json.ts';
import {
  type AnyActorRef,
  type AnyMachineSnapshot,
  isMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
} from 'xstate';
import { statePath } from './drawing.ts';

/** The snapshot of a machine's actor; null for any other. */
export function snapshotOf(actor: AnyActorRef): AnyMachineSnapshot | null {
  const snapshot: unknown = actor.getSnapshot();
  return isMachineSnapshot(snapshot) ? snapshot : null;
}

/** The dotted paths of all active states of a snapshot, in the order of the document. */
export function activeStates(snapshot: AnyMachineSnapshot): readonly string[] {
  const nodes: readonly AnyStateNode[] = snapshot._nodes;
  const only = onlyInnermost(nodes);
  if (only === null) return pathsOf(nodes);
  const known = configurations.get(only);
  if (known !== undefined) return known;
  const paths = pathsOf(nodes);
  configurations.set(only, paths);
  return paths;
}

/** The innermost of the active states, from which the others follow; null when parallel states have several. */
function onlyInnermost(nodes: readonly AnyStateNode[]): AnyStateNode | null {
  let only: AnyStateNode | null = null;
  for (const node of nodes) {
    if (node.type !== 'atomic' && node.type !== 'final') continue;
    if (only !== null) return null;
    only = node;
  }
  return only;
}

const configurations = new WeakMap<AnyStateNode, readonly string[]>();

function pathsOf(nodes: readonly AnyStateNode[]): readonly string[] {
  return nodes
    .filter((node) => node.path.length > 0)
    .toSorted((one, other) => one.order - other.order)
    .map(statePath);
}

interface Initial {
  /** The root included. */
  readonly nodes: readonly AnyStateNode[];
  /** Dotted, without the root's. */
  readonly paths: readonly string[];
}

/** The states in which a machine begins, before it takes any transition. */
export function initialOf(machine: AnyStateMachine): Initial {
  const known = initials.get(machine);
  if (known !== undefined) return known;
  const entered = new Set<AnyStateNode>();
  const enter = (node: AnyStateNode): void => {
    for (let at: AnyStateNode | undefined = node; at !== undefined && !entered.has(at); at = at.parent) entered.add(at);
    if (node.type === 'compound') for (const target of node.initial.target) enter(target);
    if (node.type === 'parallel') for (const child of Object.values(node.states)) enter(child);
  };
  enter(machine.root);
  const nodes = [...entered];
  const initial = { nodes, paths: pathsOf(nodes) };
  initials.set(machine, initial);
  return initial;
}

const initials = new WeakMap<AnyStateMachine, Initial>();

/** The root of the actor system that an actor, as XState inspects it, belongs to; null for what is not an actor. */
export function rootOf(actor: object): AnyActorRef | null {
  const parent: unknown = Reflect.get(actor, '_parent');
  if (typeof parent === 'object' && parent !== null) return rootOf(parent);
  return isActor(actor) ? actor : null;
}

/** True for an actor that runs here. */
export function isActor(actor: object): actor is AnyActorRef {
  return 'getSnapshot' in actor && 'send' in actor;
}

/** True for transitions that were taken without an event, each of them. */
export function isEventless(taken: readonly { readonly eventType: string }[]): boolean {
  return taken.length > 0 && taken.every(({ eventType }) => eventType === '');
}

/** True for the logic of a statechart. */
export function isMachine(logic: unknown): logic is AnyStateMachine {
  return typeof logic === 'object' && logic !== null && 'root' in logic && 'implementations' in logic;
}

/** What an actor was given. */
export function actorInput(actor: AnyActorRef): unknown {
  return optionOf(actor, 'input');
}

/** True for an actor that continues from a snapshot that was kept: it does not begin. */
export function isRestored(actor: AnyActorRef): boolean {
  return optionOf(actor, 'snapshot') !== undefined;
}

function optionOf(actor: AnyActorRef, name: string): unknown {
  return memberOf(memberOf(actor, 'options'), name);
}
