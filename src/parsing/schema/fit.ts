import { isList } from '../../json/depth.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../json/json.ts';
import { checkBounds } from './check-bounds.ts';
import type { FitContext } from './fit-context.ts';
import { fitCombined } from './fit-combined.ts';
import { fitItems } from './fit-items.ts';
import { fitMembers } from './fit-members.ts';
import { jsonEquals, typeFits, typeOf, typesOf } from './json-types.ts';

/**
 * Holds a value against a schema. With coercion allowed, what the schema clearly means is put right and listed as a
 * repair; what stays wrong becomes an issue. Returns the same reference when nothing had to change.
 */
export function fit(value: Json, schema: JsonSchema, context: FitContext): Json {
  if (schema === true) return value;
  if (schema === false) {
    context.issue('nothing is allowed here');
    return value;
  }
  if (!context.mayDescend()) {
    context.issue('the schema is too deep or too large to be checked');
    return value;
  }
  context.depth += 1;
  const fitted = fitNode(value, schema, context);
  context.depth -= 1;
  return fitted;
}

function fitNode(value: Json, schema: JsonObject, context: FitContext): Json {
  const ref = schema['$ref'] ?? schema['$dynamicRef'];
  let current = value;
  if (typeof ref === 'string') {
    const target = context.resolve(ref);
    if (target !== undefined) current = fit(current, target, context);
  }
  current = fitType(current, schema, context);
  current = fitChoice(current, schema, context);
  checkBounds(current, schema, context);
  if (isList(current)) current = fitItems(current, schema, context, fit);
  else if (isJsonObject(current)) current = fitMembers(current, schema, context, fit);
  return fitCombined(current, schema, context, fit);
}

function fitType(value: Json, schema: JsonObject, context: FitContext): Json {
  if (!('type' in schema)) return value;
  const actual = typeOf(value);
  if (typeFits(actual, schema['type'])) return value;
  const types = typesOf(schema);
  if (types === undefined) return value;
  for (const type of types) if (typeFits(actual, type)) return value;
  if (context.coerce !== false) {
    for (const type of types) {
      const coerced = context.coerce(type, value, context);
      if (coerced !== undefined) return coerced;
    }
  }
  context.issue(
    `expected ${types.map((type) => articled(typeof type === 'string' ? type : 'value')).join(' or ')}, got ${describe(value)}`,
  );
  return value;
}

/** `enum` and `const`. */
function fitChoice(value: Json, schema: JsonObject, context: FitContext): Json {
  const choices = isList(schema['enum']) ? schema['enum'] : 'const' in schema ? [schema['const'] ?? null] : undefined;
  if (choices === undefined) return value;
  for (const choice of choices) if (jsonEquals(choice, value)) return value;
  const near = context.coerce !== false ? nearChoice(choices, value) : undefined;
  if (near !== undefined) {
    context.repair('enum', `${JSON.stringify(value)} was read as ${JSON.stringify(near)}`, 1);
    return near;
  }
  const listed = choices.slice(0, 20).map((choice) => JSON.stringify(choice));
  context.issue(`expected ${listed.length === 1 ? listed[0] : `one of ${listed.join(', ')}`}, got ${describe(value)}`);
  return value;
}

/** The one choice that differs only in case, white space, `-` and `_`, or in being written as text. */
function nearChoice(choices: readonly Json[], value: Json): Json | undefined {
  const single = isList(value) && value.length === 1 ? value[0] : value;
  if (single === undefined || (typeof single === 'object' && single !== null)) return undefined;
  const wanted = plain(single);
  const found = choices.filter((choice) => (typeof choice !== 'object' || choice === null) && plain(choice) === wanted);
  return found.length === 1 ? found[0] : undefined;
}

function plain(value: string | number | boolean | null): string {
  return String(value)
    .trim()
    .toLowerCase()
    .replace(/[\s_-]+/g, ' ');
}

function articled(type: string): string {
  return /^[aio]/.test(type) ? `an ${type}` : type === 'null' ? 'null' : `a ${type}`;
}

function describe(value: Json): string {
  if (value === null || typeof value === 'boolean') return String(value);
  const type = typeOf(value);
  if (type === 'array' || type === 'object') return articled(type);
  const text = JSON.stringify(value);
  return `${articled(type)} (${text.length > 60 ? `${text.slice(0, 57)}…` : text})`;
}
