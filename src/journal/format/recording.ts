import { type Effect, type Entry, effectKey } from '../../actors/journal.ts';
import { digest } from '../../json/digest.ts';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import type { Effects } from '../../tools/spec.ts';
import { type BlobReader, blobReader, HOLDS_KEY, lineWriter } from './blobs.ts';
import { type SumReader, beginsWithLine, sumOf, sumReader } from './checksums.ts';
import { deltaWriter, wholeRequest } from './deltas.ts';
import { historyPartOf } from './histories.ts';
import { RecordingError } from './journal-error.ts';
import {
  type BlobRecord,
  FORMAT,
  type RecordLine,
  type RunRecord,
  type StartRecord,
  entryRecord,
  startRecord,
} from './record.ts';

/**
 * Keeps what crosses the boundary: requests against the one before, so that a long run holds each message once, and all
 * else by reference. Nothing is written out unless somebody asks for the lines.
 */
export interface Recorder {
  start(effect: Effect): void;
  entry(entry: Entry): void;
  end(output: Json): void;
  /** The recording so far, as JSON lines. */
  text(): string;
  /** Milliseconds from the beginning to the latest record: a clock that a replay can read too. */
  readonly elapsed: number;
  /** Reads the records one after the other, null when there are no more yet. */
  reader(): () => RecordLine | null;
  /** What the machine was told so far, in order, and when. */
  entries(): readonly { readonly at: number; readonly entry: Entry }[];
  /** Called after each record, for the one who watches the run. One that throws is ignored. */
  watch(listener: (() => void) | null): void;
}

type Kept = KeptStart | { readonly at: number; readonly entry: Entry } | (RecordLine & { readonly t: 'end' | 'start' });

/** A leaf's start, without the request that it began with: that would be the whole conversation in each turn. */
class KeptStart implements Pick<StartRecord, 'at' | 'id' | 'name' | 'effects' | 'request'> {
  readonly at: number;
  readonly id: string;
  readonly name: string;
  readonly effects: Effects;
  /** Against the one before of this name. */
  readonly request: Json;
  /** Made of the whole request when the first reader comes by. */
  #digest: string | undefined = undefined;

  constructor(at: number, { id, name, effects }: Effect, request: Json) {
    this.at = at;
    this.id = id;
    this.name = name;
    this.effects = effects;
    this.request = request;
  }

  record(asked: Json): StartRecord {
    const { id, name, effects } = this;
    const sum = (this.#digest ??= digest(asked));
    return startRecord({ id, name, effects, digest: sum, key: effectKey(id, sum) }, this.at, this.request);
  }
}

/** Records one run from its head on; `at` tells the milliseconds since it began. */
export function recorder(head: RunRecord, at: () => number = stopwatch()): Recorder {
  const shorten = deltaWriter(head);
  const kept: Kept[] = [];
  let watching: (() => void) | null = null;
  const keep = (item: Kept): void => {
    kept.push(item);
    if (watching !== null) tell(watching);
  };
  return {
    start: (effect) =>
      keep(effect.ms === undefined ? new KeptStart(at(), effect, shorten(effect)) : startRecord(effect, at(), null)),
    entry: (entry) => keep({ at: at(), entry }),
    end: (output) => keep({ t: 'end', at: at(), output }),
    get elapsed() {
      return kept.at(-1)?.at ?? 0;
    },
    reader: () => {
      const lineOf = lineReader(head);
      let begun = false;
      let next = 0;
      return () => {
        if (!begun) {
          begun = true;
          return head;
        }
        const item = kept[next];
        if (item === undefined) return null;
        next += 1;
        return lineOf(item);
      };
    },
    entries: () => kept.flatMap((item) => ('entry' in item ? [item] : [])),
    watch: (listener) => {
      watching = listener;
    },
    text: () => {
      const [lineOf, write] = [lineReader(head), lineWriter()];
      return write(head) + kept.map((item) => write(lineOf(item))).join('');
    },
  };
}

/** Makes records of what was kept, in order. */
function lineReader({ history }: RunRecord): (item: Kept) => RecordLine {
  /** The latest request of each name, whole: only against that one is the next written. */
  const latest = new Map<string, JsonObject>();
  return (item) => {
    if ('entry' in item) return entryRecord(item.entry, item.at);
    if (!(item instanceof KeptStart)) return item;
    const { name } = item;
    const request = shallowlyFrozen(wholeRequest(item.request, history, () => latest.get(name)));
    if (isJsonObject(request)) latest.set(name, request);
    return item.record(request);
  };
}

/** So that the digest of a list that grew from another begins where that one's ended. */
function shallowlyFrozen(request: Json): Json {
  if (isJsonObject(request)) for (const member of Object.values(request)) Object.freeze(member);
  return Object.freeze(request);
}

/** Counts the milliseconds from now on. */
export function stopwatch(): () => number {
  const began = performance.now();
  return () => Math.round(performance.now() - began);
}

function tell(listener: () => void): void {
  try {
    listener();
  } catch {
    // Whoever watches must not stop what it watches.
  }
}

/** A recording that was read: its head, and the records after it. */
export interface Recording {
  readonly head: RunRecord;
  /** Large payloads are back where they belong; requests stand as they were written, against earlier ones. */
  readonly lines: readonly RecordLine[];
  /** The line of the file on which each of `lines` stands; absent where they simply follow the head. */
  readonly numbers?: readonly number[];
  /** The large payloads that stand in the file already, by hash: who writes on needs not write them again. */
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
 * that is wrong, a line that does not fit its checksum first of all.
 */
export function readRecording(
  recording: string | readonly (string | object)[],
  { torn = true }: { readonly torn?: boolean } = {},
): Recording {
  const items = typeof recording === 'string' ? recording.split('\n') : recording;
  const last = torn ? items.length - 1 : items.length;
  const blobs = blobReader();
  const sums = sumReader();
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
      lines.push(holdsKey(item) ? whole(record, index + 1, blobs) : record);
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

const KINDS: ReadonlySet<unknown> = new Set(['run', 'start', 'outcome', 'timer', 'event', 'end', 'note', 'restart']);

function readHead(record: object | null): RunRecord {
  if (record === null || !isRecord(record) || record.t !== 'run') throw notBegun();
  if (record.format > FORMAT)
    throw new RecordingError(
      1,
      `has format ${record.format}, and this version of Signalbox reads up to ${FORMAT}. Update signalbox.`,
    );
  const part = historyPartOf(record);
  if (part !== null)
    throw new RecordingError(
      1,
      `refers to histories/${part.$history}.jsonl in the folder of its file. Read it from there: fileJournal(folder).read('${record.runId}').`,
    );
  return record;
}

function notBegun(): RecordingError {
  return new RecordingError(1, 'is not a run record, which every recording begins with ("t": "run").');
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

/** The JSON object of a line; null for one that is blank, torn or something else. */
function readLine(item: string | object, index: number, last: number, sums: SumReader): object | null {
  if (typeof item !== 'string') return item;
  if (isBlank(item)) return null;
  const sum = sumOf(item);
  const parsed = parsedJson(sum?.text ?? item);
  if (parsed === undefined && index === last && !beginsWithLine(item)) return null;
  if (parsed === undefined)
    throw new RecordingError(index + 1, 'is not JSON. The file is damaged there; only its last line may be torn.');
  const record = typeof parsed === 'object' ? parsed : null;
  const wrong = sums.wrong(sum, record !== null && isBlob(record));
  if (wrong !== null) throw new RecordingError(index + 1, wrong);
  return record;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
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
