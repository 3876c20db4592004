import type { StepInfo } from '../../../frames/protocol.ts';
import { innermost } from '../../model/actor-state.ts';
import { inertLine } from '../../model/inert-text.ts';
import { durationText } from '../../model/time/time-scale.ts';
import { toneOf } from '../../model/tone.ts';
import { usePage } from '../../state/page-context.ts';
import { goTo } from '../../state/walk.ts';
import { VirtualList } from '../VirtualList.tsx';

/** All moves of all machines, one a line. */
export function StepsTab() {
  const { state } = usePage();
  const session = state.session.value;
  void state.beat.value;
  const position = state.position.value;
  if (session === null || session.steps.length === 0) return <p class="empty">Nothing has moved yet.</p>;
  return (
    <VirtualList
      items={session.steps}
      estimate={24}
      label="Moves"
      stick={state.cursor.value === null}
      reveal={position}
      render={(step: StepInfo, index) => (
        <button
          type="button"
          class={index === position ? 'row row-step now' : 'row row-step'}
          onClick={() => goTo(state, index)}
        >
          <span class="dim">{index + 1}</span>
          <span class="dim">{durationText(step.at)}</span>
          <span>{inertLine(step.actor.slice(step.actor.lastIndexOf('/') + 1), 40)}</span>
          <span>{inertLine(step.event, 60)}</span>
          <span class={index === position ? '' : toneOf(step.to.at(-1) ?? '')}>
            {inertLine(innermost(step.to).join(' + '), 80)}
          </span>
        </button>
      )}
    />
  );
}
