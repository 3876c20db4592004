import type { RunSummary } from '../../journal/format/tally.ts';
import { JournalError } from '../../journal/format/journal-error.ts';
import { inert } from '../../output/console/inert.ts';
import { EXIT_CODE } from '../exit-code.ts';
import type { RunsPlace } from './runs-place.ts';

interface PruneOptions {
  readonly maxRuns: number | undefined;
  readonly maxAgeDays: number | undefined;
  readonly dryRun: boolean;
  readonly json: boolean;
}

const DAY_MS = 86_400_000;

/** Removes the runs beyond the limits, never one that is being written, and says which they were. */
export async function pruneRuns({ store }: RunsPlace, options: PruneOptions): Promise<number> {
  const removed: string[] = [];
  for (const { runId } of beyond(await store.list(), options))
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    if (options.dryRun || (await isRemoved(store, runId))) removed.push(runId);
  if (options.json) console.log(JSON.stringify({ removed }));
  else console.log(told(removed, options.dryRun));
  return EXIT_CODE.answered;
}

/** Only what has ended counts against a number; what is old goes, ended or not. The list has the newest first. */
function beyond(
  runs: readonly RunSummary[],
  { maxRuns = Infinity, maxAgeDays = Infinity }: PruneOptions,
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
    // Somebody took it up meanwhile.
    if (error instanceof JournalError) return false;
    throw error;
  }
}

function told(removed: readonly string[], dryRun: boolean): string {
  if (removed.length === 0) return 'Nothing to remove.';
  return removed.map((runId) => `${dryRun ? 'would remove' : 'removed'} ${inert(runId)}`).join('\n');
}
