import type { Size } from '../../model/chart.ts';
import { type Lane, type LaneSpan, shortState, type StepMark } from '../../model/timeline.ts';
import type { TimeScale } from '../../model/time-scale.ts';
import type { Tone } from '../../../frames/protocol.ts';

/** The panel's colours, as the canvas needs them. */
export interface LaneColours {
  readonly tones: { readonly [tone in Tone]: string };
  readonly dim: string;
  readonly line: string;
  readonly back: string;
  readonly lit: string;
  readonly font: string;
}

/** Reads the colours of the current theme. */
export function readColours(element: Element): LaneColours {
  const style = getComputedStyle(element);
  const of = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    tones: {
      go: of('work'),
      model: of('model'),
      tool: of('tool'),
      wait: of('wait'),
      pause: of('pause'),
      caution: of('caution'),
      danger: of('danger'),
      done: of('done'),
      end: of('end'),
    },
    dim: of('ink-3'),
    line: of('line'),
    back: of('sunk'),
    lit: of('lit'),
    font: of('mono'),
  };
}

/** The part of a run that is shown: from and to on a line from 0 to 1, and the first lane, which may be cut. */
export interface LaneView {
  readonly from: number;
  readonly to: number;
  readonly first: number;
}

export const WHOLE: LaneView = { from: 0, to: 1, first: 0 };

/** Where everything lies. */
export interface LanesPlan {
  readonly size: Size;
  readonly lanes: readonly Lane[];
  readonly scale: TimeScale;
  readonly view: LaneView;
  readonly row: number;
}

interface LanesPicture extends LanesPlan {
  readonly marks: readonly StepMark[];
  readonly colours: LaneColours;
  /** The time of a step, as text. */
  readonly times: (position: number) => string | null;
}

/** Room for the names of the lanes, after their ends, for the marks above and for times and the whole run below. */
export const LABELS = 148;
const RIGHT = 12;
export const TOP = 18;
const AXIS = 14;
const STRIP = 10;
export const OVERVIEW = AXIS + STRIP;
const LEAST_PART = 0.0005;

/** How high a lane is: they share the room, and scroll where they would become too low for their names. None is cut off. */
export function rowHeight({ height }: Size, count: number): number {
  const room = height - TOP - OVERVIEW;
  const rows = Math.max(1, Math.min(count, Math.floor(room / 14)));
  return Math.min(20, Math.max(14, room / rows));
}

/** The view after a turn of the wheel at a place of it: zoomed, or with Shift or sideways moved. */
export function zoomed(
  view: LaneView,
  turn: Pick<WheelEvent, 'deltaX' | 'deltaY' | 'shiftKey'>,
  place: number,
): LaneView {
  const part = view.to - view.from;
  if (turn.shiftKey || Math.abs(turn.deltaX) > Math.abs(turn.deltaY))
    return moved(view, ((turn.deltaX || turn.deltaY) / 1000) * part);
  const next = Math.min(1, Math.max(LEAST_PART, part * Math.exp(turn.deltaY / 400)));
  const at = view.from + place * part;
  return moved({ ...view, from: at - place * next, to: at - place * next + next }, 0);
}

/** The view with its middle at a place of the whole run. */
export function placeIn(view: LaneView, place: number): LaneView {
  return moved(view, place - (view.from + view.to) / 2);
}

function moved(view: LaneView, by: number): LaneView {
  const part = view.to - view.from;
  const from = Math.min(1 - part, Math.max(0, view.from + by));
  return { ...view, from, to: from + part };
}

function toX({ size, scale, view }: LanesPlan): (at: number) => number {
  const width = size.width - LABELS - RIGHT;
  return (at) => LABELS + ((scale.at(at) - view.from) / (view.to - view.from)) * width;
}

/** The span at a point of the drawing; null for none. */
export function spanAt(plan: LanesPlan, x: number, y: number): LaneSpan | null {
  const { size, lanes, view, row } = plan;
  if (x < LABELS || y < TOP || y > size.height - OVERVIEW) return null;
  const at = toX(plan);
  const lane = lanes[Math.floor((y - TOP) / row + view.first)];
  return lane?.spans.findLast(({ from, to }) => at(from) <= x && (to === null || x <= at(to))) ?? null;
}

/** A canvas of that size, empty, ready to be drawn on; null where there is none. */
function penOn(canvas: HTMLCanvasElement, size: Size): CanvasRenderingContext2D | null {
  const ratio = devicePixelRatio;
  canvas.width = Math.round(size.width * ratio);
  canvas.height = Math.round(size.height * ratio);
  const pen = canvas.getContext('2d');
  pen?.scale(ratio, ratio);
  if (pen !== null) pen.textBaseline = 'middle';
  return pen;
}

/** Draws the cursor, and a veil over what comes after it: all that changes during scrubbing. */
export function drawCursor(
  canvas: HTMLCanvasElement,
  plan: LanesPlan,
  { position, isLast }: { readonly position: number; readonly isLast: boolean },
  colours: LaneColours,
): void {
  const { size, scale } = plan;
  const pen = penOn(canvas, size);
  if (pen === null) return;
  const at = toX(plan)(position);
  const veil = Math.max(LABELS, at);
  pen.globalAlpha = 0.62;
  pen.fillStyle = colours.back;
  if (!isLast) pen.fillRect(veil, TOP, Math.max(0, size.width - RIGHT - veil), size.height - TOP - OVERVIEW);
  pen.globalAlpha = 1;
  pen.fillStyle = colours.lit;
  pen.fillRect(
    Math.round(LABELS + scale.at(position) * (size.width - LABELS - RIGHT)) - 0.5,
    size.height - STRIP,
    1,
    STRIP,
  );
  if (at < LABELS - 6) return;
  pen.fillRect(Math.round(at) - 0.75, 2, 1.5, size.height - STRIP - 4);
  polygon(pen, [at - 5, 0, at + 5, 0, at, 7]);
  pen.fill();
}

/** Draws the lanes, the marks above them, and the whole run below. */
export function drawLanes(canvas: HTMLCanvasElement, picture: LanesPicture): void {
  const { size, lanes, marks, view, row, colours } = picture;
  const pen = penOn(canvas, size);
  if (pen === null) return;
  const x = toX(picture);
  const end = size.width - RIGHT;
  drawOverview(pen, picture);
  drawAxis(pen, picture, x);
  pen.save();
  pen.beginPath();
  pen.rect(LABELS, TOP, size.width - LABELS, size.height - TOP - OVERVIEW);
  pen.clip();
  for (const [index, lane] of lanes.entries()) {
    const y = TOP + (index - view.first) * row;
    if (y + row < TOP || y > size.height - OVERVIEW) continue;
    pen.fillStyle = colours.line;
    pen.fillRect(LABELS, Math.round(y + row / 2), end - LABELS, 1);
    for (const span of lane.spans)
      if (x(span.from) < size.width && (span.to === null || x(span.to) >= LABELS))
        drawSpan(pen, span, { x, y, height: row, end, colours });
  }
  pen.restore();
  pen.save();
  pen.beginPath();
  pen.rect(LABELS - 6, 0, size.width - LABELS + 6, size.height);
  pen.clip();
  for (const mark of marks) drawMark(pen, mark, x(mark.position), colours);
  pen.restore();
}

/** All of the run in a strip, by what its lanes need most a look at, and the part that is shown. */
function drawOverview(pen: CanvasRenderingContext2D, { size, lanes, scale, view, colours }: LanesPicture): void {
  const width = size.width - LABELS - RIGHT;
  const x = (at: number): number => LABELS + scale.at(at) * width;
  const y = size.height - STRIP;
  pen.fillStyle = colours.line;
  pen.fillRect(LABELS, y + 2, width, STRIP - 4);
  for (const tone of STRIP_TONES) {
    pen.fillStyle = colours.tones[tone];
    for (const { spans } of lanes)
      for (const span of spans)
        if (span.tone === tone) {
          const from = x(span.from);
          pen.fillRect(from, y + 2, Math.max(1, (span.to === null ? LABELS + width : x(span.to)) - from), STRIP - 4);
        }
  }
  if (view.to - view.from >= 1) return;
  pen.strokeStyle = colours.lit;
  pen.strokeRect(LABELS + view.from * width, y + 0.5, Math.max(3, (view.to - view.from) * width), STRIP - 1);
}

/** From what may be covered to what may not. */
const STRIP_TONES: readonly Tone[] = ['tool', 'model', 'pause', 'caution', 'wait', 'danger'];

/** Times below the lanes, wherever there is room for one. */
function drawAxis(
  pen: CanvasRenderingContext2D,
  { size, scale, view, times, colours }: LanesPicture,
  x: (at: number) => number,
): void {
  pen.font = `9px ${colours.font}`;
  const y = size.height - STRIP - AXIS / 2;
  let free = 0;
  let said: string | null = null;
  const part = view.to - view.from;
  for (let place = 0.04; place < 1; place += 88 / Math.max(88, size.width - LABELS - RIGHT)) {
    const at = scale.step(view.from + place * part);
    const ms = times(at);
    if (at < 0 || ms === null || ms === said || x(at) < free || x(at) < LABELS) continue;
    said = ms;
    free = x(at) + 64;
    pen.fillStyle = colours.line;
    pen.fillRect(Math.round(x(at)), TOP, 1, size.height - TOP - STRIP - AXIS + 4);
    pen.fillStyle = colours.dim;
    pen.fillText(ms, Math.min(x(at) + 3, size.width - pen.measureText(ms).width - 2), y);
  }
}

interface SpanPlace {
  readonly x: (at: number) => number;
  readonly y: number;
  readonly height: number;
  readonly end: number;
  readonly colours: LaneColours;
}

function drawSpan(pen: CanvasRenderingContext2D, span: LaneSpan, { x, y, height, end, colours }: SpanPlace): void {
  const from = x(span.from);
  const to = span.to === null ? end : x(span.to);
  if (to - from < 0.2 && span.tone === 'go') return;
  pen.fillStyle = colours.tones[span.tone];
  const thick = Math.max(4, Math.round(height * 0.72));
  pen.fillRect(from, y + (height - thick) / 2, Math.max(1.5, to - from - 1), thick);
  const name = shortState(span.state);
  const seen = Math.max(from, LABELS);
  if (Math.min(to, end) - seen > name.length * 6 + 8 && thick >= 10) {
    pen.fillStyle = colours.back;
    pen.font = `10px ${colours.font}`;
    pen.fillText(name, seen + 4, y + height / 2 + 0.5);
  }
}

const MARK_TONES: { readonly [kind in StepMark['kind']]: Tone } = {
  retry: 'caution',
  error: 'danger',
  approval: 'wait',
  plan: 'go',
  answer: 'done',
  end: 'caution',
};

/** Each kind of mark has its own shape: triangle, cross, lozenge, square, circle. */
function drawMark(pen: CanvasRenderingContext2D, { kind }: StepMark, x: number, colours: LaneColours): void {
  const y = 11;
  pen.fillStyle = colours.tones[MARK_TONES[kind]];
  pen.strokeStyle = pen.fillStyle;
  pen.lineWidth = 2;
  pen.beginPath();
  if (kind === 'error') {
    for (const side of [-3.5, 3.5]) {
      pen.moveTo(x - 3.5, y - side);
      pen.lineTo(x + 3.5, y + side);
    }
    pen.stroke();
    return;
  }
  if (kind === 'retry') polygon(pen, [x, y - 4.5, x + 4.5, y + 4, x - 4.5, y + 4]);
  else if (kind === 'approval') polygon(pen, [x, y - 5, x + 4.5, y, x, y + 5, x - 4.5, y]);
  else if (kind === 'plan' || kind === 'end')
    polygon(pen, [x - 3.5, y - 3.5, x + 3.5, y - 3.5, x + 3.5, y + 3.5, x - 3.5, y + 3.5]);
  else pen.arc(x, y, 4, 0, Math.PI * 2);
  pen.fill();
}

function polygon(pen: CanvasRenderingContext2D, [x = 0, y = 0, ...rest]: readonly number[]): void {
  pen.moveTo(x, y);
  for (let at = 0; at + 1 < rest.length; at += 2) pen.lineTo(rest[at] ?? 0, rest[at + 1] ?? 0);
  pen.closePath();
}
