import type { Comparison } from './compare.ts';

/** What is shown beside each other for one row of a comparison: positions of steps. */
export interface ShownPair {
  readonly left: number | null;
  readonly right: number | null;
  /**
   * The side that has no such move, where one side has it alone; else null. Where that begins, and the same actor moves
   * next on that side too, its move stands here as what happened instead.
   */
  readonly without: 'A' | 'B' | null;
  /** The next move on the side that has none; null when its run is over there. */
  readonly next: number | null;
}

/** The two steps that a row is about. */
export function pairAt({ rows, roles }: Comparison, index: number): ShownPair {
  const row = rows[index];
  if (row === undefined) return { left: null, right: null, without: null, next: null };
  if (row.left !== null && row.right !== null) return { left: row.left, right: row.right, without: null, next: null };
  const begins = rows[index - 1]?.kind !== row.kind;
  const before = rows.slice(0, index);
  if (row.left !== null) {
    const at = (before.findLast(({ right }) => right !== null)?.right ?? -1) + 1;
    const next = at < roles.right.length ? at : null;
    const instead = begins && roles.right[at] === roles.left[row.left];
    return { left: row.left, right: instead ? at : null, without: 'B', next };
  }
  const at = (before.findLast(({ left }) => left !== null)?.left ?? -1) + 1;
  const next = at < roles.left.length ? at : null;
  const instead = begins && roles.left[at] === roles.right[row.right];
  return { left: instead ? at : null, right: row.right, without: 'A', next };
}
