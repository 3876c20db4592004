import { isList } from './depth.ts';
import { type Json, type JsonObject, sameAtFirst } from './json.ts';

type JsonList = readonly Json[];

/**
 * A 104-bit digest of a JSON value, the same for equal values whatever the order of their keys. Not cryptographic: it
 * distinguishes two requests, it proves nothing. Digests of frozen objects are kept if they are large, so hashing a growing
 * conversation costs only its new messages.
 */
export function digest(value: Json): string {
  if (typeof value !== 'object' || value === null) return addMember(new Hash(), value).text();
  return known.get(value) ?? hashOf(value).text();
}

const known = new WeakMap<object, string>();

/** What has fewer characters is hashed sooner than a weak map has taken it. */
const WORTH_KEEPING = 400;

function hashOf(value: JsonList | JsonObject): Hash {
  const hash = isList(value) ? hashOfList(value) : hashOfObject(value);
  if (hash.size >= WORTH_KEEPING && Object.isFrozen(value)) known.set(value, hash.text());
  return hash;
}

/** For the first object of a list: the latest list that began with it, and its hash. */
const latestLists = new WeakMap<object, { readonly list: JsonList; readonly hash: Hash }>();

/** A list is hashed item by item onto what came before, so a list that only grew costs no more than its new items. */
function hashOfList(list: JsonList): Hash {
  if (list.length === 0) return new Hash().add('[]');
  const [first = null] = list;
  const key = typeof first === 'object' ? first : null;
  const before = key === null ? undefined : latestLists.get(key);
  const grew = before !== undefined && sameAtFirst(list, before.list) === before.list.length;
  let hash = grew ? before.hash : null;
  for (const item of grew ? list.slice(before.list.length) : list)
    hash = addMember(hash === null ? new Hash().add('[') : new Hash().addHash(hash), item);
  hash ??= new Hash();
  if (key !== null && hash.size >= WORTH_KEEPING && Object.isFrozen(list)) latestLists.set(key, { list, hash });
  return hash;
}

function hashOfObject(object: JsonObject): Hash {
  const hash = new Hash().add('{');
  for (const key of Object.keys(object).sort()) {
    const member = object[key];
    if (member !== undefined) addMember(hash.addQuoted(key, ':'), member).add(',');
  }
  return hash;
}

/** Small values are used as they are, objects by their digest. */
function addMember(hash: Hash, value: Json): Hash {
  if (typeof value === 'string') return hash.addQuoted(value);
  if (typeof value === 'number') return hash.add(Number.isFinite(value) ? String(value) : 'null');
  if (typeof value !== 'object' || value === null) return hash.add(JSON.stringify(value) ?? 'null');
  const before = known.get(value);
  return before === undefined ? hash.add('#').addHash(hashOf(value)) : hash.add('#').add(before);
}

/** Two independent 52-bit multiplicative hashes over UTF-16 units, in one pass; the first is the checksum. */
class Hash {
  /** How many units, with those of what was hashed into it. */
  size = 0;
  #a = FIRST[0];
  #b = FIRST[1];
  #c = SECOND[0];
  #d = SECOND[1];

  add(text: string): this {
    let [a, b, c, d] = [this.#a, this.#b, this.#c, this.#d];
    for (let index = 0; index < text.length; index++) {
      const unit = text.charCodeAt(index);
      a = Math.imul(a ^ unit, 2654435761);
      b = Math.imul(b ^ unit, 1597334677);
      c = Math.imul(c ^ unit, 2654435761);
      d = Math.imul(d ^ unit, 1597334677);
    }
    this.#a = a;
    this.#b = b;
    this.#c = c;
    this.#d = d;
    this.size += text.length;
    return this;
  }

  /** A text as JSON has it. */
  addQuoted(text: string, end = ''): this {
    for (let index = 0; index < text.length; index++) {
      const unit = text.charCodeAt(index);
      // Quotes, backslashes, control characters, and halves of pairs, of which one that is alone is escaped.
      if (unit < 32 || unit === 34 || unit === 92 || (unit & 0xf800) === 0xd800)
        return this.add(JSON.stringify(text) + end);
    }
    return this.add(`"${text}"${end}`);
  }

  /** The text of another, which is not made for it. */
  addHash(hash: Hash): this {
    this.size += hash.size;
    return this.#addDigits(mixed(hash.#a, hash.#b)).#addDigits(mixed(hash.#c, hash.#d));
  }

  #addDigits([high, low]: readonly [number, number]): this {
    let [a, b, c, d] = [this.#a, this.#b, this.#c, this.#d];
    for (let shift = 48; shift >= 0; shift -= 4) {
      const digit = (shift < 32 ? low >>> shift : high >>> (shift - 32)) & 15;
      const unit = digit < 10 ? 48 + digit : 87 + digit;
      a = Math.imul(a ^ unit, 2654435761);
      b = Math.imul(b ^ unit, 1597334677);
      c = Math.imul(c ^ unit, 2654435761);
      d = Math.imul(d ^ unit, 1597334677);
    }
    this.#a = a;
    this.#b = b;
    this.#c = c;
    this.#d = d;
    return this;
  }

  text(): string {
    return hex52(this.#a, this.#b) + hex52(this.#c, this.#d);
  }
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

const FIRST = [0xdeadbeef ^ 0x9e3779b9, 0x41c6ce57 ^ 0x9e3779b9] as const;
const SECOND = [0xdeadbeef ^ 0x85ebca6b, 0x41c6ce57 ^ 0x85ebca6b] as const;

/** The 52 bits of a hash: the upper 20 in the lowest bits of the first number, and the lower 32. */
function mixed(first: number, second: number): readonly [number, number] {
  const a = Math.imul(first ^ (first >>> 16), 2246822507) ^ Math.imul(second ^ (second >>> 13), 3266489909);
  const b = Math.imul(second ^ (second >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return [b, a];
}

/** 52 bits as 13 digits, from a table: the radix conversion of a number this large takes ten times as long. */
function hex52(first: number, second: number): string {
  const [high, low] = mixed(first, second);
  const upper = ((high >>> 16) & 15).toString(16) + byteText(high >>> 8) + byteText(high);
  return upper + byteText(low >>> 24) + byteText(low >>> 16) + byteText(low >>> 8) + byteText(low);
}

const BYTE_TEXTS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** The two digits of the lowest eight bits. */
const byteText = (bits: number): string => BYTE_TEXTS[bits & 255] ?? '';
