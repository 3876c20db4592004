import { isJsonObject, type JsonObject, type JsonSchema } from '../../json/json.ts';
import { parseStrict } from '../../json/depth.ts';
import { schemaMap } from './fit-context.ts';

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
