import type { Point } from '../../layout/chart-layout.ts';

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

function r(value: number): number {
  return Math.round(value * 10) / 10;
}
