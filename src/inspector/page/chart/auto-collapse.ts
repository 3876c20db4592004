import type { MachineDrawing, StateDrawing } from '../../frames/protocol.ts';

/** Drawings with more states than this are too many to be read at once. */
const MANY_STATES = 15;
const MANY_CHILDREN = 4;

/**
 * Which states of a large machine are drawn closed: those with many children where nobody has been yet. They open when
 * the machine first enters them. Small machines are drawn whole.
 */
export function autoCollapsed(drawing: MachineDrawing, visited: { has(path: string): boolean }): ReadonlySet<string> {
  const closed = new Set<string>();
  if (countOf(drawing.root) <= MANY_STATES) return closed;
  const visit = (state: StateDrawing): void => {
    if (state.path !== '' && state.children.length >= MANY_CHILDREN && !visited.has(state.path)) closed.add(state.path);
    else for (const child of state.children) visit(child);
  };
  visit(drawing.root);
  return closed;
}

/** Every set of states that {@link autoCollapsed} may name for a drawing: what is laid out ahead. */
export function collapses(drawing: MachineDrawing): readonly ReadonlySet<string>[] {
  let sets: readonly ReadonlySet<string>[] = [new Set()];
  for (const path of autoCollapsed(drawing, new Set())) sets = sets.flatMap((set) => [set, new Set([...set, path])]);
  return sets;
}

function countOf(state: StateDrawing): number {
  return state.children.reduce((sum, child) => sum + 1 + countOf(child), 0);
}
