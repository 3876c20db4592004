import {
  type ChartLayout,
  type Point,
  type ChartRoute,
  type StateBox,
  ellipsis,
} from '../../../layout/chart-layout.ts';
import { holdsOthers, routePath } from '../../model/chart.ts';
import { escapedLine } from '../../model/escaped-text.ts';
import type { Tone } from '../../../frames/protocol.ts';
import { TONE_SHAPES } from '../parts/Button.tsx';

interface RoutesProps {
  readonly layout: ChartLayout;
  readonly used: ReadonlySet<string>;
  readonly taken: ReadonlySet<string>;
  /** Changes with every step, so that the same route lights up again. */
  readonly at: number;
  readonly labels: boolean;
}

/** All arrows of a drawing; the one that was taken last is lit, and something moves along it. */
export function ChartRoutes({ layout, used, taken, at, labels }: RoutesProps) {
  const lit = layout.routes.filter((route) => route.transitions.some((id) => taken.has(id)));
  return (
    <>
      {layout.entrances.map(({ dot, points }) => (
        <g key={`${dot.x},${dot.y}`}>
          <circle class="entrance" cx={dot.x} cy={dot.y} r={4} />
          <path class="route used" d={routePath(points)} marker-end="url(#arrow)" />
        </g>
      ))}
      {layout.routes.map((route) => (
        <path
          key={route.id}
          class={route.transitions.some((id) => used.has(id)) ? 'route used' : 'route'}
          d={routePath(route.points)}
          marker-end="url(#arrow)"
        >
          <title>
            {escapedLine(`${route.source} → ${route.target}: ${route.lines.map(({ text }) => text).join(', ')}`, 300)}
          </title>
        </path>
      ))}
      {labels && layout.routes.map((route) => <RouteLabel key={route.id} route={route} taken={taken} />)}
      {lit.map((route) => (
        <g key={`${route.id}#${at}`}>
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

function RouteLabel({ route, taken }: { readonly route: ChartRoute; readonly taken: ReadonlySet<string> }) {
  const { label } = route;
  if (label === null) return null;
  return (
    <>
      {label.lines.map(({ transition, text, whole }, index) => (
        <g
          key={transition}
          class={taken.has(transition) ? 'label lit' : 'label'}
          transform={`translate(${label.x} ${label.y + index * 13})`}
        >
          <title>{escapedLine(whole ?? text, 600)}</title>
          <rect width={label.width} height={13} rx={2} />
          <text x={5} y={10}>
            {escapedLine(text, 60)}
          </text>
        </g>
      ))}
    </>
  );
}

function LitLabel({ route, taken }: { readonly route: ChartRoute; readonly taken: ReadonlySet<string> }) {
  const line = route.lines.find(({ transition }) => taken.has(transition)) ?? route.lines[0];
  const middle = middleOf(route.points);
  if (line === undefined || middle === null) return null;
  const text = ellipsis(escapedLine(line.text, 200), 52);
  const width = text.length * 6.1 + 12;
  // On a stretch that is shorter than the label, it stands above, not to cover what the arrow joins.
  const y = middle.length > width + 16 ? middle.y - 8 : middle.y - 30;
  return (
    <g class="label lit" transform={`translate(${middle.x - width / 2} ${y})`}>
      <title>{escapedLine(line.text, 600)}</title>
      <rect width={width} height={16} rx={2} />
      <text x={6} y={11.5}>
        {text}
      </text>
    </g>
  );
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

interface StateViewProps {
  readonly box: StateBox;
  readonly tone: Tone;
  readonly active: boolean;
  readonly visits: number;
  /** Ids of invoked actors that live now, by their source. */
  readonly running: ReadonlySet<string>;
  /** Whether Tab leads to it: one state of a chart has it, arrows lead to the others. */
  readonly isStop: boolean;
  readonly onToggle: (path: string) => void;
  readonly onPick: (path: string) => void;
  /** An arrow key; true: it led somewhere. */
  readonly onArrow: (path: string, key: string) => boolean;
  readonly onFocus: (path: string) => void;
}

/** A state: a plate with its lamp, name and count of visits; the actors that it invokes; what leads here from anywhere. */
export function StateView(props: StateViewProps) {
  const { box, tone, active, visits, running, isStop, onToggle, onPick, onArrow, onFocus } = props;
  const { path, x, y, width, height, kind, invokes, collapsed, region, history } = box;
  if (history !== null) return <HistoryView box={box} sign={history} />;
  const name = escapedLine(box.name, 60);
  const open = kind === 'compound' || kind === 'parallel';
  const compound = holdsOthers(box);
  const classes = ['state', compound && 'compound', region && 'region', active && 'active', visits > 0 && 'visited']
    .filter(Boolean)
    .join(' ');
  const said = `${active ? 'active, ' : ''}entered ${visits} times${kind === 'final' ? ', final' : ''}`;
  const pick = (): void => (open ? onToggle(path) : onPick(path));
  return (
    // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- There are no buttons inside a drawing.
    <g
      class={classes}
      data-tone={tone}
      data-state={path}
      transform={`translate(${x} ${y})`}
      role="button"
      tabindex={isStop ? 0 : -1}
      aria-description={said}
      aria-current={active ? 'step' : undefined}
      aria-expanded={open ? compound : undefined}
      onClick={pick}
      onFocus={() => onFocus(path)}
      onKeyDown={(event) => {
        if (event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
        const isTaken = event.key === 'Enter' || onArrow(path, event.key);
        if (event.key === 'Enter') pick();
        if (!isTaken) return;
        // Elsewhere the same keys lead through time.
        event.stopPropagation();
        event.preventDefault();
      }}
    >
      <rect class="box" width={width} height={height} rx={compound ? 6 : 4} />
      {kind === 'final' && <rect class="final-ring" x={3} y={3} width={width - 6} height={height - 6} rx={2} />}
      {active ? (
        <svg x={8} y={9} width={12} height={12} viewBox="0 0 16 16">
          <path class="lamp-sign" d={TONE_SHAPES[tone]} fill-rule="evenodd" />
        </svg>
      ) : (
        <circle class="lamp" cx={14} cy={15} r={4} />
      )}
      <text class="name" x={26} y={19.5}>
        {name}
        {collapsed ? ' ⊞' : ''}
      </text>
      {visits > 1 && <Count visits={visits} right={width - 6} />}
      {invokes.map((source, index) => (
        <g key={source} transform={`translate(26 ${39 + index * 13})`}>
          {running.has(source) && active && <circle class="running-dot" cx={-12} cy={-3.5} r={3} />}
          <text class={running.has(source) && active ? 'sub lit' : 'sub'}>{escapedLine(source, 40)}</text>
        </g>
      ))}
    </g>
  );
}

interface FromAnywhereProps extends Pick<StateViewProps, 'box' | 'active'> {
  readonly taken: ReadonlySet<string>;
}

/** What leads to a state from anywhere: on its plate, and not part of its name. */
export function FromAnywhere({ box, active, taken }: FromAnywhereProps) {
  const { x, y, height, fromAnywhere } = box;
  if (fromAnywhere.length === 0) return null;
  const classes = ['state notes', holdsOthers(box) && 'compound', active && 'active'].filter(Boolean).join(' ');
  return (
    <g class={classes} transform={`translate(${x} ${y})`}>
      {fromAnywhere.map(({ transition, text, whole }, index) => (
        <text
          key={transition}
          class={taken.has(transition) ? 'sub lit' : 'sub'}
          x={10}
          y={height - 8 - (fromAnywhere.length - 1 - index) * 13}
        >
          <title>{escapedLine(whole ?? text, 600)}</title>⇥ {escapedLine(text, 60)}
        </text>
      ))}
    </g>
  );
}

/** Where a state returns to what was active in it before. It is never active, so there is nothing to press. */
function HistoryView({ box, sign }: { readonly box: StateBox; readonly sign: string }) {
  const { path, x, y, width } = box;
  const about =
    sign === 'H' ? 'returns to the state that was active last' : 'returns to all states that were active last';
  return (
    <g class="state history" data-state={path} transform={`translate(${x} ${y})`}>
      <title>{escapedLine(`${box.name}: ${about}`, 200)}</title>
      <circle class="box" cx={width / 2} cy={width / 2} r={width / 2 - 2} />
      <text class="name" x={width / 2} y={width / 2 + 4.5} text-anchor="middle">
        {sign}
      </text>
    </g>
  );
}

/** How often a state was entered, on the edge of its plate: a long name has the room inside for itself. */
function Count({ visits, right }: { readonly visits: number; readonly right: number }) {
  const text = `×${visits}`;
  const width = text.length * 7 + 7;
  return (
    <g class="count" transform={`translate(${right - width} -11)`}>
      <rect width={width} height={15} rx={7.5} />
      <text x={width / 2} y={11.2} text-anchor="middle">
        {text}
      </text>
    </g>
  );
}
