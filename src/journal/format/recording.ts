import { isWithinDepth } from '../../json/depth.ts';
import { type Json, type JsonObject, isJsonObject, parsedText } from '../../json/json.ts';
import { type BlobReader, blobReader, HOLDS_KEY, lineWriter } from './blobs.ts';
import { SumReader, beginsWithLine, sumOf } from './checksums.ts';
import { historyPartOf } from './histories.ts';
import { RecordingError } from './journal-error.ts';
import { type BlobRecord, FORMAT, type RecordLine, type RunRecord } from './record.ts';

/** A recording that was read: its head, and the records after it. */
export interface Recording {
  readonly head: RunRecord;
  /** Large payloads are back where they belong; requests stand as they were written, against earlier ones. */
  readonly lines: readonly RecordLine[];
  /** The line of the file on which each of `lines` stands; absent where they simply follow the head. */
  readonly numbers?: readonly number[];
  /** The large payloads that are already in the file, by hash: a continuing writer need not write them again. */
  readonly payloads?: ReadonlyMap<string, Json>;
  /** How many records there are, where each line has a checksum; absent where lines have none. */
  readonly sums?: number;
}

/** The line of its file on which one of a recording's `lines` stands, or the next would; the head is line 1. */
export function lineNumber({ numbers, lines }: Recording, index: number): number {
  if (numbers === undefined) return index + 2;
  return numbers[index] ?? (numbers.at(-1) ?? 1) + index - lines.length + 1;
}

/** A recording as JSON lines. */
export function recordingLines({ head, lines }: Recording): string {
  const write = lineWriter();
  return [head, ...lines].map((record) => write(record)).join('');
}

/**
 * Reads a recording: JSON lines as one text, as a list of lines, or as records that were parsed already. A torn last line
 * is dropped, but for `torn: false`; records of unknown kinds are skipped. Throws a {@link RecordingError} for anything else
 * that is wrong, a line that does not fit its checksum first of all. `payloads: false`: large ones stay references, for
 * lines without those before them.
 */
export function readRecording(
  recording: string | readonly (string | object)[],
  { torn = true, payloads = true }: { readonly torn?: boolean; readonly payloads?: boolean } = {},
): Recording {
  const items: unknown = typeof recording === 'string' ? recording.split('\n') : recording;
  if (!isList(items))
    throw new RecordingError(
      1,
      'is missing: a recording is its text or a list of its lines, as `agent.recording(runId)` gives it.',
    );
  const last = torn ? items.length - 1 : items.length;
  const blobs = blobReader();
  const sums = new SumReader();
  const lines: RecordLine[] = [];
  const numbers: number[] = [];
  let head: RunRecord | null = null;
  for (const [index, item] of items.entries()) {
    const record = readLine(item, index, last, sums);
    if (head === null) {
      if (record === null && isBlank(item)) continue;
      if (record === null && index === last) throw isPath(item) ? path(item) : unbegun();
      head = readHead(record);
      blobs.head(head);
      continue;
    }
    if (record === null) {
      if (isBlank(item) || index === last) continue;
      throw noRecord(index + 1);
    }
    if (typeof Reflect.get(record, 't') !== 'string') throw noRecord(index + 1);
    if (isBlob(record)) {
      if (!blobs.blob(record)) throw new RecordingError(index + 1, 'holds a payload that is not that of its hash.');
    } else if (isRecord(record)) {
      if (record.t === 'run')
        throw new RecordingError(index + 1, 'begins another run. A recording is of one: give each its own file.');
      const restored = payloads && holdsKey(item) ? whole(record, index + 1, blobs) : record;
      const wrong = isJsonObject(restored) ? unusableIn(restored) : null;
      if (wrong !== null)
        throw new RecordingError(index + 1, `is a record without a usable "${wrong}". The file is damaged there.`);
      lines.push(restored);
      numbers.push(index + 1);
    }
  }
  if (head === null) throw unbegun();
  const follows = numbers.every((number, index) => number === index + 2);
  return {
    head,
    lines,
    ...(follows ? {} : { numbers }),
    payloads: blobs.known,
    ...(sums.count === null ? {} : { sums: sums.count }),
  };
}

/** The lines of a run in a database, and the number of records according to its row. */
export interface StoredLines {
  readonly lines: readonly string[];
  readonly records: number;
}

/** The rows up to a gap in their numbers: what comes after it is useless, and its absence shows in the number of records. */
export function withoutGap<T extends { readonly n?: unknown }>(rows: readonly T[]): readonly T[] {
  const gap = rows.findIndex(({ n }, index) => Number(n) !== index + 1);
  return gap === -1 ? rows : rows.slice(0, gap);
}

/**
 * Reads a run of a database, which is never torn. `unsummed`: how many records one has whose lines have no checksums. Throws a
 * `RecordingError` for one that was damaged.
 */
export function readStored(stored: StoredLines, runId: string, unsummed = 0): Recording {
  const recording = readRecording(stored.lines, { torn: false });
  if (recording.head.runId !== runId)
    throw new RecordingError(1, `is that of ${recording.head.runId}, not of ${runId}.`);
  if ((recording.sums ?? unsummed) < stored.records) throw tooShort(stored);
  return recording;
}

/** The row of a run says that it has more records than there are. */
export function tooShort({ lines, records }: StoredLines): RecordingError {
  return new RecordingError(
    lines.length + 1,
    `is missing: it should have ${records} records. The database is damaged.`,
  );
}

const KINDS: ReadonlySet<unknown> = new Set(['run', 'start', 'outcome', 'timer', 'event', 'end', 'note', 'restart']);

/** What every list of runs shows as text. */
const TEXTS = ['runId', 'at', 'agent', 'input'] as const;

function readHead(record: object | null): RunRecord {
  if (record === null || !isRecord(record) || record.t !== 'run')
    throw new RecordingError(1, 'is not a run record, which every recording begins with ("t": "run").');
  refuseNewer(record);
  const wrong =
    TEXTS.find((name) => typeof record[name] !== 'string') ?? (isJsonObject(record.metadata) ? null : 'metadata');
  if (wrong !== null)
    throw new RecordingError(1, `is a run record without a usable "${wrong}". The file is damaged there.`);
  const part = historyPartOf(record);
  if (part !== null)
    throw new RecordingError(
      1,
      `refers to histories/${part.$history}.jsonl in the folder of its file. Read it from there: fileJournal(folder).read('${record.runId}').`,
    );
  return record;
}

/** No run takes 3,000 years, and a `Date` knows no more than some of them. */
const LATEST_MS = 1e14;

/** What of a record behind the head is not as every version has written it. */
function unusableIn({ t, at, id, name, ok, value, error, note, event, to = '' }: JsonObject): string | null {
  if (t !== 'run' && !(typeof at === 'number' && Math.abs(at) < LATEST_MS)) return 'at';
  if ((t === 'start' || t === 'outcome' || t === 'timer') && typeof id !== 'string') return 'id';
  if (t === 'start' && typeof name !== 'string') return 'name';
  if (t === 'outcome' && typeof ok !== 'boolean') return 'ok';
  if (t === 'outcome' && ok === true && value === undefined) return 'value';
  if (t === 'outcome' && ok === false && !isJsonObject(error)) return 'error';
  if (t === 'note' && !isJsonObject(note)) return 'note';
  if (t === 'event' && typeof Reflect.get(Object(event), 'type') !== 'string') return 'event';
  return t === 'event' && typeof to !== 'string' ? 'to' : null;
}

function refuseNewer(record: object): void {
  if (!isRecord(record) || record.t !== 'run' || !(record.format > FORMAT)) return;
  throw new RecordingError(
    1,
    `has format ${record.format}, and this version of Signalbox reads up to ${FORMAT}. Update signalbox.`,
    'recording-newer',
  );
}

function isList(items: unknown): items is readonly (string | object)[] {
  return Array.isArray(items);
}

function unbegun(): RecordingError {
  return new RecordingError(1, 'is empty or torn: the run ended before anything of it was written.');
}

/** What was meant to be read and given. */
function isPath(item: string | object): item is string {
  return typeof item === 'string' && /^[^\s{[].{0,999}$/.test(item) && /[/\\]|\.(?:jsonl?|rec)$/.test(item);
}

function path(item: string): RecordingError {
  return new RecordingError(1, `is a path (${item}) and no record. Read that file, and give its text.`);
}

function noRecord(line: number): RecordingError {
  return new RecordingError(line, 'is not a record: "t" is missing. The file is damaged there.');
}

/** A value of a run is nested 500 levels deep at most, and what stands around it is a few. */
const DEEPEST = 1000;

/** The JSON object of a line; null for one that is blank, torn or something else. */
function readLine(item: string | object, index: number, last: number, sums: SumReader): object | null {
  if (typeof item !== 'string') return item;
  if (isBlank(item)) return null;
  const sum = sumOf(item);
  const parsed = parsedText(sum?.text ?? item.trim());
  if (parsed === undefined && index === last && !beginsWithLine(item)) return null;
  if (parsed === undefined)
    throw new RecordingError(
      index + 1,
      `is not JSON${index === 0 ? ' in UTF-8' : ''}. The file is damaged there; only its last line may be torn.`,
    );
  const record = typeof parsed === 'object' ? parsed : null;
  if (item.length > 2 * DEEPEST && !isWithinDepth(parsed ?? null, DEEPEST))
    throw new RecordingError(index + 1, `is nested deeper than ${DEEPEST} levels. Signalbox writes no such record.`);
  const wrong = sums.wrong(sum, record !== null && isBlob(record));
  // A newer version may make its checksums in another way.
  if (wrong !== null && record !== null) refuseNewer(record);
  if (wrong !== null) throw new RecordingError(index + 1, wrong);
  return record;
}

function whole(record: RecordLine, line: number, blobs: BlobReader): RecordLine {
  const restored = blobs.restore(record);
  if (restored !== null && isRecord(restored)) return restored;
  throw new RecordingError(line, 'refers to a payload that is not on an earlier line. A blob line was lost.');
}

function isBlank(item: string | object): boolean {
  return typeof item === 'string' && item.trim() === '';
}

function holdsKey(item: string | object): boolean {
  return HOLDS_KEY.test(typeof item === 'string' ? item : JSON.stringify(item));
}

function isRecord(value: object): value is RecordLine {
  return KINDS.has(Reflect.get(value, 't'));
}

function isBlob(value: object): value is BlobRecord {
  return Reflect.get(value, 't') === 'blob' && typeof Reflect.get(value, 'hash') === 'string';
}
