import { makeCall } from '../calls/call-forms.ts';
import type { Dialect } from './dialect.ts';

const ACTION = /^\**Action[ \t*]*:[ \t*]*`?([\p{L}_][\p{L}\p{N}_.-]{0,199})`?[ \t*]*(?:\r?\n|$)/u;
const INPUT = /^\s*\**Action[ \t]+Input[ \t*]*:/;
const LONGEST_HEAD = 300;

/** ReAct: `Action: name`, `Action Input: {…}`; what the model made up as observation is not read. */
export const react: Dialect = {
  name: 'react',
  markers: ['Action:', 'Action :', '**Action'],
  read: (source, at) => {
    if (at > 0 && !/(?:^|\n)[ \t]*$/.test(source.text.slice(Math.max(0, at - 20), at))) return undefined;
    const head = ACTION.exec(source.text.slice(at, Math.min(at + LONGEST_HEAD, source.end)));
    const name = head?.[1];
    if (head === null || name === undefined) return undefined;
    const after = at + head[0].length;
    const input = INPUT.exec(source.text.slice(after, Math.min(after + 60, source.end)));
    if (input === null)
      return { calls: [{ name, args: {}, complete: false }], complete: false, repairs: [], end: after };
    const start = after + input[0].length;
    const found = source.value(start, '\nObservation', '\nThought');
    const end = found?.end ?? source.next(start, '\nObservation', '\nThought', '\nAction');
    const raw = source.text
      .slice(start, end)
      .replace(/^\s*```(?:json)?|```\s*$/g, '')
      .trim();
    const complete = found?.complete ?? raw !== '';
    const call = makeCall(name, found?.value ?? raw, complete);
    return { calls: [call], complete: call.complete, repairs: found?.repairs ?? [], end };
  },
};
