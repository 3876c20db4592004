import type { DialectSource } from './dialect-source.ts';

/** The tags around a value that stands as plain text. */
export interface ValueTags {
  readonly open: string;
  readonly close: string;
  /** What may stand behind a value: the next one, or the end of the call. */
  readonly before: readonly string[];
}

/** How many closing tags inside one value are looked at before the first is taken for its end. */
const MOST_NESTED = 64;

/**
 * Where the value that begins at `from` ends, and where its closing tag does. The text may hold closing tags of its
 * own: one ends the value only where the call goes on or ends behind it, and where the tags inside are in balance, as
 * far as they can be. Without any such tag the value ends where the call does.
 */
export function valueEnd(
  source: DialectSource,
  from: number,
  tags: ValueTags,
): { readonly end: number; readonly past: number } {
  let first: number | undefined;
  let opened = 0;
  let counted = from;
  let close = source.next(from, tags.close);
  for (let closed = 0; close < source.end && closed < MOST_NESTED; closed += 1) {
    const past = close + tags.close.length;
    opened += countBetween(source, tags.open, counted, close);
    counted = close;
    if (callGoesOn(source, past, tags.before)) {
      if (opened <= closed) return { end: close, past };
      first ??= close;
    }
    close = source.next(past, tags.close);
  }
  if (first !== undefined) return { end: first, past: first + tags.close.length };
  const end = source.next(from, ...tags.before);
  return { end, past: end };
}

function countBetween(source: DialectSource, piece: string, from: number, to: number): number {
  let count = 0;
  for (let at = source.next(from, piece); at < to; at = source.next(at + piece.length, piece)) count += 1;
  return count;
}

function callGoesOn(source: DialectSource, from: number, before: readonly string[]): boolean {
  const at = source.skip(from);
  return at >= source.end || source.past(at, before) > at;
}

/**
 * True when a closing tag that nothing opened follows a call: the call's own one stood inside a value, so that the
 * value was cut there and nobody can say where it ends.
 */
export function closesAgain(
  source: DialectSource,
  from: number,
  closers: readonly string[],
  openers: readonly string[],
): boolean {
  const close = source.next(from, ...closers);
  return close < source.end && close < source.next(from, ...openers);
}
