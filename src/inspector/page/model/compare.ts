import type { StepInfo } from '../../protocol.ts';

/** One line of a comparison: the step of the left run beside that of the right one. */
export interface ComparedRow {
  readonly left: number | null;
  readonly right: number | null;
  readonly same: boolean;
}

/** Two runs side by side. */
export interface Comparison {
  /** Position of the first step that differs, the same in both; null when one run is the whole other. */
  readonly first: number | null;
  readonly rows: readonly ComparedRow[];
}

/** How far ahead a match is looked for after a difference. */
const LOOK_AHEAD = 64;

/**
 * Lays two runs side by side. Up to the first difference they are one; after it each step stands beside the next one like
 * it, looked for a little ahead on both sides, so that an inserted retry does not shift all that follows.
 */
export function compareRuns(left: readonly StepInfo[], right: readonly StepInfo[]): Comparison {
  const rows: ComparedRow[] = [];
  let [l, r] = [0, 0];
  let first: number | null = null;
  while (l < left.length || r < right.length) {
    if (l < left.length && r < right.length && alike(left[l], right[r])) {
      rows.push({ left: l++, right: r++, same: true });
      continue;
    }
    first ??= rows.length;
    const next = nextMatch(left, right, l, r);
    for (; l < next.left || r < next.right;) {
      rows.push({ left: l < next.left ? l++ : null, right: r < next.right ? r++ : null, same: false });
    }
  }
  return { first, rows };
}

function nextMatch(
  left: readonly StepInfo[],
  right: readonly StepInfo[],
  l: number,
  r: number,
): { left: number; right: number } {
  for (let ahead = 1; ahead <= LOOK_AHEAD; ahead++)
    for (let skip = 0; skip <= ahead; skip++) {
      if (alike(left[l + skip], right[r + ahead - skip])) return { left: l + skip, right: r + ahead - skip };
    }
  return { left: left.length, right: right.length };
}

/** Steps are alike when the same actor moves the same way on the same event; their times do not count. */
function alike(a: StepInfo | undefined, b: StepInfo | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return a.actor === b.actor && a.event === b.event && a.to.join() === b.to.join() && a.from.join() === b.from.join();
}
