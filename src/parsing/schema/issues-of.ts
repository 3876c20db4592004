import type { Issue } from '../../json/errors.ts';
import type { Json, JsonSchema } from '../../json/json.ts';
import { fit } from './fit.ts';
import { FitContext } from './fit-context.ts';

/** What is wrong with a value by its schema, each issue with its place as a JSON Pointer. Nothing is put right. */
export function issuesOf(value: Json, schema: JsonSchema): readonly Issue[] {
  const context = new FitContext(schema, { coerce: false });
  fit(value, schema, context);
  return context.issues;
}
