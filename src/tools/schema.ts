import { wrongOption } from '../json/known-options.ts';
import type { Issue } from '../json/errors.ts';
import { type Json, type JsonObject, type JsonSchema, isJsonObject, memberOf } from '../json/json.ts';
import { toJson } from '../json/to-json.ts';
import { pointer } from '../parsing/schema/fit-context.ts';

/** A Standard Schema (zod and others), as far as tools use it: its types, its check, its JSON Schema. */
export interface StandardSchema<TInput = unknown, TOutput = unknown> {
  readonly '~standard': {
    readonly version: number;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<TOutput> | Promise<StandardResult<TOutput>>;
    readonly types?: { readonly input: TInput; readonly output: TOutput } | undefined;
  };
}

type StandardResult<TOutput> =
  | { readonly value: TOutput; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** One thing that a schema found wrong, and where. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What `inputSchema` may be. */
export type InputSchema = StandardSchema | JsonObject;

/** What a tool's schema makes of the arguments: what `validateArgs` gets. */
export type InputOf<TSchema> = TSchema extends StandardSchema<unknown, infer TOutput> ? TOutput : JsonObject;

/** The arguments that a tool's `execute` gets: they are recorded before, as JSON, so a `Date` is its text. */
export type ArgsOf<TSchema> = TSchema extends StandardSchema ? Recorded<InputOf<TSchema>> : JsonObject;

type Recorded<T> = unknown extends T
  ? T
  : T extends string | number | boolean
    ? T
    : T extends { toJSON: () => infer TJson }
      ? TJson
      : { [TName in keyof T]: Recorded<T[TName]> };

/** A schema, read: its JSON Schema, and its own check where it has one. */
interface ToolSchema {
  readonly json: JsonSchema;
  readonly check: StandardCheck | null;
}

const NO_ARGUMENTS: JsonSchema = { type: 'object', properties: {} };
const TYPES: ReadonlySet<Json> = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);

/**
 * Reads the schema of the tool `name`. Throws a `TypeError` that names the tool and what is wrong: a Standard Schema that
 * gives no JSON Schema (pass one as `jsonSchema`), or a JSON Schema that does not describe an object.
 */
export function readToolSchema(name: string, schema: unknown, jsonSchema: unknown): ToolSchema {
  if (schema === undefined && jsonSchema === undefined) return { json: NO_ARGUMENTS, check: null };
  const standard = isStandard(schema) ? schema['~standard'] : null;
  const json = jsonSchema ?? (standard === null ? schema : jsonSchemaOf(name, standard));
  if (!isJsonObject(json))
    throw wrongOption(
      `Tool '${name}': inputSchema must be zod, another Standard Schema or a JSON Schema object, and is ${json === null ? 'null' : typeof json}.`,
    );
  const plain = plainSchema(json);
  if (typeof plain === 'string') throw wrongOption(`Tool '${name}': inputSchema is not a valid JSON Schema: ${plain}.`);
  if (json.type !== undefined && json.type !== 'object')
    throw wrongOption(
      `Tool '${name}': inputSchema must describe an object (type "object"), and its type is ${JSON.stringify(json.type)}.`,
    );
  return { json: { type: 'object', ...plain }, check: isStandard(schema) ? checkOf(schema) : null };
}

/** A JSON Schema as data of its own; or what is wrong with it, such as members that are schemas of a library. */
export function plainSchema(given: JsonObject): JsonObject | string {
  const { $schema: _dialect, '~standard': _standard, ...rest } = given;
  for (const [name, member] of Object.entries({ ...rest, ...Object(rest['properties']) }))
    if (isStandard(member))
      return `'${name}' is a schema of ${member['~standard'].vendor}; put it into an object of that library, such as z.object()`;
  const json = toJson(rest);
  if (!json.ok) return json.reason;
  return schemaProblem(json.value, '') ?? Object(json.value);
}

/** True for a Standard Schema. */
export function isStandard(schema: unknown): schema is StandardSchema {
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null) return false;
  const part: unknown = Reflect.get(schema, '~standard');
  return typeof part === 'object' && part !== null && typeof Reflect.get(part, 'validate') === 'function';
}

/**
 * The check of a Standard Schema. Zod's `validate` first tries without waiting, so an asynchronous part runs twice, and if
 * it throws, the first time is a rejection that no one can handle: its own `safeParseAsync` runs it once.
 */
export function checkOf(schema: StandardSchema): StandardCheck {
  const standard = schema['~standard'];
  const parse: unknown = standard.vendor === 'zod' ? Reflect.get(schema, 'safeParseAsync') : undefined;
  if (typeof parse !== 'function') return (value) => standard.validate(value);
  return async (value) => {
    const read: ZodResult = await Reflect.apply(parse, schema, [value]);
    return read.success ? { value: read.data } : { issues: read.error.issues };
  };
}

export type StandardCheck = StandardSchema['~standard']['validate'];
type ZodResult =
  | { readonly success: true; readonly data: unknown }
  | { readonly success: false; readonly error: { readonly issues: readonly StandardIssue[] } };

/**
 * What a Standard Schema takes, as JSON Schema; undefined where it does not offer one. Throws what the schema's library
 * throws when it cannot write it. `options` are that library's own.
 */
export function writtenAsJson(
  standard: StandardSchema['~standard'],
  options: { readonly [name: string]: unknown } = {},
): unknown {
  const converter = memberOf(standard, 'jsonSchema');
  const input = memberOf(converter, 'input');
  if (typeof input !== 'function') return undefined;
  return Reflect.apply(input, converter, [{ target: 'draft-2020-12', ...options }]);
}

function jsonSchemaOf(name: string, standard: StandardSchema['~standard']): unknown {
  const cure = 'Pass the JSON Schema beside it as `jsonSchema`.';
  let written: unknown;
  try {
    written = writtenAsJson(standard);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw wrongOption(
      `Tool '${name}': its schema (${standard.vendor}) cannot be written as JSON Schema: ${reason.replace(/\.?$/, '.')} ${cure}`,
      { cause },
    );
  }
  if (written === undefined)
    throw wrongOption(`Tool '${name}': its schema (${standard.vendor}) does not export JSON Schema. ${cure}`);
  return written;
}

/** The first thing that is wrong with a JSON Schema, with its path; null when nothing is. */
export function schemaProblem(schema: Json, path: string): string | null {
  if (typeof schema === 'boolean') return null;
  if (!isJsonObject(schema)) return `${path === '' ? 'it' : path} must be an object or a boolean`;
  const types = Array.isArray(schema.type) ? schema.type : schema.type === undefined ? [] : [schema.type];
  for (const type of types)
    if (!TYPES.has(type)) return `${path}/type is ${JSON.stringify(type)}, which is not a JSON type`;
  if (
    schema.required !== undefined &&
    !(Array.isArray(schema.required) && schema.required.every((key) => typeof key === 'string'))
  )
    return `${path}/required must be a list of names`;
  if (schema.enum !== undefined && !Array.isArray(schema.enum)) return `${path}/enum must be a list`;
  if (schema.properties !== undefined && !isJsonObject(schema.properties))
    return `${path}/properties must be an object`;
  for (const [key, member] of Object.entries(schema.properties ?? {})) {
    const problem = schemaProblem(member, `${path}/properties/${key}`);
    if (problem !== null) return problem;
  }
  return schema.items === undefined ? null : schemaProblem(schema.items, `${path}/items`);
}

/** What a Standard Schema found wrong, in our form. */
export function standardIssues(issues: readonly StandardIssue[]): readonly Issue[] {
  return issues.map(({ message, path = [] }) => ({
    // Not `path.map`: ArkType's paths are lists of a class of their own, whose copies begin with a 0.
    path: pointer(Array.from(path, (step) => String(typeof step === 'object' ? step.key : step))),
    message,
  }));
}
