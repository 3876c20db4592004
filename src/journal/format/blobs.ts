/**
 * Owns: how records become lines, and that a large payload stands in a recording once.
 *
 * I1 A value of more than 8192 characters of JSON is written once, as a `blob` line before its first use; everywhere
 *    it occurs, `{ "$blob": hash }` replaces it. What is large in the head is there already and needs no blob.
 * I2 A text that is the JSON of a value, as tool messages are, is written as `{ "$json": value }` when it is large, and has at
 *    most 33 million characters.
 * I3 Reading returns exactly what was written: an object that has such a key itself is wrapped in `$is`.
 */
import { isList } from '../../json/depth.ts';
import type { Message } from '../../actors/model.ts';
import { digest } from '../../json/digest.ts';
import { isJsonObject, type Json, type JsonObject, parsedText } from '../../json/json.ts';
import { withSum } from './checksums.ts';
import type { BlobRecord, RecordLine, RunRecord } from './record.ts';

/** The size from which a payload is stored separately, in characters of its JSON. */
export const LARGE = 8192;

/** A reference to something else, as the only key of an object. */
const isReference = (key: string): boolean => key === '$blob' || key === '$json' || key === '$is';
/** A longer text is not written as the value that it is the JSON of, nor read so. */
const LONGEST = 2 ** 25;

/** Finds lines that may contain a reference. */
export const HOLDS_KEY = /"\$(?:blob|json|is)"/;

/** Writes records as lines, each ended by a newline: the blobs that are new, then the record. */
export type LineWriter = (record: RecordLine) => string;

/**
 * A writer for one recording; `known` are the payloads that stand in it already. With `sums`, the number of the records
 * before, each line gets a checksum, as it has where it is stored. `headAs` replaces the head.
 */
export function lineWriter(
  known: ReadonlyMap<string, Json> = new Map(),
  sums: number | null = null,
  headAs: (head: RunRecord) => object = (head) => head,
): LineWriter {
  const stored = new Map(known);
  let count = sums ?? 0;
  const ended = (text: string): string => `${sums === null ? text : withSum(text, count)}\n`;
  return (record) => {
    count += 1;
    if (record.t === 'run') {
      const written = headAs(record);
      const text = JSON.stringify(written);
      // What stands elsewhere is long, and each of its messages looked at once.
      const own = written === record ? record : { ...written, history: [] };
      if (text.length > LARGE) for (const value of largeParts(own)) stored.set(digest(value), value);
      if (written !== record)
        for (const message of record.history.filter(isLargeMessage))
          for (const value of largeParts(message)) stored.set(digest(value), value);
      return ended(text);
    }
    const text = JSON.stringify(record);
    if (text.length <= LARGE && !HOLDS_KEY.test(text)) return ended(text);
    const blobs: string[] = [];
    const short = JSON.stringify(shortened(record, stored, blobs));
    return [...blobs, short].map(ended).join('');
  };
}

function shortened(record: object, stored: Map<string, Json>, blobs: string[]): object {
  /** The value with its large parts replaced. `spine`: how a record is built shall stay to be seen. */
  const shorten = (value: Json, key: string, depth: number): Json => {
    if (typeof value === 'string') return isLargeText(value) ? shortText(value, depth) : value;
    if (typeof value !== 'object' || value === null || charactersLeft(value, LARGE) >= 0) return value;
    const short: Json = isList(value)
      ? value.map((item) => shorten(item, '', depth + 1))
      : literal(mapMembers(value, (member, name) => shorten(member, name, depth + 1)));
    return isSpine(key, depth) ? short : stand(value, short);
  };
  const shortText = (text: string, depth: number): Json => {
    const parsed = exactJson(text);
    return stand(text, parsed === null ? text : { $json: shorten(parsed, '', depth + 1) });
  };
  const stand = (value: Json, short: Json): Json => {
    const text = JSON.stringify(short);
    if (text.length <= LARGE) return short;
    const hash = digest(value);
    const before = stored.get(hash);
    if (before === undefined) {
      stored.set(hash, value);
      blobs.push(`{"t":"blob","hash":"${hash}","value":${text}}`);
    } else if (!isSame(before, value)) return short;
    return { $blob: hash };
  };
  return Object.fromEntries(
    Object.entries(record).map(([key, value]: readonly [string, Json]) => [key, shorten(value, key, 1)]),
  );
}

/** What is left of so many characters behind the JSON of a value, at least; negative: too few, or there is a key of ours in it. */
function charactersLeft(value: Json, characters: number): number {
  // A character takes up to six, a number up to 25, and a comma or colon stands behind each.
  if (typeof value === 'string') return characters - value.length * 6 - 3;
  if (typeof value !== 'object' || value === null) return characters - 26;
  let left = characters - 3;
  if (isList(value)) {
    for (let index = 0; index < value.length && left >= 0; index++) left = charactersLeft(value[index] ?? null, left);
    return left;
  }
  for (const key of Object.keys(value)) {
    if (isReference(key)) return -1;
    left = charactersLeft(value[key] ?? null, left - key.length * 6 - 3);
    if (left < 0) break;
  }
  return left;
}

/** The members of a record, and the lists of messages of a request. */
function isSpine(key: string, depth: number): boolean {
  return depth === 1 || (key === 'messages' && depth === 2) || (key === 'add' && depth === 3);
}

const small = new WeakSet<Message>();

function isLargeMessage(message: Message): boolean {
  if (small.has(message)) return false;
  const isLarge = JSON.stringify(message).length > LARGE;
  if (!isLarge && Object.isFrozen(message)) small.add(message);
  return isLarge;
}

/** The digest is not a proof, so the values are compared. */
function isSame(a: Json, b: Json): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

function isLargeText(text: string): boolean {
  return text.length * 6 + 2 > LARGE && (text.length > LARGE || JSON.stringify(text).length > LARGE);
}

/** The object or list that a text is the JSON of, to the letter; else null. */
function exactJson(text: string): Json {
  if (text.length > LONGEST || !/^[[{]/.test(text)) return null;
  const value = parsedText(text);
  return value !== undefined && JSON.stringify(value) === text ? value : null;
}

function literal(object: JsonObject): JsonObject {
  return Object.keys(object).some(isReference) ? { $is: object } : object;
}

function mapMembers(object: JsonObject, map: (member: Json, name: string) => Json): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([name, member]) => [name, map(member, name)]));
}

/** The parts of a value that are stored once, innermost first. */
export function* largeParts(value: unknown): Generator<Json> {
  if (typeof value === 'string') {
    if (isLargeText(value)) yield value;
  } else if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) yield* largeParts(member);
    if ((Array.isArray(value) || isJsonObject(value)) && JSON.stringify(value).length > LARGE) yield value;
  }
}

/** Puts the large payloads of one recording back where they belong. Feed it the records in order. */
export interface BlobReader {
  head(head: RunRecord): void;
  /** False when the payload is not that of its hash. */
  blob(record: BlobRecord): boolean;
  /** The record as it was before it was written; null when a payload is missing. */
  restore(record: object): object | null;
  /** The payloads so far, by hash. */
  readonly known: ReadonlyMap<string, Json>;
}

/** A reader for one recording. */
export function blobReader(): BlobReader {
  const known = new Map<string, Json>();
  return {
    known,
    head: (head) => {
      for (const value of largeParts(head)) known.set(digest(value), value);
    },
    blob: ({ hash, value }) => {
      const whole = restored(value, known);
      // What it refers to is missed where it is needed.
      if (whole === MISSING) return true;
      known.set(hash, whole);
      return digest(whole) === hash;
    },
    restore: (record) => {
      const entries = Object.entries(record).map(([key, value]: readonly [string, Json]) => {
        const whole = restored(value, known);
        return whole === MISSING ? null : ([key, whole] as const);
      });
      return entries.includes(null) ? null : Object.fromEntries(entries.filter((entry) => entry !== null));
    },
  };
}

const MISSING = Symbol('missing');

function restored(value: Json, known: ReadonlyMap<string, Json>): Json | typeof MISSING {
  if (typeof value !== 'object' || value === null) return value;
  if (!isJsonObject(value)) return restoredList(value, known);
  if (Object.keys(value).length === 1) {
    if (typeof value.$blob === 'string') return known.get(value.$blob) ?? MISSING;
    if (value.$json !== undefined) {
      const whole = restored(value.$json, known);
      return whole === MISSING ? MISSING : textOf(whole);
    }
    if (isJsonObject(value.$is)) return restoredMembers(value.$is, known);
  }
  return restoredMembers(value, known);
}

/** Texts in texts double with each level: somebody else's recording may hold one that would take all memory. */
function textOf(value: Json): string | typeof MISSING {
  try {
    const text = JSON.stringify(value);
    return text.length > LONGEST ? MISSING : text;
  } catch {
    return MISSING;
  }
}

function restoredList(list: readonly Json[], known: ReadonlyMap<string, Json>): Json | typeof MISSING {
  const items: Json[] = [];
  for (const item of list) {
    const whole = restored(item, known);
    if (whole === MISSING) return MISSING;
    items.push(whole);
  }
  return items;
}

function restoredMembers(object: JsonObject, known: ReadonlyMap<string, Json>): JsonObject | typeof MISSING {
  const members: [string, Json][] = [];
  for (const [key, member] of Object.entries(object)) {
    const whole = restored(member, known);
    if (whole === MISSING) return MISSING;
    members.push([key, whole]);
  }
  return Object.fromEntries(members);
}
