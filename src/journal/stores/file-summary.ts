import { statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { RecordingError } from '../format/journal-error.ts';
import { sumOf } from '../format/checksums.ts';
import { readFileContent } from './file-sink.ts';
import { type Recording, readRecording } from '../format/recording.ts';
import { withoutHistory } from '../format/histories.ts';
import { type ListPlace, type RunQuery, type Tallied, beginsAs, newestFirst, runTally } from '../format/tally.ts';

const NEWLINE = 0x0a;
const END = new TextEncoder().encode('{"t":"end"');
const BLOB = new TextEncoder().encode('{"t":"blob"');

/**
 * What a list shows of the run in a file. For a run that has ended only the first line and the last are read. Null
 * when nothing was recorded; throws a `RecordingError` for a file that is damaged.
 */
export function summarizeFile(content: Buffer): Tallied | null {
  const last = content.lastIndexOf(NEWLINE, content.length - 2) + 1;
  if (last > 0 && endsIn(content)) {
    const head = content.subarray(0, content.indexOf(NEWLINE)).toString('utf8');
    const end = content.subarray(last).toString('utf8');
    const sum = sumOf(end);
    // A long answer stands on a line between them, and no list shows it.
    const shown = (lines: readonly string[], torn = true): Tallied =>
      tallied(readRecording(lines, { torn, payloads: false }));
    // Without the number that stands with a checksum the lines must be counted.
    if (sum === null) return { ...shown([head, end], !end.endsWith('\n')), records: countRecords(content) };
    if (sum.holds) return { ...shown([withoutSum(withoutHistory(head)), sum.text]), records: sum.n };
  }
  const read = readFileContent(content, withoutHistory);
  if (read === null) return null;
  const found = tallied(read.recording);
  // What was torn off may have been work.
  return read.bytes < content.length ? { ...found, due: 0 } : found;
}

/**
 * What a list shows of the run in the file at `path`; for a run that has ended only the first line and the last are
 * read. Throws as {@link summarizeFile}.
 */
async function summarizeRunFile(path: string): Promise<Tallied | null> {
  await using file = await open(path);
  const { size } = await file.stat();
  if (size <= CHUNK) return summarizeFile(await file.readFile());
  const end = await lineOf(file, size, 'last');
  const isWhole = endsIn(end) && sumOf(end.toString('utf8'))?.holds === true;
  return summarizeFile(isWhole ? Buffer.concat([await lineOf(file, size, 'first'), end]) : await file.readFile());
}

interface KnownFile {
  readonly file: string;
  readonly content: string;
  readonly summary: Tallied;
  /** It had not been written to for a while: what changes it makes it another one. */
  readonly isOld: boolean;
}

/** Ids that were made by chance name no second run; for others, the file must be the same. */
export const BY_CHANCE = /^[0-9a-v]{10}-[0-9a-v]{10}$/;

/** More than the finest difference of times that a file system knows, in milliseconds. */
const RECENT_MS = 2000;

/**
 * What lists show of the runs in a folder. A file is read once, as long as it stays as it is; the file of a run that
 * has not ended counts as unchanged only if it was not written to shortly before it was read.
 */
export class FileSummaries {
  readonly #onRead: (path: string, file: string, summary: Tallied) => void;
  readonly #known = new Map<string, KnownFile>();
  readonly #reading = new Map<string, { readonly version: string; readonly summary: Promise<Tallied | null> }>();

  /** `onRead` receives what was read. */
  constructor(onRead: (path: string, file: string, summary: Tallied) => void) {
    this.#onRead = onRead;
  }

  /** Null also for a run that the query leaves out by its beginning. Throws as {@link summarizeFile}, and without a file. */
  async of(path: string, query: RunQuery): Promise<Tallied | null> {
    const { ino, birthtimeMs, size, mtimeMs } = statSync(path);
    const [file, content] = [`${ino} ${birthtimeMs}`, `${size} ${mtimeMs}`];
    const known = this.#known.get(path);
    const isSame = known?.file === file && (known.content === content || !known.summary.ended);
    if (isSame && !beginsAs(known.summary, query)) return null;
    if (isSame && known.content === content && (known.summary.ended || known.isOld)) return known.summary;
    const isOld = Date.now() - mtimeMs > RECENT_MS;
    const summary = await this.#read(path, `${file} ${content}`);
    if (summary !== null) this.#onRead(path, file, summary);
    if (summary !== null && (known !== undefined || this.#known.size < MOST_KEPT))
      this.#known.set(path, { file, content, summary, isOld });
    return summary;
  }

  /** Concurrent callers share one read. */
  #read(path: string, version: string): Promise<Tallied | null> {
    const going = this.#reading.get(path);
    if (going?.version === version) return going.summary;
    const summary = summarizeRunFile(path).finally(() => {
      if (this.#reading.get(path)?.summary === summary) this.#reading.delete(path);
    });
    this.#reading.set(path, { version, summary });
    return summary;
  }

  /**
   * Those of which nothing is known, and the others, newest first: what a run begins with never changes. A run that may
   * have taken the name of another counts as unknown.
   */
  parted(
    runIds: readonly string[],
    pathOf: (runId: string) => string,
  ): { readonly unknown: readonly string[]; readonly newestFirst: readonly string[] } {
    const atOf = (runId: string): string | undefined => this.#known.get(pathOf(runId))?.summary.at;
    const listed = runIds.map((runId) => ({ runId, at: BY_CHANCE.test(runId) ? atOf(runId) : undefined }));
    const known = listed.filter((one): one is ListPlace => one.at !== undefined).toSorted(newestFirst);
    const unknown = listed.flatMap(({ runId, at }) => (at === undefined ? [runId] : []));
    return { unknown, newestFirst: known.map(({ runId }) => runId) };
  }

  /** Forgets all but these. */
  keep(runIds: readonly string[], pathOf: (runId: string) => string): void {
    if (this.#known.size <= runIds.length) return;
    const there = new Set(runIds.map(pathOf));
    for (const path of this.#known.keys()) if (!there.has(path)) this.#known.delete(path);
  }
}

/** About 1 kB each. */
const MOST_KEPT = 10_000;

/** How much is read at first. */
const CHUNK = 16_384;

/** Of more, Node makes no text; a file may be long without holding anything. */
export const LONGEST_LINE = 2 ** 29 - 24;

async function lineOf(file: FileHandle, size: number, which: 'first' | 'last'): Promise<Buffer> {
  for (let length = Math.min(CHUNK, size); ; length = Math.min(length * 4, size)) {
    if (length > LONGEST_LINE)
      throw new RecordingError(1, 'is longer than a text can be, or the last line is. The file is damaged.');
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, which === 'first' ? 0 : size - length);
    const at = which === 'first' ? buffer.indexOf(NEWLINE) : buffer.lastIndexOf(NEWLINE, length - 2);
    if (at !== -1) return which === 'first' ? buffer.subarray(0, at + 1) : buffer.subarray(at + 1);
    if (length === size) return buffer;
  }
}

function withoutSum(head: string): string {
  const sum = sumOf(head);
  return sum?.holds === true ? sum.text : head;
}

function tallied({ head, lines }: Recording): Tallied {
  return runTally(head, lines).read();
}

function countRecords(content: Buffer): number {
  let count = 0;
  for (let at = 0; at < content.length;) {
    if (!startsWith(content, BLOB, at)) count += 1;
    const next = content.indexOf(NEWLINE, at);
    at = next === -1 ? content.length : next + 1;
  }
  return count;
}

function startsWith(content: Buffer, prefix: Uint8Array, at: number): boolean {
  return content.subarray(at, at + prefix.length).equals(prefix);
}

/** Whether this, the end of a file or all of it, ends in the record of a run's end. */
export function endsIn(content: Buffer): boolean {
  return startsWith(content, END, content.lastIndexOf(NEWLINE, content.length - 2) + 1);
}
