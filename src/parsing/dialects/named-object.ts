import { makeCall } from '../calls-of.ts';
import type { Repair, ToolCallRequest } from '../reply.ts';
import type { Dialect } from './dialect.ts';
import type { DialectSource } from './dialect-source.ts';

const NAME = /^(?:functions\.)?([\p{L}_][\p{L}\p{N}_.-]*)(?:<\|[a-z_]+\|>)?[ \t]*:?$/u;
const LONGEST_NAME = 200;

/** GLM 4 and others: a registered name alone on its line, its arguments as JSON on the next. */
export const namedObject: Dialect = {
  name: 'named-object',
  markers: ['{'],
  read: (source) => {
    const calls: ToolCallRequest[] = [];
    const repairs: Repair[] = [];
    let complete = true;
    let at = source.next(0, '{');
    while (at < source.end) {
      const name = nameBefore(source, at);
      const found = name === undefined ? undefined : source.value(at, source.end);
      if (name === undefined || found === undefined) {
        at = source.next(at + 1, '{');
        continue;
      }
      calls.push(makeCall(name, found.value, found.complete));
      repairs.push(...found.repairs);
      complete = complete && found.complete;
      at = source.next(Math.max(found.end, at + 1), '{');
    }
    return calls.length === 0 ? undefined : { calls, complete, repairs };
  },
};

/** The registered name that stands alone on the line before the brace, or before it on the same line. */
function nameBefore(source: DialectSource, brace: number): string | undefined {
  const text = source.text.slice(Math.max(0, brace - LONGEST_NAME), brace).trimEnd();
  source.steps += 1;
  const line = text.slice(text.lastIndexOf('\n') + 1).trim();
  const name = NAME.exec(line)?.[1];
  return name !== undefined && source.has(name) ? name : undefined;
}
