import { durationText } from '../../model/time-scale.ts';
import { escapedLine } from '../../model/escaped-text.ts';
import { actorText } from '../../model/actor-state.ts';
import { usePage } from '../../state/page-state.ts';
import { nextSpeed, togglePlay, goTo, walk, walkMarks } from '../../state/walk.ts';
import { Button, IconButton } from '../parts/Button.tsx';
import { Lanes } from './Lanes.tsx';

const STRETCHES = [
  ['elastic', 'Elastic', 'Pauses are shortened'],
  ['even', 'Steps', 'Every step has the same width'],
  ['true', 'Clock', 'In proportion to real time'],
] as const;

/** Time: the controls, where the cursor stands, and the lanes. */
export function TimeBoard() {
  const { state } = usePage();
  void state.revision.value;
  const session = state.session.value;
  const position = state.position.value;
  const step = session?.steps[position];
  const live = state.cursor.value === null && state.link.value !== 'saved';
  return (
    <section class="board board-time" aria-label="Timeline">
      <div class="transport" role="toolbar" aria-label="Time">
        <IconButton icon="first" label="First step (Home)" onClick={() => goTo(state, 0)} />
        <IconButton icon="back" label="Step back (←)" onClick={() => walk(state, -1)} />
        <IconButton
          icon={state.speed.value === null ? 'play' : 'pause'}
          label={state.speed.value === null ? 'Play (Space)' : 'Pause (Space)'}
          onClick={() => togglePlay(state)}
        />
        <IconButton icon="ahead" label="Step ahead (→)" onClick={() => walk(state, 1)} />
        <IconButton icon="last" label="Latest step (End)" onClick={() => goTo(state, null)} />
        <Button look="quiet" title="Playing speed (s)" onClick={() => nextSpeed(state)}>
          ×{state.speed.value ?? 1}
        </Button>
        <Button look="quiet extra" title="Previous mark ([)" onClick={() => walkMarks(state, -1)}>
          ‹ mark
        </Button>
        <Button look="quiet extra" title="Next mark (])" onClick={() => walkMarks(state, 1)}>
          mark ›
        </Button>
        <p class="readout cut" data-testid="readout">
          {live && session?.info.status === 'running' && (
            <>
              <span class="live-lamp" /> live{' '}
            </>
          )}
          <b>{position + 1}</b> of {session?.steps.length ?? 0}
          {step !== undefined && (
            <>
              {' '}
              · {durationText(step.at)} · {escapedLine(actorText(session, step.actor, position), 60)} ·{' '}
              {escapedLine(step.event, 40)}
            </>
          )}
        </p>
        <span class="spring" />
        <div class="segmented" role="group" aria-label="How time is drawn">
          {STRETCHES.map(([stretch, name, title]) => (
            <button
              key={stretch}
              type="button"
              title={title}
              aria-pressed={state.stretch.value === stretch}
              onClick={() => (state.stretch.value = stretch)}
            >
              {name}
            </button>
          ))}
        </div>
      </div>
      <Lanes />
    </section>
  );
}
