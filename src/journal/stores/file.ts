import { JournalError, RecordingError } from '../format/journal-error.ts';
import { checkPlace, optionsOf, wrongOption } from '../../json/known-options.ts';
import { describeThrown } from '../../json/to-json.ts';
import { systemCode } from '../../security/folders.ts';
import { lineWriter } from '../format/blobs.ts';
import { withHistory } from '../format/histories.ts';
import { LeftOut, type RunQuery, type RunSummary, matches, selectRuns, summaryOf } from '../format/tally.ts';
import { liveJournal } from '../run/live-journal.ts';
import type { JournalStore, WholeStore } from '../run/run-journal.ts';
import { fileSink, readFileContent } from './file-sink.ts';
import { FileConversations } from './file-conversations.ts';
import { FileSummaries } from './file-summary.ts';
import { continueRunFile, createRunFile, type FileWriting, repairRunFile } from './file-writer.ts';
import { historiesIn, historyFiles, isFile, isUnreadable, opened, type RunFiles, runFiles } from './run-files.ts';
import { FileRequests } from './request-files.ts';
import { isForeign, type RunLock, takeRunLock } from './run-lock.ts';
import { checkPruneLimits, type PruneLimits, runPruner } from './prune-runs.ts';
import { closeSync, openSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join, parse } from 'node:path';

/** How durably {@link fileJournal} writes, and what it keeps. */
export interface FileJournalOptions extends PruneLimits {
  /** `process` (default): what is written survives a crash of the process. `power`: also one of the machine. */
  readonly durability?: 'process' | 'power' | undefined;
  /**
   * `all` (default), or `not-answered`: a run that ended with an answer leaves nothing, any other leaves its recording, even if
   * it crashed.
   */
  readonly keep?: 'all' | 'not-answered' | undefined;
  /** How many runs that have ended are kept, those last written to. Default: all. Checked when a run begins or ends. */
  readonly maxRuns?: number | undefined;
  /** Removes every run, ended or not, that was not written to for this many days. Default: never. Checked at the same times. */
  readonly maxAgeDays?: number | undefined;
}

/**
 * Keeps each run as a file of JSON lines, `<dir>/<runId>.jsonl`, appended while the run is live; a lock file beside it keeps
 * other processes from writing it. Opening a run that already exists is rejected. The folder is made when the first run begins.
 *
 * @example createAgent({ journal: fileJournal('.signalbox/runs', { keep: 'not-answered', maxAgeDays: 30 }) })
 */
export function fileJournal(dir: string, options: FileJournalOptions = {}): WholeStore {
  checkOptions(options);
  checkPlace('fileJournal: the folder must be a path', dir);
  const { durability = 'process', keep = 'all' } = options;
  const histories = historyFiles(dir, { synced: durability === 'power' });
  const files = runFiles(dir, histories);
  const conversations = new FileConversations(files);
  const summaries = new FileSummaries((path, file, { metadata }) =>
    conversations.learn(basename(path, '.jsonl'), file, metadata),
  );
  let swept = false;
  const pruneRuns = runPruner(files, options);
  const prune = (): Promise<void> | undefined => {
    if (!swept)
      files.secrets.sweep((runId) => !files.isLocked(runId) && (!files.isThere(runId) || files.hasEnded(runId)));
    swept = true;
    return pruneRuns();
  };
  const writing: FileWriting = { files, histories, durability, keep, onClose: prune };
  return {
    open: (run) => {
      const { runId } = run.head;
      const sink = opened(dir, runId, () => createRunFile(writing, runId));
      void prune();
      return liveJournal(run, sink);
    },
    take: async (runId) => opened(dir, runId, () => continueRunFile(writing, runId)),
    read: async (runId) =>
      readFileContent(await contentOf(files, runId), (text) => withHistory(text, historiesIn(dir)))?.recording ?? null,
    revision: async (runId) => {
      const found = statSync(files.pathOf(runId), { throwIfNoEntry: false });
      return found === undefined ? null : `${found.ino} ${found.size} ${found.mtimeMs}`;
    },
    list: async (query = {}) => {
      const runs: RunSummary[] = [];
      using left = new LeftOut();
      const ids = files.ids();
      summaries.keep(ids, files.pathOf);
      const { unknown, newestFirst } = summaries.parted(conversations.among(ids, query), files.pathOf);
      const summaryOfRun = (runId: string) => summaryOfFile(files, runId, { summaries, query, left });
      for (let at = 0; at < unknown.length; at += AT_ONCE)
        runs.push(...(await Promise.all(unknown.slice(at, at + AT_ONCE).map(summaryOfRun))).flat());
      // As many of the newest as are wanted are enough.
      let wanted = query.limit ?? Infinity;
      for (const runId of wanted > 0 ? newestFirst : []) {
        const found = await summaryOfRun(runId);
        runs.push(...found);
        if (found.some((run) => matches(run, query)) && --wanted === 0) break;
      }
      conversations.keep(ids, query);
      return selectRuns(runs, query);
    },
    remove: async (runId) => files.remove(runId),
    repair: async (runId) => repairRunFile(files, runId),
    claim: async (name) => {
      const lock = opened(dir, null, () => files.claim(name));
      return lock === null ? null : () => lock.release();
    },
    secrets: files.secrets,
    requests: new FileRequests(join(dir, 'requests')),
  };
}

/** Keeps one run in the file at `path`, which is created again, and locked as the file of a run is. */
export function singleFileJournal(path: string): JournalStore {
  return {
    open: (run) => {
      const lock = lockOfFile(path);
      closeSync(openSync(path, 'w', 0o600));
      const onClose = (): void => lock?.release();
      return liveJournal(run, fileSink({ path, file: openSync(path, 'a'), write: lineWriter(undefined, 0), onClose }));
    },
  };
}

/** Null where there is none: beside a pipe, in a folder that cannot be written, and where a lock file belongs to somebody else. */
function lockOfFile(path: string): RunLock | null {
  const { dir, name } = parse(path);
  const locked = join(dir, `${name}.lock`);
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false || isForeign(locked)) return null;
  let lock: RunLock | null;
  try {
    lock = takeRunLock(locked);
  } catch {
    return null;
  }
  if (lock === null) throw new JournalError('run-locked', name, dir || '.');
  return lock;
}

async function contentOf(files: RunFiles, runId: string): Promise<Buffer> {
  const path = files.pathOf(runId);
  try {
    return isFile(path) ? await readFile(path) : Buffer.alloc(0);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
}

/** How many files are read at a time: a folder may hold more than a process may open. */
const AT_ONCE = 16;

interface Listing {
  readonly summaries: FileSummaries;
  readonly query: RunQuery;
  readonly left: LeftOut;
}

/** A run that is damaged, or whose lines are anything, is in no list, but must not hide the others. */
async function summaryOfFile(
  files: RunFiles,
  runId: string,
  { summaries, query, left }: Listing,
): Promise<readonly RunSummary[]> {
  try {
    const tallied = await summaries.of(files.pathOf(runId), query);
    if (tallied === null) return [];
    // A copy is identified by its file name, whatever its first line says.
    return [{ ...summaryOf(tallied, !tallied.ended && files.isLocked(runId)), runId }];
  } catch (error) {
    // It was removed while the others were read.
    if (systemCode(error) === 'ENOENT') return [];
    if (!(error instanceof RecordingError || error instanceof TypeError || isUnreadable(error))) throw error;
    left.add(`${files.pathOf(runId)} is left out of the list of runs. ${describeThrown(error).message}`);
    return [];
  }
}

const checkNames = optionsOf<FileJournalOptions>('fileJournal', 'docs/recording.md', {
  durability: true,
  keep: true,
  maxRuns: true,
  maxAgeDays: true,
});

function checkOptions(options: FileJournalOptions): void {
  checkNames(options);
  checkPruneLimits('fileJournal', options);
  const { durability = 'process', keep = 'all' } = options;
  if (durability !== 'process' && durability !== 'power')
    throw wrongOption("fileJournal: the option durability must be 'process' or 'power'.");
  if (keep !== 'all' && keep !== 'not-answered')
    throw wrongOption("fileJournal: the option keep must be 'all' or 'not-answered'.");
}
