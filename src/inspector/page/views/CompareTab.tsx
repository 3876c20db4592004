import { useMemo } from 'preact/hooks';
import type { StepInfo } from '../../protocol.ts';
import { innermost } from '../model/actor-state.ts';
import { type ComparedRow, compareRuns } from '../model/compare.ts';
import { inertLine } from '../model/inert-text.ts';
import type { SessionModel } from '../model/session-model.ts';
import { usePage } from '../state/page-context.ts';
import { goTo } from '../state/walk.ts';
import { VirtualList } from './VirtualList.tsx';

/** This run beside another, move by move, with the first difference in sight. */
export function CompareTab() {
  const { state } = usePage();
  const session = state.session.value;
  void state.slowBeat.value;
  const others = [...state.model.sessions.values()].filter((one) => one !== session);
  const other = others.find(({ info }) => info.id === state.other.value);
  return (
    <>
      <div class="pad">
        <label class="move">
          <span class="dim">Beside</span>
          <select
            class="field"
            value={state.other.value ?? ''}
            onChange={(event) => (state.other.value = event.currentTarget.value || null)}
          >
            <option value="">choose a run…</option>
            {others.map(({ info }) => (
              <option key={info.id} value={info.id}>
                {inertLine(`${info.title} (${info.status}, ${info.id})`, 90)}
              </option>
            ))}
          </select>
        </label>
      </div>
      {session !== null && other !== undefined && <Beside left={session} right={other} />}
    </>
  );
}

function Beside({ left, right }: { readonly left: SessionModel; readonly right: SessionModel }) {
  const { state } = usePage();
  const beat = state.slowBeat.value;
  const { first, rows } = useMemo(() => compareRuns(left.steps, right.steps), [left, right, beat]);
  const differing = rows.filter(({ same }) => !same).length;
  const position = state.position.value;
  const at = rows.findIndex((row) => row.left === position);
  return (
    <>
      <p class="banner" data-testid="difference">
        {first === null ? (
          'Both runs went the same way.'
        ) : (
          <>
            The first difference is at move {first + 1}; {differing} of {rows.length} lines differ.
            <span class="spring" />
            <button type="button" class="button" onClick={() => goTo(state, Math.min(first, left.steps.length - 1))}>
              Go there
            </button>
          </>
        )}
      </p>
      <VirtualList
        items={rows}
        estimate={24}
        label="Both runs"
        stick={false}
        reveal={state.cursor.value === null ? first : at}
        render={(row: ComparedRow, index) => (
          <button
            type="button"
            class={['row row-compare', index === first && 'first', index === at && state.cursor.value !== null && 'now']
              .filter(Boolean)
              .join(' ')}
            onClick={() => {
              if (row.left !== null) goTo(state, row.left);
            }}
          >
            <Cell step={row.left === null ? undefined : left.steps[row.left]} same={row.same} />
            <Cell step={row.right === null ? undefined : right.steps[row.right]} same={row.same} />
          </button>
        )}
      />
    </>
  );
}

function Cell({ step, same }: { readonly step: StepInfo | undefined; readonly same: boolean }) {
  if (step === undefined) return <span class="cell" />;
  const actor = step.actor.slice(step.actor.lastIndexOf('/') + 1);
  return (
    <span class={same ? 'cell' : 'cell differs'}>
      <span class="dim">{inertLine(actor, 20)}</span> {inertLine(step.event, 40)} →{' '}
      {inertLine(innermost(step.to).join(' + '), 60)}
    </span>
  );
}
