import type { Json } from './json.ts';
import type { Repair } from './reply.ts';
import type { Span } from './candidates.ts';
import { Cursor } from './tolerant/cursor.ts';
import { parseMembers } from './tolerant/parse-members.ts';
import { parseValue } from './tolerant/parse-value.ts';

/** The envelope's fields as they were found, without an object around them. */
export interface Fields {
  readonly value: Json;
  readonly complete: boolean;
  readonly repairs: readonly Repair[];
  readonly steps: number;
}

const FIELD = /["'“‘](?:thought|goal|tool|tool_args|answer|plan)["'”’]\s*[:=]/;

/** Recovers "thought", "goal", "tool", "tool_args", "answer" and "plan" from a text whose braces are lost. */
export function readFields(text: string, span: Span): Fields | undefined {
  const at = FIELD.exec(text.slice(span.from, span.to))?.index;
  if (at === undefined) return undefined;
  const c = new Cursor(text, { ...span, from: span.from + at });
  c.frames.push('object');
  c.repair('missing-brace', 'the braces around the fields are missing', 3);
  const value = parseMembers(c, parseValue);
  return c.refused ? undefined : { value, complete: !c.cutInside, repairs: c.repairs, steps: c.steps };
}
