/** A text with one level of escaping removed, and where each of its characters stood before. */
export interface Unescaped {
  readonly text: string;
  /** The index in the original of the character at `index` here. */
  readonly origin: (index: number) => number;
}

const ESCAPES = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
]);

/** `{\"a\": …`: true where an object or list begins whose quotes are all escaped once too often. */
export function isEscapedOnce(text: string, from: number, to: number): boolean {
  let i = from + 1;
  while (i < to && (text.charCodeAt(i) === 32 || text.charCodeAt(i) === 123 || text.charCodeAt(i) === 91)) {
    i += 1;
    if (i - from > 40) return false;
  }
  while (text.startsWith('\\n', i) || text.charCodeAt(i) === 32) {
    i += text.charCodeAt(i) === 32 ? 1 : 2;
    if (i - from > 80) return false;
  }
  return i < to && text.charCodeAt(i) === 92 && text.charCodeAt(i + 1) === 34;
}

/** Removes one level of escaping from part of a text. */
export function unescapeOnce(text: string, from: number, to: number): Unescaped {
  const pieces: string[] = [];
  const starts: number[] = [];
  const origins: number[] = [];
  let length = 0;
  let i = from;
  while (i < to) {
    const slash = text.indexOf('\\', i);
    const stop = slash < 0 || slash + 1 >= to ? to : slash;
    if (stop > i) {
      pieces.push(text.slice(i, stop));
      starts.push(length);
      origins.push(i);
      length += stop - i;
    }
    if (stop === to) break;
    const known = ESCAPES.get(text.charAt(slash + 1));
    pieces.push(known ?? text.slice(slash, slash + 2));
    starts.push(length);
    origins.push(slash);
    length += known === undefined ? 2 : 1;
    i = slash + 2;
  }
  return { text: pieces.join(''), origin: (index) => originOf(index, starts, origins, to) };
}

function originOf(index: number, starts: readonly number[], origins: readonly number[], to: number): number {
  let low = 0;
  let high = starts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) <= index) low = middle + 1;
    else high = middle;
  }
  if (low === 0) return to;
  return Math.min(to, (origins[low - 1] ?? to) + index - (starts[low - 1] ?? 0));
}
