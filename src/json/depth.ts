import type { Json } from './json.ts';

/** True when no list or object in `value` is nested deeper than `limit`. Looks no deeper than that itself. */
export function isWithinDepth(value: Json, limit: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (limit <= 0) return false;
  if (isList(value)) {
    for (const item of value) if (typeof item === 'object' && !isWithinDepth(item, limit - 1)) return false;
    return true;
  }
  for (const key in value) {
    const member = value[key];
    if (typeof member === 'object' && !isWithinDepth(member, limit - 1)) return false;
  }
  return true;
}

/** The same of a JSON text, before it is parsed: `JSON.parse` takes seconds for millions of levels. */
export function isTextWithinDepth(text: string, limit: number): boolean {
  let [depth, inString] = [0, false];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) inString = !inString;
    else if (inString) at += code === 0x5c ? 1 : 0;
    else if (code === 0x5b || code === 0x7b) depth += 1;
    else if (code === 0x5d || code === 0x7d) depth -= 1;
    if (depth > limit) return false;
  }
  return true;
}

/** `Array.isArray` for JSON values, which TypeScript does not narrow when lists are readonly. */
export function isList(value: unknown): value is readonly Json[] {
  return Array.isArray(value);
}

/**
 * Valid JSON, with its numbers as {@link writtenNumber}s or, if it `rounds`, as `JSON.parse` reads them; undefined for anything
 * else and for what is nested too deep.
 */
export function parseStrict(text: string, maxDepth: number, rounds = false): { readonly value: Json } | undefined {
  if (!BEGINS.test(text)) return undefined;
  try {
    const value: Json = JSON.parse(text);
    if (!isWithinDepth(value, maxDepth)) return undefined;
    return { value: !rounds && MAY_BE_REWRITTEN.test(text) && REWRITTEN.test(text) ? JSON.parse(text, exact) : value };
  } catch {
    return undefined;
  }
}

/** How any JSON begins: to be told so by an error takes longer. */
const BEGINS = /^\s*(?:[[{"\d-]|true|false|null)/;

/**
 * The number that stands in a text. A whole number that JavaScript cannot hold, such as an id of 19 digits, stays the text
 * of its digits, until a schema asks for a number: rounded it would be another one.
 */
export function writtenNumber(text: string): number | string {
  return isTooLong(text) ? text : Number(text);
}

const LONG = /\d{16}/;
/** A number that JavaScript may write in another way: `3.10`, `1e3`, `-0`. */
const REWRITTEN = /\d{16}|[:,[\s](?:-0|-?\d+(?:\.\d*0(?!\d)|\.0{6}|(?:\.\d+)?[eE][+-]?\d))/;
/** What each of them has: few texts do, and `REWRITTEN` alone takes as long as reading the JSON. */
const MAY_BE_REWRITTEN = /-0|\d(?:[.eE]|\d{15})/;
const WHOLE = /^\s*[+-]?\d+\s*$/;

/** Whether a text spells a whole number that JavaScript would round. */
export function isTooLong(text: Json): boolean {
  if (typeof text !== 'string' || !LONG.test(text) || !WHOLE.test(text)) return false;
  const number = Number(text);
  if (Number.isSafeInteger(number) || String(number) === text) return false;
  return !Number.isFinite(number) || BigInt(number) !== BigInt(text);
}

/** Which number of a JSON text JavaScript cannot hold as it is written: another one would be sent. Undefined: none. */
export function inexactness(json: string): string | undefined {
  // Texts are taken as a whole: the digits in them are not numbers.
  const tokens = json.match(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/gi) ?? [];
  const number = tokens.find((one) => !one.startsWith('"') && digitsOf(one) !== digitsOf(String(Number(one))));
  return number === undefined ? undefined : `${number} would become ${Number(number)}`;
}

/** The digits that matter: where they are the same, so is their place, as one number is the other rounded. */
function digitsOf(number: string): string {
  return number
    .replace(/e.*/i, '')
    .replaceAll(/\D/g, '')
    .replaceAll(/^0+|0+$/g, '');
}

/** A reviver; where the platform does not give the source, the value stays rounded. */
function exact(this: unknown, key: string, value: Json, context?: { readonly source?: string }): Json {
  if (typeof value !== 'number') return value;
  const written = context?.source ?? String(value);
  const number = writtenNumber(written);
  return typeof this === 'object' && this !== null ? noteSpelling(this, key, number, written) : number;
}

/** How numbers of lists and objects were written, by their keys, where JavaScript writes them in another way. */
const spellings = new WeakMap<object, Record<string, string>>();

/** Gives the value, and remembers how a number was written for a schema that takes it as text. */
export function noteSpelling(holder: object, key: string | number, value: Json, written: string): Json {
  if (typeof value !== 'number' || Number(written) !== value || String(value) === written) return value;
  // A record and not a map: with the indexes of a long list as keys it is several times faster.
  const known: Record<string, string> = spellings.get(holder) ?? Object.create(null);
  known[key] = written;
  spellings.set(holder, known);
  return value;
}

/** How the number at a key was written, where JavaScript writes it in another way. */
export function spellingOf(holder: Json, key: string): string | undefined {
  return typeof holder === 'object' && holder !== null ? spellings.get(holder)?.[key] : undefined;
}

/** Whether a value holds a number that JavaScript writes in another way than its text did. */
export function hasSpelling(value: Json): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return spellings.has(value) || (isList(value) ? value : Object.values(value)).some(hasSpelling);
}

/** True for what JSON can hold: no dates, functions, cycles or infinities, and nothing nested deeper than `depth`. */
export function isJson(value: unknown, depth: number): value is Json {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true;
    case 'number':
      return Number.isFinite(value);
    case 'object':
      break;
    default:
      return false;
  }
  if (value === null) return true;
  if (depth <= 0) return false;
  if (isList(value)) return value.every((item) => isJson(item, depth - 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) return false;
  return Object.values(value).every((member) => isJson(member, depth - 1));
}
