import type { Point } from '../../layout/chart-layout.ts';

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
  return {
    zoom,
    x: (view.width - drawing.width * zoom) / 2,
    y: top + (room.height - drawing.height * zoom) / 2,
  };
}

/** Zooms by a factor so that what is under a point of the screen stays there. */
export function zoomAt(camera: Camera, by: number, at: Point): Camera {
  const zoom = Math.min(MOST_ZOOM, Math.max(LEAST_ZOOM, camera.zoom * by));
  const factor = zoom / camera.zoom;
  return { zoom, x: at.x - (at.x - camera.x) * factor, y: at.y - (at.y - camera.y) * factor };
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
