import { isList } from '../../json/depth.ts';
import type { Issue } from '../../json/errors.ts';
import { type Json, type JsonSchema, isJsonObject } from '../../json/json.ts';
import type { Repair } from '../repair/repairs.ts';
import { pointer } from './fit-context.ts';

/** A Standard Schema (zod, and others) as far as the parser uses it. */
interface StandardSchemaLike {
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

/** Reads anything that can serve as a schema. One without a JSON Schema allows everything that its own check allows. */
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

/** The result of a schema's own check of a value; a repair `unchecked` when the check is asynchronous. */
export function validationIssues(
  validate: ((value: unknown) => unknown) | undefined,
  value: Json,
): { readonly issues: readonly Issue[]; readonly repairs: readonly Repair[] } {
  const verdict = validate === undefined ? { issues: [] } : run(validate, value);
  return verdict === 'later' ? { issues: [], repairs: [UNCHECKED] } : { issues: verdict.issues, repairs: [] };
}

const UNCHECKED: Repair = {
  kind: 'unchecked',
  message: 'the check of the schema is asynchronous and did not run',
  path: '',
  cost: 0,
};

function run(validate: (value: unknown) => unknown, value: Json): { readonly issues: readonly Issue[] } | 'later' {
  let result: unknown;
  try {
    result = validate(value);
  } catch (error) {
    return {
      issues: [{ path: '', message: error instanceof Error ? error.message : 'the check of the schema failed' }],
    };
  }
  if (typeof result !== 'object' || result === null) return { issues: [] };
  if ('then' in result) {
    if (result instanceof Promise) result.catch(() => undefined);
    return 'later';
  }
  if ('issues' in result && Array.isArray(result.issues)) return { issues: result.issues.map(toIssue) };
  return { issues: [] };
}

function toIssue(issue: unknown): Issue {
  if (typeof issue !== 'object' || issue === null) return { path: '', message: String(issue) };
  const message = 'message' in issue && typeof issue.message === 'string' ? issue.message : 'does not fit';
  const path = 'path' in issue && isList(issue.path) ? issue.path : [];
  return { path: pointer(Array.from(path, segment)), message };
}

function segment(part: unknown): string | number {
  const key: unknown = typeof part === 'object' && part !== null && 'key' in part ? part.key : part;
  return typeof key === 'number' ? key : String(key);
}
