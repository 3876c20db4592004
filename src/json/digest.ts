import { isList } from './depth.ts';
import { type Json, sameAtFirst } from './json.ts';

/**
 * A 104-bit digest of a JSON value, the same for equal values whatever the order of their keys. Not cryptographic: it
 * distinguishes two requests, it proves nothing. Digests of frozen objects are kept, so hashing a growing conversation
 * costs only its new messages.
 */
export function digest(value: Json): string {
  return typeof value === 'object' && value !== null ? digestOfObject(value) : hash(JSON.stringify(value) ?? 'null');
}

const known = new WeakMap<object, string>();

function digestOfObject(value: readonly Json[] | { readonly [key: string]: Json }): string {
  const before = known.get(value);
  if (before !== undefined) return before;
  const result = isList(value) ? digestOfList(value) : hash(objectText(value));
  if (Object.isFrozen(value)) known.set(value, result);
  return result;
}

/** For each object that stood in a list: the digest of the list before it, and with it. */
const inLists = new WeakMap<object, { readonly before: string; readonly after: string }>();

/** For the first object of a list: the latest list that began with it, and its digest. */
const latestLists = new WeakMap<object, { readonly list: readonly Json[]; readonly digest: string }>();

/** A list is hashed item by item onto what came before, so a list that only grew costs no more than its new items. */
function digestOfList(list: readonly Json[]): string {
  if (list.length === 0) return hash('[]');
  const [first = null] = list;
  const before = typeof first === 'object' && first !== null ? latestLists.get(first) : undefined;
  const grew = before !== undefined && sameAtFirst(list, before.list) === before.list.length;
  let running = grew ? before.digest : '[';
  for (const item of grew ? list.slice(before.list.length) : list) running = withItem(running, item);
  if (typeof first === 'object' && first !== null && Object.isFrozen(list))
    latestLists.set(first, { list, digest: running });
  return running;
}

function withItem(before: string, item: Json): string {
  if (typeof item !== 'object' || item === null) return hash(before + memberText(item));
  const step = inLists.get(item);
  if (step?.before === before) return step.after;
  const after = hash(before + memberText(item));
  if (Object.isFrozen(item)) inLists.set(item, { before, after });
  return after;
}

function objectText(object: { readonly [key: string]: Json }): string {
  let text = '{';
  for (const key of Object.keys(object).sort()) {
    const member = object[key];
    if (member !== undefined) text += JSON.stringify(key) + ':' + memberText(member) + ',';
  }
  return text;
}

/** Small values are used as they are, objects by their digest. */
function memberText(value: Json): string {
  return typeof value === 'object' && value !== null ? '#' + digestOfObject(value) : (JSON.stringify(value) ?? 'null');
}

/** Detects a damaged line: 52 bits, different whenever one character is. It is not a proof either. */
export function checksum(line: string): string {
  let [a, b] = FIRST;
  for (let index = 0; index < line.length; index++) {
    const unit = line.charCodeAt(index);
    a = Math.imul(a ^ unit, 2654435761);
    b = Math.imul(b ^ unit, 1597334677);
  }
  return hex52(a, b);
}

/** Two independent 52-bit multiplicative hashes over the UTF-16 units, in one pass; the first is the checksum. */
function hash(text: string): string {
  let [a, b] = FIRST;
  let [c, d] = SECOND;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    a = Math.imul(a ^ unit, 2654435761);
    b = Math.imul(b ^ unit, 1597334677);
    c = Math.imul(c ^ unit, 2654435761);
    d = Math.imul(d ^ unit, 1597334677);
  }
  return hex52(a, b) + hex52(c, d);
}

const FIRST = [0xdeadbeef ^ 0x9e3779b9, 0x41c6ce57 ^ 0x9e3779b9] as const;
const SECOND = [0xdeadbeef ^ 0x85ebca6b, 0x41c6ce57 ^ 0x85ebca6b] as const;

/** 52 bits as 13 digits, from a table: the radix conversion of a number this large takes ten times as long. */
function hex52(first: number, second: number): string {
  const a = Math.imul(first ^ (first >>> 16), 2246822507) ^ Math.imul(second ^ (second >>> 13), 3266489909);
  const b = Math.imul(second ^ (second >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  const high = ((b >>> 16) & 15).toString(16) + byteText(b >>> 8) + byteText(b);
  return high + byteText(a >>> 24) + byteText(a >>> 16) + byteText(a >>> 8) + byteText(a);
}

const BYTE_TEXTS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** The two digits of the lowest eight bits. */
const byteText = (bits: number): string => BYTE_TEXTS[bits & 255] ?? '';
