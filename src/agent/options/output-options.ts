import type { OutputCheck } from '../../actors/check-output.ts';
import { OptionError, wrongOption } from '../../json/known-options.ts';
import { toJson } from '../../json/to-json.ts';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import {
  DEFAULT_SETTINGS,
  OUTPUT_MODES,
  type OutputMode,
  type OutputSpec,
} from '../../machines/contract/agent-setup.ts';
import {
  type StandardCheck,
  type StandardSchema,
  checkOf,
  isStandard,
  plainSchema,
  standardIssues,
  writtenAsJson,
} from '../../tools/schema.ts';

/** What `outputSchema` may be: zod, another Standard Schema that exports its JSON Schema, or a JSON Schema. */
export type OutputSchema = StandardSchema | JsonObject;

/** The value that a schema asks for; null for no schema. */
export type OutputOf<TSchema> = TSchema extends undefined
  ? null
  : TSchema extends StandardSchema<unknown, infer TOutput>
    ? TOutput
    : TSchema extends JsonObject
      ? Json
      : unknown;

/** What `checkOutput` gets besides the answer. */
export interface CheckOutputContext<TContext = unknown> {
  /** The value given to `run(input, { context })`; undefined without one. */
  readonly context: TContext;
  /** Aborts when the run is cancelled, and when the check takes too long. */
  readonly signal: AbortSignal;
}

/** A check by code of an answer that fits its schema. It throws what is wrong with it. */
export type CheckOutput<TContext, TSchema> = [TSchema] extends [undefined]
  ? never
  : (value: OutputOf<TSchema>, io: CheckOutputContext<TContext>) => void | Promise<void>;

/** The options that give an answer a schema. */
export interface OutputOptions {
  readonly outputSchema?: OutputSchema | undefined;
  readonly outputMode?: OutputMode | undefined;
  readonly checkOutput?: ((value: never, io: CheckOutputContext<never>) => unknown) | undefined;
  /** `toolMs` limits the check as well. */
  readonly timeouts?: { readonly toolMs?: number | undefined } | undefined;
}

/** The schema of an answer, read: what the machine is given, and what code checks. */
export interface TypedOutput {
  /** The same object each time, so that what follows from it is composed once. */
  readonly spec: (besideTools: boolean) => OutputSpec;
  readonly check: OutputCheck | null;
}

/**
 * Reads the schema of an answer; null if there is none. Throws an `OptionError` that names the option: for a schema
 * that neither is nor yields a JSON Schema, or for a check without a schema.
 */
export function typedOutput(what: 'createAgent' | 'agent.run', given: OutputOptions): TypedOutput | null {
  const { outputSchema, outputMode = 'auto', checkOutput, timeouts } = given;
  const wrong = (option: string, problem: string): OptionError =>
    wrongOption(`${what}: option '${option}': ${problem}`);
  if (outputSchema === undefined) {
    if (checkOutput !== undefined) throw wrong('checkOutput', "it needs 'outputSchema' beside it.");
    if (what === 'agent.run' && given.outputMode !== undefined)
      throw wrong('outputMode', "it needs 'outputSchema' beside it.");
    return null;
  }
  if (!OUTPUT_MODES.includes(outputMode)) throw wrong('outputMode', `must be one of ${OUTPUT_MODES.join(', ')}.`);
  if (checkOutput !== undefined && typeof checkOutput !== 'function') throw wrong('checkOutput', 'must be a function.');
  const standard = isStandard(outputSchema) ? outputSchema['~standard'] : null;
  const json = standard === null ? outputSchema : asJson(standard, (problem) => wrong('outputSchema', problem));
  if (!isJsonObject(json))
    throw wrong('outputSchema', 'must be zod, another Standard Schema, or a JSON Schema object.');
  const schema = plainSchema(json);
  if (typeof schema === 'string') throw wrong('outputSchema', `is not a valid JSON Schema: ${schema}.`);
  const check =
    standard === null && checkOutput === undefined
      ? null
      : checkBy(isStandard(outputSchema) ? checkOf(outputSchema) : null, checkOutput);
  const specOf = (besideTools: boolean): OutputSpec =>
    Object.freeze({
      schema: structuredClone(schema),
      mode: outputMode,
      checkMs: check === null ? null : (timeouts?.toolMs ?? DEFAULT_SETTINGS.fixMs),
      besideTools,
      ...(what === 'agent.run' ? { ofRun: true } : {}),
    });
  const specs: { [besideTools in 'true' | 'false']?: OutputSpec } = {};
  return { spec: (besideTools) => (specs[`${besideTools}`] ??= specOf(besideTools)), check };
}

function asJson(standard: StandardSchema['~standard'], wrong: (problem: string) => Error): unknown {
  let written: unknown;
  try {
    written = writtenAsJson(standard);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw wrong(`the schema (${standard.vendor}) cannot be written as JSON Schema: ${reason}`);
  }
  if (written === undefined)
    throw wrong(
      `the schema (${standard.vendor}) gives no JSON Schema. Pass a JSON Schema, and check the rest in 'checkOutput'.`,
    );
  return written;
}

function checkBy(check: StandardCheck | null, own: OutputOptions['checkOutput']): OutputCheck {
  return async (value, io) => {
    const checked = check === null ? { value } : await check(value);
    if (checked.issues !== undefined) return { ok: false, issues: standardIssues(checked.issues) };
    try {
      if (own !== undefined) await Reflect.apply(own, undefined, [checked.value, io]);
    } catch (thrown) {
      return { ok: false, issues: [{ path: '', message: thrown instanceof Error ? thrown.message : String(thrown) }] };
    }
    const json = toJson(checked.value);
    if (json.ok && isCopy(json.value, checked.value)) return { ok: true, value: json.value };
    const reason = json.ok ? 'its copy as JSON is another value' : json.reason;
    throw Object.assign(
      new Error(`The schema turns the answer into something that is not JSON: ${reason}. Let it return JSON.`),
      { code: 'output-not-json' },
    );
  };
}

/** True when nothing was lost: a Date would be a text, and NaN null, whatever the output's type. */
function isCopy(json: unknown, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return json === value;
  if (typeof json !== 'object' || json === null || 'toJSON' in value) return false;
  return Object.entries(value).every(([name, member]) => isCopy(Reflect.get(json, name), member));
}
