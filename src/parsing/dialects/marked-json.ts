import { callsOf } from '../calls-of.ts';
import type { Repair, ToolCallRequest } from '../reply.ts';
import type { DialectReading } from './dialect.ts';
import type { DialectSource } from './dialect-source.ts';

/** How a dialect marks the JSON of its calls. */
export interface Marks {
  readonly open: readonly string[];
  /** What ends a block beside its own value; a block may also end at the next opening or with the text. */
  readonly close: readonly string[];
  /** What may stand between two values of one block. */
  readonly between?: RegExp;
}

/** Reads `<mark> JSON <mark> JSON …`: each block holds `{name, arguments}` or a list of these. */
export function readMarkedJson(source: DialectSource, marks: Marks): DialectReading | undefined {
  const calls: ToolCallRequest[] = [];
  const repairs: Repair[] = [];
  let complete = true;
  let at = source.next(0, ...marks.open);
  while (at < source.end) {
    let from = at + openLength(source, at, marks);
    const bound = source.next(from, ...marks.close, ...marks.open);
    for (;;) {
      const found = source.value(from, bound);
      if (found === undefined) break;
      calls.push(...callsOf(found.value, found.complete));
      repairs.push(...found.repairs);
      complete = complete && found.complete;
      from = found.end;
      const separator = marks.between?.exec(source.text.slice(from, from + 20));
      if (separator === undefined || separator === null) break;
      from += separator[0].length;
    }
    at = source.next(Math.max(from, at + 1), ...marks.open);
  }
  return calls.length === 0 ? undefined : { calls, complete, repairs };
}

function openLength(source: DialectSource, at: number, marks: Marks): number {
  let longest = 1;
  for (const open of marks.open) if (source.text.startsWith(open, at)) longest = Math.max(longest, open.length);
  return longest;
}
