import { type Json, isJsonObject } from '../../json/json.ts';
import { garbling, losing } from './mistake.ts';
import type { Random } from './random.ts';
import { inCalls, inJson } from './said.ts';

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
