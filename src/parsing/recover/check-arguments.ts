import type { DeserializationError, InvalidArgs } from '../../json/errors.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../json/json.ts';
import type { Repair } from '../reply.ts';
import { coerceTo } from '../schema/coerce.ts';
import { fit } from '../schema/fit.ts';
import { FitContext } from '../schema/fit-context.ts';
import { unwrapArguments } from '../schema/unwrap-arguments.ts';

/** Arguments that fit their schema (`value` is the same reference when nothing had to change), or what is wrong. */
export type CheckedArguments =
  | { readonly ok: true; readonly value: JsonObject; readonly repairs: readonly Repair[] }
  | { readonly ok: false; readonly error: InvalidArgs | DeserializationError };

/**
 * Holds decoded arguments against a tool's schema. What the schema clearly means is put right and listed (`"42"` where
 * a number is asked for); the rest is an error with one issue a path. Pure and fast: made to be called in a guard.
 */
export function checkArguments(value: Json, schema: JsonSchema): CheckedArguments {
  if (!isJsonObject(value)) return { ok: false, error: notAnObject(value, schema) };
  const context = new FitContext(schema, { coerce: coerceTo });
  const fitted = fit(value, schema, context);
  if (context.issues.length === 0 && isJsonObject(fitted)) return { ok: true, value: fitted, repairs: context.repairs };
  const unwrapped = unwrapArguments(value, schema);
  if (unwrapped !== undefined) {
    const retry = new FitContext(schema, { coerce: coerceTo });
    retry.repair('unwrapped', `the arguments were wrapped in "${unwrapped.key}"`, 2);
    const inner = fit(unwrapped.value, schema, retry);
    if (retry.issues.length === 0 && isJsonObject(inner)) return { ok: true, value: inner, repairs: retry.repairs };
  }
  const error: DeserializationError = {
    kind: 'deserialization',
    rawValue: value,
    issues: context.issues,
    expectedSchema: schema,
  };
  return { ok: false, error };
}

function notAnObject(value: Json, schema: JsonSchema): InvalidArgs {
  const found = value === null ? 'null' : Array.isArray(value) ? 'a list' : `a ${typeof value}`;
  return {
    kind: 'invalid-args',
    rawArgs: typeof value === 'string' ? value : JSON.stringify(value),
    parseError: `expected a JSON object, got ${found}`,
    expectedSchema: schema,
    truncated: false,
  };
}
