import { makeCall } from '../calls/call-forms.ts';
import type { Dialect, DialectSource } from './dialect.ts';

const NAME = /^(?:functions\.)?([\p{L}_][\p{L}\p{N}_.-]*)(?:<\|[a-z_]+\|>)?$/u;
const LONGEST_NAME = 200;

/** GLM 4 and others: a registered name alone on its line, its arguments as JSON on the next. Read from the brace on. */
export const namedObject: Dialect = {
  name: 'named-object',
  markers: ['{'],
  read: (source, at) => {
    const name = nameBefore(source, at);
    const found = name === undefined ? undefined : source.value(at);
    if (name === undefined || found === undefined) return undefined;
    const call = makeCall(name.text, found.value, found.complete);
    return { calls: [call], complete: call.complete, repairs: found.repairs, end: found.end, from: name.from };
  },
};

/** The registered name that stands alone on the line before the brace, or before it on the same line. */
function nameBefore(
  source: DialectSource,
  brace: number,
): { readonly text: string; readonly from: number } | undefined {
  const from = Math.max(0, brace - LONGEST_NAME);
  const text = source.text.slice(from, brace).trimEnd();
  source.steps += 1;
  const lineStart = text.lastIndexOf('\n') + 1;
  const line = text.slice(lineStart);
  const name = NAME.exec(line.trim())?.[1];
  if (name === undefined || !source.tools.isExact(name)) return undefined;
  return { text: name, from: from + lineStart + line.length - line.trimStart().length };
}
