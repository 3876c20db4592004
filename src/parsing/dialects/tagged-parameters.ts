import type { Json } from '../json.ts';
import { type Building, setOwn } from '../own-property.ts';
import type { ToolCallRequest } from '../reply.ts';
import type { DialectReading } from './dialect.ts';
import type { DialectSource } from './dialect-source.ts';
import { parameterValue } from './parameter-value.ts';

/** How a dialect writes a call as tags: one around the call, one around each parameter. */
export interface TagMarks {
  /** Pieces that begin a call; `name` reads the tag from there: the tool's name and where the tag ends. */
  readonly openCall: readonly string[];
  readonly closeCall: readonly string[];
  readonly openParameter: readonly string[];
  readonly closeParameter: readonly string[];
  /** The name in a tag, from the text that follows its opening piece up to `>`. */
  readonly name: (tag: string) => string;
}

const LONGEST_TAG = 400;

/** Reads `<call name><parameter name>value</parameter>…</call>`, or JSON where the parameters would stand. */
export function readTagged(source: DialectSource, marks: TagMarks): DialectReading | undefined {
  const calls: ToolCallRequest[] = [];
  let at = source.next(0, ...marks.openCall);
  while (at < source.end) {
    const tag = readTag(source, at, marks.openCall, marks.name);
    if (tag === undefined || tag.name === '') {
      at = source.next(at + 1, ...marks.openCall);
      continue;
    }
    const bound = source.next(tag.end, ...marks.openCall);
    const close = source.next(tag.end, ...marks.closeCall);
    const json = source.value(tag.end, Math.min(bound, close));
    const read =
      json === undefined
        ? readParameters(source, tag.end, marks)
        : { args: json.value, end: json.end, complete: json.complete };
    calls.push({ name: tag.name, args: read.args, complete: read.complete });
    at = source.next(Math.max(read.end, at + 1), ...marks.openCall);
  }
  return calls.length === 0 ? undefined : { calls, complete: calls.every(({ complete }) => complete), repairs: [] };
}

interface Tag {
  readonly name: string;
  readonly end: number;
}

function readTag(
  source: DialectSource,
  at: number,
  pieces: readonly string[],
  name: TagMarks['name'],
): Tag | undefined {
  const piece = pieces.find((candidate) => source.text.startsWith(candidate, at));
  if (piece === undefined) return undefined;
  const close = source.next(at + piece.length, '>');
  if (close >= source.end || close - at > LONGEST_TAG) return undefined;
  return { name: name(source.text.slice(at + piece.length, close)).trim(), end: close + 1 };
}

function readParameters(
  source: DialectSource,
  from: number,
  marks: TagMarks,
): { readonly args: Json; readonly end: number; readonly complete: boolean } {
  const args: Building = {};
  let at = from;
  for (;;) {
    const open = source.next(at, ...marks.openParameter);
    const stop = source.next(at, ...marks.closeCall, ...marks.openCall);
    if (stop < open) return { args, end: stop, complete: true };
    if (open >= source.end) return { args, end: source.end, complete: false };
    const tag = readTag(source, open, marks.openParameter, marks.name);
    if (tag === undefined) return { args, end: Math.min(open + 1, source.end), complete: false };
    const close = source.next(tag.end, ...marks.closeParameter);
    const end = close < source.end ? close : source.next(tag.end, ...marks.openParameter, ...marks.closeCall);
    const raw = source.text.slice(tag.end, end);
    source.steps += raw.length;
    if (end >= source.end) {
      setOwn(args, tag.name, raw.replace(/^\r?\n/, ''));
      return { args, end: source.end, complete: false };
    }
    setOwn(args, tag.name, parameterValue(raw, source.maxDepth));
    at = end;
  }
}
