import type { Span } from './candidates.ts';
import { isJsonObject, type Json } from '../../json/json.ts';
import type { Repair } from '../reply.ts';
import { Cursor } from '../tolerant/cursor.ts';
import { parseMembers } from '../tolerant/parse-members.ts';
import { parseValue } from '../tolerant/parse-value.ts';

/** The envelope's fields as they were found, without an object around them. */
export interface Fields {
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
export function readFields(text: string, span: Span): Fields | undefined {
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
