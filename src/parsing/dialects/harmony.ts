import { type ToolCallRequest, makeCall } from '../calls/call-forms.ts';
import type { Dialect, DialectReading } from './dialect.ts';

const CHANNEL = '<|channel|>';
const MESSAGE = '<|message|>';
const START = '<|start|>';
const ENDS = ['<|end|>', '<|call|>', '<|return|>', START, CHANNEL];
const LONGEST_HEADER = 300;
/** What is addressed to the assistant or the user is a message. */
const RECIPIENT = /to=(?:functions\.|(?!(?:assistant|user|all)(?![\p{L}\p{N}_.-])))([\p{L}\p{N}_.-]+)/u;
/** A header whose first tokens were in the prompt. */
const BARE = /^ ?to=/;
const MADE_UP = /^(?:user|system|developer|tool|functions\.)/;

/** gpt-oss: channels `analysis` (thought), `commentary to=functions.name` (a call) and `final` (the answer). */
export const harmony: Dialect = {
  name: 'harmony',
  markers: [START, CHANNEL, 'to=', MESSAGE],
  read: (source, at) => {
    const thoughts: string[] = [];
    const answers: string[] = [];
    const calls: ToolCallRequest[] = [];
    let complete = true;
    let from = at;
    let messages = 0;
    for (;;) {
      const message = source.next(from, MESSAGE);
      if (message >= source.end || message - from > LONGEST_HEADER) break;
      const header = source.text.slice(from, message);
      if (messages === 0 && BARE.test(header) && header.includes('\n')) break;
      if (MADE_UP.test(header.replace(START, '').trim())) break;
      messages += 1;
      const start = message + MESSAGE.length;
      const called = RECIPIENT.exec(header)?.[1];
      const found = called === undefined ? undefined : source.value(start, ...ENDS);
      const end = source.next(found?.end ?? start, ...ENDS);
      const text = source.text.slice(start, end).trim();
      if (called !== undefined) {
        const whole = found?.complete ?? end < source.end;
        calls.push(makeCall(called, found === undefined ? text : found.value, whole));
        complete = complete && whole;
      } else if (/final/.test(header)) answers.push(text);
      else thoughts.push(text);
      from = source.past(end, ['<|end|>', '<|call|>', '<|return|>']);
      if (!ENDS.some((piece) => source.text.startsWith(piece, source.skipSpace(from)))) break;
    }
    return messages === 0 ? undefined : reading({ thoughts, answers, calls, complete, end: from });
  },
};

interface Channels {
  readonly thoughts: readonly string[];
  readonly answers: readonly string[];
  readonly calls: readonly ToolCallRequest[];
  readonly complete: boolean;
  readonly end: number;
}

function reading({ thoughts, answers, calls, complete, end }: Channels): DialectReading {
  const thought = thoughts.filter((text) => text !== '').join('\n');
  const answer = answers.filter((text) => text !== '').join('\n');
  return {
    calls,
    complete,
    repairs: [],
    end,
    ...(thought === '' ? {} : { thought }),
    ...(answer === '' ? {} : { answer }),
  };
}
