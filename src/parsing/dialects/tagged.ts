import { type Building, isJsonObject, setOwn } from '../../json/json.ts';
import { unwrapArguments } from '../calls/arguments.ts';
import { type ToolCallRequest, callsOf } from '../calls/call-forms.ts';
import type { Dialect, DialectReading, DialectSource } from './dialect.ts';
import { type Body, readElements } from './tag-elements.ts';
import { type Layout, closesAgain, parameterValue, sectionEnd, valueEnd } from './tag-values.ts';

/** How a format writes a call as tags: one around the call, one around each parameter. */
interface Tags {
  /** What begins a call; the tag continues to `tagEnd`. */
  readonly openCall: readonly string[];
  readonly closeCall: readonly string[];
  readonly openParameter: string;
  readonly closeParameter: string;
  readonly tagEnd: string;
  /** What stands before every tag, of elements that are named like their parameter too. */
  readonly prefix: string;
  /** The name in a tag, from the text behind its opening piece up to its end. */
  readonly name: (tag: string) => string;
  readonly layout: Layout;
  /** Values may stand in `<![CDATA[…]]>`. */
  readonly sections: boolean;
}

interface Row extends Tags {
  readonly dialect: string;
}

/** dots writes its names without quotes. */
const attribute = (tag: string): string => {
  const found = /\b(?:name|tool|key)\s*=\s*(?:["']([^"']*)["']|([\p{L}\p{N}_.:-]+)\s*\/?$)/u.exec(tag);
  return found?.[1] ?? found?.[2] ?? '';
};

/** The names that model families put before `invoke` and `parameter`: DSML is DeepSeek's, GCML is GigaChat 3.5's. */
const PREFIXES = ['', 'steptml:', '｜DSML｜', '|DSML|', '｜GCML｜', '|GCML|', 'minimax:', 'antml:', 'atem:'];
/** MiniMax-M3 writes this before every tag. */
const M3 = ']<]minimax[>[';
const XML = { tagEnd: '>', prefix: '', layout: 'none', sections: false } as const;
const ROWS: readonly Row[] = [
  // MiniMax, Step3, DeepSeek's DSML and others: `<invoke name="f"><parameter name="key">value</parameter></invoke>`.
  ...PREFIXES.map((prefix) => ({
    ...XML,
    dialect: 'invoke-tags',
    openCall: [`<${prefix}invoke`],
    closeCall: [`</${prefix}invoke>`],
    openParameter: `<${prefix}parameter `,
    closeParameter: `</${prefix}parameter>`,
    name: attribute,
  })),
  // MiniMax-M3: `<invoke name="f"><city>Paris</city></invoke>` with its mark before every tag. A reader of text may stand
  // behind the first bracket of the mark.
  {
    ...XML,
    dialect: 'invoke-tags',
    openCall: [`${M3}<invoke`, `${M3.slice(1)}<invoke`],
    closeCall: [`${M3}</invoke>`],
    openParameter: `${M3}<parameter `,
    closeParameter: `${M3}</parameter>`,
    prefix: M3,
    name: attribute,
  },
  // Qwen3-Coder, Llama and Seed: `<function=name><parameter=key>value</parameter></function>`, or JSON inside.
  {
    ...XML,
    dialect: 'function-tags',
    openCall: ['<function='],
    closeCall: ['</function>', '</tool_call>'],
    openParameter: '<parameter=',
    closeParameter: '</parameter>',
    layout: 'lines',
    name: (tag) => tag.trim().replace(/^["']|["']$/g, ''),
  },
  // MiniCPM 5: `<function name="f"><param name="key">value</param></function>`, longer values in CDATA sections.
  {
    ...XML,
    dialect: 'function-elements',
    openCall: ['<function '],
    closeCall: ['</function>'],
    openParameter: '<param ',
    closeParameter: '</param>',
    name: attribute,
    sections: true,
  },
  // Kimi K3: `<|open|>call tool="f" index="1"<|sep|>`, then arguments with their types, or one object.
  {
    ...XML,
    dialect: 'kimi-k3',
    openCall: ['<|open|>call'],
    // The last token may have been taken for the end of the message.
    closeCall: ['<|close|>call<|sep|>', '<|close|>call'],
    openParameter: '<|open|>argument ',
    closeParameter: '<|close|>argument<|sep|>',
    tagEnd: '<|sep|>',
    name: attribute,
  },
];

/** The formats that write every parameter as its own element. */
export const TAGGED: readonly Dialect[] = ROWS.map((row) => ({
  name: row.dialect,
  markers: row.openCall,
  read: (source, at) => readCall(source, at, row),
}));

const LONGEST_TAG = 400;

/** A tag that opens a call or a parameter. */
interface OpenTag {
  readonly name: string;
  readonly end: number;
  /** `<invoke name="f"/>`. */
  readonly empty: boolean;
  readonly isText?: boolean;
}

function readCall(source: DialectSource, at: number, tags: Tags): DialectReading | undefined {
  const tag = openTag(source, at, tags.openCall, tags);
  if (tag === undefined || tag.name === '') return undefined;
  const { end, openEnded = false, ...call } = callBody(source, tag, tags);
  return { calls: [call], complete: call.complete, openEnded, repairs: [], end };
}

type CallBody = ToolCallRequest & Pick<DialectReading, 'end' | 'openEnded'>;

function callBody(source: DialectSource, tag: OpenTag, tags: Tags): CallBody {
  const { name } = tag;
  if (tag.empty) return { name, args: {}, complete: true, end: tag.end };
  // Kimi writes tags around the arguments, others do not.
  const json = source.value(pastPiece(source, tag.end, JSON_OPEN), ...tags.closeCall, ...tags.openCall);
  if (json !== undefined) {
    const end = source.past(source.skipSpace(pastPiece(source, json.end, JSON_CLOSE)), tags.closeCall);
    const [named] = isJsonObject(json.value) ? callsOf(json.value, json.complete) : [];
    const args = named?.name === name ? named.args : json.value;
    return { name, args, complete: json.complete, end };
  }
  const { args, end, complete } = readParameters(source, tag, tags) ?? readElements(source, tag, tags);
  const past = source.past(end, tags.closeCall);
  const closers = [tags.closeParameter, ...tags.closeCall.slice(0, 1)];
  const openers = [tags.openParameter, ...tags.openCall.slice(0, 1)];
  const wrapped = Object.hasOwn(args, 'arguments')
    ? unwrapArguments(args, source.tools.schema(name) ?? false)
    : undefined;
  const whole = complete && !closesAgain(source, past, closers, openers);
  return { name, args: wrapped?.value ?? args, complete: whole, openEnded: !whole, end: past };
}

const JSON_OPEN = '<|open|>json type="object"<|sep|>';
const JSON_CLOSE = '<|close|>json<|sep|>';

function pastPiece(source: DialectSource, from: number, piece: string): number {
  const at = source.skipSpace(from);
  return source.text.startsWith(piece, at) ? at + piece.length : from;
}

function openTag(source: DialectSource, at: number, pieces: readonly string[], tags: Tags): OpenTag | undefined {
  const from = source.past(at, pieces);
  const close = source.next(from, tags.tagEnd);
  if (from === at || close >= source.end || close - at > LONGEST_TAG) return undefined;
  const inside = source.text.slice(from, close);
  const text =
    /\bstring\s*=\s*["'](true|false)["']/.exec(inside)?.[1] ?? /\btype\s*=\s*["'](\w+)["']/.exec(inside)?.[1];
  return {
    name: tags.name(inside.replace(/\/$/, '')).trim(),
    end: close + tags.tagEnd.length,
    empty: inside.endsWith('/'),
    ...(text === undefined ? {} : { isText: text === 'true' || text === 'string' }),
  };
}

/** `<parameter name="key">value</parameter>…`; undefined where no such tag stands before the call ends. */
function readParameters(source: DialectSource, call: OpenTag, tags: Tags): Body | undefined {
  const args: Building = {};
  let complete = true;
  let at = source.skipSpace(call.end);
  if (!source.text.startsWith(tags.openParameter, at)) return undefined;
  while (source.text.startsWith(tags.openParameter, at)) {
    const tag = openTag(source, at, [tags.openParameter], tags);
    if (tag === undefined || tag.name === '') return { args, end: source.next(at, ...tags.closeCall), complete: false };
    const { raw, past, sure } = rawValue(source, tag, tags);
    const { isText } = tag;
    setOwn(
      args,
      tag.name,
      parameterValue(source, { tool: call.name, key: tag.name, raw, isText, layout: tags.layout }),
    );
    complete = complete && sure;
    at = source.skipSpace(past);
    if (at >= source.end) return { args, end: source.end, complete: false };
  }
  const closed = source.past(at, tags.closeCall) > at || source.past(at, tags.openCall) > at;
  return { args, end: at, complete: complete && closed };
}

interface RawText {
  readonly raw: string;
  readonly past: number;
  /** False where the value may continue behind what was taken for its end. */
  readonly sure: boolean;
}

function rawValue(source: DialectSource, tag: OpenTag, tags: Tags): RawText {
  if (tag.empty) return { raw: '', past: tag.end, sure: true };
  const section = tags.sections ? sectionEnd(source, tag.end, tags.closeParameter) : undefined;
  if (section !== undefined) return section;
  const value = valueEnd(source, tag.end, {
    open: tags.openParameter,
    close: tags.closeParameter,
    before: [tags.openParameter, ...tags.closeCall, ...tags.openCall],
  });
  return { ...value, raw: source.text.slice(tag.end, value.end) };
}
