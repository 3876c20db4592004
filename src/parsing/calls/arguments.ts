import { hasSpelling, isJson, isList, parseStrict, spellingOf } from '../../json/depth.ts';
import type { DeserializationError, InvalidArgs, Issue } from '../../json/errors.ts';
import { type Building, type Json, type JsonObject, type JsonSchema, isJsonObject, setOwn } from '../../json/json.ts';
import { parsePrefix } from '../repair/parse-prefix.ts';
import { type Repair, DEFAULT_LIMITS } from '../repair/repairs.ts';
import { findCandidates } from '../repair/values-in-text.ts';
import { coerceTo } from '../schema/coerce.ts';
import { FitContext, pointer, schemaMap } from '../schema/fit-context.ts';
import { fit, fitWhole } from '../schema/fit.ts';
import { jsonEquals } from '../schema/json-types.ts';
import { type SchemaLike, readSchema, validationIssues } from '../schema/schema-like.ts';

/** The arguments of a native tool call, read: a value, or the reason why there is none. */
export type ToolCallArguments =
  | { readonly ok: true; readonly value: Json; readonly complete: boolean; readonly repairs: readonly Repair[] }
  | { readonly ok: false; readonly reason: string };

/**
 * Reads the `arguments` of a native tool call: the text that the model wrote, or an object that the server decoded.
 * Nothing, null (as text too) and blank text are `{}`; broken JSON is repaired; cut JSON comes back with `complete: false`.
 */
export function parseToolCallArguments(
  raw: unknown,
  maxDepth: number = DEFAULT_LIMITS.maxDepth,
  maxChars: number = DEFAULT_LIMITS.maxChars,
): ToolCallArguments {
  if (raw === undefined || raw === null) return whole({});
  if (typeof raw !== 'string') return fromValue(raw, maxDepth);
  const text = raw.trim();
  if (text === '') return whole({});
  if (text.length > maxChars) return unreadable(`the arguments are longer than ${maxChars} characters`);
  const strict = parseStrict(text, maxDepth);
  if (strict !== undefined) return whole(decodeTwice(strict.value, maxDepth) ?? {});
  const prefix = parsePrefix(text, 0, { to: text.length, maxDepth });
  if (prefix.kind === 'cut' && typeof prefix.value === 'object') {
    return { ok: true, value: prefix.value, complete: false, repairs: [] };
  }
  const found = findCandidates(text, { from: 0, to: text.length, maxDepth });
  const [best, ...others] = found.filter(({ value }) => isJsonObject(value));
  if (best === undefined) return unreadable('the text holds no JSON object');
  if (others.some(({ value }) => !jsonEquals(value, best.value)))
    return unreadable('the text holds several JSON objects');
  return { ok: true, value: best.value, complete: best.complete, repairs: best.repairs };
}

/** Text inside text: `"{\"a\": 1}"` is the object that it spells. */
function decodeTwice(value: Json, maxDepth: number): Json {
  if (typeof value !== 'string') return value;
  if (value.trim() === '') return {};
  const inner = parseStrict(value, maxDepth);
  return inner !== undefined && typeof inner.value === 'object' ? inner.value : value;
}

/** A value that the server decoded already; what JSON cannot hold is written as JSON first, or refused. */
function fromValue(raw: unknown, maxDepth: number): ToolCallArguments {
  try {
    if (isJson(raw, maxDepth)) return whole(raw);
    const strict = typeof raw === 'object' ? parseStrict(JSON.stringify(raw), maxDepth) : undefined;
    if (strict !== undefined) return whole(strict.value);
  } catch {
    return unreadable('the arguments cannot be written as JSON');
  }
  return unreadable(`the arguments are a ${typeof raw}, not JSON`);
}

function whole(value: Json): ToolCallArguments {
  return { ok: true, value, complete: true, repairs: [] };
}

function unreadable(reason: string): ToolCallArguments {
  return { ok: false, reason };
}

/**
 * Reads the arguments of a tool call (text or value) and checks them against the tool's schema. Null and blank are `{}`;
 * JSON that was cut off or is not an object is `InvalidArgs`; what does not fit is a `DeserializationError` with one
 * issue per path. Never throws. A validator that is asynchronous is not waited for: a repair `unchecked` says so.
 *
 * @example recoverArguments('{"n": "42"}', { type: 'object', properties: { n: { type: 'number' } } }) // value { n: 42 }
 */
export function recoverArguments(raw: unknown, schema: SchemaLike): CheckedArguments {
  const { json, validate } = readSchema(schema);
  const read = parseToolCallArguments(raw);
  if (!read.ok) return { ok: false, error: invalid(raw, json, read.reason, false) };
  if (!read.complete)
    return { ok: false, error: invalid(raw, json, 'the arguments were cut off before they were complete', true) };
  const written = asWritten(read.value, json);
  const checked = checkArguments(written.value, json);
  if (!checked.ok)
    return checked.error.kind === 'invalid-args'
      ? { ok: false, error: { ...checked.error, rawArgs: textOf(raw) } }
      : checked;
  const { value } = checked;
  const { issues, repairs: unchecked } = validationIssues(validate, value);
  if (issues.length > 0) return { ok: false, error: deserializationError(value, issues, json) };
  return { ok: true, value, repairs: [...read.repairs, ...written.repairs, ...checked.repairs, ...unchecked] };
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

/** Arguments that fit their schema (`value` is the same reference when nothing had to change), or what is wrong. */
export type CheckedArguments =
  | { readonly ok: true; readonly value: JsonObject; readonly repairs: readonly Repair[] }
  | { readonly ok: false; readonly error: InvalidArgs | DeserializationError };

/**
 * A value that was read from text, with the numbers that its schema takes as text as they stood there: `3.10` and not
 * `3.1`. Each of them is listed as a repair.
 */
export function asWritten(
  value: Json,
  schema: JsonSchema,
): { readonly value: Json; readonly repairs: readonly Repair[] } {
  if (!hasSpelling(value)) return { value, repairs: [] };
  const context = new FitContext(schema, { coerce: coerceTo });
  fit(value, schema, context);
  const texts = context.repairs.filter(({ kind }) => kind === 'number-to-text');
  const repairs: Repair[] = [];
  return { value: spelled(value, '', { texts: new Set(texts.map(({ path }) => path)), repairs }), repairs };
}

/** Puts the spelling of those numbers that are taken as text, by their paths, in their place. */
function spelled(
  value: Json,
  at: string,
  taken: { readonly texts: ReadonlySet<string | undefined>; readonly repairs: Repair[] },
): Json {
  const member = (key: string, inner: Json): Json => {
    const path = at + pointer([key]);
    if (typeof inner !== 'number') return spelled(inner, path, taken);
    const text = taken.texts.has(path) ? spellingOf(value, key) : undefined;
    if (text === undefined || Number(text) !== inner) return inner;
    taken.repairs.push({ kind: 'number-to-text', message: `the number ${text} was read as text`, path, cost: 1 });
    return text;
  };
  if (isList(value)) return value.map((item, i) => member(String(i), item));
  if (!isJsonObject(value)) return value;
  const out: Building = {};
  for (const key of Object.keys(value)) setOwn(out, key, member(key, value[key] ?? null));
  return out;
}

/**
 * Holds decoded arguments against a tool's schema. What the schema clearly means is put right and listed (`"42"` where
 * a number is asked for); the rest is an error with one issue per path. Pure and fast: made to be called in a guard.
 */
export function checkArguments(value: Json, schema: JsonSchema): CheckedArguments {
  if (!isJsonObject(value)) return { ok: false, error: notAnObject(value, schema) };
  const fitted = fitWhole(value, new FitContext(schema, { coerce: coerceTo }));
  if (fitted.issues.length === 0 && isJsonObject(fitted.value))
    return { ok: true, value: fitted.value, repairs: fitted.repairs };
  const unwrapped = unwrapArguments(value, schema);
  if (unwrapped !== undefined) {
    const retry = new FitContext(schema, { coerce: coerceTo });
    retry.repair('unwrapped', `the arguments were wrapped in "${unwrapped.key}"`, 2);
    const inner = fitWhole(unwrapped.value, retry);
    if (inner.issues.length === 0 && isJsonObject(inner.value))
      return { ok: true, value: inner.value, repairs: inner.repairs };
  }
  return { ok: false, error: deserializationError(value, fitted.issues, schema) };
}

function deserializationError(
  rawValue: JsonObject,
  issues: readonly Issue[],
  expectedSchema: JsonSchema,
): DeserializationError {
  return { kind: 'deserialization', rawValue, issues, expectedSchema };
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

/** `{"arguments": {…}}` where the schema knows no such key: what is inside, and under which key. */
export function unwrapArguments(
  value: JsonObject,
  schema: JsonSchema,
): { readonly key: string; readonly value: JsonObject } | undefined {
  const keys = Object.keys(value);
  const key = keys.length === 1 ? keys[0] : undefined;
  if (key === undefined || !isJsonObject(schema)) return undefined;
  const properties = schemaMap(schema, 'properties');
  if (properties === undefined || Object.hasOwn(properties, key)) return undefined;
  const inner = value[key];
  const decoded = typeof inner === 'string' ? parseStrict(inner, 256)?.value : inner;
  return isJsonObject(decoded) ? { key, value: decoded } : undefined;
}
