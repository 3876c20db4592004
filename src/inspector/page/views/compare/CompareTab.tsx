import { inertLine } from '../../model/inert-text.ts';
import { otherSession } from '../../state/comparing.ts';
import { usePage } from '../../state/page-context.ts';
import { CompareBoard } from './CompareBoard.tsx';
import { SideMark } from './SideMark.tsx';

/** This run beside another: which one is chosen here. */
export function CompareTab() {
  const { state, desk } = usePage();
  void state.slowBeat.value;
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
    // A page that nobody chose a run for shows the latest; two that are compared stay.
    if (session !== null) state.chosen.value = session.info.id;
  };
  return (
    <div class="compare" data-chosen={other !== null}>
      <div class="compare-runs">
        <span class="compare-run">
          <SideMark side="A" />
          <span class="title">{inertLine(session?.info.title ?? '', 120)}</span>
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
                {inertLine(`${info.title} (${info.status}, ${info.id})`, 90)}
              </option>
            ))}
          </select>
        </label>
      </div>
      {session !== null && other !== null && <CompareBoard left={session} right={other} />}
    </div>
  );
}
