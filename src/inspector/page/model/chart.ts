import { type MachineDrawing, type StateDrawing, statesIn } from '../../frames/protocol.ts';
import { type Point, type StateBox, rounded as r } from '../../layout/chart-layout.ts';

/** Drawings with more states than this are too many to be read at once. */
const MANY_STATES = 15;
const MANY_CHILDREN = 4;

/**
 * Which states of a large machine are drawn closed: those with many children that were not entered yet. They open when
 * the machine first enters them. Small machines are drawn whole.
 */
export function autoCollapsed(drawing: MachineDrawing, visited: { has(path: string): boolean }): ReadonlySet<string> {
  const closed = new Set<string>();
  if (statesIn(drawing.root).length <= MANY_STATES + 1) return closed;
  const visit = (state: StateDrawing): void => {
    if (state.path !== '' && state.children.length >= MANY_CHILDREN && !visited.has(state.path)) closed.add(state.path);
    else for (const child of state.children) visit(child);
  };
  visit(drawing.root);
  return closed;
}

/** Whether a state is drawn around those that it holds. */
export function holdsOthers({ kind, collapsed }: Pick<StateBox, 'kind' | 'collapsed'>): boolean {
  return (kind === 'compound' || kind === 'parallel') && !collapsed;
}

/** A transition in one line: the state that it leaves, on what, and where it leads. Its id, when it is not in the drawing. */
export function arrowText(drawing: MachineDrawing | undefined, id: string): string {
  for (const { path, transitions } of drawing === undefined ? [] : statesIn(drawing.root)) {
    const transition = transitions.find((one) => one.id === id);
    if (transition === undefined) continue;
    const on = transition.eventType === '' ? '' : ` on ${transition.label}`;
    return `${path === '' ? 'anywhere' : path}${on} → ${transition.target ?? 'stays'}`;
  }
  return id;
}

/** Directions of the arrow keys. */
const WAYS: { readonly [key: string]: Point } = {
  ArrowLeft: { x: -1, y: 0 },
  ArrowRight: { x: 1, y: 0 },
  ArrowUp: { x: 0, y: -1 },
  ArrowDown: { x: 0, y: 1 },
};

/** The state that an arrow key leads to: the nearest in that direction, by the middles of the boxes; null for none. */
export function stateBeside<Box extends Point & Size>(boxes: readonly Box[], from: Box, key: string): Box | null {
  const way = WAYS[key];
  if (way === undefined) return null;
  const here = middleOf(from);
  let best: Box | null = null;
  let least = Infinity;
  for (const box of boxes) {
    const there = middleOf(box);
    const [x, y] = [there.x - here.x, there.y - here.y];
    const ahead = x * way.x + y * way.y;
    const aside = Math.abs(x * way.y) + Math.abs(y * way.x);
    // What is more aside than ahead is what another arrow leads to, unless there is nothing else.
    const far = ahead + aside * (aside > ahead ? 6 : 2);
    if (box === from || ahead <= 1 || far >= least) continue;
    best = box;
    least = far;
  }
  return best;
}

function middleOf({ x, y, width, height }: Point & Size): Point {
  return { x: x + width / 2, y: y + height / 2 };
}

/** How much of a corner is cut off: tracks turn at 45 degrees. */
const CORNER = 7;

/** An SVG path along orthogonal points whose corners are cut, as on a track diagram. */
export function routePath(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return '';
  let path = `M${r(first.x)} ${r(first.y)}`;
  let before = first;
  for (const [index, point] of rest.entries()) {
    const next = rest[index + 1];
    if (next === undefined) path += `L${r(point.x)} ${r(point.y)}`;
    else {
      const cut = Math.min(CORNER, distance(before, point) / 2, distance(point, next) / 2);
      const into = towards(point, before, cut);
      const out = towards(point, next, cut);
      path += `L${r(into.x)} ${r(into.y)}L${r(out.x)} ${r(out.y)}`;
    }
    before = point;
  }
  return path;
}

function towards(from: Point, to: Point, by: number): Point {
  const far = distance(from, to) || 1;
  return { x: from.x + ((to.x - from.x) * by) / far, y: from.y + ((to.y - from.y) * by) / far };
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

/** Where the drawing lies on the screen: its origin's place, and its size against the drawn one. */
export interface Camera extends Point {
  readonly zoom: number;
}

/** The size of something. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

const LEAST_ZOOM = 0.15;
const MOST_ZOOM = 3;
/** Nothing is blown up beyond this by itself. */
const MOST_FIT = 1.25;
const MARGIN = 12;
/** Kept free below a drawing for the line that says what happened last. */
const BOTTOM = 36;

/** The camera that shows a whole drawing in the middle of a view, a margin around it; `top` is kept free above. */
export function fitCamera(drawing: Size, view: Size, top: number): Camera {
  const room = { width: Math.max(40, view.width - 2 * MARGIN), height: Math.max(40, view.height - top - BOTTOM) };
  const zoom = Math.min(MOST_FIT, room.width / drawing.width, room.height / drawing.height);
  return { zoom, x: (view.width - drawing.width * zoom) / 2, y: top + (room.height - drawing.height * zoom) / 2 };
}

/** Zooms by a factor so that what is under a point of the screen stays there. */
export function zoomAt(camera: Camera, by: number, at: Point): Camera {
  const zoom = Math.min(MOST_ZOOM, Math.max(LEAST_ZOOM, camera.zoom * by));
  const factor = zoom / camera.zoom;
  return { zoom, x: at.x - (at.x - camera.x) * factor, y: at.y - (at.y - camera.y) * factor };
}

/** The size of a state that was zoomed to: its labels are then 12 pixels high. */
const NEAR = 1.25;

/** Zooms to a box: it is in the middle, as large as its texts are to be read. */
export function cameraAt(box: Point & Size, view: Size): Camera {
  const { x, y } = middleOf(box);
  return { zoom: NEAR, x: view.width / 2 - x * NEAR, y: view.height / 2 - y * NEAR };
}

/** Moves the camera no more than needed for a box to be in sight. */
export function keepInSight(camera: Camera, box: Point & Size, view: Size): Camera {
  const margin = 40;
  const left = camera.x + box.x * camera.zoom;
  const top = camera.y + box.y * camera.zoom;
  return {
    zoom: camera.zoom,
    x: camera.x + pushInto(left, left + box.width * camera.zoom, margin, view.width - margin),
    y: camera.y + pushInto(top, top + box.height * camera.zoom, margin, view.height - margin),
  };
}

function pushInto(from: number, to: number, least: number, most: number): number {
  if (from < least) return least - from;
  return to > most ? Math.max(least - from, most - to) : 0;
}
