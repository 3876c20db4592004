import { isList } from '../../json/depth.ts';
import { type Json, type JsonObject, type JsonSchema } from '../../json/json.ts';
import { type Fit, type FitContext, isSchema } from './fit-context.ts';

/** Fits the items of a list: `prefixItems` one by one, `items` for the rest, `contains` with its counts. */
export function fitItems(list: readonly Json[], schema: JsonObject, context: FitContext, fit: Fit): Json {
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
  checkContains(out, schema, context, fit);
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

function checkContains(list: readonly Json[], schema: JsonObject, context: FitContext, fit: Fit): void {
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
