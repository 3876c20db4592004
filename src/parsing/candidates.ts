import { isList } from './depth.ts';
import { isJsonObject, type Json } from './json.ts';
import { parsePrefix } from './prefix.ts';
import type { Repair } from './reply.ts';
import { quotedKeyWithColon } from './tolerant/look-ahead.ts';
import { Cursor } from './tolerant/cursor.ts';
import { isSpace } from './tolerant/characters.ts';
import { parseTolerant } from './tolerant/parse-tolerant.ts';

/** One value found in a text: where it stands and how it was read. */
export interface Candidate {
  readonly value: Json;
  readonly from: number;
  readonly to: number;
  readonly fenced: boolean;
  /** True when it stood there as valid JSON (or as the beginning of it, cut off by the end of the text). */
  readonly strict: boolean;
  readonly complete: boolean;
  readonly repairs: readonly Repair[];
  readonly cost: number;
}

/** The part of a text to look at, and how deep values may nest. */
export interface Span {
  readonly from: number;
  readonly to: number;
  readonly maxDepth: number;
}

/** What a scan found, and how many characters it looked at. */
export interface Scan {
  readonly candidates: readonly Candidate[];
  readonly steps: number;
}

/** How many times the length of the text a scan may look at before it stops trying inside what it rejected. */
const EFFORT = 6;
const MOST_CANDIDATES = 1_000;

/** Finds every object and list in a text, left to right. Fences only mark what stands inside them. */
export function findCandidates(text: string, span: Span): Scan {
  const candidates: Candidate[] = [];
  const budget = (span.to - span.from) * EFFORT + 2_000;
  let steps = 0;
  let fenced = false;
  let i = span.from;
  while (i < span.to && candidates.length < MOST_CANDIDATES) {
    const code = text.charCodeAt(i);
    steps += 1;
    if (code === 96 && text.startsWith('```', i)) {
      fenced = !fenced;
      i += 3;
      continue;
    }
    if (code !== 123 && code !== 91) {
      i += 1;
      continue;
    }
    const read = readAt(text, i, { ...span, fenced });
    steps += read.steps;
    if (read.candidate !== undefined && isPlausible(text, read.candidate, read, span)) {
      candidates.push(withStrayClosers(text, read.candidate, span));
      i = Math.max(read.candidate.to, i + 1);
    } else if (steps > budget) {
      i = Math.max(read.end, i + 1);
    } else {
      i += 1;
    }
  }
  return { candidates, steps };
}

/** Lists the closers that stand behind a value although nothing is open any more. */
function withStrayClosers(text: string, found: Candidate, span: Span): Candidate {
  let i = found.to;
  while (i < span.to && isSpace(text.charCodeAt(i))) i += 1;
  const code = text.charCodeAt(i);
  if (i >= span.to || (code !== 125 && code !== 93)) return found;
  const repair: Repair = { kind: 'extra-closer', message: 'a closing bracket too many was left out', at: i, cost: 1 };
  return { ...found, repairs: [...found.repairs, repair], cost: found.cost + 1 };
}

interface Read {
  readonly candidate: Candidate | undefined;
  readonly pairs: number;
  readonly bareWords: number;
  readonly steps: number;
  readonly end: number;
}

/** Reads the value that begins at `from`: strictly when it is JSON, with mending otherwise. */
export function readAt(text: string, from: number, span: Span & { readonly fenced: boolean }): Read {
  const strict = parsePrefix(text, from, span);
  const steps = strict.end - from;
  if (strict.kind !== 'invalid' && !(strict.kind === 'whole' && goesOn(text, strict.end, span))) {
    const { value, end: to, kind } = strict;
    const complete = kind === 'whole';
    return {
      candidate: { value, from, to, fenced: span.fenced, strict: true, complete, repairs: [], cost: 0 },
      pairs: 1,
      bareWords: 0,
      steps,
      end: to,
    };
  }
  const read = parseTolerant(text, { from, to: span.to, maxDepth: span.maxDepth });
  const { value, end, complete, repairs, cost, pairs, bareWords, refused } = read;
  const candidate: Candidate = { value, from, to: end, fenced: span.fenced, strict: false, complete, repairs, cost };
  return { candidate: refused ? undefined : candidate, pairs, bareWords, steps: steps + read.steps, end };
}

/** `{…}, "key": …`: the value goes on after its closing brace, so it is not whole yet. */
function goesOn(text: string, end: number, span: Span): boolean {
  let i = end;
  while (i < span.to && isSpace(text.charCodeAt(i))) i += 1;
  if (text.charCodeAt(i) !== 44 || text.charCodeAt(end - 1) !== 125) return false;
  const c = new Cursor(text, { from: i, to: span.to, maxDepth: span.maxDepth });
  return quotedKeyWithColon(c, c.skipSpace(i + 1));
}

function isPlausible(text: string, found: Candidate, read: Read, span: Span): boolean {
  const { value } = found;
  if (isList(value)) {
    if (value.some((item) => isJsonObject(item) && Object.keys(item).length > 0)) return true;
    return (
      (startsMessage(text, found.from, span) || endsMessage(text, found.to, span)) &&
      (found.strict || read.bareWords < 2)
    );
  }
  return found.strict || read.pairs > 0;
}

function startsMessage(text: string, from: number, span: Span): boolean {
  let i = from - 1;
  while (i >= span.from && isSpace(text.charCodeAt(i))) i -= 1;
  return i < span.from;
}

function endsMessage(text: string, to: number, span: Span): boolean {
  let i = to;
  while (i < span.to && isSpace(text.charCodeAt(i))) i += 1;
  return i >= span.to;
}
