import { type LineWriter, lineWriter } from './blobs.ts';
import { type Sink, liveJournal } from './live.ts';
import { type Recording, readRecording } from './recording.ts';
import type { JournalStore } from './run-journal.ts';
import { secretFiles } from './secret-files.ts';
import { openDatabase } from './sqlite-database.ts';
import { sqliteQueue } from './sqlite-queue.ts';
import { type OwnedRun, type RunWriter, type SqliteRuns, sqliteRuns } from './sqlite-runs.ts';
import { type Tally, runTally } from './tally.ts';
import { BEAT_MS, newWriter } from './writer.ts';

/** How durably {@link sqliteJournal} writes. */
export interface SqliteJournalOptions {
  /** `process` (default): what is written survives a crash of the process. `power`: also one of the machine. */
  readonly durability?: 'process' | 'power';
}

interface Connection {
  readonly runs: SqliteRuns;
  /** Writes in the next transaction, together with what other runs want to write. */
  readonly write: (work: () => void) => Promise<void>;
}

/**
 * Keeps many runs in one SQLite database: made to be listed and searched, and written by several processes at once. What
 * the runs of a process write at the same time is committed together. The file is made, and `node:sqlite` loaded, when it
 * is first used. Secrets of runs that go on are kept beside it, in the folder `<path>-secrets`.
 *
 * @example createAgent({ journal: sqliteJournal('.signalbox/runs.sqlite') })
 */
export function sqliteJournal(path: string, { durability = 'process' }: SqliteJournalOptions = {}): JournalStore {
  if (durability !== 'process' && durability !== 'power')
    throw new TypeError("sqliteJournal: the option durability must be 'process' or 'power'.");
  const vaults = secretFiles(`${path}-secrets`);
  const nameOf = encodeURIComponent;
  const live = new Set<OwnedRun>();
  let opened: Connection | null = null;
  let beats: NodeJS.Timeout | undefined;

  const connect = (): Connection => {
    if (opened !== null) return opened;
    const database = openDatabase(path, durability);
    opened = { runs: sqliteRuns(database, path), write: sqliteQueue(database) };
    return opened;
  };
  const beat = ({ runs, write }: Connection): void => {
    // A sign of life that could not be given is given the next time.
    void write(() => live.forEach((run) => runs.beat(run))).catch(() => undefined);
  };
  const sinkOf = (run: OwnedRun, tally: Tally, write: LineWriter, written: number): Sink => {
    const connection = connect();
    let next = written + 1;
    live.add(run);
    beats ??= setInterval(() => beat(connection), BEAT_MS).unref();
    let ended = false;

    const close = async (): Promise<void> => {
      if (!live.delete(run)) return;
      if (live.size === 0) {
        clearInterval(beats);
        beats = undefined;
      }
      if (ended) vaults.remove(nameOf(run.runId));
      await connection.write(() => connection.runs.release(run));
    };
    return {
      append: async (records) => {
        const lines = records.flatMap((record) => write(record).trimEnd().split('\n'));
        for (const record of records) tally.add(record);
        const [tallied, from] = [tally.read(), next];
        next += lines.length;
        try {
          await connection.write(() => connection.runs.append(run, lines, from, tallied));
        } catch (error) {
          await close().catch(() => undefined);
          throw error;
        }
        ended ||= tallied.ended;
      },
      close,
    };
  };
  const readOrRelease = async (run: OwnedRun, lines: readonly string[]): Promise<Recording> => {
    try {
      return readRecording(lines);
    } catch (error) {
      const { runs, write } = connect();
      await write(() => runs.release(run));
      throw error;
    }
  };
  const writerOf = (runId: string): RunWriter => ({ runId, writer: JSON.stringify(newWriter()) });

  return {
    open: (head) => {
      const tally = runTally(head.head);
      const run = connect().runs.begin(writerOf(head.head.runId), tally.read());
      return liveJournal(head, sinkOf(run, tally, lineWriter(), 0));
    },
    take: async (runId) => {
      const claimed = connect().runs.claim(writerOf(runId));
      if (claimed === null) return null;
      const { run, lines } = claimed;
      const recording = await readOrRelease(run, lines);
      const tally = runTally(recording.head);
      for (const record of recording.lines) tally.add(record);
      return { recording, sink: sinkOf(run, tally, lineWriter(recording.payloads), lines.length) };
    },
    read: async (runId) => {
      const lines = connect().runs.lines(runId);
      return lines.length === 0 ? null : readRecording(lines);
    },
    list: async (query = {}) => connect().runs.list(query),
    remove: async (runId) => {
      const removed = connect().runs.remove(runId);
      if (removed) vaults.remove(nameOf(runId));
      return removed;
    },
    secrets: {
      keep: (runId, secrets) => vaults.keep(nameOf(runId), secrets),
      read: (runId) => vaults.read(nameOf(runId)),
    },
  };
}
