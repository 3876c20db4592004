import type { RunSummary, RunQuery } from '../../journal/format/tally.ts';
import { inert } from '../../output/console/inert.ts';
import { type Style, painter } from '../../output/console/paint.ts';
import type { Terminal } from '../../output/console/terminal.ts';
import { cutToWidth, textWidth } from '../../terminal/text-width.ts';
import { EXIT_CODE } from '../exit-code.ts';
import type { RunsPlace } from './runs-place.ts';

interface ListOptions {
  readonly query: RunQuery;
  readonly json: boolean;
  readonly terminal: Terminal;
}

/** Prints the runs that a query finds, the newest first. */
export async function listRuns({ path, store }: RunsPlace, { query, json, terminal }: ListOptions): Promise<number> {
  const runs = await store.list(query);
  if (json) console.log(JSON.stringify(runs));
  else if (runs.length === 0)
    console.log(`No runs in ${inert(path)}${Object.values(query).some((value) => value !== undefined) ? ' fit' : ''}.`);
  else console.log(table(runs, terminal).join('\n'));
  return EXIT_CODE.answered;
}

/** The columns of the list; those with a number are left out, the highest first, where a line is too short for all. */
const COLUMNS: readonly Column[] = [
  { heading: 'run', of: ({ runId }) => runId },
  { heading: 'began', of: ({ at }) => at.replace('T', ' ').replace(/:\d\d\.\d+Z$/, ''), dispensable: 1 },
  { heading: 'agent', of: ({ agent }) => agent, dispensable: 2 },
  { heading: 'state', of: stateText },
  { heading: 'steps', of: ({ steps }) => String(steps), dispensable: 3 },
  { heading: 'tools', of: ({ toolsUsed }) => toolsUsed.join(' ') || '-', dispensable: 4 },
  { heading: 'asked', of: ({ input }) => input.replaceAll(/\s+/g, ' ') },
];

interface Column {
  readonly heading: string;
  readonly of: (run: RunSummary) => string;
  readonly dispensable?: number;
}

/** The least that a question is cut to. */
const ASKED = 24;

function table(runs: readonly RunSummary[], { columns, color }: Terminal): readonly string[] {
  const paint = painter(color);
  let shown = COLUMNS.map(({ of, ...column }) => ({ ...column, cells: runs.map((run) => inert(of(run))) }));
  const widthOf = ({ heading, cells }: (typeof shown)[number]): number =>
    Math.max(heading.length, ...cells.map((cell) => textWidth(cell))) + 2;
  const room = (): number => columns() - shown.slice(0, -1).reduce((sum, column) => sum + widthOf(column), 0);
  for (const least of [4, 3, 2, 1])
    if (room() < ASKED) shown = shown.filter(({ dispensable }) => dispensable !== least);
  const line = (cellOf: (column: (typeof shown)[number]) => string, style: Style | null): string =>
    shown
      .map((column, index) => {
        const cell = cellOf(column);
        if (index === shown.length - 1) return cutToWidth(cell, Math.max(ASKED, room()));
        const padded = cell + ' '.repeat(widthOf(column) - textWidth(cell));
        return column.heading === 'state' && style !== null ? paint(style, padded) : padded;
      })
      .join('')
      .trimEnd();
  return [
    paint(
      'dim',
      line(({ heading }) => heading, null),
    ),
    ...runs.map((run, row) => line(({ cells }) => cells[row] ?? '', styleOf(run))),
  ];
}

function stateText({ state, status, reason, errorCode }: RunSummary): string {
  if (state !== 'ended' || status === null) return state;
  return status === reason || status === 'answered' ? status : `${status}: ${errorCode ?? reason ?? ''}`;
}

function styleOf(run: RunSummary): Style {
  if (run.state === 'running') return 'cyan';
  if (run.state !== 'ended') return 'yellow';
  return run.status === 'answered' ? 'green' : 'red';
}
