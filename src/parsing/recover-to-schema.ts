import type { Candidate } from './candidates.ts';
import { isList } from './depth.ts';
import type { Issue } from './errors.ts';
import type { Json } from './json.ts';
import type { Limits } from './limits.ts';
import { chooseCandidate } from './rank.ts';
import { readValues } from './read-values.ts';
import type { RecoveredJson } from './recovered-json.ts';
import type { Repair } from './reply.ts';
import { scalarFromText } from './scalar-from-text.ts';
import { validationIssues } from './schema/apply-validator.ts';
import { coerceTo } from './schema/coerce.ts';
import { fit } from './schema/fit.ts';
import { FitContext } from './schema/fit-context.ts';
import { jsonEquals } from './schema/json-types.ts';
import type { ReadSchema } from './schema/schema-like.ts';
import { parseStrict } from './strict-json.ts';

interface Fitted {
  readonly value: Json;
  readonly complete: boolean;
  readonly repairs: readonly Repair[];
  readonly issues: readonly Issue[];
  readonly fenced: boolean;
}

/** Finds the value in a text that a schema asks for, coerced to it; or the issues of the one that came nearest. */
export function recoverToSchema(text: string, schema: ReadSchema, limits: Limits): RecoveredJson {
  const readings = [...readWhole(text, limits), ...readParts(text, limits, schema)];
  const fitted = readings.map((reading) => fitReading(reading, schema));
  const good = fitted.filter(({ issues }) => issues.length === 0);
  const [best] = good.some(({ fenced }) => !fenced) ? good.filter(({ fenced }) => !fenced) : good;
  if (best === undefined) return { ok: false, issues: fitted[0]?.issues ?? NOTHING };
  if (good.some(({ value, fenced }) => fenced === best.fenced && !jsonEquals(value, best.value)))
    return { ok: false, issues: SEVERAL };
  const { value, complete, repairs } = best;
  return { ok: true, value, complete, repairs };
}

const NOTHING: readonly Issue[] = [{ path: '', message: 'the text holds no value that the schema asks for' }];
const SEVERAL: readonly Issue[] = [
  { path: '', message: 'the text holds several different values that fit the schema' },
];

type Reading = Pick<Candidate, 'value' | 'complete' | 'repairs' | 'fenced'>;

function fitReading({ value, complete, repairs, fenced }: Reading, schema: ReadSchema): Fitted {
  const context = new FitContext(schema.json, { coerce: coerceTo, partial: !complete });
  const fitted = fit(value, schema.json, context);
  const verdict =
    context.issues.length > 0 || !complete
      ? { issues: context.issues, repairs: [] }
      : validationIssues(schema.validate, fitted);
  return {
    value: fitted,
    complete,
    repairs: [...repairs, ...context.repairs, ...verdict.repairs],
    issues: verdict.issues,
    fenced,
  };
}

function readWhole(text: string, limits: Limits): readonly Reading[] {
  const strict = parseStrict(text, limits.maxDepth);
  return strict === undefined ? [] : [{ value: strict.value, complete: true, repairs: [], fenced: false }];
}

/** What stands in the text: when the whole is JSON, its inside only counts for JSON written as a string. */
function readParts(text: string, limits: Limits, schema: ReadSchema): readonly Reading[] {
  const { candidates, whole, masked } = readValues(text, limits, { trimsLayout: true });
  const strict = parseStrict(text, limits.maxDepth);
  if (strict !== undefined && typeof strict.value === 'object') return [];
  const words = strict === undefined ? masked.text.slice(0, masked.end) : strict.value;
  const scalar = typeof words === 'string' ? scalarFromText(words, schema.json) : undefined;
  const scalars: readonly Reading[] = scalar === undefined ? [] : [{ ...scalar, complete: true, fenced: false }];
  if (whole) return [...candidates, ...scalars];
  const choice = chooseCandidate(candidates, undefined);
  if (choice.kind !== 'several') return choice.kind === 'one' ? [choice.chosen.candidate, ...scalars] : scalars;
  const tied = choice.tied.map(({ candidate }) => candidate);
  return asksForList(schema.json) ? [listOf(tied), ...scalars] : [...tied, ...scalars];
}

function asksForList(schema: ReadSchema['json']): boolean {
  return (
    typeof schema === 'object' &&
    (schema['type'] === 'array' || (isList(schema['type']) && schema['type'].includes('array')))
  );
}

/** Several values where a list is asked for are its items. */
function listOf(candidates: readonly Candidate[]): Reading {
  const repair: Repair = {
    kind: 'collected',
    message: `${candidates.length} values were collected into a list`,
    cost: 1,
  };
  return {
    value: candidates.map(({ value }) => value),
    complete: candidates.every(({ complete }) => complete),
    repairs: [...candidates.flatMap(({ repairs }) => repairs), repair],
    fenced: false,
  };
}
