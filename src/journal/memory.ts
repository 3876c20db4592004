import type { Effect } from '../actors/journal.ts';
import { JournalError } from './journal-error.ts';
import { type Sink, liveJournal } from './live.ts';
import type { RecordLine } from './record.ts';
import { type Recorder, type Recording, readRecording, recorder } from './recording.ts';
import type { JournalStore, RunHead, RunJournal, RunSummary } from './run-journal.ts';
import { runTally, selectRuns, summaryOf } from './tally.ts';

/** How much {@link memoryJournal} keeps. */
export interface MemoryJournalOptions {
  /** How many runs that have ended are kept, the newest. Default 100. Runs that have not are always kept. */
  readonly maxRuns?: number;
}

/** A run in memory: what was recorded by reference, then what was written after it was taken. */
interface KeptRun {
  readonly recorded: Recorder | null;
  readonly before: Recording | null;
  readonly added: RecordLine[];
  written: boolean;
  ended: boolean;
}

/**
 * Keeps runs in the memory of this process, those of one `memoryJournal()` together: they can be listed, read and gone on
 * with until the process ends. The library's default.
 */
export function memoryJournal({ maxRuns = 100 }: MemoryJournalOptions = {}): JournalStore {
  const runs = new Map<string, KeptRun>();
  const secrets = new Map<string, Readonly<Record<string, string>>>();

  const forget = (runId: string): boolean => {
    secrets.delete(runId);
    return runs.delete(runId);
  };
  const give = (runId: string, run: KeptRun, ended: boolean): void => {
    run.written = false;
    if (!ended) return;
    run.ended = true;
    secrets.delete(runId);
    const over = [...runs].filter(([, one]) => one.ended && !one.written);
    for (const [oldest] of over.slice(0, Math.max(0, over.length - maxRuns))) forget(oldest);
  };

  /** Where a run goes on behind what is recorded of it. */
  const written = (runId: string, before: Recording, over: boolean): Sink => {
    const run: KeptRun = { recorded: null, before, added: [], written: true, ended: over };
    runs.set(runId, run);
    let ended = over;
    return {
      append: (records) => {
        run.added.push(...records.filter(({ t }) => t !== 'run'));
        ended ||= records.some(({ t }) => t === 'end');
      },
      close: () => give(runId, run, ended),
    };
  };

  return {
    open: (run) => {
      const { runId } = run.head;
      if (runs.has(runId)) throw new JournalError('run-exists', runId, 'memory');
      if (run.carried !== undefined) return liveJournal(run, written(runId, { head: run.head, lines: [] }, false));
      const recorded = recorder(run.head);
      const kept: KeptRun = { recorded, before: null, added: [], written: true, ended: false };
      runs.set(runId, kept);
      return recordingJournal(run, recorded, (ended) => give(runId, kept, ended));
    },
    take: async (runId) => {
      const run = runs.get(runId);
      if (run === undefined) return null;
      if (run.written) throw new JournalError('run-locked', runId, 'memory');
      const recording = recordingOf(run);
      return { recording, sink: written(runId, recording, run.ended) };
    },
    read: async (runId) => {
      const run = runs.get(runId);
      return run === undefined ? null : recordingOf(run);
    },
    list: async (query) => selectRuns([...runs.values()].map(summaryOfRun), query),
    remove: async (runId) => {
      if (runs.get(runId)?.written === true) throw new JournalError('run-locked', runId, 'memory');
      return forget(runId);
    },
    secrets: {
      keep: (runId, more) => void secrets.set(runId, { ...secrets.get(runId), ...more }),
      read: (runId) => secrets.get(runId) ?? {},
    },
  };
}

/** A live journal that remembers by reference: nothing is written out before somebody reads it. */
function recordingJournal(run: RunHead, recorded: Recorder, onClose: (ended: boolean) => void): RunJournal {
  const live = liveJournal(run, null);
  const fresh = new Map<string, Effect>();
  const flush = (): void => {
    for (const effect of fresh.values()) recorded.start(effect);
    fresh.clear();
  };
  return {
    open: (effect, perform) => {
      fresh.set(effect.id, effect);
      live.open(effect, perform);
    },
    close: (id) => {
      fresh.delete(id);
      live.close(id);
    },
    next: async () => {
      flush();
      const entry = await live.next();
      if (entry !== null) recorded.entry(entry);
      return entry;
    },
    end: async (output) => {
      flush();
      recorded.end(output);
      await live.end(output);
      onClose(true);
    },
    abandon: async () => {
      await live.abandon?.();
      onClose(false);
    },
    at: () => live.at?.() ?? 0,
    send: (event, to) => live.send(event, to),
  };
}

function recordingOf({ recorded, before, added }: KeptRun): Recording {
  if (recorded !== null) return readRecording(recorded.text());
  return before === null ? readRecording(added) : { ...before, lines: [...before.lines, ...added] };
}

function summaryOfRun(run: KeptRun): RunSummary {
  const { head, lines } = recordingOf(run);
  const tally = runTally(head);
  for (const record of lines) tally.add(record);
  return summaryOf(tally.read(), run.written);
}
