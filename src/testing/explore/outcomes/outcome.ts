import type { Effect, LeafError, Outcome } from '../../../actors/journal.ts';
import { type Json, type JsonSchema, type JsonObject, isJsonObject } from '../../../json/json.ts';
import type { ShownOutput } from '../../../machines/agent/typed-output.ts';
import { checkArguments } from '../../../parsing/calls/arguments.ts';

/** One thing that can come of a leaf, standing for all that the machines treat alike. The label names it in a path. */
export type Representative =
  | { readonly label: string; readonly value: Json }
  | { readonly label: string; readonly error: LeafError };

/** A tool in an exploration. */
export interface KnownTool {
  readonly name: string;
  readonly inputSchema: JsonSchema;
  /** Whether the machine may run it at all; calls of others are explored too. */
  readonly usable: boolean;
  /** Its own code says which calls a person must approve. */
  readonly needsApproval?: boolean | undefined;
}

/** Where a leaf was started, for computing its possible outcomes. */
export interface LeafScene {
  readonly effect: Effect;
  /** The tools of the agent that the leaf belongs to. */
  readonly tools: readonly KnownTool[];
  /** Arguments that a tool accepts; undefined if none can be generated from its schema. */
  readonly argumentsFor: (tool: KnownTool) => Json | undefined;
  /** How the answer is asked for, where it has a schema. */
  readonly output: ShownOutput | null;
  /** The model is asked again in the same turn. Its reply is passed on unread, so one of each sort is enough. */
  readonly again: boolean;
  /** The model is one of several: whether this is its first request of the turn; null: it is alone. */
  readonly first: boolean | null;
  /** How many tokens a reply costs; null if they are not counted. */
  readonly tokens: number | null;
}

/** What can come of a leaf. */
export type OutcomesOf = (scene: LeafScene) => readonly Representative[];

/** The outcome as a machine receives it. */
export function outcomeFrom(representative: Representative): Outcome {
  return 'error' in representative
    ? { ok: false, error: representative.error }
    : { ok: true, value: representative.value };
}

/** A failure with a stable code. */
export function fails(label: string, code: string, message: string, data?: Json): Representative {
  return { label, error: data === undefined ? { code, message } : { code, message, data } };
}

/** Arguments that fit the schema, as few as it allows; undefined when none could be made up. */
export function sampleArguments(schema: JsonSchema): JsonObject | undefined {
  const sample = sampleOf(schema, schema, 0);
  return isJsonObject(sample) && fits(sample, schema) ? sample : undefined;
}

/** Arguments that do not fit the schema; undefined when it takes everything. */
export function wrongArguments(schema: JsonSchema, valid: Json): JsonObject | undefined {
  const right = isJsonObject(valid) ? valid : {};
  const names = Object.keys(isJsonObject(schema) && isJsonObject(schema.properties) ? schema.properties : {});
  const candidates = [{}, ...names.map((name) => ({ ...right, [name]: { not: ['what', 'it', 'takes'] } }))];
  return candidates.find((candidate) => !fits(candidate, schema));
}

function fits(value: JsonObject, schema: JsonSchema): boolean {
  return checkArguments(value, schema).ok;
}

const DEEPEST = 8;

function sampleOf(schema: Json | undefined, root: JsonSchema, depth: number): Json {
  if (!isJsonObject(schema) || depth > DEEPEST) return null;
  if (typeof schema.$ref === 'string') return sampleOf(referred(root, schema.$ref), root, depth + 1);
  for (const known of [schema.const, schema.default, firstOf(schema.enum), firstOf(schema.examples)])
    if (known !== undefined) return known;
  for (const key of ['anyOf', 'oneOf', 'allOf'] as const) {
    const first = firstOf(schema[key]);
    if (first !== undefined && schema.properties === undefined) return sampleOf(first, root, depth + 1);
  }
  const type = Array.isArray(schema.type) ? firstOf(schema.type) : schema.type;
  return sampleOfType(schema, type ?? 'object', root, depth);
}

function sampleOfType(schema: JsonObject, type: Json, root: JsonSchema, depth: number): Json {
  switch (type) {
    case 'string':
      return 'x'.repeat(Math.max(1, numberOr(schema.minLength, 1)));
    case 'integer':
    case 'number':
      return sampleNumber(schema);
    case 'boolean':
      return true;
    case 'null':
      return null;
    case 'array':
      return Array.from({ length: numberOr(schema.minItems, 0) }, () => sampleOf(schema.items, root, depth + 1));
    default:
      return sampleObject(schema, root, depth);
  }
}

function sampleNumber(schema: JsonObject): number {
  const step = numberOr(schema.multipleOf, 1);
  const least = Math.max(numberOr(schema.minimum, -Infinity), numberOr(schema.exclusiveMinimum, -Infinity) + step);
  if (Number.isFinite(least)) return Math.ceil(least / step) * step;
  return Math.min(step, numberOr(schema.maximum, step), numberOr(schema.exclusiveMaximum, Infinity) - step);
}

function sampleObject(schema: JsonObject, root: JsonSchema, depth: number): JsonObject {
  const { properties, required } = schema;
  const names = Array.isArray(required) ? required.map(String) : [];
  return Object.fromEntries(
    names.map((name) => [name, sampleOf(isJsonObject(properties) ? properties[name] : undefined, root, depth + 1)]),
  );
}

function referred(root: JsonSchema, reference: string): Json | undefined {
  let at: Json | undefined = typeof root === 'boolean' ? undefined : root;
  for (const step of reference.split('/').slice(1)) at = isJsonObject(at) ? at[step] : undefined;
  return at;
}

function firstOf(list: Json | undefined): Json | undefined {
  if (!Array.isArray(list)) return undefined;
  const items: readonly Json[] = list;
  return items[0];
}

function numberOr(value: Json | undefined, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}
