import { isDeepStrictEqual } from 'node:util';
import { isTooLong } from '../../src/json/depth.ts';
import type { Json, JsonObject } from '../../src/parsing/index.ts';
import { isJsonObject } from '../../src/parsing/index.ts';

/** A recovered value as the laws see it, of whatever implementation. */
export type Recovered =
  | { readonly ok: true; readonly value: Json; readonly complete: boolean; readonly repairs: readonly unknown[] }
  | { readonly ok: false };

/** What the laws are about: finding one value in a text. */
export type Recover = (text: string) => Recovered;

/** Every law returns what breaks it, or undefined. */
export type Breach = string | undefined;

/** Law: valid JSON comes back equal, with nothing repaired. */
export function validIsUntouched(recover: Recover, value: Json): Breach {
  if (typeof value !== 'object' || value === null) return undefined;
  const text = JSON.stringify(value);
  const wanted = { ok: true, value: JSON.parse(text), complete: true, repairs: [] };
  const found = recover(text);
  return isDeepStrictEqual(found, wanted) ? undefined : `${text} gave ${JSON.stringify(found)}`;
}

/** Law: every beginning of valid JSON gives a value that the whole agrees with, marked incomplete. */
export function cutsAreConsistent(recover: Recover, text: string): Breach {
  const whole: Json = JSON.parse(text);
  if (typeof whole !== 'object' || whole === null) return undefined;
  for (let cut = 1; cut < text.length; cut += 1) {
    const found = recover(text.slice(0, cut));
    const beginning = JSON.stringify(text.slice(0, cut));
    if (!found.ok) return `nothing found in ${beginning}`;
    if (found.complete) return `taken for complete: ${beginning}`;
    if (!agrees(found.value, whole)) return `${beginning} gave ${JSON.stringify(found.value)}`;
  }
  return undefined;
}

/** True when `part` is what one knows of `whole` after reading its beginning. Null stands for what was not there yet. */
export function agrees(part: Json, whole: Json): boolean {
  if (part === null) return true;
  if (typeof part === 'string' && typeof whole === 'string') return whole.startsWith(part);
  // A whole number that JavaScript would round is the text of its digits while it is cut off.
  if (typeof part === 'string') return isTooLong(part) && JSON.stringify(whole).startsWith(part);
  if (typeof part === 'number') return typeof whole === 'number' && isBeginning(part, whole);
  if (typeof part === 'boolean') return part === whole;
  if (isJsonObject(part)) {
    if (!isJsonObject(whole)) return false;
    return Object.keys(part).every((key) => Object.hasOwn(whole, key) && agrees(part[key] ?? null, whole[key] ?? null));
  }
  return Array.isArray(whole) && part.length <= whole.length && part.every((item, i) => agrees(item, whole[i]));
}

/** 1 is the beginning of 12 and of 1.5, and 2 of 2e9: the part is what some beginning of the whole spells. */
function isBeginning(part: number, whole: number): boolean {
  const written = JSON.stringify(whole);
  for (let length = written.length; length > 0; length -= 1) {
    if (Number.parseFloat(written.slice(0, length)) === part) return true;
  }
  return false;
}

/** Law: whatever comes out can be written as JSON, and no prototype is touched. */
export function staysSane(found: unknown): Breach {
  if (typeof JSON.stringify(found) !== 'string') return 'cannot be written as JSON';
  return Object.keys(Object.prototype).length === 0 ? undefined : 'Object.prototype was touched';
}

/** Law: what was recovered and written as JSON is recovered as itself, with nothing repaired. */
export function isIdempotent(recover: Recover, text: string): Breach {
  const first = recover(text);
  return first.ok ? validIsUntouched(recover, first.value) : undefined;
}

/** Law: damage of a known kind is undone exactly. */
export function isUndone(
  recover: Recover,
  damaged: string,
  wanted: { readonly value: JsonObject; readonly complete: boolean },
): Breach {
  const found = recover(damaged);
  if (!found.ok) return `nothing found in ${damaged}`;
  if (!isDeepStrictEqual(found.value, wanted.value)) {
    return `${damaged}\n gave ${JSON.stringify(found.value)}\n  not ${JSON.stringify(wanted.value)}`;
  }
  return found.complete === wanted.complete ? undefined : `${damaged}\n complete: ${found.complete}`;
}

/** Law: when no repair is listed, the value stands in the text as JSON. */
export function repairsExplain(recover: Recover, text: string): Breach {
  const found = recover(text);
  if (!found.ok || found.repairs.length > 0 || !found.complete) return undefined;
  return standsIn(text, found.value) ? undefined : `${text}\n gave ${JSON.stringify(found.value)} with no repair`;
}

function standsIn(text: string, value: Json): boolean {
  const wanted = JSON.stringify(value);
  for (let from = 0; from < text.length; from += 1) {
    if (text[from] !== '{' && text[from] !== '[') continue;
    for (let to = text.length; to > from; to -= 1) {
      if ((text[to - 1] === '}' || text[to - 1] === ']') && spells(text.slice(from, to), wanted)) return true;
    }
  }
  return false;
}

function spells(text: string, wanted: string): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === wanted;
  } catch {
    return false;
  }
}
