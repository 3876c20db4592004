import { checkArguments, type CheckedArguments } from './check-arguments.ts';
import type { InvalidArgs } from '../../json/errors.ts';
import type { JsonSchema } from '../../json/json.ts';
import { readSchema, type SchemaLike } from '../schema/schema-like.ts';
import { applyValidator } from '../schema/apply-validator.ts';
import { parseToolCallArguments } from './tool-call-arguments.ts';

/**
 * Reads the arguments of a tool call (text or value) and holds them against the tool's schema. Null and blank are
 * `{}`; JSON that was cut off or is no object is `InvalidArgs`; what does not fit is a `DeserializationError` with one
 * issue a path. Never throws. A validator that is asynchronous is not waited for: a repair `unchecked` says so.
 *
 * @example recoverArguments('{"n": "42"}', { type: 'object', properties: { n: { type: 'number' } } }) // value { n: 42 }
 */
export function recoverArguments(raw: unknown, schema: SchemaLike): CheckedArguments {
  const { json, validate } = readSchema(schema);
  const read = parseToolCallArguments(raw);
  if (!read.ok) return { ok: false, error: invalid(raw, json, read.reason, false) };
  if (!read.complete)
    return { ok: false, error: invalid(raw, json, 'the arguments were cut off before they were complete', true) };
  const checked = checkArguments(read.value, json);
  if (!checked.ok)
    return checked.error.kind === 'invalid-args'
      ? { ok: false, error: { ...checked.error, rawArgs: textOf(raw) } }
      : checked;
  const repairs = [...read.repairs, ...checked.repairs];
  return applyValidator({ ok: true, value: checked.value, repairs }, json, validate);
}

function invalid(raw: unknown, expectedSchema: JsonSchema, parseError: string, truncated: boolean): InvalidArgs {
  return { kind: 'invalid-args', rawArgs: textOf(raw), parseError, expectedSchema, truncated };
}

/** What the caller gave, as text, even where it has no JSON form. */
function textOf(raw: unknown): string {
  if (typeof raw === 'string') return raw;
  try {
    return JSON.stringify(raw) ?? typeof raw;
  } catch {
    return typeof raw;
  }
}
