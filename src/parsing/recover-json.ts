import { type Candidate, findCandidates } from './candidates.ts';
import type { Issue } from './errors.ts';
import type { Json } from './json.ts';
import { type Limits, resolveLimits } from './limits.ts';
import { maskReply } from './masks.ts';
import { parsePrefix } from './prefix.ts';
import { chooseCandidate } from './rank.ts';
import type { Repair } from './reply.ts';
import { fit } from './schema/fit.ts';
import { FitContext } from './schema/fit-context.ts';
import { readSchema, type SchemaLike } from './schema/schema-like.ts';
import { parseStrict } from './strict-json.ts';

/** A recovered value, or why there is none. */
export type RecoveredJson =
  | { readonly ok: true; readonly value: Json; readonly complete: boolean; readonly repairs: readonly Repair[] }
  | { readonly ok: false; readonly issues: readonly Issue[] };

/** What `recoverJson` may be told. */
export interface RecoverJsonOptions {
  /** A zod schema, any Standard Schema that gives JSON Schema, or a JSON Schema: values are coerced to it and checked. */
  readonly schema?: SchemaLike;
  readonly limits?: Partial<Limits>;
}

/**
 * Finds the one JSON value in a text, mending what is broken. Prose and bare scalars hold none, unless a schema asks
 * for a scalar. Never throws; `complete: false` means that the text was cut off inside the value.
 *
 * @example recoverJson("Here: {'a': 1,}") // { ok: true, value: { a: 1 }, complete: true, repairs: [...] }
 */
export function recoverJson(text: string, options?: RecoverJsonOptions): RecoveredJson {
  const limits = resolveLimits(options?.limits);
  const given: unknown = text;
  if (typeof given !== 'string') return none(`expected a text, got ${given === null ? 'null' : typeof given}`);
  if (given.length > limits.maxChars) return none(`the text is longer than ${limits.maxChars} characters`);
  const schema = options?.schema === undefined ? undefined : readSchema(options.schema);
  const found = findValue(given, limits, schema !== undefined);
  if (schema === undefined || !found.ok) return found;
  const context = new FitContext(schema.json, true);
  const value = fit(found.value, schema.json, context);
  if (context.issues.length > 0) return { ok: false, issues: context.issues };
  return { ...found, value, repairs: [...found.repairs, ...context.repairs] };
}

function findValue(text: string, limits: Limits, scalars: boolean): RecoveredJson {
  const { maxDepth } = limits;
  const strict = parseStrict(text, maxDepth);
  if (strict !== undefined) return unwrapText(strict.value, maxDepth, scalars);
  const masked = maskReply(text);
  const prefix = parsePrefix(masked.text, skipMarks(masked.text), { to: masked.end, maxDepth });
  if (prefix.kind === 'cut' && typeof prefix.value === 'object' && prefix.value !== null) {
    return { ok: true, value: prefix.value, complete: false, repairs: [] };
  }
  const { candidates } = findCandidates(masked.text, { from: 0, to: masked.end, maxDepth });
  const choice = chooseCandidate(candidates, undefined);
  if (choice.kind === 'one') return fromCandidate(choice.chosen.candidate);
  if (choice.kind === 'none') return none('the text holds no JSON object or list');
  const tied = choice.tied.map(({ candidate }) => candidate);
  return none(`the text holds ${tied.length} different values of equal rank`);
}

function fromCandidate({ value, complete, repairs }: Candidate): RecoveredJson {
  return { ok: true, value, complete, repairs };
}

/** A bare scalar is no JSON to recover, unless a schema asks for one; a text that spells JSON is decoded. */
function unwrapText(value: Json, maxDepth: number, scalars: boolean): RecoveredJson {
  if (typeof value === 'object' && value !== null) return { ok: true, value, complete: true, repairs: [] };
  const inner = typeof value === 'string' ? parseStrict(value, maxDepth)?.value : undefined;
  if (inner !== undefined && typeof inner === 'object' && inner !== null) {
    const repair: Repair = { kind: 'double-encoded', message: 'JSON written as a string was decoded', at: 0, cost: 1 };
    return { ok: true, value: inner, complete: true, repairs: [repair] };
  }
  return scalars ? { ok: true, value, complete: true, repairs: [] } : none('a bare scalar is no JSON to recover');
}

function skipMarks(text: string): number {
  const found = text.search(/[^\s\u200b\u2060\ufeff]/);
  return found < 0 ? text.length : found;
}

function none(message: string): RecoveredJson {
  return { ok: false, issues: [{ path: '', message }] };
}
