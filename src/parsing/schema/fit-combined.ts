import { isList } from '../../json/depth.ts';
import { type Json, type JsonObject, type JsonSchema } from '../../json/json.ts';
import { type Fit, type FitContext, isSchema } from './fit-context.ts';

/** Fits a value to `allOf`, `anyOf`, `oneOf`, `not` and `if` / `then` / `else`. */
export function fitCombined(value: Json, schema: JsonObject, context: FitContext, fit: Fit): Json {
  let current = value;
  if (isList(schema['allOf'])) {
    for (const part of schema['allOf']) if (isSchema(part)) current = fit(current, part, context);
  }
  if (isList(schema['anyOf'])) current = fitOneBranch(current, schema['anyOf'].filter(isSchema), context, fit);
  if (isList(schema['oneOf'])) current = fitExactlyOne(current, schema['oneOf'].filter(isSchema), context, fit);
  if (isSchema(schema['not']) && fits(current, schema['not'], context, fit))
    context.issue('must not fit the schema under "not"');
  if (!isSchema(schema['if'])) return current;
  const branch = fits(current, schema['if'], context, fit) ? schema['then'] : schema['else'];
  return isSchema(branch) ? fit(current, branch, context) : current;
}

function fits(value: Json, schema: JsonSchema, context: FitContext, fit: Fit): boolean {
  const trial = context.branch(false);
  fit(value, schema, trial);
  return trial.issues.length === 0;
}

/** The first branch that the value fits as it is; else the one that it fits at the least cost; else the nearest. */
function fitOneBranch(value: Json, branches: readonly JsonSchema[], context: FitContext, fit: Fit): Json {
  if (branches.length === 0) return value;
  let best: { readonly fitted: Json; readonly trial: FitContext } | undefined;
  for (const branch of branches) {
    const trial = context.branch(true);
    const fitted = fit(value, branch, trial);
    if (trial.issues.length === 0 && trial.cost === 0) {
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

function fitExactlyOne(value: Json, branches: readonly JsonSchema[], context: FitContext, fit: Fit): Json {
  let count = 0;
  for (const branch of branches) if (fits(value, branch, context, fit)) count += 1;
  if (count === 1) {
    for (const branch of branches) if (fits(value, branch, context, fit)) return fit(value, branch, context);
  }
  if (count > 1) {
    context.issue(`must fit exactly one of the ${branches.length} allowed forms, fits ${count}`);
    return value;
  }
  return fitOneBranch(value, branches, context, fit);
}
