import { makeCall } from '../calls-of.ts';
import type { Repair, ToolCallRequest } from '../reply.ts';
import type { DialectReading } from './dialect.ts';
import type { DialectSource } from './dialect-source.ts';

/** How a dialect writes a call as a name followed by its arguments. */
export interface NamedMarks {
  readonly open: readonly string[];
  /** What stands between the name and the arguments. */
  readonly separators: readonly string[];
  readonly close: readonly string[];
  /** Turns what stands before the separator into a name and, where the format has one, an id. */
  readonly head: (text: string) => { readonly name: string; readonly id?: string };
}

const LONGEST_HEAD = 400;

/** Reads `<open>name<separator>{…}<close>`, repeated. A call whose arguments cannot be read stays, as invalid. */
export function readNamedBlocks(source: DialectSource, marks: NamedMarks): DialectReading | undefined {
  const calls: ToolCallRequest[] = [];
  const repairs: Repair[] = [];
  let complete = true;
  let at = source.next(0, ...marks.open);
  while (at < source.end) {
    const from = at + lengthOf(source, at, marks.open);
    const bound = source.next(from, ...marks.close, ...marks.open);
    const separator = source.next(from, ...marks.separators);
    let end = from;
    if (separator < bound && separator - from <= LONGEST_HEAD) {
      const start = separatorsEnd(source, separator, marks.separators);
      const { name, id } = marks.head(source.text.slice(from, separator).trim());
      const found = source.value(skipFence(source, start), bound);
      end = found?.end ?? bound;
      const raw = source.text.slice(start, bound).trim();
      const call =
        found === undefined ? makeCall(name, raw, bound < source.end) : makeCall(name, found.value, found.complete);
      if (name !== '') calls.push(id === undefined ? call : { id, ...call });
      repairs.push(...(found?.repairs ?? []));
      complete = complete && call.complete;
    }
    at = source.next(Math.max(end, at + 1), ...marks.open);
  }
  return calls.length === 0 ? undefined : { calls, complete, repairs };
}

/** Several separators may follow each other: a line break and a mark. */
function separatorsEnd(source: DialectSource, at: number, separators: readonly string[]): number {
  const end = at + lengthOf(source, at, separators);
  const next = source.skip(end);
  return separators.some((piece) => source.text.startsWith(piece, next))
    ? next + lengthOf(source, next, separators)
    : end;
}

function lengthOf(source: DialectSource, at: number, pieces: readonly string[]): number {
  let longest = 1;
  for (const piece of pieces) if (source.text.startsWith(piece, at)) longest = Math.max(longest, piece.length);
  return longest;
}

/** A fence around the arguments is left out: ```` ```json ````. */
function skipFence(source: DialectSource, from: number): number {
  const fence = /^\s*```(?:json)?/.exec(source.text.slice(from, from + 24));
  return from + (fence?.[0].length ?? 0);
}
