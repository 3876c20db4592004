import { parseStrict } from '../../json/depth.ts';
import { OptionError, optionsOf } from '../../json/known-options.ts';
import { type Limits, type Repair, checkLimits, resolveLimits } from '../repair/repairs.ts';
import type { Candidate } from '../repair/values-in-text.ts';
import { type SchemaLike, readSchema } from '../schema/schema-like.ts';
import { type Ranked, type RecoveredJson, chooseCandidate, readValues } from './read-values.ts';
import { recoverToSchema } from './recover-to-schema.ts';

/** Options of `recoverJson`. */
export interface RecoverJsonOptions {
  /** A zod schema, any Standard Schema that gives JSON Schema, or a JSON Schema: values are coerced to it and checked. */
  readonly schema?: SchemaLike | undefined;
  readonly limits?: Partial<Limits> | undefined;
}

/**
 * Finds the one JSON value in a text, repairing what is broken. Prose and bare scalars hold none, unless a schema asks
 * for a scalar; several different values are none either. Never throws; `complete: false` means that the text was cut
 * off inside the value. An unknown option is an issue, too.
 *
 * @example recoverJson("Here: {'a': 1,}") // { ok: true, value: { a: 1 }, complete: true, repairs: [...] }
 */
export function recoverJson(text: string, options?: RecoverJsonOptions): RecoveredJson {
  const wrong = problemOf(options);
  if (wrong !== null) return none(wrong);
  const limits = resolveLimits(options?.limits);
  const given: unknown = text;
  if (typeof given !== 'string') return none(`expected a text, got ${given === null ? 'null' : typeof given}`);
  if (given.length > limits.maxChars) return none(`the text is longer than ${limits.maxChars} characters`);
  const schema = options?.schema;
  return schema === undefined ? recoverPlain(given, limits) : recoverToSchema(given, readSchema(schema), limits);
}

const checkOptions = optionsOf<RecoverJsonOptions>('recoverJson', 'docs/models.md', { schema: true, limits: true });

function problemOf(options: RecoverJsonOptions | undefined): string | null {
  try {
    checkOptions(options);
    checkLimits(options?.limits, 'recoverJson: limits');
    return null;
  } catch (error) {
    if (error instanceof OptionError) return error.message;
    throw error;
  }
}

function recoverPlain(text: string, limits: Limits): RecoveredJson {
  const strict = parseStrict(text, limits.maxDepth, true);
  if (strict !== undefined && typeof strict.value === 'object' && strict.value !== null) {
    return { ok: true, value: strict.value, complete: true, repairs: [] };
  }
  const { candidates, masked } = readValues(text, limits, { trimsLayout: false });
  const choice = chooseCandidate(candidates);
  if (choice.kind === 'one') return fromCandidate(choice.chosen.candidate);
  if (choice.kind === 'none') return none('the text holds no JSON object or list');
  const lines = collectLines(masked.text, choice.tied);
  if (lines !== undefined) return fromCandidate(lines);
  return none(`the text holds ${choice.tied.length} values of equal rank that differ`);
}

function fromCandidate({ value, complete, repairs }: Candidate): RecoveredJson {
  return { ok: true, value, complete, repairs };
}

function none(message: string): RecoveredJson {
  return { ok: false, issues: [{ path: '', message }] };
}

const BETWEEN = /^(?:[\s,;]|<[^<>]{1,40}>|\/\*[^*]{0,80}\*\/)*$/;
const FARTHEST = 200;

/** True when values stand one after the other outside fences, with nothing between them but separators and tags. */
function areAdjacent(text: string, candidates: readonly Candidate[]): boolean {
  return candidates.every((candidate, i) => {
    if (candidate.fenced) return false;
    const next = candidates[i + 1];
    return (
      next === undefined || (next.from - candidate.to <= FARTHEST && BETWEEN.test(text.slice(candidate.to, next.from)))
    );
  });
}

/** Lines of JSON: objects that are not replies, one after the other, are the items of a list. */
function collectLines(text: string, tied: readonly Ranked[]): Candidate | undefined {
  const candidates = tied.map(({ candidate }) => candidate);
  const [first] = candidates;
  if (first === undefined || tied.some(({ envelope }) => envelope !== undefined)) return undefined;
  if (!areAdjacent(text, candidates)) return undefined;
  const repair: Repair = {
    kind: 'collected',
    message: `${candidates.length} values one after the other were read as a list`,
    at: first.from,
    cost: 1,
  };
  return {
    ...first,
    value: candidates.map(({ value }) => value),
    to: candidates.at(-1)?.to ?? first.to,
    strict: false,
    complete: candidates.every(({ complete }) => complete),
    repairs: [...candidates.flatMap(({ repairs }) => repairs), repair],
    cost: candidates.reduce((sum, { cost }) => sum + cost, repair.cost),
  };
}
