import type { MachineDrawing } from '../frames/protocol.ts';
import {
  type ChartLayout,
  type Entrance,
  type LabelLine,
  type ChartRoute,
  type StateBox,
  rounded,
} from '../layout/chart-layout.ts';

/** Colours for a light and a dark surface; the drawing follows the reader's. */
const STYLE = [
  'svg{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:#fbfbf8}',
  '.state{fill:#fff;stroke:#3c4a52;stroke-width:1.2}.inner{fill:#f2f4f1}.end{stroke-width:3}',
  '.region{stroke-dasharray:6 4}.name{fill:#1b2428;font-weight:600}.note{fill:#5d6b72;font-size:10px}',
  '.label{paint-order:stroke;stroke:#fbfbf8;stroke-width:4px}.arrow{fill:none;stroke:#5d6b72;stroke-width:1.2}.head,.dot{fill:#5d6b72}',
  '@media(prefers-color-scheme:dark){svg{background:#12191c}.state{fill:#1a2327;stroke:#8fa3ad}.inner{fill:#161e22}',
  '.label{stroke:#12191c}.name{fill:#e8eeee}.note{fill:#9fb1b8}.arrow{stroke:#8fa3ad}.head,.dot{fill:#8fa3ad}}',
].join('');

const MARGIN = 12;
const LINE = 13;

/**
 * Draws a machine as one SVG file that needs nothing else. The layout engine (`elkjs`, an optional peer) is loaded when
 * this is called; rejects when it is not installed.
 */
export async function svg(drawing: MachineDrawing): Promise<string> {
  const { layoutMachine } = await import('../layout/layout-machine.ts');
  return svgOf(drawing.id, await layoutMachine(drawing, { collapsed: new Set(), direction: 'DOWN', labels: true }));
}

function svgOf(title: string, { width, height, states, routes, entrances }: ChartLayout): string {
  const [w, h] = [Math.ceil(width) + 2 * MARGIN, Math.ceil(height) + 2 * MARGIN];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${-MARGIN} ${-MARGIN} ${w} ${h}" width="${w}" height="${h}" role="img">`,
    `<title>${text(title)}</title><style>${STYLE}</style>`,
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">',
    '<path class="head" d="M0 0L8 4L0 8z"/></marker></defs>',
    ...states.toSorted((one, other) => one.depth - other.depth).map(stateMark),
    ...entrances.map(entranceMark),
    ...routes.map(routeMark),
    '</svg>\n',
  ].join('\n');
}

function stateMark(box: StateBox): string {
  const { x, y, width, height, name, kind, invokes, fromAnywhere, depth, region, history } = box;
  if (history !== null) return historyMark(box, history);
  const classes = [
    'state',
    ...(region ? ['region'] : []),
    ...(kind === 'compound' || kind === 'parallel' ? ['inner'] : []),
    ...(kind === 'final' ? ['end'] : []),
  ];
  const notes = [
    ...invokes.map((src) => ({ note: `runs ${src}`, whole: undefined })),
    ...fromAnywhere.map((line) => ({ note: `from anywhere: ${line.text}`, whole: line.whole })),
  ];
  const lines = notes.map(({ note, whole }, index) => noteMark({ note, whole, x: x + 10, y: y + 32 + index * LINE }));
  if (depth === 0) return '';
  return [
    `<rect class="${classes.join(' ')}" x="${x}" y="${y}" width="${width}" height="${height}" rx="6"/>`,
    `<text class="name" x="${x + 10}" y="${y + 18}">${text(name)}</text>`,
    ...lines,
  ].join('');
}

function entranceMark({ dot, points }: Entrance): string {
  return `<circle class="dot" cx="${dot.x}" cy="${dot.y}" r="4"/>${arrow(points)}`;
}

function routeMark({ points, label }: ChartRoute): string {
  if (label === null) return arrow(points);
  const lines = label.lines.map((line: LabelLine, index) =>
    noteMark({ note: line.text, whole: line.whole, x: label.x, y: label.y + (index + 1) * LINE - 3, label: true }),
  );
  return [arrow(points), ...lines].join('');
}

interface NoteMark {
  readonly note: string;
  /** What a reader who points at it is shown. */
  readonly whole: string | undefined;
  readonly x: number;
  readonly y: number;
  /** It stands on an arrow, and covers it. */
  readonly label?: boolean;
}

function noteMark({ note, whole, x, y, label = false }: NoteMark): string {
  const title = whole === undefined ? '' : `<title>${text(whole)}</title>`;
  return `<text class="note${label ? ' label' : ''}" x="${x}" y="${y}">${title}${text(note)}</text>`;
}

function historyMark({ x, y, width, name }: StateBox, sign: string): string {
  const middle = width / 2;
  return [
    `<circle class="state" cx="${x + middle}" cy="${y + middle}" r="${middle - 2}"><title>${text(name)}</title></circle>`,
    `<text class="name" text-anchor="middle" x="${x + middle}" y="${y + middle + 4}">${text(sign)}</text>`,
  ].join('');
}

function arrow(points: Entrance['points']): string {
  const path = points.map(({ x, y }, index) => `${index === 0 ? 'M' : 'L'}${rounded(x)} ${rounded(y)}`).join('');
  return `<path class="arrow" d="${path}" marker-end="url(#head)"/>`;
}

/** What no XML may hold, however it is written. */
const NOT_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

function text(value: string): string {
  return value
    .replaceAll(NOT_XML, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
