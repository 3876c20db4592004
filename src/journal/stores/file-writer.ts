import {
  closeSync,
  copyFileSync,
  fdatasync,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { promisify } from 'node:util';
import { isJsonObject } from '../../json/json.ts';
import { makeFolder, moveOver } from '../../security/folders.ts';
import { type LineWriter, lineWriter } from '../format/blobs.ts';
import { fileSink, isUnbegun, readFileContent } from './file-sink.ts';
import { contentOf, historiesIn, type HistoryFiles, type RunFiles } from './run-files.ts';
import { JournalError } from '../format/journal-error.ts';
import type { RecordLine } from '../format/record.ts';
import { type RepairedRun, wholePart } from '../format/cut-recording.ts';
import type { TakenRun, Sink } from '../run/run-journal.ts';
import { withHistory } from '../format/histories.ts';

/** How the files of runs are written. */
export interface FileWriting {
  readonly files: RunFiles;
  readonly histories: HistoryFiles;
  readonly durability: 'process' | 'power';
  /** `not-answered`: the file of a run that ended with an answer is removed. */
  readonly keep: 'all' | 'not-answered';
  /** Called when a run is given back. */
  readonly onClose: () => void | Promise<void>;
}

/** Begins the file of a new run. Throws a `JournalError` where there is one already. */
export function createRunFile(writing: FileWriting, runId: string): Sink {
  const { files } = writing;
  const path = files.pathOf(runId);
  const made = makeFolder(files.dir);
  return locked(writing, runId, (finish) => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    const isThere = found !== undefined;
    // Behind a link is something else, even if nothing is there yet.
    const content = found?.isFile() === true ? contentOf(path) : null;
    if (isThere && (content === null || !isUnbegun(content))) throw new JournalError('run-exists', runId, files.dir);
    // Windows cuts off no file that is open for appending.
    if (isThere) truncateSync(path, 0);
    const file = openSync(path, 'a', 0o600);
    return runSink(writing, {
      path,
      file,
      length: 0,
      write: lineWriter(undefined, 0, writing.histories.store),
      folders: foldersToSync(files.dir, made),
      finish,
    });
  });
}

/** Takes the file of a run for writing on, after cutting off what a crash has torn; null when nothing was recorded. */
export function continueRunFile(writing: FileWriting, runId: string): TakenRun | null {
  const path = writing.files.pathOf(runId);
  const inFolder = (text: string): string => withHistory(text, historiesIn(writing.files.dir));
  if (contentOf(path) === null) return null;
  return locked(writing, runId, (finish) => {
    const content = contentOf(path);
    const read = content === null ? null : readFileContent(content, inFolder);
    if (content === null || read === null) return null;
    const { recording, bytes, closed } = read;
    if (bytes < content.length) cutTorn(writing, runId, { bytes, length: content.length });
    const file = openSync(path, 'a', 0o600);
    if (!closed) writeSync(file, '\n');
    const length = bytes + (closed ? 0 : 1);
    return {
      recording,
      sink: runSink(writing, {
        path,
        file,
        length,
        write: lineWriter(recording.payloads, recording.sums ?? null),
        folders: [],
        finish,
      }),
    };
  });
}

/** Cuts the file of a damaged run off before its first damage; what it was is kept beside it, `<runId>.jsonl.damaged`. */
export function repairRunFile(files: RunFiles, runId: string): RepairedRun | null {
  const path = files.pathOf(runId);
  if (contentOf(path) === null) return null;
  const lock = files.lock(runId);
  try {
    const content = readFileSync(path);
    const lines = withHistory(content.toString('utf8'), historiesIn(files.dir)).split('\n');
    const { repaired } = wholePart(lines.at(-1)?.trim() === '' ? lines.slice(0, -1) : lines);
    if (repaired.lost === 0) return repaired;
    rmSync(`${path}.damaged`, { force: true });
    copyFileSync(path, `${path}.damaged`);
    let end = 0;
    for (let line = 0; line < repaired.kept; line++) end = content.indexOf('\n', end) + 1;
    truncateSync(path, end);
    return repaired;
  } finally {
    lock.release();
  }
}

/** A file that has grown since it was read has another writer: that is not a torn end. */
function cutTorn({ files }: FileWriting, runId: string, read: { bytes: number; length: number }): void {
  const path = files.pathOf(runId);
  if (statSync(path).size !== read.length) throw new JournalError('run-locked', runId, files.dir);
  truncateSync(path, read.bytes);
}

/** Holds the run's lock while it is written; gives it back at once when nothing comes of it. */
function locked<T>({ files, keep, onClose }: FileWriting, runId: string, begin: (finish: Finish) => T): T {
  const lock = files.lock(runId);
  const finish: Finish = {
    check: (doubtful) => {
      // A lock holder that finds another writer's lines has read an outdated run: it must not continue either.
      if (doubtful || !lock.isHeld()) throw new JournalError('run-lost', runId, files.dir);
    },
    close: (ending) => {
      try {
        if (ending !== null && lock.isHeld(true)) {
          files.secrets.remove(runId);
          if (keep === 'not-answered' && ending.answered) files.erase(runId);
        }
      } finally {
        lock.release();
      }
      return onClose();
    },
  };
  let begun: T | null = null;
  try {
    begun = begin(finish);
    return begun;
  } finally {
    if (begun === null) lock.release();
  }
}

interface Finish {
  readonly check: (doubtful: boolean) => void;
  readonly close: (ending: Ending | null) => void | Promise<void>;
}

interface Ending {
  readonly answered: boolean;
}

interface OpenFile {
  readonly path: string;
  readonly file: number;
  readonly length: number;
  readonly write: LineWriter;
  /** Folders that got a new entry. */
  readonly folders: readonly string[];
  readonly finish: Finish;
}

function runSink({ durability }: FileWriting, { path, folders, finish, ...begun }: OpenFile): Sink {
  let unsynced = folders;
  let ending: Ending | null = null;
  const opened = (
    { file, length, write }: Pick<OpenFile, 'file' | 'length' | 'write'>,
    onClose: () => void | Promise<void>,
  ): Sink => {
    const flush = async (): Promise<void> => {
      await promisify(fdatasync)(file);
      for (const folder of unsynced) syncFolder(folder);
      unsynced = [];
    };
    const durable = durability === 'power' ? { flush } : {};
    return fileSink({ path, file, length, write, check: finish.check, onClose, ...durable });
  };
  let isMoved = false;
  let sink = opened(begun, () => (isMoved ? undefined : finish.close(ending)));
  const remember = (records: readonly RecordLine[]): void => {
    ending ??= endingOf(records);
  };
  return {
    append: (records) => {
      const written = sink.append(records);
      return written === undefined ? remember(records) : written.then(() => remember(records));
    },
    replace: (records) => {
      finish.check(false);
      const write = lineWriter(undefined, 0);
      const text = records.map(write).join('');
      isMoved = true;
      // First: Windows moves no file over one that is open.
      void sink.close();
      try {
        replaceFile(path, text, durability === 'power');
        const file = openSync(path, 'a');
        sink = opened({ file, length: fstatSync(file).size, write }, () => finish.close(ending));
      } catch (error) {
        void finish.close(null);
        throw error;
      }
      remember(records);
    },
    close: () => sink.close(),
  };
}

/** Whoever reads the file has the one text or the other. */
function replaceFile(path: string, text: string, isFlushed: boolean): void {
  const next = `${path}.new`;
  try {
    rmSync(next, { force: true });
    writeFileSync(next, text, { mode: 0o600, flush: isFlushed });
    moveOver(next, path);
  } catch (error) {
    rmSync(next, { force: true });
    throw error;
  }
  if (isFlushed) syncFolder(dirname(path));
}

function endingOf(records: readonly RecordLine[]): Ending | null {
  const end = records.find((record) => record.t === 'end');
  return end === undefined ? null : { answered: isJsonObject(end.output) && end.output.status === 'answered' };
}

/** The folder of the new file, and the parents of those that were made for it: a name is kept by the folder it is in. */
function foldersToSync(dir: string, made: string | undefined): readonly string[] {
  const folders = [resolve(dir)];
  if (made === undefined) return folders;
  for (let at = resolve(dir); at !== dirname(resolve(made)) && at !== dirname(at); at = dirname(at))
    folders.push(dirname(at));
  return folders;
}

function syncFolder(path: string): void {
  // Windows cannot flush folders, and keeps their names without.
  if (process.platform === 'win32') return;
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
