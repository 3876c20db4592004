import type { ChartLayout, Point, Route } from '../../../layout/chart-layout.ts';
import { routePath } from '../../chart/route-path.ts';
import { inertLine } from '../../model/inert-text.ts';

interface RoutesProps {
  readonly layout: ChartLayout;
  readonly worn: ReadonlySet<string>;
  readonly taken: ReadonlySet<string>;
  /** Changes with every step, so that the same route lights up anew. */
  readonly beat: number;
  readonly labels: boolean;
}

/** All arrows of a drawing; the one that was taken last is lit, and something moves along it. */
export function ChartRoutes({ layout, worn, taken, beat, labels }: RoutesProps) {
  const lit = layout.routes.filter((route) => route.transitions.some((id) => taken.has(id)));
  return (
    <>
      {layout.entrances.map(({ dot, points }) => (
        <g key={`${dot.x},${dot.y}`}>
          <circle class="entrance" cx={dot.x} cy={dot.y} r={4} />
          <path class="route worn" d={routePath(points)} marker-end="url(#arrow)" />
        </g>
      ))}
      {layout.routes.map((route) => (
        <path
          key={route.id}
          class={route.transitions.some((id) => worn.has(id)) ? 'route worn' : 'route'}
          d={routePath(route.points)}
          marker-end="url(#arrow)"
        >
          <title>{inertLine(`${route.source} → ${route.target}: ${textOf(route)}`, 300)}</title>
        </path>
      ))}
      {labels && layout.routes.map((route) => <RouteLabel key={route.id} route={route} taken={taken} />)}
      {lit.map((route) => (
        <g key={`${route.id}#${beat}`} data-lit={route.id}>
          <path class="route-lit" d={routePath(route.points)} marker-end="url(#arrow-lit)" />
          <path class="route-train" d={routePath(route.points)} />
        </g>
      ))}
    </>
  );
}

/** The labels of the arrows that were taken last, for a drawing that has no room for all labels. */
export function LitLabels({ layout, taken }: { readonly layout: ChartLayout; readonly taken: ReadonlySet<string> }) {
  return (
    <>
      {layout.routes
        .filter(({ transitions, label }) => label === null && transitions.some((id) => taken.has(id)))
        .map((route) => (
          <LitLabel key={route.id} route={route} taken={taken} />
        ))}
    </>
  );
}

function RouteLabel({ route, taken }: { readonly route: Route; readonly taken: ReadonlySet<string> }) {
  const { label } = route;
  if (label === null) return null;
  return (
    <>
      {label.lines.map(({ transition, text }, index) => (
        <g
          key={transition}
          class={taken.has(transition) ? 'label lit' : 'label'}
          transform={`translate(${label.x} ${label.y + index * 13})`}
        >
          <rect width={label.width} height={13} rx={2} />
          <text x={5} y={10}>
            {inertLine(text, 40)}
          </text>
        </g>
      ))}
    </>
  );
}

function LitLabel({ route, taken }: { readonly route: Route; readonly taken: ReadonlySet<string> }) {
  const line = route.lines.find(({ transition }) => taken.has(transition)) ?? route.lines[0];
  const middle = middleOf(route.points);
  if (line === undefined || middle === null) return null;
  const text = inertLine(line.text, 40);
  const width = text.length * 6.1 + 12;
  // On a stretch that is shorter than the label, it stands above, not to cover what the arrow joins.
  const y = middle.length > width + 16 ? middle.y - 8 : middle.y - 30;
  return (
    <g class="label lit" transform={`translate(${middle.x - width / 2} ${y})`}>
      <rect width={width} height={16} rx={2} />
      <text x={6} y={11.5}>
        {text}
      </text>
    </g>
  );
}

function textOf(route: Route): string {
  return route.lines.map(({ text }) => text).join(', ');
}

/** The middle of the longest stretch of a route: where a label is least in the way. */
function middleOf(points: readonly Point[]): (Point & { readonly length: number }) | null {
  let best: (Point & { readonly length: number }) | null = null;
  let longest = -1;
  for (const [index, point] of points.entries()) {
    const next = points[index + 1];
    if (next === undefined) break;
    const length = Math.hypot(next.x - point.x, next.y - point.y);
    if (length <= longest) continue;
    longest = length;
    best = { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2, length: point.y === next.y ? length : Infinity };
  }
  return best;
}
