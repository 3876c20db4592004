import { type ToolCallRequest, callsOf, makeCall } from '../calls/call-forms.ts';
import type { Repair } from '../repair/repairs.ts';
import type { Dialect } from './dialect.ts';

const MARK = '[TOOL_CALLS]';
/** `name`, `name[ARGS]` or `name[CALL_ID]id[ARGS]` in front of the arguments. */
const HEAD = /^\s*([\p{L}_][\p{L}\p{N}_.-]*)\s*(?:\[CALL_ID\]([^[\]\s{]*))?\s*(?:\[ARGS\])?\s*(?=\{)/u;
const LONGEST_HEAD = 300;

/** Mistral, old: `[TOOL_CALLS] [{…}]`, and new: `[TOOL_CALLS]name{…}`, also with `[ARGS]`. */
export const mistral: Dialect = {
  name: 'mistral',
  markers: [MARK],
  read: (source, at) => {
    const calls: ToolCallRequest[] = [];
    const repairs: Repair[] = [];
    let complete = true;
    let values = 0;
    let from = at + MARK.length;
    for (;;) {
      const head = HEAD.exec(source.text.slice(from, Math.min(from + LONGEST_HEAD, source.end)));
      const found = source.value(from + (head?.[0].length ?? 0), MARK);
      if (found === undefined) break;
      const [, name, id] = head ?? [];
      if (values > 0 && (name === undefined || !source.has(name))) break;
      values += 1;
      const read =
        name === undefined ? callsOf(found.value, found.complete) : [makeCall(name, found.value, found.complete)];
      calls.push(...read.map((call) => (id === undefined || id === '' ? call : { id, ...call })));
      repairs.push(...found.repairs);
      complete = complete && found.complete;
      from = found.end;
      if (name === undefined) break;
    }
    return values === 0 ? undefined : { calls, complete, repairs, end: source.past(source.skipSpace(from), ['</s>']) };
  },
};
