import { wrongOption } from '../../json/known-options.ts';
import type { Message } from '../../actors/model.ts';
import { ifThere, makeFolder, systemCode, textIn } from '../../security/folders.ts';
import { createHistories, damagedHistory, historyIdOf, messageLine } from '../format/histories.ts';
import type { HistoryLines, HistoryPart } from '../format/histories.ts';
import { JournalError, RecordingError } from '../format/journal-error.ts';
import { RUN_ID, type RunRecord } from '../format/record.ts';
import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readSync,
  readdirSync,
  rmSync,
  statSync,
  fdatasyncSync,
  readFileSync,
  writeSync,
} from 'node:fs';
import { createHash } from 'node:crypto';
import { join, dirname } from 'node:path';
import { LONGEST_LINE, endsIn } from './file-summary.ts';
import { type SecretFiles, secretFiles } from './secret-files.ts';
import { isLocked, type RunLock, takeRunLock } from './run-lock.ts';

/** The files of the runs in one folder: `<runId>.jsonl`, and beside it `.lock` and `.vault` while it lasts. */
export interface RunFiles {
  readonly dir: string;
  readonly secrets: SecretFiles;
  pathOf(runId: string): string;
  /** The ids of all runs there are. */
  ids(): readonly string[];
  /** Throws a `JournalError` (`run-locked`) while another process has it. */
  lock(runId: string): RunLock;
  isLocked(runId: string): boolean;
  /** The lock of a name that does not belong to a run; null while another process has it. Creates the folder. */
  claim(name: string): RunLock | null;
  isThere(runId: string): boolean;
  /** Whether its file begins as that of a run does, or as a crash leaves one: others may keep JSON lines in the folder too. */
  isRun(runId: string): boolean;
  /** Whether the run has ended, according to the last line of its file. */
  hasEnded(runId: string): boolean;
  /** Removes what is recorded of a run whose lock the caller has, and the history that no other run begins with. */
  erase(runId: string): void;
  /** Removes all that is left of a run; its history is left to `sweep` if many are. Throws as `lock` does; false without one. */
  remove(runId: string, many?: boolean): boolean;
  /** Removes the histories of runs that were removed which no other run begins with. */
  sweep(): void;
}

const EXTENSION = '.jsonl';
const BEGINNING = '{"t":"run"';

/** The files of the runs in a folder, which need not exist yet. Throws a `TypeError` for ids that can name no file. */
export function runFiles(dir: string, histories: Pick<HistoryFiles, 'remove'>): RunFiles {
  const named = (runId: string, extension: string): string => {
    if (!RUN_ID.test(runId))
      throw wrongOption(
        `The run id ${JSON.stringify(runId)} cannot name a file. Use letters, digits, dots, dashes and underscores.`,
      );
    return join(dir, runId + extension);
  };
  const pathOf = (runId: string): string => named(runId, EXTENSION);
  const lock = (runId: string): RunLock => {
    const taken = takeRunLock(named(runId, '.lock'));
    if (taken === null) throw new JournalError('run-locked', runId, dir);
    return taken;
  };
  const secrets = secretFiles(dir);
  // Pruning asks repeatedly, and what has ended stays so.
  const ended = new Set<string>();
  const ids = (): readonly string[] => idsIn(dir);
  // What a run begins with never changes.
  const beginnings = new Map<string, { readonly file: string; readonly history: string | null }>();
  const historyOf = (runId: string): string | null | undefined => {
    const stat = statSync(pathOf(runId), { throwIfNoEntry: false });
    if (stat === undefined) return null;
    const file = `${stat.ino} ${stat.birthtimeMs}`;
    const known = beginnings.get(runId);
    if (known?.file === file) return known.history;
    const line = firstLineOf(pathOf(runId));
    if (typeof line !== 'string') return line;
    const history = historyIdOf(line);
    beginnings.set(runId, { file, history });
    return history;
  };
  const left = new Set<string>();
  const sweep = (): void => {
    const needed = new Set(left.size > 0 ? ids().map(historyOf) : []);
    // A run whose file cannot be read may begin with any of them.
    for (const history of left) if (!needed.has(undefined) && !needed.has(history)) histories.remove(history);
    left.clear();
  };
  const erase = (runId: string, many = false): void => {
    const history = historyOf(runId);
    if (typeof history === 'string') left.add(history);
    for (const kind of ['', '.damaged', '.new']) rmSync(pathOf(runId) + kind, { force: true });
    beginnings.delete(runId);
    ended.delete(runId);
    if (!many) sweep();
  };
  return {
    dir,
    secrets,
    erase,
    ids,
    pathOf,
    lock,
    claim: (name) => {
      makeFolder(dir);
      return takeRunLock(join(dir, `.${createHash('sha256').update(name).digest('hex').slice(0, 32)}.lock`));
    },
    isThere: (runId) => existsSync(pathOf(runId)),
    isRun: (runId) => BEGINNING.startsWith(bytesOf(pathOf(runId), BEGINNING.length, 'first').toString('latin1')),
    isLocked: (runId) => isLocked(named(runId, '.lock')),
    hasEnded: (runId) => {
      if (!ended.has(runId) && endsIn(bytesOf(pathOf(runId), TAIL, 'last'))) ended.add(runId);
      return ended.has(runId);
    },
    sweep,
    remove: (runId, many) => {
      const path = pathOf(runId);
      if (statSync(path, { throwIfNoEntry: false }) === undefined) return false;
      const held = lock(runId);
      try {
        erase(runId, many);
        secrets.remove(runId);
      } finally {
        held.release();
      }
      return true;
    },
  };
}

function idsIn(dir: string): readonly string[] {
  const entries = ifThere(() => readdirSync(dir, { withFileTypes: true })) ?? [];
  // A folder is not a run, and opening a pipe blocks until another process writes to it.
  return entries
    .filter((entry) => entry.isFile() || (entry.isSymbolicLink() && isFile(join(dir, entry.name))))
    .flatMap(({ name }) => (name.endsWith(EXTENSION) ? [name.slice(0, -EXTENSION.length)] : []))
    .filter((runId) => RUN_ID.test(runId));
}

export function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** What a file holds; null if there is none, or something that is not a file: to read a pipe can take forever. */
export function contentOf(path: string): Buffer | null {
  return isFile(path) ? ifThere(() => readFileSync(path)) : null;
}

/** What opens a place for writing; where the system does not let it, the error says that of the place. */
export function opened<T>(place: string, runId: string | null, open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (error instanceof JournalError || error instanceof RecordingError || systemCode(error) === '') throw error;
    throw new JournalError('store-unwritable', runId, place, error);
  }
}

/** Whether something is there that cannot be read as a file, by this user or by anyone, or is too large for a text. */
export function isUnreadable(error: unknown): boolean {
  return UNREADABLE.has(systemCode(error));
}

const UNREADABLE: ReadonlySet<string> = new Set(
  'EACCES EPERM EIO EISDIR ELOOP ERR_FS_FILE_TOO_LARGE ERR_STRING_TOO_LONG'.split(' '),
);

/** Reads in a file of some size; null when there is no such file, undefined when it cannot be read. */
function readIn<T>(path: string, read: (file: number, size: number) => T): T | null | undefined {
  let file: number | null;
  try {
    file = ifThere(() => openSync(path, 'r'));
  } catch (error) {
    if (isUnreadable(error)) return undefined;
    throw error;
  }
  if (file === null) return null;
  try {
    return read(file, fstatSync(file).size);
  } finally {
    closeSync(file);
  }
}

/** The whole first line of a file; null when there is none, undefined when it cannot be read. */
const firstLineOf = (path: string): string | null | undefined =>
  readIn(path, (file, size) => {
    for (let length = Math.min(size, TAIL); ; length = Math.min(length * 4, size)) {
      const start = Buffer.alloc(length);
      const read = start.subarray(0, readSync(file, start, 0, length, 0));
      const end = read.indexOf(0x0a);
      if (end !== -1) return read.subarray(0, end).toString('utf8');
      if (length === size || length * 4 > LONGEST_LINE) return null;
    }
  });

/** More than the last line of a run that has ended is long, or all that there is. */
const TAIL = 65_536;

/** The first or the last bytes of a file, at most so many. */
function bytesOf(path: string, most: number, which: 'first' | 'last'): Buffer {
  const found = readIn(path, (file, size) => {
    const bytes = Buffer.alloc(Math.min(size, most));
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, which === 'first' ? 0 : size - bytes.length));
  });
  return found ?? Buffer.alloc(0);
}

/** The folder with the starting histories of runs, beside the files of the runs. */
const FOLDER = 'histories';

/** The starting histories of the runs in one folder: `histories/<id>.jsonl`, a message a line, each with a checksum. */
export interface HistoryFiles {
  /** Stores the new part of a run's starting history, and returns the head to store. */
  store(head: RunRecord): object;
  /** Removes a history that no run begins with any more. */
  remove(id: string): void;
}

/** `synced`: what is stored survives a crash of the machine. */
export function historyFiles(dir: string, { synced }: { readonly synced: boolean }): HistoryFiles {
  const histories = createHistories();
  /** The lengths of our files: one that another process has removed or written to is no longer ours. */
  const lengths = new Map<string, number>();
  const forget = (id: string): void => {
    histories.forget(id);
    lengths.delete(id);
  };
  const add = ({ $history: id, to }: HistoryPart, added: readonly Message[]): boolean => {
    const path = historyPath(dir, id);
    const length = lengths.get(id);
    if (length !== undefined && statSync(path, { throwIfNoEntry: false })?.size !== length) return false;
    const first = to - added.length;
    const text = added.map((message, index) => `${messageLine(message, first + index)}\n`).join('');
    if (length === undefined) makeFolder(dirname(path));
    const file = openSync(path, length === undefined ? 'wx' : 'a', 0o600);
    try {
      writeSync(file, text);
      if (synced) fdatasyncSync(file);
    } finally {
      closeSync(file);
    }
    lengths.set(id, (length ?? 0) + Buffer.byteLength(text));
    return true;
  };
  const store = (head: RunRecord): object => {
    const placed = histories.place(head.runId, head.history);
    if (placed === null) return head;
    const { part, added } = placed;
    try {
      if (add(part, added)) return { ...head, history: part };
    } catch (error) {
      forget(part.$history);
      throw error;
    }
    forget(part.$history);
    return store(head);
  };
  return {
    store,
    remove: (id) => {
      forget(id);
      rmSync(historyPath(dir, id), { force: true });
    },
  };
}

const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,140}$/;

function historyPath(dir: string, id: string): string {
  if (!ID.test(id)) throw new RecordingError(1, `names a starting history that can be no file: ${JSON.stringify(id)}.`);
  return join(dir, FOLDER, `${id}.jsonl`);
}

/** The histories in a folder of runs, for readers of a file in it. */
export function historiesIn(dir: string): HistoryLines {
  return ({ $history: id, from, to }) => linesOf(historyPath(dir, id), id).slice(from, to);
}

function linesOf(path: string, id: string): readonly string[] {
  const text = ifThere(() => textIn(path));
  if (text === null) throw damagedHistory(id, 'the file is missing. It belongs to the recording: copy it as well');
  return text.split('\n').slice(0, -1);
}
