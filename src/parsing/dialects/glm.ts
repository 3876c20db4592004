import { type Building, setOwn } from '../../json/json.ts';
import type { Dialect, DialectReading, DialectSource } from './dialect.ts';
import { closesAgain, parameterValue, valueEnd } from './tag-values.ts';

interface Row {
  readonly name: string;
  /** How the family spells the word of a tag. */
  readonly spell: (word: string) => string;
}

const ROWS: readonly Row[] = [
  // GLM and Hunyuan: `<tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>`.
  { name: 'glm', spell: (word) => word },
  // Hunyuan 3: `<tool_call:opensource>name<tool_sep:opensource>…`, with the same tags behind it or with JSON.
  { name: 'hunyuan', spell: (word) => `${word}:opensource` },
  // K2 Horizon: `<ifm|tool_call>name<ifm|arg_key>key</ifm|arg_key>…`.
  { name: 'k2-horizon', spell: (word) => `ifm|${word}` },
  // LongCat: `<longcat_tool_call>name<longcat_arg_key>key</longcat_arg_key>…`.
  { name: 'longcat', spell: (word) => `longcat_${word}` },
];

interface Tags {
  readonly open: string;
  readonly close: readonly string[];
  readonly key: string;
  /** Empty where the value's own tag ends the key. */
  readonly keyEnd: string;
  readonly value: { readonly open: string; readonly close: string; readonly before: readonly string[] };
  readonly separator: string;
}

function tagsOf({ spell }: Row): Tags {
  const open = `<${spell('tool_call')}>`;
  const key = `<${spell('arg_key')}>`;
  const close = [`</${spell('tool_call')}>`, `<${spell('end_of_tool_call')}>`];
  const value = { open: `<${spell('arg_value')}>`, close: `</${spell('arg_value')}>`, before: [key, ...close, open] };
  return { open, close, key, keyEnd: `</${spell('arg_key')}>`, value, separator: `<${spell('tool_sep')}>` };
}

/** Solar Open 2: `<|tool_call:start|>name`, then `<|tool_arg:start|>key<|tool_arg:value|>value<|tool_arg:end|>`…. */
const SOLAR_OPEN_2: Tags = {
  open: '<|tool_call:start|>',
  close: ['<|tool_call:end|>'],
  key: '<|tool_arg:start|>',
  keyEnd: '',
  value: {
    open: '<|tool_arg:value|>',
    close: '<|tool_arg:end|>',
    before: ['<|tool_arg:start|>', '<|tool_call:end|>', '<|tool_call:start|>'],
  },
  separator: '<|tool_sep|>',
};

/** The formats that name the tool behind the opening tag and write each argument as two elements. */
export const GLM: readonly Dialect[] = [
  ...ROWS.map((row) => ({ name: row.name, tags: tagsOf(row) })),
  { name: 'solar', tags: SOLAR_OPEN_2 },
].map(({ name, tags }) => ({ name, markers: [tags.open], read: (source, at) => readBlock(source, at, tags) }));

const NAME = /^\s*([\p{L}_][\p{L}\p{N}_.:/-]{0,199})\s*(?=[<{])/u;
const LONGEST_HEAD = 240;

function readBlock(source: DialectSource, at: number, tags: Tags): DialectReading | undefined {
  const from = at + tags.open.length;
  const head = NAME.exec(source.text.slice(from, Math.min(from + LONGEST_HEAD, source.end)));
  const name = head?.[1];
  if (head === null || name === undefined) return undefined;
  const start = source.skipSpace(source.past(from + head[0].length, [tags.separator]));
  return readJson(source, name, start, tags) ?? readPairs(source, name, start, tags);
}

/** Arguments as one JSON object, which stands behind the separator or right behind the name. */
function readJson(source: DialectSource, name: string, from: number, tags: Tags): DialectReading | undefined {
  const found = source.value(from, ...tags.close, tags.open);
  if (found === undefined) return undefined;
  const { value: args, repairs } = found;
  const end = source.past(source.skipSpace(found.end), tags.close);
  // It may be what a call before it quotes: the end of that one is then still to come.
  const openEnded = closesTwice(source, end, tags);
  const complete = found.complete && !openEnded;
  return { calls: [{ name, args, complete }], complete, openEnded, repairs, end };
}

function closesTwice(source: DialectSource, end: number, { open, close: [close = ''], key, value }: Tags): boolean {
  return closesAgain(source, end, [value.close, close], [key, open]);
}

/** A key and a value for each argument; undefined where neither an argument nor the closing tag follows the name. */
function readPairs(source: DialectSource, name: string, from: number, tags: Tags): DialectReading | undefined {
  const args: Building = {};
  const reading = (complete: boolean, end: number): DialectReading => {
    return { calls: [{ name, args, complete }], complete, openEnded: !complete, repairs: [], end };
  };
  let complete = true;
  let at = from;
  while (source.text.startsWith(tags.key, at)) {
    const keyEnd = source.next(at, tags.keyEnd === '' ? tags.value.open : tags.keyEnd);
    const open = source.skipSpace(Math.min(keyEnd + tags.keyEnd.length, source.end));
    if (!source.text.startsWith(tags.value.open, open)) return reading(false, Math.max(open, at + 1));
    const start = open + tags.value.open.length;
    const value = valueEnd(source, start, tags.value);
    const key = source.text.slice(at + tags.key.length, keyEnd).trim();
    const raw = source.text.slice(start, value.end);
    setOwn(args, key, parameterValue(source, { tool: name, key, raw, layout: 'none' }));
    if (value.past === value.end) return reading(false, value.end);
    complete = complete && value.sure;
    at = source.skipSpace(value.past);
  }
  const end = source.past(at, tags.close);
  if (end === at) return at === from ? undefined : reading(false, at);
  return reading(complete && !closesTwice(source, end, tags), end);
}
