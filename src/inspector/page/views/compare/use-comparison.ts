import { useEffect, useMemo, useState } from 'preact/hooks';
import { type Comparison, compareRuns } from '../../model/compare/compare.ts';
import type { SessionModel } from '../../model/session-model.ts';
import { usePage } from '../../state/page-context.ts';

/** After a comparison the page has so many times as long for everything else: long runs that go on are compared seldom. */
const REST = 8;

/** Two runs side by side as they are, or were a moment ago while they still grow. */
export function useComparison(left: SessionModel, right: SessionModel): Comparison {
  const { state } = usePage();
  const beat = state.slowBeat.value;
  const [round, begin] = useState(0);
  const made = useMemo(() => timed(left, right), [left, right, round]);
  useEffect(() => {
    if (made.size === sizeOf(left, right)) return;
    const rest = made.at + made.took * REST - performance.now();
    const timer = setTimeout(() => begin(round + 1), Math.max(0, rest));
    return () => clearTimeout(timer);
  }, [made, beat]);
  return made.comparison;
}

function timed(left: SessionModel, right: SessionModel) {
  const began = performance.now();
  const size = sizeOf(left, right);
  const comparison = compareRuns(left, right);
  const at = performance.now();
  return { comparison, size, at, took: at - began };
}

/** How much is known of both: it only ever grows. */
function sizeOf(...runs: readonly SessionModel[]): number {
  return runs.reduce((sum, { steps, told, records }) => sum + steps.length + told.length + records.length, 0);
}
