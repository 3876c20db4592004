import { digest } from '../../json/digest.ts';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import { largeParts } from './blobs.ts';
import type { BlobRecord, RunRecord } from './record.ts';

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
      return whole === MISSING ? MISSING : JSON.stringify(whole);
    }
    if (isJsonObject(value.$is)) return restoredMembers(value.$is, known);
  }
  return restoredMembers(value, known);
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
