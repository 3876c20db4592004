import { isList } from '../../json/depth.ts';
import { type Building, type Json, type JsonObject, type JsonSchema, isJsonObject, setOwn } from '../../json/json.ts';
import { type Fit, type FitContext, isSchema, schemaMap } from './fit-context.ts';
import { typesOf } from './json-types.ts';
import { matchesPattern } from './check-bounds.ts';

/** Fits the members of an object: nulls for absent, each property, defaults, then what is required. */
export function fitMembers(object: JsonObject, schema: JsonObject, context: FitContext, fit: Fit): Json {
  const properties = schemaMap(schema, 'properties');
  let current = object;
  if (context.coerce !== false && properties !== undefined) {
    current = dropNulls(current, properties, schema, context);
    current = addDefaults(current, properties, context, fit);
  }
  current = fitEach(current, schema, properties, context, fit);
  checkRequired(current, schema, context);
  checkDependencies(current, schema, context, fit);
  return current;
}

function requiredKeys(schema: JsonObject): readonly Json[] {
  return isList(schema['required']) ? schema['required'] : [];
}

/** Null for an optional argument means that it is absent, unless its schema takes null. */
function dropNulls(object: JsonObject, properties: JsonObject, schema: JsonObject, context: FitContext): JsonObject {
  let out: Building | undefined;
  for (const key of Object.keys(object)) {
    if (object[key] !== null || !Object.hasOwn(properties, key) || requiredKeys(schema).includes(key)) continue;
    if (takesNull(properties[key], context)) continue;
    out ??= { ...object };
    delete out[key];
    context.repair('null-for-absent', `null for the optional "${key}" was read as absent`, 0);
  }
  return out ?? object;
}

function takesNull(schema: Json | undefined, context: FitContext): boolean {
  if (!isSchema(schema)) return true;
  const trial = context.branch(false);
  acceptsNull(schema, trial, 0);
  return trial.issues.length === 0;
}

/** Only what can allow null is looked at: types, choices, unions, references. */
function acceptsNull(schema: JsonSchema, context: FitContext, depth: number): void {
  if (schema === true || depth > 8) return;
  if (schema === false) return context.issue('no');
  if (schema['nullable'] === true) return;
  const types = typesOf(schema);
  if (types !== undefined && !types.includes('null')) return context.issue('no');
  if (isList(schema['enum']) && !schema['enum'].includes(null)) return context.issue('no');
  if ('const' in schema && schema['const'] !== null) return context.issue('no');
  const target = typeof schema['$ref'] === 'string' ? context.resolve(schema['$ref']) : undefined;
  if (target !== undefined) acceptsNull(target, context, depth + 1);
  if (isList(schema['allOf']))
    for (const part of schema['allOf']) if (isSchema(part)) acceptsNull(part, context, depth + 1);
  for (const key of ['anyOf', 'oneOf']) {
    const branches = schema[key];
    if (!isList(branches)) continue;
    const some = branches.some((branch) => {
      const trial = context.branch(false);
      if (isSchema(branch)) acceptsNull(branch, trial, depth + 1);
      return trial.issues.length === 0;
    });
    if (!some) context.issue('no');
  }
}

/** A default that its own schema does not take, such as null for a text, is none. */
function addDefaults(object: JsonObject, properties: JsonObject, context: FitContext, fit: Fit): JsonObject {
  let out: Building | undefined;
  for (const key of Object.keys(properties)) {
    const schema = properties[key];
    if (!isJsonObject(schema) || !('default' in schema) || Object.hasOwn(object, key)) continue;
    const trial = context.branch(true);
    fit(schema['default'] ?? null, schema, trial);
    if (trial.issues.length > 0) continue;
    out ??= { ...object };
    setOwn(out, key, schema['default'] ?? null);
    context.repair('default', `the default of "${key}" was filled in`, 0);
  }
  return out ?? object;
}

function fitEach(
  object: JsonObject,
  schema: JsonObject,
  properties: JsonObject | undefined,
  context: FitContext,
  fit: Fit,
): JsonObject {
  const patterns = schemaMap(schema, 'patternProperties');
  const rest = schema['additionalProperties'];
  const names = schema['propertyNames'];
  let out: Building | undefined;
  for (const key of Object.keys(object)) {
    let value = object[key] ?? null;
    const before = value;
    context.path.push(key);
    if (isSchema(names)) fit(key, names, context);
    let known = false;
    if (properties !== undefined && Object.hasOwn(properties, key)) {
      known = true;
      const own = properties[key];
      if (isSchema(own)) value = fit(value, own, context);
    }
    if (patterns !== undefined) {
      for (const [pattern, own] of Object.entries(patterns)) {
        if (!matchesPattern(pattern, key) || !isSchema(own)) continue;
        known = true;
        value = fit(value, own, context);
      }
    }
    if (!known && rest === false) context.issue('is not a known property');
    else if (!known && isSchema(rest)) value = fit(value, rest, context);
    context.path.pop();
    if (value !== before) {
      out ??= { ...object };
      setOwn(out, key, value);
    }
  }
  return out ?? object;
}

function checkRequired(object: JsonObject, schema: JsonObject, context: FitContext): void {
  if (context.partial) return;
  for (const key of requiredKeys(schema)) {
    if (typeof key === 'string' && !Object.hasOwn(object, key)) context.issue('is required', key);
  }
}

function checkDependencies(object: JsonObject, schema: JsonObject, context: FitContext, fit: Fit): void {
  for (const keyword of ['dependentRequired', 'dependentSchemas', 'dependencies']) {
    const map = schemaMap(schema, keyword);
    if (map === undefined) continue;
    for (const [key, wanted] of Object.entries(map)) {
      if (!Object.hasOwn(object, key)) continue;
      if (isList(wanted)) checkRequired(object, { required: wanted }, context);
      else if (isSchema(wanted)) fit(object, wanted, context);
    }
  }
}
