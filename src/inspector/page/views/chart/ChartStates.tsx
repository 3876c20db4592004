import type { StateBox } from '../../../layout/chart-layout.ts';
import { inertLine } from '../../model/inert-text.ts';
import { toneOf } from '../../model/tone.ts';
import { TONE_SHAPES } from '../Icon.tsx';

interface StateViewProps {
  readonly box: StateBox;
  readonly active: boolean;
  readonly visits: number;
  /** Ids of invoked actors that live now, by their source. */
  readonly running: ReadonlySet<string>;
  readonly taken: ReadonlySet<string>;
  readonly onToggle: (path: string) => void;
  readonly onPick: (path: string) => void;
}

/** A state: a plate with its lamp, name and count of visits; the actors that it invokes; what leads here from anywhere. */
export function StateView({ box, active, visits, running, taken, onToggle, onPick }: StateViewProps) {
  const { path, x, y, width, height, kind, invokes, fromAnywhere, collapsed } = box;
  const name = inertLine(box.name, 60);
  const tone = toneOf(path);
  const open = kind === 'compound' || kind === 'parallel';
  const compound = open && !collapsed;
  const classes = ['state', compound && 'compound', active && 'active', visits > 0 && 'visited']
    .filter(Boolean)
    .join(' ');
  const said = `${name}${active ? ', active' : ''}, entered ${visits} times${kind === 'final' ? ', final' : ''}`;
  const pick = (): void => (open ? onToggle(path) : onPick(path));
  return (
    // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- There are no buttons inside a drawing.
    <g
      class={classes}
      data-tone={tone}
      data-state={path}
      transform={`translate(${x} ${y})`}
      role="button"
      tabIndex={0}
      aria-label={said}
      onClick={pick}
      onKeyDown={(event) => {
        if (event.key === 'Enter') pick();
      }}
    >
      <rect class="box" width={width} height={height} rx={compound ? 6 : 4} />
      {kind === 'final' && <rect class="final-ring" x={3} y={3} width={width - 6} height={height - 6} rx={2} />}
      {active ? (
        <svg x={8} y={9} width={12} height={12} viewBox="0 0 16 16">
          <path class="lamp-sign" d={TONE_SHAPES[tone]} />
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
          <text class={running.has(source) && active ? 'sub lit' : 'sub'}>{inertLine(source, 40)}</text>
        </g>
      ))}
      {fromAnywhere.map(({ transition, text }, index) => (
        <text
          key={transition}
          class={taken.has(transition) ? 'sub lit' : 'sub'}
          x={10}
          y={height - 8 - (fromAnywhere.length - 1 - index) * 13}
        >
          ⇥ {inertLine(text, 40)}
        </text>
      ))}
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
