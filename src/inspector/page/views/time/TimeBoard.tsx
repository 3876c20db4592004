import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { actorText } from '../../model/actor-state.ts';
import { escapedLine } from '../../model/escaped-text.ts';
import type { SessionModel } from '../../model/page-model.ts';
import { durationText, timeScale } from '../../model/time-scale.ts';
import { type Lane, lanesOf, type LaneSpan, openLanes, stepMarks } from '../../model/timeline.ts';
import { usePage } from '../../state/page-state.ts';
import { goTo, nextSpeed, togglePlay, walk, walkMarks } from '../../state/walk.ts';
import { Button, IconButton } from '../parts/Button.tsx';
import { edges, theme, useSize, useWheel } from '../parts/use-screen.ts';
import {
  drawCursor,
  drawLanes,
  LABELS,
  type LaneColours,
  type LanesPlan,
  type LaneView,
  OVERVIEW,
  placeIn,
  readColours,
  rowHeight,
  spanAt,
  TOP,
  WHOLE,
  zoomed,
} from './draw-lanes.ts';

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

/** What is pointed at, and where. */
interface Pointed {
  readonly x: number;
  readonly y: number;
  readonly span: LaneSpan;
}

/**
 * The lanes of all actors over time, as a tree, which are a slider over the steps as well. A wheel over the names scrolls, one
 * over the lanes zooms; Shift pans, and so does dragging in the strip below, which shows all of the run.
 */
function Lanes() {
  const { state } = usePage();
  const session = state.session.value;
  const revision = state.slowRevision.value;
  const stretch = state.stretch.value;
  const box = useRef<HTMLDivElement>(null);
  const size = useSize(box);
  const shut = useSignal<ReadonlySet<string>>(new Set());
  const view = useSignal<LaneView>(WHOLE);
  const pointed = useSignal<Pointed | null>(null);
  const scale = useMemo(() => timeScale(session?.steps ?? [], stretch), [session, revision, stretch]);
  const all = useMemo(() => (session === null ? [] : lanesOf(session, state.model.drawings)), [session, revision]);
  const lanes = useMemo(() => openLanes(all, shut.value), [all, shut.value]);
  const row = rowHeight(size, lanes.length);
  const rows = Math.max(0, (size.height - TOP - OVERVIEW) / row);
  const first = Math.min(view.value.first, Math.max(0, lanes.length - rows));
  const shown = { ...view.value, first };
  const plan = { size, lanes, scale, view: shown, row };

  useEffect(() => {
    view.value = WHOLE;
    pointed.value = null;
  }, [session, stretch]);
  useWheel(box, (event, left) => {
    const step = Math.sign(event.deltaY);
    if (left < LABELS) view.value = { ...shown, first: Math.max(0, Math.min(first + step * 2, lanes.length - rows)) };
    else view.value = zoomed(shown, event, (left - LABELS) / (size.width - LABELS));
  });

  const point = (event: PointerEvent): void => {
    const { left, top } = edges(box.current);
    const [x, y] = [event.clientX - left, event.clientY - top];
    const span = spanAt(plan, x, y);
    pointed.value = span === null ? null : { x, y, span };
  };
  return (
    <div ref={box} class="lanes" onPointerMove={point} onPointerLeave={() => (pointed.value = null)}>
      <Canvas {...plan} onView={(next) => (view.value = next)} />
      <ul class="lane-names" aria-label="Actors">
        {lanes.slice(Math.floor(first), Math.ceil(first + rows)).map((lane, index) => (
          <LaneName
            key={lane.id}
            lane={lane}
            top={TOP + (Math.floor(first) + index - first) * row}
            row={row}
            shut={shut}
          />
        ))}
      </ul>
      {shown.to - shown.from < 1 && (
        <button type="button" class="lane-whole" title="Show the whole run" onClick={() => (view.value = WHOLE)}>
          whole run
        </button>
      )}
      {session !== null && pointed.value !== null && (
        <Tip session={session} pointed={pointed.value} width={size.width} />
      )}
    </div>
  );
}

interface LaneNameProps {
  readonly lane: Lane;
  readonly top: number;
  readonly row: number;
  readonly shut: Signal<ReadonlySet<string>>;
}

/** The name of a lane; one with others below it opens and closes them. */
function LaneName({ lane: { id, label, depth, hasChildren }, top, row, shut }: LaneNameProps) {
  const style = {
    top: `${top}px`,
    height: `${row}px`,
    lineHeight: `${row}px`,
    paddingLeft: `${(hasChildren ? 4 : 17) + Math.min(depth, 9) * 8}px`,
  };
  const name = escapedLine(label, 60);
  if (!hasChildren)
    return (
      <li class="cut" style={style} title={name}>
        {name}
      </li>
    );
  const isShut = shut.value.has(id);
  const toggle = (): void => {
    shut.value = shut.value.symmetricDifference(new Set([id]));
  };
  return (
    <li class="cut" style={style} title={name}>
      <button type="button" aria-expanded={!isShut} onClick={toggle}>
        {isShut ? '▸' : '▾'} {name}
      </button>
    </li>
  );
}

/** What is pointed at: state, how long, on which event, of which actor. */
function Tip({ session, pointed: { x, y, span }, width }: { session: SessionModel; pointed: Pointed; width: number }) {
  const from = session.steps[span.from];
  const to = span.to === null ? session.lastAt : (session.steps[span.to]?.at ?? session.lastAt);
  const side = x > width / 2 ? { right: `${width - x + 12}px` } : { left: `${x + 12}px` };
  return (
    <p class="lane-tip" data-testid="lane-tip" style={{ top: `${Math.max(0, y - 20)}px`, ...side }}>
      <b>{escapedLine(span.state, 80)}</b> {durationText(to - (from?.at ?? 0))}
      {span.to === null ? ' so far' : ''} · {escapedLine(from?.event ?? '', 60)} ·{' '}
      {escapedLine(actorText(session, span.actor, span.from), 80)}
    </p>
  );
}

interface CanvasProps extends LanesPlan {
  readonly onView: (view: LaneView) => void;
}

/** The drawing, which is the slider. */
function Canvas({ onView, ...plan }: CanvasProps) {
  const { size, lanes, scale, view, row } = plan;
  const { state } = usePage();
  const session = state.session.value;
  const revision = state.slowRevision.value;
  const canvas = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLCanvasElement>(null);
  const colours = useRef<{ readonly shade: string; readonly read: LaneColours } | null>(null);
  const count = useMemo(() => session?.steps.length ?? 0, [session, revision]);
  const marks = useMemo(() => stepMarks(session?.told ?? []), [session, revision]);
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
    drawLanes(element, { ...plan, marks, colours: colours.current.read, times });
  }, [size, lanes, marks, scale, view.from, view.to, view.first, row, shade, revision]);
  useLayoutEffect(() => {
    if (over.current === null || colours.current === null) return;
    const cursor = { position, isLast: position >= count - 1 };
    drawCursor(over.current, plan, cursor, colours.current.read);
  }, [size, scale, view.from, view.to, position, shade, revision]);

  const scrub = (event: PointerEvent): void => {
    const { left, top } = edges(canvas.current);
    const place = (event.clientX - left - LABELS) / (size.width - LABELS);
    if (event.clientY - top > size.height - OVERVIEW) return onView(placeIn(view, place));
    const to = scale.step(Math.min(1, Math.max(0, view.from + place * (view.to - view.from))));
    if (count > 0) goTo(state, to >= count - 1 ? null : to);
  };
  return (
    // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- A range input cannot show lanes.
    <div
      class="lane-canvas"
      role="slider"
      tabIndex={0}
      aria-label="Step"
      aria-valuemin={1}
      aria-valuemax={Math.max(1, count)}
      aria-valuenow={position + 1}
      aria-valuetext={`step ${position + 1} of ${count}`}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        scrub(event);
      }}
      onPointerMove={(event) => {
        if (event.buttons > 0) scrub(event);
      }}
    >
      <canvas ref={canvas} />
      <canvas ref={over} />
    </div>
  );
}
