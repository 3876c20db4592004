/**
 * Owns: which files of a folder cannot hold runs of a conversation, so that the others alone are read to find them. Does not
 * own: what stands in the files.
 *
 * I1 A file is left out only if its beginning was read and named another conversation, or none: the first line of a run
 *    never changes. A file that nothing is known of is read.
 * I2 What is known is also kept in the folder, for later processes: `conversations.index`, a line per run, each with a
 *    checksum. A line that is missing, torn or damaged means that nothing is known of its run.
 */
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { digest } from '../../json/digest.ts';
import { addTo, moveOver, systemCode } from '../../security/folders.ts';
import { type RunQuery, conversationIn } from '../format/tally.ts';
import { BY_CHANCE } from './file-summary.ts';
import type { RunFiles } from './run-files.ts';

/** What is known of a run: its file, and a short hash of its conversation, or `-`. */
interface Known {
  readonly file: string;
  readonly of: string;
}

/** In a folder with fewer runs, reading their beginnings takes no longer than this is worth. */
const FEW = 1000;
/** About 150 bytes each. */
const MOST = 200_000;

/** What is known of the conversations of the runs in a folder. */
export class FileConversations {
  readonly #files: Pick<RunFiles, 'dir' | 'pathOf'>;
  readonly #known = new Map<string, Known>();
  /** Lines of what was learned here and is not written yet. */
  readonly #fresh = new Map<string, string>();
  /** How far the index was read. */
  #read = { ino: 0, bytes: 0, lines: 0 };

  constructor(files: Pick<RunFiles, 'dir' | 'pathOf'>) {
    this.#files = files;
  }

  /** The file of a run was read, and its beginning has this metadata. */
  learn(runId: string, file: string, metadata: RunQuery['metadata']): void {
    const known = this.#known.get(runId);
    const of = hashOf(conversationIn(metadata ?? {}));
    if ((known?.file === file && known.of === of) || (known === undefined && this.#known.size >= MOST)) return;
    this.#known.set(runId, { file, of });
    this.#fresh.set(runId, lineOf(runId, { file, of }));
  }

  /** Leaves out what is known to be of another conversation than the one that a query asks for, if it does. */
  among(ids: readonly string[], { metadata }: RunQuery): readonly string[] {
    const conversation = conversationIn(metadata ?? {});
    if (conversation === null || ids.length < FEW) return ids;
    this.#load(ids);
    const of = hashOf(conversation);
    return ids.filter((runId) => {
      const known = this.#known.get(runId);
      if (known === undefined || known.of === of) return true;
      return !BY_CHANCE.test(runId) && fileOf(this.#files.pathOf(runId)) !== known.file;
    });
  }

  /** Writes down what was learned for such a query. Where that is not possible, later processes learn it themselves. */
  keep(ids: readonly string[], { metadata }: RunQuery): void {
    if (conversationIn(metadata ?? {}) === null || ids.length < FEW || this.#fresh.size === 0) return;
    const lines = [...this.#fresh.values()].join('');
    this.#fresh.clear();
    ifPossible(() => addTo(this.#path, lines));
  }

  get #path(): string {
    return join(this.#files.dir, 'conversations.index');
  }

  /** Reads what was added to the index, and forgets runs that are no longer there once they are the most. */
  #load(ids: readonly string[]): void {
    ifPossible(() => {
      const { ino, size } = statSync(this.#path);
      if (ino !== this.#read.ino || size < this.#read.bytes) this.#read = { ino, bytes: 0, lines: 0 };
      if (size === this.#read.bytes) return;
      const text = readFileSync(this.#path).subarray(this.#read.bytes).toString('latin1');
      const end = text.lastIndexOf('\n') + 1;
      const lines = text.slice(0, end).split('\n');
      for (const line of lines) this.#take(line);
      this.#read = { ino, bytes: this.#read.bytes + end, lines: this.#read.lines + lines.length };
    });
    const most = 2 * ids.length + FEW;
    if (this.#known.size <= most && this.#read.lines <= most) return;
    const there = new Set(ids);
    for (const runId of this.#known.keys()) if (!there.has(runId)) this.#known.delete(runId);
    // What another process adds meanwhile is lost, and read from the runs again.
    ifPossible(() => {
      const next = `${this.#path}.${process.pid}.new`;
      try {
        writeFileSync(next, [...this.#known].map(([runId, known]) => lineOf(runId, known)).join(''), { mode: 0o600 });
        moveOver(next, this.#path);
      } catch (error) {
        rmSync(next, { force: true });
        throw error;
      }
    });
  }

  #take(line: string): void {
    const [runId = '', of = '', ino = '', birth = ''] = line.split(' ');
    if (this.#known.size >= MOST && !this.#known.has(runId)) return;
    const known = { file: `${ino} ${birth}`, of };
    const fresh = this.#fresh.get(runId);
    if (fresh === `${line}\n`) this.#fresh.delete(runId);
    else if (fresh === undefined && lineOf(runId, known) === `${line}\n`) this.#known.set(runId, known);
  }
}

function lineOf(runId: string, { file, of }: Known): string {
  const text = `${runId} ${of} ${file}`;
  return `${text} ${crc32(text).toString(16).padStart(8, '0')}\n`;
}

function hashOf(conversation: string | null): string {
  return conversation === null ? '-' : digest(conversation).slice(0, 16);
}

/** What distinguishes a file from another that had its name. */
function fileOf(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? null : `${found.ino} ${found.birthtimeMs}`;
}

/** An index that cannot be read or written is as good as none. */
function ifPossible(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (systemCode(error) === '') throw error;
  }
}
