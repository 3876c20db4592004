import { isJsonObject, type JsonObject, type JsonSchema } from '../../json/json.ts';

/**
 * The schema of a tool's arguments as it is sent. OpenAI's servers refuse the whole request for one that does not say that it
 * is an object, or has no `properties`; MCP servers leave these out where a tool takes no arguments.
 */
export function sentSchema(schema: JsonSchema): JsonObject {
  const given = isJsonObject(schema) ? schema : {};
  return { ...given, type: given['type'] ?? 'object', properties: given['properties'] ?? {} };
}
