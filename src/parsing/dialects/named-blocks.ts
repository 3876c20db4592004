import { makeCall } from '../calls/call-forms.ts';
import type { Dialect, DialectReading, DialectSource } from './dialect.ts';

/** A format that writes a call as a name followed by its arguments. */
interface Row {
  readonly name: string;
  readonly open: readonly string[];
  /** What stands between the name and the arguments. */
  readonly separators: readonly string[];
  readonly close: readonly string[];
  /** Turns what stands before the separator into a name and, where the format has one, an id. */
  readonly head: (text: string) => { readonly name: string; readonly id?: string };
}

/** The tokens of DeepSeek, whose bars and blocks also come as ASCII. */
const deepseekTokens = (name: string): readonly string[] =>
  ['▁', '_', ' ', '\\_'].flatMap((space) => {
    const word = name.replaceAll(' ', space);
    return [`<｜${word}｜>`, `<|${word}|>`];
  });
const ROWS: readonly Row[] = [
  // Kimi K2: `<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`.
  {
    name: 'kimi',
    open: ['<|tool_call_begin|>'],
    separators: ['<|tool_call_argument_begin|>'],
    close: ['<|tool_call_end|>'],
    head: (id) => ({ id, name: id.replace(/^functions\./, '').replace(/:\d+$/, '') }),
  },
  // Solar Open: `<|tool_call:begin|>id<|tool_call:name|>name<|tool_call:args|>{…}<|tool_call:end|>`.
  {
    name: 'solar',
    open: ['<|tool_call:begin|>'],
    separators: ['<|tool_call:args|>'],
    close: ['<|tool_call:end|>'],
    head: (text) => {
      const [id = '', name = ''] = text.split('<|tool_call:name|>', 2);
      return { name: name.trim(), ...(id === '' ? {} : { id }) };
    },
  },
  // DeepSeek V3: `<｜tool▁call▁begin｜>function<｜tool▁sep｜>name` and fenced JSON. Distilled models leave out its first mark.
  {
    name: 'deepseek',
    open: ['tool call begin', 'tool calls begin'].flatMap((begin) =>
      deepseekTokens(begin).map((token, style) => `${token}function${deepseekTokens('tool sep')[style] ?? ''}`),
    ),
    separators: ['\n'],
    close: deepseekTokens('tool call end'),
    head: (name) => ({ name }),
  },
  // DeepSeek V3.1: `<｜tool▁call▁begin｜>name<｜tool▁sep｜>{…}<｜tool▁call▁end｜>`.
  {
    name: 'deepseek',
    open: deepseekTokens('tool call begin'),
    separators: deepseekTokens('tool sep'),
    close: deepseekTokens('tool call end'),
    head: (name) => ({ name }),
  },
  // Functionary: `<|recipient|>name<|content|>{…}`, and `>>>name` with the arguments on the next line.
  {
    name: 'functionary',
    open: ['<|recipient|>', '>>>'],
    separators: ['<|content|>', '\n'],
    close: ['<|stop|>', '<|from|>'],
    head: (name) => ({ name }),
  },
  // Qwen-Agent: `✿FUNCTION✿: name`, and `✿ARGS✿: {…}` on the next line. What it writes behind that are results.
  { name: 'qwen-agent', open: ['✿FUNCTION✿:'], separators: ['✿ARGS✿:'], close: [], head: (name) => ({ name }) },
];

/** The formats that name the tool between two marks. A call whose arguments cannot be read is kept, as invalid. */
export const NAMED_BLOCKS: readonly Dialect[] = ROWS.map((row) => ({
  name: row.name,
  markers: row.open,
  read: (source, at) => readBlock(source, at, row),
}));

const LONGEST_HEAD = 400;
const NAME = /^[\p{L}_][\p{L}\p{N}_.:/-]*$/u;

function readBlock(source: DialectSource, at: number, row: Row): DialectReading | undefined {
  const from = source.past(at, row.open);
  const separator = source.next(from, ...row.separators);
  if (separator - from > LONGEST_HEAD || separator >= source.next(from, ...row.close, ...row.open)) return undefined;
  const { name, id } = row.head(source.text.slice(from, separator).trim());
  const start = pastFence(source, pastSeparators(source, separator, row.separators));
  if (!NAME.test(name)) return nameless(source, start, row);
  const found = source.value(start, ...row.close, ...row.open);
  const bound = source.next(found?.end ?? start, ...row.close, ...row.open);
  if (found === undefined && bound >= source.end && source.skipSpace(start) < source.end) return undefined;
  const call =
    found === undefined
      ? makeCall(
          name,
          source.text
            .slice(start, bound)
            .trim()
            .replace(/\s*```$/, ''),
          bound < source.end,
        )
      : makeCall(name, found.value, found.complete);
  const end = found === undefined ? bound : pastFence(source, found.end);
  const closer = source.skipSpace(end);
  const past = source.past(closer, row.close);
  return {
    calls: [id === undefined ? call : { id, ...call }],
    complete: call.complete,
    repairs: found?.repairs ?? [],
    // What follows without a closer begins on its own line.
    end: past > closer ? past : end,
  };
}

/**
 * A block without a name calls nothing, and nothing else reads the JSON between its marks. A mark that is not a token may
 * have been meant otherwise.
 */
function nameless(source: DialectSource, from: number, row: Row): DialectReading | undefined {
  const json = source.value(from, ...row.close, ...row.open);
  if (json === undefined || row.open.some((mark) => !mark.startsWith('<'))) return undefined;
  const end = source.next(json.end, ...row.close, ...row.open);
  return { calls: [], complete: true, repairs: [], end: source.past(end, row.close) };
}

/** Several separators may follow each other: a line break and a mark. */
function pastSeparators(source: DialectSource, at: number, separators: readonly string[]): number {
  const end = source.past(at, separators);
  const next = source.skipSpace(end);
  const second = source.past(next, separators);
  return second > next ? second : end;
}

/** A fence around the arguments is left out: ```` ```json ````. */
function pastFence(source: DialectSource, from: number): number {
  const fence = /^\s*```(?:json)?/.exec(source.text.slice(from, from + 24));
  return from + (fence?.[0].length ?? 0);
}
