import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { lanesOf } from '../../model/time/lanes.ts';
import { stepMarks } from '../../model/time/step-marks.ts';
import { durationText, timeScale } from '../../model/time/time-scale.ts';
import { usePage } from '../../state/page-context.ts';
import { goTo } from '../../state/walk.ts';
import { LABELS, type LaneColours, RIGHT, drawLanes, readColours } from './draw-lanes.ts';
import { theme } from '../theme.ts';
import { useSize } from '../use-size.ts';

/** The lanes of all actors over time, which are a slider over the steps as well. */
export function Lanes() {
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
  const lanes = useMemo(() => (session === null ? [] : lanesOf(session)), [session, beat]);
  const marks = useMemo(() => stepMarks(session?.told ?? []), [session, beat]);
  // Who follows what happens is always at its end: there the lanes are drawn anew as often as they grow, and no oftener.
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
