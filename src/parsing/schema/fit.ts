import { isList, isTooLong } from '../../json/depth.ts';
import type { Issue } from '../../json/errors.ts';
import { type Json, type JsonObject, type JsonSchema, isJsonObject } from '../../json/json.ts';
import type { Repair } from '../repair/repairs.ts';
import { checkBounds, formatProblem } from './check-bounds.ts';
import { FitContext, isSchema } from './fit-context.ts';
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
  // OpenAPI 3.0 says so that null is taken, beside a type or a reference.
  if (value === null && schema['nullable'] === true) return value;
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
  if (isList(current)) current = fitItems(current, schema, context);
  else if (isJsonObject(current)) current = fitMembers(current, schema, context, fit);
  return fitCombined(current, schema, context);
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

/** `enum` and `const`. A list of no choices is a mistake of who wrote it: it says nothing. */
function fitChoice(value: Json, schema: JsonObject, context: FitContext): Json {
  const choices = isList(schema['enum']) ? schema['enum'] : 'const' in schema ? [schema['const'] ?? null] : [];
  if (choices.length === 0) return value;
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
  if (isTooLong(value)) return 'more digits than a number can hold';
  const text = JSON.stringify(value);
  return `${articled(type)} (${text.length > 60 ? `${text.slice(0, 57)}…` : text})`;
}

/** Fits the items of a list: `prefixItems` one by one, `items` for the rest, `contains` with its counts. */
function fitItems(list: readonly Json[], schema: JsonObject, context: FitContext): Json {
  const prefix = tuple(schema);
  const rest = restSchema(schema);
  let changed: Json[] | undefined;
  if (prefix !== undefined || rest !== undefined) {
    for (let i = 0; i < list.length; i += 1) {
      const item = list[i] ?? null;
      const own = prefix !== undefined && i < prefix.length ? prefix[i] : rest;
      if (!isSchema(own)) continue;
      context.path.push(i);
      const fitted = fit(item, own, context);
      context.path.pop();
      if (fitted !== item) {
        changed ??= list.slice();
        changed[i] = fitted;
      }
    }
  }
  const out = changed ?? list;
  checkContains(out, schema, context);
  return out;
}

function tuple(schema: JsonObject): readonly Json[] | undefined {
  const prefix = schema['prefixItems'] ?? schema['items'];
  return isList(prefix) ? prefix : undefined;
}

function restSchema(schema: JsonObject): JsonSchema | undefined {
  const rest = isList(schema['items']) ? schema['additionalItems'] : schema['items'];
  return isSchema(rest) ? rest : undefined;
}

function checkContains(list: readonly Json[], schema: JsonObject, context: FitContext): void {
  const wanted = schema['contains'];
  if (!isSchema(wanted)) return;
  let count = 0;
  for (const item of list) {
    const trial = context.branch(false);
    fit(item, wanted, trial);
    if (trial.issues.length === 0) count += 1;
  }
  const min = typeof schema['minContains'] === 'number' ? schema['minContains'] : 1;
  const max = schema['maxContains'];
  if (count < min) context.issue(`must hold at least ${min} fitting item${min === 1 ? '' : 's'}, has ${count}`);
  if (typeof max === 'number' && count > max) context.issue(`must hold at most ${max} fitting items, has ${count}`);
}

/** Fits a value to `allOf`, `anyOf`, `oneOf`, `not` and `if` / `then` / `else`. */
function fitCombined(value: Json, schema: JsonObject, context: FitContext): Json {
  let current = value;
  if (isList(schema['allOf'])) {
    for (const part of schema['allOf']) if (isSchema(part)) current = fit(current, part, context);
  }
  if (isList(schema['anyOf'])) current = fitOneBranch(current, schema['anyOf'].filter(isSchema), context);
  if (isList(schema['oneOf'])) current = fitExactlyOne(current, schema['oneOf'].filter(isSchema), context);
  if (isSchema(schema['not']) && fits(current, schema['not'], context))
    context.issue('must not fit the schema under "not"');
  if (!isSchema(schema['if'])) return current;
  const branch = fits(current, schema['if'], context) ? schema['then'] : schema['else'];
  return isSchema(branch) ? fit(current, branch, context) : current;
}

function fits(value: Json, schema: JsonSchema, context: FitContext): boolean {
  const trial = context.branch(false);
  fit(value, schema, trial);
  return trial.issues.length === 0;
}

/** The first branch that the value fits as it is; else the one that it fits at the least cost; else the nearest. */
function fitOneBranch(value: Json, branches: readonly JsonSchema[], context: FitContext): Json {
  if (branches.length === 0) return value;
  let best: { readonly fitted: Json; readonly trial: FitContext } | undefined;
  for (const branch of branches) {
    const trial = context.branch(true);
    const fitted = fit(value, branch, trial);
    if (trial.issues.length === 0 && trial.repairs.every(({ kind }) => kind === 'default')) {
      context.adopt(trial);
      return fitted;
    }
    if (best === undefined || isBetter(trial, best.trial)) best = { fitted, trial };
  }
  if (best === undefined) return value;
  if (best.trial.issues.length > 0) {
    if (branches.length === 1) context.adopt(best.trial);
    else context.issue(`fits none of the ${branches.length} allowed forms: ${firstIssue(best.trial)}`);
    return value;
  }
  context.adopt(best.trial);
  return best.fitted;
}

function isBetter(a: FitContext, b: FitContext): boolean {
  return a.issues.length !== b.issues.length ? a.issues.length < b.issues.length : a.cost < b.cost;
}

function firstIssue(context: FitContext): string {
  const first = context.issues[0];
  if (first === undefined) return '';
  return first.path === '' ? first.message : `${first.path} ${first.message}`;
}

function fitExactlyOne(value: Json, branches: readonly JsonSchema[], context: FitContext): Json {
  // Formats are not checked, but two forms may differ in nothing else.
  const taken = branches.filter((branch) => formatProblem(value, branch) === null && fits(value, branch, context));
  const [only] = taken;
  if (only === undefined) return fitOneBranch(value, branches, context);
  if (taken.length === 1) return fit(value, only, context);
  context.issue(`must fit exactly one of the ${branches.length} allowed forms, fits ${taken.length}`);
  return value;
}

/** Fits a whole value. What fits as it is is never refused, and what was put right fits as it is then. */
export function fitWhole(
  value: Json,
  context: FitContext,
): { readonly value: Json; readonly issues: readonly Issue[]; readonly repairs: readonly Repair[] } {
  const { root, partial, repairs } = context;
  const fitted = fit(value, root, context);
  const issues = context.issues.length > 0 || repairs.length === 0 || partial ? context.issues : issuesOf(fitted, root);
  if (issues.length > 0 && issuesOf(value, root).length === 0) return { value, issues: [], repairs: [] };
  return { value: fitted, issues, repairs };
}

/** What is wrong with a value by its schema, each issue with its path as a JSON Pointer. Nothing is put right. */
export function issuesOf(value: Json, schema: JsonSchema): readonly Issue[] {
  const context = new FitContext(schema, { coerce: false });
  fit(value, schema, context);
  return context.issues;
}
