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

/** Where a value ends, and where its closing tag does. It is not sure where the text may have been cut inside it. */
interface ValueEnd {
  readonly end: number;
  readonly past: number;
  readonly sure: boolean;
}

/**
 * Where the value that begins at `from` ends. The text may hold closing tags of its own: one ends the value only where
 * the call goes on or ends behind it, and where the tags inside are in balance, as far as they can be. Without any such
 * tag the value ends where the call does.
 */
export function valueEnd(source: DialectSource, from: number, tags: ValueTags): ValueEnd {
  let first: number | undefined;
  let opened = 0;
  let counted = from;
  let close = source.next(from, tags.close);
  for (let closed = 0; close < source.end && closed < MOST_NESTED; closed += 1) {
    const past = close + tags.close.length;
    opened += countBetween(source, tags.open, counted, close);
    counted = close;
    if (callGoesOn(source, past, tags.before)) {
      if (opened <= closed) return { end: close, past, sure: true };
      first ??= close;
    }
    close = source.next(past, tags.close);
  }
  if (first !== undefined) return { end: first, past: first + tags.close.length, sure: false };
  const end = source.next(from, ...tags.before);
  return { end, past: end, sure: false };
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

const SECTION = '<![CDATA[';
const SECTION_END = ']]>';

/**
 * The text of a value that stands in `<![CDATA[…]]>` sections; undefined for any other. Only the closing tag behind it
 * makes `]]>` the end of the value.
 */
export function sectionEnd(
  source: DialectSource,
  from: number,
  close: string,
): { readonly raw: string; readonly past: number; readonly sure: boolean } | undefined {
  let at = source.skip(from);
  if (!source.text.startsWith(SECTION, at)) return undefined;
  at += SECTION.length;
  let raw = '';
  for (;;) {
    const end = source.next(at, SECTION_END);
    raw += source.text.slice(at, end);
    if (end >= source.end) return { raw, past: end, sure: false };
    const past = end + SECTION_END.length;
    const next = source.skip(past);
    if (source.text.startsWith(close, next)) return { raw, past: next + close.length, sure: true };
    const goesOn = source.text.startsWith(SECTION, past);
    if (!goesOn) raw += SECTION_END;
    at = goesOn ? past + SECTION.length : past;
  }
}

/**
 * True when a closing tag that nothing opened follows a call, anywhere in the message: the call's own one stood inside a
 * value, so that the value was cut there and nobody can say where it ends.
 */
export function closesAgain(
  source: DialectSource,
  from: number,
  closers: readonly string[],
  openers: readonly string[],
): boolean {
  return source.balance(openers, closers).closesTooMuch(from);
}
