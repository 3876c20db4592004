import type { ComponentChildren } from 'preact';
import type { StepInfo } from '../../../frames/protocol.ts';
import { innermost } from '../../model/actor-state.ts';
import type { ComparedRow, Comparison, Fold, FoldedRow } from '../../model/compare/compare-runs.ts';
import { escapedLine } from '../../model/escaped-text.ts';
import type { SessionModel } from '../../model/page-model.ts';
import { VirtualList } from '../parts/VirtualList.tsx';

interface CompareListProps {
  readonly runs: { readonly left: SessionModel; readonly right: SessionModel };
  readonly comparison: Comparison;
  readonly items: readonly FoldedRow[];
  readonly selected: number | null;
  readonly onPick: (index: number) => void;
  readonly onOpen: (fold: Fold) => void;
}

/** The transitions of two runs as two tracks: one line where they are the same, two where they differ. */
export function CompareList({ runs, comparison, items, selected, onPick, onOpen }: CompareListProps) {
  const { rows, roles, first } = comparison;
  const reveal = items.findIndex((item) => item.kind === 'row' && item.index === selected);
  return (
    <VirtualList
      items={items}
      label="Both runs"
      reveal={reveal === -1 ? null : reveal}
      render={(item: FoldedRow) => {
        if (item.kind === 'fold')
          return (
            <button type="button" class="row row-fold" onClick={() => onOpen(item)}>
              <Tracks kind="fold" />
              <span>{item.count} identical transitions</span>
            </button>
          );
        const row = rows[item.index];
        if (row === undefined) return null;
        const classes = ['row row-compare', item.index === first && 'first', item.index === selected && 'now'];
        return (
          <button
            type="button"
            class={classes.filter(Boolean).join(' ')}
            data-kind={row.kind}
            aria-current={item.index === selected}
            onClick={() => onPick(item.index)}
          >
            <Tracks kind={row.kind} />
            <span class="sr">{SAID[row.kind]}: </span>
            {row.left !== null && (
              <TransitionCell at={row.left} step={runs.left.steps[row.left]} role={roles.left[row.left]} side="A">
                {row.kind === 'data' && <span class="what">≠ {escapedLine(row.what, 60)}</span>}
              </TransitionCell>
            )}
            {(row.kind === 'right' || row.kind === 'apart') && (
              <TransitionCell
                at={row.right}
                step={runs.right.steps[row.right]}
                role={roles.right[row.right]}
                side="B"
              />
            )}
          </button>
        );
      }}
    />
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
