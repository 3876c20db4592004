import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { statePath } from './drawing.ts';

/** The dotted paths of states, in the order of the document; the root has none. */
export function pathsOf(nodes: readonly AnyStateNode[]): readonly string[] {
  return nodes
    .filter((node) => node.path.length > 0)
    .toSorted((one, other) => one.order - other.order)
    .map(statePath);
}

/** The dotted paths of the states in which a machine begins, before it takes any transition. */
export function initialStates(machine: AnyStateMachine): readonly string[] {
  return begins(machine).paths;
}

/** The states in which a machine begins, the root included. */
export function initialNodes(machine: AnyStateMachine): readonly AnyStateNode[] {
  return begins(machine).nodes;
}

interface Beginnings {
  readonly nodes: readonly AnyStateNode[];
  readonly paths: readonly string[];
}

const known = new WeakMap<AnyStateMachine, Beginnings>();

function begins(machine: AnyStateMachine): Beginnings {
  const before = known.get(machine);
  if (before !== undefined) return before;
  const entered = new Set<AnyStateNode>();
  const enter = (node: AnyStateNode): void => {
    for (let at: AnyStateNode | undefined = node; at !== undefined && !entered.has(at); at = at.parent) entered.add(at);
    if (node.type === 'compound') for (const target of node.initial.target) enter(target);
    if (node.type === 'parallel') for (const child of Object.values(node.states)) enter(child);
  };
  enter(machine.root);
  const nodes = [...entered];
  const found = { nodes, paths: pathsOf(nodes) };
  known.set(machine, found);
  return found;
}
