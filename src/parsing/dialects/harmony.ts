import { makeCall } from '../calls-of.ts';
import type { ToolCallRequest } from '../reply.ts';
import type { Dialect, DialectReading } from './dialect.ts';
import type { DialectSource } from './dialect-source.ts';

const CHANNEL = '<|channel|>';
const MESSAGE = '<|message|>';
const ENDS = ['<|end|>', '<|call|>', '<|return|>', '<|start|>', CHANNEL];
const LONGEST_HEADER = 300;

/** gpt-oss: channels `analysis` (thought), `commentary to=functions.name` (a call) and `final` (the answer). */
export const harmony: Dialect = {
  name: 'harmony',
  markers: [MESSAGE],
  read: (source) => {
    const thoughts: string[] = [];
    const answers: string[] = [];
    const calls: ToolCallRequest[] = [];
    let complete = true;
    let at = source.next(0, MESSAGE);
    let before = 0;
    while (at < source.end) {
      const header = headerOf(source, Math.max(before, at - LONGEST_HEADER), at);
      const from = at + MESSAGE.length;
      const end = source.next(from, ...ENDS);
      const text = source.text.slice(from, end).trim();
      const called = /to=(?:functions\.)?([\p{L}\p{N}_.-]+)/u.exec(header)?.[1];
      if (called !== undefined) {
        const found = source.value(from, end);
        calls.push(
          found === undefined
            ? makeCall(called, text, end < source.end)
            : makeCall(called, found.value, found.complete),
        );
        complete = complete && (found?.complete ?? end < source.end);
      } else if (/final/.test(header)) answers.push(text);
      else thoughts.push(text);
      before = end;
      at = source.next(end, MESSAGE);
    }
    return reading(thoughts, answers, calls, complete);
  },
};

/** What stands between the last channel or start token and the message: the recipient may be on either side. */
function headerOf(source: DialectSource, from: number, to: number): string {
  const text = source.text.slice(from, to);
  return text.slice(
    Math.max(0, text.lastIndexOf('<|start|>'), text.lastIndexOf('<|start|>') < 0 ? text.lastIndexOf(CHANNEL) : 0),
  );
}

function reading(
  thoughts: readonly string[],
  answers: readonly string[],
  calls: readonly ToolCallRequest[],
  complete: boolean,
): DialectReading {
  const thought = thoughts.filter((text) => text !== '').join('\n');
  const answer = answers.filter((text) => text !== '').join('\n');
  return {
    calls,
    complete,
    repairs: [],
    ...(thought === '' ? {} : { thought }),
    ...(answer === '' ? {} : { answer }),
  };
}
