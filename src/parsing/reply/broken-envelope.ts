import { parseStrict } from '../../json/depth.ts';
import { type Json, isJsonObject } from '../../json/json.ts';
import { isKnown } from '../calls/registered-tools.ts';
import { type CursorSpan, Cursor } from '../repair/cursor.ts';
import { parseMembers } from '../repair/parse-members.ts';
import { parseValue } from '../repair/parse-value.ts';
import type { Repair } from '../repair/repairs.ts';
import type { Candidate } from '../repair/values-in-text.ts';
import type { Acting } from './choose-pieces.ts';
import { type Envelope, isArgumentKey, readEnvelope } from './envelope.ts';
import type { ReplySource } from './reply-source.ts';
import type { Scan } from './scan.ts';

const CLOSERS = new Map([
  ['{', '}'],
  ['[', ']'],
]);

/**
 * A cut envelope at the very end of a message that its model had finished: it lacks only closers, which are added.
 * Anything else is left unchanged.
 */
export function withClosers({ source, tools }: ReplySource, one: Acting): Acting {
  const { found, from, fence } = one.piece;
  if (found.kind !== 'value' || found.candidate.complete || one.form !== 'envelope') return one;
  const rest = source.text.slice(from, source.end);
  const candidate = closedEnvelope(rest, { at: from, fenced: fence > 0, maxDepth: source.maxDepth });
  const envelope =
    candidate === undefined ? undefined : readEnvelope(candidate.value, tools, { complete: true, repaired: false });
  if (candidate === undefined || envelope === undefined) return one;
  const piece = { ...one.piece, to: candidate.to, found: { ...found, candidate } };
  return { ...one, piece, calls: envelope.calls, envelope };
}

/**
 * JSON that lacks nothing but closers at its very end, closed. The last value before them must be whole: a closed
 * string, `true`, `false`, `null`, a closed list or object; never a number, which may have lost digits.
 */
function closedEnvelope(
  rest: string,
  how: { readonly at: number; readonly fenced: boolean; readonly maxDepth: number },
): Candidate | undefined {
  const text = (how.fenced ? rest.trimEnd().replace(/(?<!`)`{3,}$/, '') : rest).trimEnd();
  if (!/(?:["}\]]|true|false|null)$/.test(text)) return undefined;
  const closers = missingClosers(text);
  const strict = closers === undefined ? undefined : parseStrict(text + closers, how.maxDepth);
  if (strict === undefined || closers === undefined) return undefined;
  const to = how.at + text.length;
  const repair: Repair = {
    kind: 'missing-closer',
    message: `the missing ${closers} at the end was added, because the model had finished`,
    at: to,
    cost: 1,
  };
  return {
    value: strict.value,
    from: how.at,
    to,
    fenced: how.fenced,
    strict: false,
    complete: true,
    repairs: [repair],
    cost: 1,
  };
}

/** The brackets that are open at the end; undefined inside a string, and where none is. */
function missingClosers(text: string): string | undefined {
  const open: string[] = [];
  let inString = false;
  for (let i = 0; i < text.length; i += 1) {
    const char = text.charAt(i);
    if (inString) {
      if (char === '\\') i += 1;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (CLOSERS.has(char)) open.push(CLOSERS.get(char) ?? '');
    else if (char === '}' || char === ']') open.pop();
  }
  return inString || open.length === 0 ? undefined : open.toReversed().join('');
}

/** The envelope's fields in a message without an object around them that could be read; undefined where none are. */
export function fieldsIn(
  from: ReplySource,
  scan: Scan,
): { readonly found: Fields; readonly envelope: Envelope } | undefined {
  const { source } = from;
  const found = readFields(openText(source.text, scan), { from: scan.from, to: source.end, maxDepth: source.maxDepth });
  if (found === undefined) return undefined;
  source.effort += found.steps;
  if (isInJson(scan, found.at)) return undefined;
  const envelope = envelopeOf(found, from);
  return envelope?.form === 'envelope' ? { found, envelope } : undefined;
}

/** Within valid JSON nothing is broken. */
function isInJson({ pieces }: Scan, at: number): boolean {
  return pieces.some(
    ({ from, to, found }) =>
      from < at && at < to && found.kind === 'value' && found.candidate.strict && found.candidate.complete,
  );
}

/**
 * What fields without braces say. A call must name a registered tool and have arguments, and is whole only where these
 * are closed at the very end: a line may have been cut anywhere.
 */
function envelopeOf(found: Fields, { source, tools }: ReplySource): Envelope | undefined {
  const envelope = readEnvelope(found.value, tools, { complete: found.complete, repaired: true });
  const [call] = envelope?.calls ?? [];
  if (envelope === undefined || envelope.form !== 'envelope' || call === undefined) return envelope;
  const hasArguments = isJsonObject(found.value) && Object.keys(found.value).some(isArgumentKey);
  if (!hasArguments || !isKnown(tools, call.name)) return undefined;
  const closed = source.text.slice(0, source.end).trimEnd().endsWith('}');
  return closed ? envelope : { ...envelope, calls: envelope.calls.map((cut) => ({ ...cut, complete: false })) };
}

/** The text with what is not looked into blanked out, so that every offset stays where it is. */
function openText(text: string, { closed: spans, pieces }: Scan): string {
  const owned = [...spans, ...pieces.filter(({ talk }) => talk !== null)].toSorted((a, b) => a.from - b.from);
  const parts: string[] = [];
  let at = 0;
  for (const { from, to } of owned) {
    if (from < at) continue;
    parts.push(text.slice(at, from), ' '.repeat(to - from));
    at = to;
  }
  return parts.length === 0 ? text : parts.join('') + text.slice(at);
}

/** The envelope's fields as they were found, without an object around them. */
interface Fields {
  /** Where they begin. */
  readonly at: number;
  readonly value: Json;
  readonly complete: boolean;
  readonly repairs: readonly Repair[];
  readonly steps: number;
}

const NAMES = ['thought', 'goal', 'tool', 'tool_args', 'answer', 'plan'];
/** A quoted field at the beginning of a line. */
const QUOTED = /(?:^|\n)[ \t{,`]*(["'“‘](?:thought|goal|tool|tool_args|answer|plan)["'”’]\s*[:=])/;
/** Fields as lines of their own, without quotes: one of these first, another one on a later line. */
const FIRST_LINE = /(?:^|\n)[ \t]*((?:thought|tool):)/;
const LATER_LINE = /\n[ \t]*(?:tool|tool_args|answer|plan):/;

/**
 * Recovers "thought", "goal", "tool", "tool_args", "answer" and "plan" from a text whose braces are lost. In the middle
 * of prose one field alone is a quotation, and only several are a reply.
 */
function readFields(text: string, span: CursorSpan): Fields | undefined {
  const message = text.slice(span.from, span.to);
  const at = fieldsBegin(message);
  if (at === undefined) return undefined;
  const c = new Cursor(text, { ...span, from: span.from + at });
  c.frames.push('object');
  c.repair('missing-brace', 'the braces around the fields are missing', 3);
  const value = parseMembers(c, parseValue);
  if (c.refused || !isJsonObject(value)) return undefined;
  const count = NAMES.filter((name) => Object.hasOwn(value, name)).length;
  if (count < 2 && /\w/.test(message.slice(0, at))) return undefined;
  return { at: span.from + at, value, complete: !c.cutInside, repairs: c.repairs, steps: c.steps + 2 * message.length };
}

function fieldsBegin(message: string): number | undefined {
  const quoted = QUOTED.exec(message);
  if (quoted !== null) return quoted.index + quoted[0].length - (quoted[1]?.length ?? 0);
  const line = FIRST_LINE.exec(message);
  if (line === null) return undefined;
  const at = line.index + line[0].length - (line[1]?.length ?? 0);
  return LATER_LINE.test(message.slice(at)) ? at : undefined;
}
