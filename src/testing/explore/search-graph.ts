import type { PathChoice } from './walk/explored-run.ts';

/** A state that was reached, known by the choices that lead to it. */
export interface Node {
  readonly id: number;
  readonly parent: Node | null;
  /** The choice that led here; null at the start. */
  readonly choice: PathChoice | null;
  readonly depth: number;
  /** What can be chosen here. */
  readonly choices: readonly PathChoice[];
}

/** Where the choices of explored nodes lead, for what concerns the graph as a whole. */
export type Graph = ReadonlyMap<number, readonly { readonly choice: PathChoice; readonly to: Node }[]>;

/** The choices from the start to a node. */
export function pathTo(node: Node): readonly PathChoice[] {
  const path: PathChoice[] = [];
  for (let at: Node | null = node; at !== null; at = at.parent) if (at.choice !== null) path.unshift(at.choice);
  return path;
}

/** A way round a cycle of the graph and the node that it begins at; null when there is none. */
export function findCycle(
  graph: Graph,
  start: Node,
): { readonly at: Node; readonly round: readonly PathChoice[] } | null {
  const done = new Set<number>();
  const way: { readonly node: Node; readonly via: PathChoice | null; next: number }[] = [
    { node: start, via: null, next: 0 },
  ];
  const onWay = new Map<number, number>([[start.id, 0]]);
  for (let top = way.at(-1); top !== undefined; top = way.at(-1)) {
    const step = graph.get(top.node.id)?.[top.next++];
    if (step === undefined) {
      done.add(top.node.id);
      onWay.delete(top.node.id);
      way.pop();
      continue;
    }
    const begun = onWay.get(step.to.id);
    if (begun !== undefined) {
      const round = way.slice(begun + 1).flatMap(({ via }) => via ?? []);
      return { at: step.to, round: [...round, step.choice] };
    }
    if (done.has(step.to.id)) continue;
    onWay.set(step.to.id, way.length);
    way.push({ node: step.to, via: step.choice, next: 0 });
  }
  return null;
}
