import type { Size } from '../../model/chart.ts';
import type { Lane, LaneSpan, StepMark } from '../../model/timeline.ts';
import type { TimeScale } from '../../model/time-scale.ts';
import { inertLine } from '../../model/inert-text.ts';
import type { Tone } from '../../../frames/protocol.ts';

/** The panel's colours, as the canvas needs them. */
export interface LaneColours {
  readonly tones: { readonly [tone in Tone]: string };
  readonly ink: string;
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
    ink: of('ink-2'),
    dim: of('ink-3'),
    line: of('line'),
    back: of('sunk'),
    lit: of('lit'),
    font: of('mono'),
  };
}

interface LanesPicture {
  readonly size: Size;
  readonly lanes: readonly Lane[];
  readonly marks: readonly StepMark[];
  readonly scale: TimeScale;
  readonly position: number;
  readonly colours: LaneColours;
  /** The time of a step, as text. */
  readonly times: (position: number) => string | null;
}

/** Room for the names of the lanes, and after their ends. */
export const LABELS = 104;
export const RIGHT = 12;
const MARKS = 18;
const AXIS = 16;

/** Draws the lanes, the marks above them and the cursor across. */
export function drawLanes(canvas: HTMLCanvasElement, picture: LanesPicture): void {
  const { size, lanes, marks, scale, position, colours } = picture;
  const ratio = devicePixelRatio;
  canvas.width = Math.round(size.width * ratio);
  canvas.height = Math.round(size.height * ratio);
  const pen = canvas.getContext('2d');
  if (pen === null) return;
  pen.scale(ratio, ratio);
  pen.clearRect(0, 0, size.width, size.height);
  const width = size.width - LABELS - RIGHT;
  const x = (at: number): number => LABELS + scale.at(at) * width;
  const height = Math.min(20, Math.max(6, (size.height - MARKS - AXIS) / Math.max(1, lanes.length)));
  pen.textBaseline = 'middle';
  for (const [index, lane] of lanes.entries()) {
    const y = MARKS + index * height;
    pen.font = `${height < 11 ? 9 : 11}px ${colours.font}`;
    pen.fillStyle = colours.dim;
    if (height >= 9) pen.fillText(inertLine(lane.label, 14), 8, y + height / 2);
    pen.fillStyle = colours.line;
    pen.fillRect(LABELS, Math.round(y + height / 2), width, 1);
    for (const span of lane.spans) drawSpan(pen, span, { x, y, height, end: size.width - RIGHT, colours, position });
  }
  drawAxis(pen, picture, x);
  for (const mark of marks) drawMark(pen, mark, x(mark.position), colours);
  pen.fillStyle = colours.lit;
  pen.fillRect(Math.round(x(position)) - 0.75, 2, 1.5, size.height - 4);
  pen.beginPath();
  pen.moveTo(x(position) - 5, 0);
  pen.lineTo(x(position) + 5, 0);
  pen.lineTo(x(position), 7);
  pen.fill();
}

/** Times below the lanes, wherever there is room for one. */
function drawAxis(
  pen: CanvasRenderingContext2D,
  { size, scale, times, colours }: LanesPicture,
  x: (at: number) => number,
): void {
  pen.font = `9px ${colours.font}`;
  const y = size.height - AXIS / 2;
  let free = 0;
  for (let place = 0.08; place < 1; place += 88 / Math.max(1, size.width - LABELS - RIGHT)) {
    const at = scale.step(place);
    const ms = times(at);
    if (at < 0 || ms === null || x(at) < free) continue;
    free = x(at) + 64;
    pen.fillStyle = colours.line;
    pen.fillRect(Math.round(x(at)), MARKS, 1, size.height - MARKS - AXIS + 4);
    pen.fillStyle = colours.dim;
    pen.fillText(ms, x(at) + 3, y);
  }
}

interface SpanPlace {
  readonly x: (at: number) => number;
  readonly y: number;
  readonly height: number;
  readonly end: number;
  readonly colours: LaneColours;
  readonly position: number;
}

function drawSpan(
  pen: CanvasRenderingContext2D,
  span: LaneSpan,
  { x, y, height, end, colours, position }: SpanPlace,
): void {
  const from = x(span.from);
  const to = span.to === null ? end : x(span.to);
  if (to - from < 0.2 && span.tone === 'go') return;
  pen.globalAlpha = (span.from > position ? 0.3 : 1) * (span.tone === 'go' ? 0.72 : 1);
  pen.fillStyle = colours.tones[span.tone];
  const thick = Math.max(4, Math.round(height * 0.72));
  pen.fillRect(from, y + (height - thick) / 2, Math.max(1.5, to - from - 1), thick);
  const name = span.state.slice(span.state.lastIndexOf('.') + 1);
  if (to - from > name.length * 6 + 8 && thick >= 11) {
    pen.fillStyle = colours.back;
    pen.font = `10px ${colours.font}`;
    pen.fillText(name, from + 4, y + height / 2 + 0.5);
  }
  pen.globalAlpha = 1;
}

const MARK_TONES: { readonly [kind in StepMark['kind']]: Tone } = {
  retry: 'caution',
  error: 'danger',
  approval: 'wait',
  plan: 'go',
  answer: 'done',
  end: 'caution',
};

/** Each kind of mark has a shape of its own: triangle, cross, lozenge, square, circle. */
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
