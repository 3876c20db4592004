import { Button } from '../parts/Button.tsx';
import { escapedLine } from '../../model/escaped-text.ts';
import { otherSession, usePage } from '../../state/page-state.ts';
import { ComparePair, type ComparePairProps, SideMark } from './ComparePair.tsx';
import { useMemo, useState, useEffect } from 'preact/hooks';
import {
  type ComparedRow,
  type Comparison,
  compareRuns,
  type Fold,
  type FoldedRow,
  foldRows,
} from '../../model/compare/compare-runs.ts';
import type { SessionModel } from '../../model/page-model.ts';
import { goTo } from '../../state/walk.ts';
import { VirtualList } from '../parts/VirtualList.tsx';
import type { ComponentChildren } from 'preact';
import type { StepInfo } from '../../../frames/protocol.ts';
import { innermost } from '../../model/actor-state.ts';

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
  const both = { left, right, comparison };
  const [chosen, choose] = useState<Chosen | null>(null);
  const [opened, open] = useState<readonly Fold[]>([]);
  const { rows } = comparison;
  const position = state.position.value;
  const selected = selectedRow(comparison, { chosen, position, follows: state.cursor.value === null });
  const items = useMemo(
    () => foldRows({ count: rows.length, counts: (at) => rows[at]?.kind !== 'same' || at === selected, opened }),
    [rows, opened, selected],
  );
  const reveal = items.findIndex((item) => item.kind === 'row' && item.index === selected);
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
        <VirtualList
          items={items}
          label="Both runs"
          reveal={reveal === -1 ? null : reveal}
          render={(item: FoldedRow) =>
            item.kind === 'fold' ? (
              <button type="button" class="row row-fold" onClick={() => open([...opened, item])}>
                <Tracks kind="fold" />
                <span>{item.count} identical transitions</span>
              </button>
            ) : (
              <Row {...both} index={item.index} selected={selected} onPick={pick} />
            )
          }
        />
        {selected !== null && <ComparePair {...both} index={selected} />}
      </div>
    </>
  );
}

interface RowProps extends ComparePairProps {
  readonly selected: number | null;
  readonly onPick: (index: number) => void;
}

/** A transition of one run or of both as two tracks: one line where they are the same, two where they differ. */
function Row({ left, right, comparison: { rows, roles, first }, index, selected, onPick }: RowProps) {
  const row = rows[index];
  if (row === undefined) return null;
  const classes = ['row row-compare', index === first && 'first', index === selected && 'now'];
  return (
    <button
      type="button"
      class={classes.filter(Boolean).join(' ')}
      data-kind={row.kind}
      aria-current={index === selected}
      onClick={() => onPick(index)}
    >
      <Tracks kind={row.kind} />
      <span class="sr">{SAID[row.kind]}: </span>
      {row.left !== null && (
        <TransitionCell at={row.left} step={left.steps[row.left]} role={roles.left[row.left]} side="A">
          {row.kind === 'data' && <span class="what">≠ {escapedLine(row.what, 60)}</span>}
        </TransitionCell>
      )}
      {(row.kind === 'right' || row.kind === 'apart') && (
        <TransitionCell at={row.right} step={right.steps[row.right]} role={roles.right[row.right]} side="B" />
      )}
    </button>
  );
}

const SAID: { readonly [kind in ComparedRow['kind']]: string } = {
  same: 'The same in both',
  data: 'The same transition with other data',
  apart: 'Other transitions',
  left: 'Only in A',
  right: 'Only in B',
};

interface TransitionCellProps {
  readonly at: number;
  readonly step: StepInfo | undefined;
  readonly role: string | undefined;
  readonly side: 'A' | 'B';
  readonly children?: ComponentChildren;
}

function TransitionCell({ at, step, role = '', side, children }: TransitionCellProps) {
  if (step === undefined) return null;
  return (
    <span class="cell" data-side={side}>
      <span class="number">{at + 1}</span> {escapedLine(role.slice(role.lastIndexOf('/') + 1), 30)}{' '}
      {escapedLine(step.event, 40)} <span class="dim">→</span> {escapedLine(innermost(step.to).join(' + '), 60)}
      {children}
    </span>
  );
}

/** Where the tracks of both runs have a stop, and whether it is the same one. */
function Tracks({ kind }: { readonly kind: ComparedRow['kind'] | 'fold' }) {
  const [a, b] = [kind !== 'right', kind !== 'left'];
  return (
    <svg class="tracks" data-kind={kind} width="36" height="24" viewBox="0 0 36 24" aria-hidden="true">
      <path class="rail" d="M10 0V24" />
      <path class="rail rail-b" d="M26 0V24" />
      {(kind === 'same' || kind === 'data') && <path class="tie" d="M10 12H26" />}
      {kind !== 'fold' && a && <circle class="stop stop-a" cx="10" cy="12" r="4" />}
      {kind !== 'fold' && b && <circle class="stop stop-b" cx="26" cy="12" r="4" />}
      {kind === 'data' && <path class="sign" d="M14.500 12l3.500-4.500 3.500 4.500-3.500 4.500z" />}
    </svg>
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
