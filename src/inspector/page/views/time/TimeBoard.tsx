import { durationText, timeScale } from '../../model/time-scale.ts';
import { inertLine } from '../../model/inert-text.ts';
import { actorText } from '../../model/actor-state.ts';
import { usePage } from '../../state/page-context.ts';
import { nextSpeed, togglePlay, goTo, walk, walkMarks } from '../../state/walk.ts';
import { Button, IconButton } from '../parts/Button.tsx';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { lanesOf, stepMarks } from '../../model/timeline.ts';
import { LABELS, type LaneColours, RIGHT, drawLanes, readColours } from './draw-lanes.ts';
import { theme, useSize } from '../parts/use-screen.ts';

const STRETCHES = [
  ['elastic', 'Elastic', 'Pauses are shortened'],
  ['even', 'Steps', 'Every step has the same room'],
  ['true', 'Clock', 'As the clock went'],
] as const;

/** Time: the controls, where the cursor stands, and the lanes. */
export function TimeBoard() {
  const { state } = usePage();
  void state.beat.value;
  const session = state.session.value;
  const position = state.position.value;
  const step = session?.steps[position];
  const live = state.cursor.value === null;
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
        <Button look="quiet extra" title="Last mark ([)" onClick={() => walkMarks(state, -1)}>
          ‹ mark
        </Button>
        <Button look="quiet extra" title="Next mark (])" onClick={() => walkMarks(state, 1)}>
          mark ›
        </Button>
        <p class="readout" data-testid="readout">
          {live && session?.info.status === 'running' && (
            <>
              <span class="live-lamp" /> live{' '}
            </>
          )}
          <b>{position + 1}</b> of {session?.steps.length ?? 0}
          {step !== undefined && (
            <>
              {' '}
              · {durationText(step.at)} · {inertLine(actorText(session, step.actor), 60)} · {inertLine(step.event, 40)}
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

/** The lanes of all actors over time, which are a slider over the steps as well. */
function Lanes() {
  const { state } = usePage();
  const session = state.session.value;
  const beat = state.slowBeat.value;
  const stretch = state.stretch.value;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const colours = useRef<{ readonly shade: string; readonly read: LaneColours } | null>(null);
  const size = useSize(box);
  const count = useMemo(() => session?.steps.length ?? 0, [session, beat]);
  const scale = useMemo(() => timeScale(session?.steps ?? [], stretch), [session, beat, stretch]);
  const lanes = useMemo(() => (session === null ? [] : lanesOf(session, state.model.drawings)), [session, beat]);
  const marks = useMemo(() => stepMarks(session?.told ?? []), [session, beat]);
  // A reader that follows what happens is always at its end: there the lanes are drawn again only when they have grown.
  const position = state.cursor.value === null ? Math.max(0, count - 1) : state.position.value;
  const shade = theme.value;

  useLayoutEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    if (colours.current?.shade !== shade) colours.current = { shade, read: readColours(element) };
    const times = (at: number): string | null => {
      const step = session?.steps[at];
      return step === undefined ? null : durationText(step.at);
    };
    drawLanes(element, { size, lanes, marks, scale, position, colours: colours.current.read, times });
  }, [size, lanes, marks, scale, position, shade, beat]);

  const scrub = (event: PointerEvent): void => {
    const element = box.current;
    if (element === null || count === 0) return;
    const { left, width } = element.getBoundingClientRect();
    const place = (event.clientX - left - LABELS) / (width - LABELS - RIGHT);
    const to = scale.step(Math.min(1, Math.max(0, place)));
    goTo(state, to >= count - 1 ? null : to);
  };
  return (
    // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- A range input cannot show lanes.
    <div
      ref={box}
      class="lanes"
      role="slider"
      tabIndex={0}
      aria-label="Step"
      aria-valuemin={1}
      aria-valuemax={Math.max(1, count)}
      aria-valuenow={position + 1}
      aria-valuetext={`step ${position + 1} of ${count}`}
      onPointerDown={(event) => {
        box.current?.setPointerCapture(event.pointerId);
        scrub(event);
      }}
      onPointerMove={(event) => {
        if (event.buttons > 0) scrub(event);
      }}
    >
      <canvas ref={canvas} />
    </div>
  );
}
