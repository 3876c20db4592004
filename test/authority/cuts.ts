import type { JsonObject } from '../../src/json/json.ts';
import { ENVELOPE, WRITERS } from './dialects.ts';

/** The beginning of a reply that calls a tool. */
export interface Cut {
  readonly title: string;
  readonly text: string;
  /** True: the beginning holds the whole call, so it may run. */
  readonly whole: boolean;
  readonly args: JsonObject;
  /** In the agent's own format, whose closers it closes itself when the server says that the model had ended. */
  readonly envelope: boolean;
}

const ARGUMENTS: readonly JsonObject[] = [
  { text: 'see "a", {b} and [c]', count: 12 },
  { flag: true, data: { list: [1, 'two', null] }, text: 'the end' },
  {},
];

interface Complete {
  readonly title: string;
  readonly text: string;
  readonly whole: number;
  readonly args: JsonObject;
  readonly envelope: boolean;
}

const REPLIES: readonly Complete[] = ARGUMENTS.flatMap((args, n) => {
  const plain = WRITERS.map((writer) => ({
    title: `${writer.name} ${n}`,
    args,
    envelope: writer === ENVELOPE,
    ...writer.write('note_all', args),
  }));
  const { text, whole } = ENVELOPE.write('note_all', args);
  const framed = [
    ['```json\n', '\n```'],
    ['Let me write that down.\n', ''],
    ['I write it down!\n```json\n', '\n```\nDone!'],
  ].map(([before = '', after = ''], at) => ({
    title: `framed envelope ${at}.${n}`,
    args,
    envelope: true,
    text: before + text + after,
    whole: before.length + whole,
  }));
  return [...plain, ...framed];
});

/** Every beginning of calls in every format, from its first character to the last but one. */
export const CUTS: readonly Cut[] = REPLIES.flatMap(({ title, text, whole, args, envelope }) =>
  Array.from({ length: text.length - 1 }, (_none, n) => ({
    title: `${title} cut at ${n + 1}`,
    text: text.slice(0, n + 1),
    whole: n + 1 >= whole,
    args,
    envelope,
  })),
);

/** An envelope without some of its closers. */
export interface Unclosed {
  readonly text: string;
  /** What runs when the model had ended; null: nothing, the last value may have been longer. */
  readonly args: JsonObject | null;
}

const closing = (text: string, args: JsonObject | null): readonly Unclosed[] => {
  const envelope = `{"thought": "I call it.", "tool": "note_all", "tool_args": ${text}`;
  return [envelope, `${envelope}\n`].map((whole) => ({ text: whole, args }));
};

/** Ends of envelopes from which only closers are missing, and ends that look like it. */
export const UNCLOSED: readonly Unclosed[] = [
  ...closing('{"text": "a"}', { text: 'a' }),
  ...closing('{"text": "a"', { text: 'a' }),
  ...closing('{"text": ""', { text: '' }),
  ...closing('{"text": "say \\"so\\""', { text: 'say "so"' }),
  ...closing('{"text": "{[("', { text: '{[(' }),
  ...closing('{"count": 12}', { count: 12 }),
  ...closing('{"flag": true', { flag: true }),
  ...closing('{"flag": false', { flag: false }),
  ...closing('{"data": null', { data: null }),
  ...closing('{"data": [1, 2]', { data: [1, 2] }),
  ...closing('{"data": ["a", "b"', { data: ['a', 'b'] }),
  ...closing('{"data": {"a": {"b": "c"', { data: { a: { b: 'c' } } }),
  ...closing('{"data": []', { data: [] }),
  ...closing('{}', {}),
  ...closing('{"count": 12', null),
  ...closing('{"count": 1.5', null),
  ...closing('{"data": [1, 2', null),
  ...closing('{"data": {"a": -3', null),
  ...closing('{"text": "a', null),
  ...closing('{"text": "a\\"', null),
  ...closing('{"text": "a}}', null),
  ...closing('{"text": "', null),
  ...closing('{"flag": tru', null),
  ...closing('{"data": nul', null),
  ...closing('{"text": "a", "flag"', null),
  ...closing('{"text": "a", "flag":', null),
  ...closing('{"text"', null),
];

const [invoke, parameter, argKey] = ['invoke', 'parameter', 'arg_key'];

/** Calls that look whole and are not: what stands in them cannot be read as the arguments that the model meant. */
export const UNREADABLE: readonly string[] = [
  'Action: wipe',
  'Thought: I clear it.\nAction: wipe\n',
  'Action: wipe\nAction Input',
  'Action: wipe\nAction Input: {"text": "a',
  'Thought: I clear it.\nAction: wipe\nObservation: done',
  `<${invoke} name="wipe"><text>old</text>`,
  `<${invoke} name="wipe">text: old</${invoke}>`,
  `<${invoke} name="wipe"><${parameter} name="text">old</${parameter}>`,
  `<${invoke} name="wipe"><${parameter}>old</${parameter}></${invoke}>`,
  '<function=wipe>text=old</function>',
  '<function=wipe>{"text": "old',
  `<tool_call>wipe\n<${argKey}>text</${argKey}>\n</tool_call>`,
  `<tool_call>wipe\n<${argKey}>text</${argKey}>\n<arg_value>old\n</tool_call>`,
  '<tool_call>{"name": "wipe", "arguments": {"text": "old</tool_call>',
  '<tool_call>{"name": "wipe", "arguments": </tool_call>',
  '[TOOL_CALLS]wipe{"text": "old',
  '<|python_tag|>{"name": "wipe", "parameters": {"text": "old"',
  '[wipe(text="old',
  '[wipe(text="old"',
  'wipe\n{"text": "old"',
];
