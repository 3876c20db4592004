import { optionsOf, wrongOption } from '../../json/known-options.ts';
import { JournalError } from '../format/journal-error.ts';
import { liveJournal } from '../run/live-journal.ts';
import type { RecordLine, RunRecord } from '../format/record.ts';
import type { Recording } from '../format/recording.ts';
import { localRequests } from '../run/run-requests.ts';
import type { Sink, WholeStore } from '../run/run-journal.ts';
import { runTally, selectRuns, summaryOf, type RunSummary } from '../format/tally.ts';

/** How much {@link memoryJournal} keeps. */
export interface MemoryJournalOptions {
  /** How many runs that have ended are kept, the newest. Default 1000. Runs that have not are always kept. */
  readonly maxRuns?: number | undefined;
}

/** A run in memory. Its records hold requests and outcomes by reference: nothing is written out. */
interface KeptRun {
  head: RunRecord;
  /** What follows the head; null as long as nothing was recorded, not even the head. */
  lines: RecordLine[] | null;
  /** It is being written now. */
  written: boolean;
}

const checkOptions = optionsOf<MemoryJournalOptions>('memoryJournal', 'docs/recording.md', { maxRuns: true });

/**
 * Keeps runs in the memory of this process, those of one `memoryJournal()` together: they can be listed, read and
 * continued until the process ends. Without any journal a run is kept by its own handle only.
 */
export function memoryJournal(options: MemoryJournalOptions = {}): Omit<WholeStore, 'repair'> {
  checkOptions(options);
  const { maxRuns = 1000 } = options;
  if (!(typeof maxRuns === 'number' && maxRuns >= 0))
    throw wrongOption('memoryJournal: the option maxRuns must be a number from 0.');
  const runs = new Map<string, KeptRun>();
  const secrets = new Map<string, Readonly<Record<string, string>>>();
  const claimed = new Set<string>();

  const forget = (runId: string): boolean => {
    secrets.delete(runId);
    return runs.delete(runId);
  };
  const prune = (): void => {
    const over = [...runs].filter(([, run]) => hasEnded(run) && !run.written);
    for (const [oldest] of over.slice(0, Math.max(0, over.length - maxRuns))) forget(oldest);
  };
  const sinkOf = (run: KeptRun): Sink => ({
    append: (records) => {
      run.lines ??= [];
      run.lines.push(...records.filter(({ t }) => t !== 'run'));
    },
    replace: ([head, ...lines]) => {
      if (head?.t === 'run') [run.head, run.lines] = [head, lines];
    },
    close: () => {
      run.written = false;
      if (!hasEnded(run)) return;
      secrets.delete(run.head.runId);
      prune();
    },
  });

  return {
    open: (run) => {
      const { head } = run;
      const there = runs.get(head.runId);
      if (there !== undefined && (there.written || there.lines !== null))
        throw new JournalError('run-exists', head.runId, 'memory');
      const kept: KeptRun = { head, lines: null, written: true };
      runs.set(head.runId, kept);
      return liveJournal(run, sinkOf(kept));
    },
    take: async (runId) => {
      const run = runs.get(runId);
      if (run?.written === true) throw new JournalError('run-locked', runId, 'memory');
      const recording = recordingOf(run);
      if (run === undefined || recording === null) return null;
      run.written = true;
      return { recording, sink: sinkOf(run) };
    },
    read: async (runId) => recordingOf(runs.get(runId)),
    revision: async (runId) => {
      const { head, lines = null } = runs.get(runId) ?? {};
      return lines === null ? null : `${head?.at ?? ''} ${lines.length}`;
    },
    list: async (query) => selectRuns([...runs.values()].flatMap(summaryOfRun), query),
    remove: async (runId) => {
      if (runs.get(runId)?.written === true) throw new JournalError('run-locked', runId, 'memory');
      return forget(runId);
    },
    claim: async (name) => {
      if (claimed.has(name)) return null;
      claimed.add(name);
      return () => void claimed.delete(name);
    },
    requests: localRequests(),
    secrets: {
      keep: (runId, more) => void secrets.set(runId, { ...secrets.get(runId), ...more }),
      read: (runId) => secrets.get(runId) ?? {},
    },
  };
}

function hasEnded({ lines }: KeptRun): boolean {
  return lines?.some(({ t }) => t === 'end') === true;
}

function recordingOf(run: KeptRun | undefined): Recording | null {
  return run === undefined || run.lines === null ? null : { head: run.head, lines: [...run.lines] };
}

function summaryOfRun({ head, lines, written }: KeptRun): readonly RunSummary[] {
  if (lines === null) return [];
  return [summaryOf(runTally(head, lines).read(), written)];
}
