import { isJsonObject, type Json, type JsonSchema } from '../../json/json.ts';

/** A Standard Schema (zod, and others) as far as the parser uses it. */
export interface StandardSchemaLike {
  readonly '~standard': {
    readonly vendor?: string;
    readonly validate?: (value: unknown) => unknown;
    readonly jsonSchema?: unknown;
  };
}

/** A JSON Schema, or a Standard Schema that can give one. */
export type SchemaLike = JsonSchema | StandardSchemaLike;

/** A schema as the parser works with it: JSON Schema, and the schema's own check where it has one. */
export interface ReadSchema {
  readonly json: JsonSchema;
  readonly validate?: (value: unknown) => unknown;
}

/** Reads whatever stands for a schema. One that gives no JSON Schema allows everything that its own check allows. */
export function readSchema(schema: unknown): ReadSchema {
  if (typeof schema === 'boolean') return { json: schema };
  const standard = standardPart(schema);
  if (standard === undefined) return { json: isJsonObject(schema) ? schema : true };
  const json = toJsonSchema(standard);
  const { validate } = standard;
  if (typeof validate !== 'function') return { json };
  return { json, validate: (value) => Reflect.apply(validate, standard, [value]) };
}

interface StandardPart {
  readonly validate?: unknown;
  readonly jsonSchema?: unknown;
}

function standardPart(schema: unknown): StandardPart | undefined {
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null || !('~standard' in schema))
    return undefined;
  const part = schema['~standard'];
  return typeof part === 'object' && part !== null ? part : undefined;
}

/** Asks the schema for its JSON Schema of what it takes in. */
function toJsonSchema(standard: StandardPart): JsonSchema {
  const converter = standard.jsonSchema;
  if (typeof converter !== 'object' || converter === null || !('input' in converter)) return true;
  const { input } = converter;
  if (typeof input !== 'function') return true;
  try {
    const made: Json = Reflect.apply(input, converter, [{ target: 'draft-2020-12' }]);
    return isJsonObject(made) || typeof made === 'boolean' ? made : true;
  } catch {
    return true;
  }
}
