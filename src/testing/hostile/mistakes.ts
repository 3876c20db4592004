import { fraction } from '../../recovery/backoff.ts';
import type { ModelReply, ModelRequest } from '../../actors/model.ts';
import { type Said, inCalls, inJson, type SaidCall, asksForTool } from './said.ts';
import { type Json, isJsonObject } from '../../json/json.ts';

/** Chance that follows from a seed alone. */
export interface Random {
  /** A whole number from 0 up to, and never, `below`. */
  below(count: number): number;
  chance(probability: number): boolean;
  /** One of a list that is not empty. */
  pick<T>(list: readonly [T, ...(readonly T[])]): T;
}

/** The same seed gives the same draws, on every machine. */
export function seeded(seed: number): Random {
  let drawn = 0;
  // Mixed twice: seeds are small numbers in a row, and their first draws must not be alike.
  const start = Math.floor(fraction(Math.imul(seed | 0, 0x85ebca6b)) * 2 ** 32) | 0;
  const next = (): number => fraction(start ^ Math.imul(++drawn, 0x9e3779b1));
  const below = (count: number): number => Math.floor(next() * count);
  return {
    below,
    chance: (probability) => next() < probability,
    pick: (list) => list[below(list.length)] ?? list[0],
  };
}

/** What a mistake is made of. */
interface Making {
  readonly said: Said;
  readonly request: ModelRequest;
  /** The reply before, as it was really given; null for the first. */
  readonly before: ModelReply | null;
  readonly random: Random;
}

/** One way in which a model goes wrong. */
export interface Mistake {
  /** True if the intended content is still in the reply, so that it need not be sent again. */
  readonly keepsMeaning: boolean;
  /** The spoilt reply, the error with which the request fails, or null if this mistake cannot be made. */
  readonly make: (making: Making) => Said | Error | null;
}

/** A mistake after which what was meant can still be read. */
export function garbling(make: Mistake['make']): Mistake {
  return { keepsMeaning: true, make };
}

/** A mistake after which the model has to say it again. */
export function losing(make: Mistake['make']): Mistake {
  return { keepsMeaning: false, make };
}

/** Ways in which small models break the syntax of JSON, each of which a reader can still undo. */
const BREAK_SYNTAX: readonly [(text: string) => string, ...((text: string) => string)[]] = [
  (text) => text.replaceAll("'", '’').replaceAll('"', "'"),
  (text) => text.replace(/([}\]])\s*$/, ',$1'),
  (text) => text.replace(/"([A-Za-z_]\w*)":/g, '$1:'),
  (text) => text.replace(/\}\s*$/, ''),
  (text) =>
    text
      .replace(/\btrue\b/g, 'True')
      .replace(/\bfalse\b/g, 'False')
      .replace(/\bnull\b/g, 'None'),
  (text) => text.replace(/^\{/, '{ // the arguments\n'),
  (text) => text.replaceAll('"', '“'),
  (text) => `${text}}`,
];

/** Mistakes in the JSON of calls and envelopes. */
export const JSON_MISTAKES = {
  'broken-json': garbling(({ said, random }) => inJson(said, random.pick(BREAK_SYNTAX))),

  'cut-off': losing(({ said, random }) => {
    const cut = (text: string): string => text.slice(0, Math.max(1, random.below(text.length)));
    const spoilt = inJson(said, cut) ?? (said.content === '' ? null : { ...said, content: cut(said.content) });
    return spoilt === null ? null : { ...spoilt, finishReason: 'length' };
  }),

  'duplicate-keys': garbling(({ said }) =>
    inJson(said, (text) => text.replace(/^\{\s*("(?:[^"\\]|\\.)*":)/, (_all, key: string) => `{${key} "?", ${key}`)),
  ),

  'wrong-types': losing(({ said, random }) =>
    inCalls(said, ({ name, args }) => ({
      name,
      args: withOneChanged(args, random, (value) => mistyped(value, random)),
    })),
  ),

  'missing-argument': losing(({ said, random }) =>
    inCalls(said, ({ name, args }) => ({ name, args: withoutOne(args, random) })),
  ),

  'extra-argument': garbling(({ said }) =>
    inCalls(said, ({ name, args }) => ({ name, args: isJsonObject(args) ? { ...args, reason: 'as asked' } : args })),
  ),

  'arguments-as-text': garbling(({ said }) =>
    inCalls(said, ({ name, args }) => ({ name, args: JSON.stringify(args) })),
  ),
} as const;

function withOneChanged(args: Json, random: Random, change: (value: Json) => Json): Json {
  if (!isJsonObject(args)) return args;
  const keys = Object.keys(args);
  const chosen = keys[random.below(keys.length)];
  return Object.fromEntries(Object.entries(args).map(([key, value]) => [key, key === chosen ? change(value) : value]));
}

function withoutOne(args: Json, random: Random): Json {
  if (!isJsonObject(args)) return args;
  const entries = Object.entries(args);
  const gone = random.below(entries.length);
  return Object.fromEntries(entries.filter((_, index) => index !== gone));
}

function mistyped(value: Json, random: Random): Json {
  return random.pick<Json>([JSON.stringify(value), [value], { value }, null, value === true ? 'yes' : true, -1]);
}

/** How open models write calls unasked. */
const DIALECTS: readonly [(call: SaidCall) => string, ...((call: SaidCall) => string)[]] = [
  ({ name, args }) => `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`,
  ({ name, args }) => `[TOOL_CALLS] [{"name": "${name}", "arguments": ${args}}]`,
  ({ name, args }) => `<|python_tag|>{"name": "${name}", "parameters": ${args}}`,
  ({ name, args }) => `<function=${name}>${args}</function>`,
];

const fence = '```';

/** The tool for giving an answer that has a schema, among the tools of a request. */
function answerCall({ said, request }: Making): SaidCall | undefined {
  const names = new Set((request.tools ?? []).flatMap(({ name }) => (name.startsWith('final_answer') ? [name] : [])));
  return said.calls.find(({ name }) => names.has(name));
}

/** Mistakes in answers that have a schema. */
export const OUTPUT_MISTAKES = {
  'output-prose': losing((making) => {
    const call = answerCall(making);
    return call === undefined ? null : { ...making.said, calls: [], content: 'I found it; it is as you expected.' };
  }),

  'output-wrong-type': losing((making) => {
    const { said, random } = making;
    const call = answerCall(making);
    if (call === undefined) return null;
    const args = random.pick(['{}', '[]', '"done"', '{"value": {"nested": true}}', '{"answer": 42}']);
    return { ...said, calls: said.calls.map((one) => (one === call ? { ...one, args } : one)) };
  }),

  'output-cut-off': losing((making) => {
    const { said, random } = making;
    const call = answerCall(making);
    if (call === undefined) return null;
    const args = call.args.slice(0, Math.max(1, random.below(call.args.length)));
    return { ...said, calls: said.calls.map((one) => (one === call ? { ...one, args } : one)), finishReason: 'length' };
  }),

  'output-beside-tools': garbling((making) => {
    const { said, request } = making;
    const call = answerCall(making);
    const tool = (request.tools ?? []).find(({ name }) => !name.startsWith('final_answer') && name !== 'make_plan');
    if (call === undefined || tool === undefined) return null;
    return { ...said, calls: [{ name: tool.name, args: '{}' }, ...said.calls] };
  }),
} as const;

/** Mistakes in the text around what is meant. */
export const TEXT_MISTAKES = {
  fences: garbling(({ said }) => inJson(said, (text) => `${fence}json\n${text}\n${fence}`)),

  'prose-around': garbling(({ said }) =>
    asksForTool(said) ? { ...said, content: `Sure! I will do that now.\n\n${said.content}\n\nLet me know!` } : null,
  ),

  thinking: garbling(({ said, random }) => {
    const end = random.chance(0.7) || said.calls.length === 0 ? '</think>' : '';
    return { ...said, content: `<think>The user wants {"tool": "something"}. Hm.${end}\n${said.content}` };
  }),

  dialect: garbling(({ said, random }) => {
    if (said.calls.length === 0) return null;
    const write = random.pick(DIALECTS);
    return { ...said, calls: [], content: [said.content, ...said.calls.map(write)].join('\n').trim() };
  }),

  'native-and-text': garbling(({ said, random }) => {
    const [first] = said.calls;
    if (first === undefined) return null;
    const text = random.chance(0.5)
      ? `{"tool": "${first.name}", "tool_args": ${first.args}}`
      : random.pick(DIALECTS)(first);
    return { ...said, content: text };
  }),

  'early-answer': garbling(({ said }) => {
    if (!asksForTool(said)) return null;
    if (said.calls.length > 0) return { ...said, content: '{"thought": "Easy.", "answer": "It is done."}' };
    return inJson(said, (text) => text.replace(/\}\s*$/, ', "answer": "It is done."}'));
  }),

  empty: losing(({ said, random }) => ({ ...said, calls: [], content: random.pick(['', ' \n']) })),

  'blank-json': losing(({ said, random }) => ({ ...said, calls: [], content: random.pick(['{}', 'null', '[]']) })),
} as const;
