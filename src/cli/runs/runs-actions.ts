import type { RunSummary } from '../../journal/format/tally.ts';
import { escaped, machineJson, oneLine } from '../../output/console/escaped.ts';
import { type Style, painter } from '../../output/console/paint.ts';
import { type Terminal, openTerminal } from '../../output/console/terminal.ts';
import { ellipsized, textWidth } from '../../terminal/text-width.ts';
import { type Arguments, EXIT_CODE, UsageError } from '../command/command.ts';
import { openRuns, readCount, readQuery, type RunsPlace, wholeRunId } from '../recording/kept-runs.ts';
import { recordingLines } from '../../journal/format/recording.ts';
import { recordingText } from '../recording/recording-text.ts';
import { JournalError } from '../../journal/format/journal-error.ts';
import type { RepairedRun } from '../../journal/format/cut-recording.ts';

/** Prints the runs that a query finds, the newest first. */
export async function listRuns({ values, flags }: Arguments): Promise<number> {
  const place = openRuns(values.get('in'));
  const { path, store } = place;
  const query = await readQuery(values, place);
  const runs = await store.list(query);
  if (flags.has('json')) console.log(machineJson(runs));
  else if (runs.length === 0)
    console.log(
      `No runs in ${escaped(path)}${Object.values(query).some((value) => value !== undefined) ? ' match' : ''}.`,
    );
  else console.log(table(runs, openTerminal(process.stdout), process.stdout.columns).join('\n'));
  return EXIT_CODE.answered;
}

/** The columns of the list; those with a number are left out, the highest first, where a line is too short for all. */
const COLUMNS: readonly Column[] = [
  { heading: 'run', of: ({ runId }) => runId },
  { heading: 'began', of: ({ at }) => localTime(at), dispensable: 1 },
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

/** The least of a question that is worth another column. */
const ASKED = 24;

function table(runs: readonly RunSummary[], { columns, color }: Terminal, wide = 0): readonly string[] {
  const paint = painter(color);
  const all = Math.max(columns(), wide);
  let shown = COLUMNS.map(({ of, ...column }) => {
    const cells = runs.map((run) => oneLine(of(run)));
    return {
      ...column,
      cells,
      width: cells.reduce((most, cell) => Math.max(most, textWidth(cell)), column.heading.length) + 2,
    };
  });
  const room = (): number => all - shown.slice(0, -1).reduce((sum, { width }) => sum + width, 0);
  for (const least of [4, 3, 2, 1])
    if (room() < ASKED) shown = shown.filter(({ dispensable }) => dispensable !== least);
  const line = (cellOf: (column: (typeof shown)[number]) => string, style: Style | null): string => {
    let text = '';
    let left = all;
    for (const column of shown) {
      const width = Math.min(column.width, left);
      const cell = width < 2 ? '' : ellipsized(cellOf(column), width);
      const padded = cell + ' '.repeat(Math.max(0, width - textWidth(cell)));
      text += column.heading === 'state' && style !== null ? paint(style, padded) : padded;
      left -= width;
    }
    return text.trimEnd();
  };
  return [
    paint(
      'dim',
      line(({ heading }) => heading, null),
    ),
    ...runs.map((run, row) => line(({ cells }) => cells[row] ?? '', styleOf(run))),
  ];
}

/** A time as the reader's clock shows it, to the minute. */
function localTime(at: string): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? at : date.toLocaleString('sv-SE').slice(0, 16);
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

/** Shows a run step by step, or with `json` prints its recording. The beginning of an id is enough if only one run has it. */
export async function showRun({ values, flags, positionals: [wanted = ''] }: Arguments): Promise<number> {
  const place = openRuns(values.get('in'));
  const runId = await wholeRunId(place, wanted);
  const recording = runId === null ? null : await place.store.read(runId);
  if (recording === null) return EXIT_CODE.failed;
  if (flags.has('json')) process.stdout.write(recordingLines(recording));
  else console.log(recordingText(recording, openTerminal(process.stdout), { full: flags.has('full') }));
  return EXIT_CODE.answered;
}

const DAY_MS = 86_400_000;

/** Removes the runs beyond the limits, never one that is being written, and reports which. */
export async function pruneRuns({ values, flags }: Arguments): Promise<number> {
  const [maxRuns, maxAgeDays] = [readCount(values, 'max-runs'), readCount(values, 'max-age-days')];
  if (maxRuns === undefined && maxAgeDays === undefined)
    throw new UsageError("'prune' needs --max-runs, --max-age-days or both.");
  const { store } = openRuns(values.get('in'));
  const dryRun = flags.has('dry-run');
  const removed: string[] = [];
  for (const { runId } of beyond(await store.list(), { maxRuns, maxAgeDays }))
    if (dryRun || (await isRemoved(store, runId))) removed.push(runId);
  if (flags.has('json')) console.log(machineJson({ removed }));
  else console.log(removedText(removed, dryRun));
  return EXIT_CODE.answered;
}

/** Only what has ended counts against a number; what is old goes, ended or not. The list has the newest first. */
function beyond(
  runs: readonly RunSummary[],
  { maxRuns = Infinity, maxAgeDays = Infinity }: Record<'maxRuns' | 'maxAgeDays', number | undefined>,
): readonly RunSummary[] {
  const oldest = Date.now() - maxAgeDays * DAY_MS;
  let ended = 0;
  return runs.filter(({ state, at }) => {
    if (state === 'running') return false;
    if (state === 'ended') ended += 1;
    return Date.parse(at) < oldest || (state === 'ended' && ended > maxRuns);
  });
}

async function isRemoved(store: RunsPlace['store'], runId: string): Promise<boolean> {
  try {
    return await store.remove(runId);
  } catch (error) {
    // Another process has resumed it meanwhile.
    if (error instanceof JournalError) return false;
    throw error;
  }
}

function removedText(removed: readonly string[], dryRun: boolean): string {
  if (removed.length === 0) return 'Nothing to remove.';
  return removed.map((runId) => `${dryRun ? 'would remove' : 'removed'} ${escaped(runId)}`).join('\n');
}

/** Truncates a damaged run before its first damage, and reports what is lost. Needs its whole id. */
export async function repairRun({ values, flags, positionals: [runId = ''] }: Arguments): Promise<number> {
  const { path, store } = openRuns(values.get('in'));
  const repaired = await store.repair(runId);
  if (repaired === null) {
    console.error(`There is no run '${escaped(runId)}' in ${escaped(path)}.`);
    return EXIT_CODE.failed;
  }
  console.log(flags.has('json') ? machineJson({ runId, ...repaired }) : repairedText(runId, repaired));
  return EXIT_CODE.answered;
}

function repairedText(runId: string, { kept, lost, damage, calls }: RepairedRun): string {
  if (damage === null) return `${escaped(runId)} is not damaged: ${kept} lines.`;
  const forgotten = calls.length === 0 ? '' : ` Calls of ${calls.map(escaped).join(', ')} are forgotten.`;
  return [
    escaped(damage),
    `Kept ${kept} lines of ${escaped(runId)}, and cut ${lost} off.${forgotten}`,
    'Resuming it repeats what these lines recorded.',
  ].join('\n');
}
