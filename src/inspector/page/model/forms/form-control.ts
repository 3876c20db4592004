import type { JsonObject } from '../../../../json/json.ts';
import { typesOf } from '../../../../parsing/schema/json-types.ts';

/** What a member of a form is filled in with. `json` takes everything that the others do not. */
export type Control = 'text' | 'long' | 'date' | 'number' | 'check' | 'choice' | 'json';

const LONG_TEXT = 160;

/** What a value of this schema is filled in with, where it is none of a few choices. */
export function controlOf(schema: JsonObject): Control {
  const [type, more] = typesOf(schema) ?? [];
  if (more !== undefined || 'anyOf' in schema || 'oneOf' in schema || 'allOf' in schema) return 'json';
  if (type === 'boolean') return 'check';
  if (type === 'number' || type === 'integer') return 'number';
  if (type !== 'string') return 'json';
  if (schema.format === 'date') return 'date';
  const { minLength, maxLength, contentMediaType } = schema;
  const long = [minLength, maxLength].some((length) => typeof length === 'number' && length >= LONG_TEXT);
  return long || contentMediaType !== undefined ? 'long' : 'text';
}
