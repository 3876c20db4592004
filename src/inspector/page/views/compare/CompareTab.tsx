import { Button } from '../parts/Button.tsx';
import { escapedLine } from '../../model/escaped-text.ts';
import { otherSession, usePage } from '../../state/page-state.ts';
import { SideMark, ComparePair } from './ComparePair.tsx';
import { useMemo, useState, useEffect } from 'preact/hooks';
import {
  type ComparedRow,
  type Comparison,
  compareRuns,
  type Fold,
  foldRows,
} from '../../model/compare/compare-runs.ts';
import type { SessionModel } from '../../model/page-model.ts';
import { goTo } from '../../state/walk.ts';
import { CompareList } from './CompareList.tsx';

/** This run beside another: which one is chosen here. */
export function CompareTab() {
  const { state, desk } = usePage();
  void state.slowRevision.value;
  const session = state.session.value;
  const others = [...state.model.sessions.values()].filter((one) => one !== session);
  const other = otherSession(state);
  if (others.length === 0)
    return (
      <p class="empty">
        {desk.acts
          ? 'There is no other run yet. Recordings can be opened from disk (r).'
          : 'This page holds one run. To have two, save it while they are compared.'}
      </p>
    );
  const choose = (id: string | null): void => {
    state.other.value = id;
    // A page without a chosen run shows the latest; two that are compared stay.
    if (session !== null) state.chosen.value = session.info.id;
  };
  return (
    <div class="compare" data-chosen={other !== null}>
      <div class="compare-runs">
        <span class="compare-run">
          <SideMark side="A" />
          <span class="cut">{escapedLine(session?.info.title ?? '', 120)}</span>
          <span class="dim">{session?.info.status}</span>
        </span>
        <label class="compare-run">
          <SideMark side="B" />
          <span class="sr">Beside</span>
          <select
            class="field"
            value={other?.info.id ?? ''}
            onChange={(event) => choose(event.currentTarget.value || null)}
          >
            <option value="">choose a run…</option>
            {others.map(({ info }) => (
              <option key={info.id} value={info.id}>
                {escapedLine(`${info.title} (${info.status}, ${info.id})`, 90)}
              </option>
            ))}
          </select>
        </label>
      </div>
      {session !== null && other !== null && <CompareBoard left={session} right={other} />}
    </div>
  );
}

interface Chosen {
  readonly row: ComparedRow;
  /** Where the cursor stood then: once it is moved, its own row is meant. */
  readonly position: number;
}

/** Two runs beside each other: all their transitions, and what the two in one line have in common or not. */
function CompareBoard({ left, right }: { readonly left: SessionModel; readonly right: SessionModel }) {
  const { state } = usePage();
  const comparison = useComparison(left, right);
  const [chosen, choose] = useState<Chosen | null>(null);
  const [opened, open] = useState<readonly Fold[]>([]);
  const { rows } = comparison;
  const position = state.position.value;
  const selected = selectedRow(comparison, { chosen, position, follows: state.cursor.value === null });
  const items = useMemo(
    () => foldRows({ count: rows.length, counts: (at) => rows[at]?.kind !== 'same' || at === selected, opened }),
    [rows, opened, selected],
  );
  const pick = (index: number): void => {
    const row = rows[index];
    if (row === undefined) return;
    if (row.left !== null) goTo(state, row.left);
    choose({ row, position: row.left ?? position });
  };
  return (
    <>
      <Summary comparison={comparison} whole={isWhole(left) && isWhole(right)} selected={selected} onPick={pick} />
      <div class="compare-body">
        <CompareList
          runs={{ left, right }}
          comparison={comparison}
          items={items}
          selected={selected}
          onPick={pick}
          onOpen={(fold) => open([...opened, fold])}
        />
        {selected !== null && <ComparePair left={left} right={right} comparison={comparison} index={selected} />}
      </div>
    </>
  );
}

interface SummaryProps {
  readonly comparison: Comparison;
  /** Both runs are over, and were read to their end. */
  readonly whole: boolean;
  readonly selected: number | null;
  readonly onPick: (index: number) => void;
}

function Summary({ comparison: { first, rows, differing }, whole, selected, onPick }: SummaryProps) {
  const differs = ({ kind }: ComparedRow): boolean => kind !== 'same';
  const here = selected ?? -1;
  // A stretch of lines that differ is one place to go to.
  const begins = (row: ComparedRow, index: number): boolean => differs(row) && rows[index - 1]?.kind !== row.kind;
  const next = rows.findIndex((row, index) => index > here && begins(row, index));
  const last = rows.findLastIndex((row, index) => index < here && begins(row, index));
  if (first === null)
    return (
      <p class="compare-summary" data-testid="difference">
        Both runs took the same transitions with the same data{whole ? '' : ', so far'}.
      </p>
    );
  return (
    <p class="compare-summary" data-testid="difference">
      <span>
        The first difference{whole ? '' : ' so far'} is at transition {first + 1}.{' '}
        <span class="dim">
          {differing} of {rows.length} lines differ.
        </span>
      </span>
      <span class="spring" />
      <Button look="quiet" onClick={() => onPick(first)}>
        Go there
      </Button>
      <Button
        look="quiet"
        data-key=","
        title="Previous difference (,)"
        disabled={last === -1}
        onClick={() => onPick(last)}
      >
        ‹ last
      </Button>
      <Button look="quiet" data-key="." title="Next difference (.)" disabled={next === -1} onClick={() => onPick(next)}>
        next ›
      </Button>
    </p>
  );
}

/** The row that is looked at: what was clicked, else where the cursor is, else the first difference. */
function selectedRow(
  { rows, first }: Comparison,
  {
    chosen,
    position,
    follows,
  }: { readonly chosen: Chosen | null; readonly position: number; readonly follows: boolean },
): number | null {
  const at = (row: ComparedRow): boolean =>
    chosen !== null && row.left === chosen.row.left && row.right === chosen.row.right;
  const clicked = chosen?.position === position ? rows.findIndex(at) : -1;
  if (clicked !== -1) return clicked;
  const there = follows ? -1 : rows.findIndex(({ left }) => left === position);
  return there === -1 ? first : there;
}

function isWhole({ info, records }: SessionModel): boolean {
  return info.status !== 'running' && (info.kind === 'system' || records.at(-1)?.t === 'end');
}

/** After a comparison the page has so many times as long for everything else: long runs that continue are compared seldom. */
const REST = 8;

/** Two runs side by side as they are, or were a moment ago while they still grow. */
function useComparison(left: SessionModel, right: SessionModel): Comparison {
  const { state } = usePage();
  const revision = state.slowRevision.value;
  const [round, begin] = useState(0);
  const made = useMemo(() => timed(left, right), [left, right, round]);
  useEffect(() => {
    if (made.size === sizeOf(left, right)) return;
    const rest = made.at + made.took * REST - performance.now();
    const timer = setTimeout(() => begin(round + 1), Math.max(0, rest));
    return () => clearTimeout(timer);
  }, [made, revision]);
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
