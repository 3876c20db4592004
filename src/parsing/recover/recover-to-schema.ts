import { jsonrepair } from 'jsonrepair';
import { isList, parseStrict } from '../../json/depth.ts';
import type { Issue } from '../../json/errors.ts';
import { type Json, type JsonSchema, isJsonObject } from '../../json/json.ts';
import { asWritten } from '../calls/arguments.ts';
import type { Limits, Repair } from '../repair/repairs.ts';
import type { Candidate } from '../repair/values-in-text.ts';
import { coerceTo, readNumber } from '../schema/coerce.ts';
import { FitContext } from '../schema/fit-context.ts';
import { fitWhole } from '../schema/fit.ts';
import { jsonEquals, typesOf } from '../schema/json-types.ts';
import { type ReadSchema, validationIssues } from '../schema/schema-like.ts';
import { type RecoveredJson, chooseCandidate, readValues } from './read-values.ts';

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
  if (best === undefined)
    return lastResort(text, schema, limits) ?? { ok: false, issues: fitted[0]?.issues ?? NOTHING };
  if (good.some(({ value, fenced }) => fenced === best.fenced && !jsonEquals(value, best.value)))
    return { ok: false, issues: SEVERAL };
  const { value, complete, repairs } = best;
  return { ok: true, value, complete, repairs };
}

const NOTHING: readonly Issue[] = [{ path: '', message: 'the text holds no value that the schema asks for' }];
const SEVERAL: readonly Issue[] = [
  { path: '', message: 'the text holds several different values that fit the schema' },
];

type Reading = Pick<Candidate, 'value' | 'complete' | 'repairs' | 'fenced'> & {
  /** The whole text, where it is the value. */
  readonly text?: string;
};

function fitReading({ value, complete, repairs, fenced, text }: Reading, schema: ReadSchema): Fitted {
  const written = asWritten(value, schema.json);
  const context = new FitContext(schema.json, { coerce: coerceTo, partial: !complete });
  const whole = fitWhole(written.value, context);
  const fitted = typeof value === 'number' && typeof whole.value === 'string' ? (text ?? whole.value) : whole.value;
  const verdict =
    whole.issues.length > 0 || !complete
      ? { issues: whole.issues, repairs: [] }
      : validationIssues(schema.validate, fitted);
  return {
    value: fitted,
    complete,
    repairs: [...repairs, ...written.repairs, ...whole.repairs, ...verdict.repairs],
    issues: verdict.issues,
    fenced,
  };
}

function readWhole(text: string, limits: Limits): readonly Reading[] {
  const strict = parseStrict(text, limits.maxDepth);
  return strict === undefined
    ? []
    : [{ value: strict.value, complete: true, repairs: [], fenced: false, text: text.trim() }];
}

/** jsonrepair is slower than linear and recursive: it is asked about short and shallow texts only. */
const LONGEST_REPAIRED = 4_000;
const DEEPEST_REPAIRED = 40;

/**
 * What jsonrepair makes of the text between the first and the last bracket, where none of our own readings fits. It
 * repairs more boldly, and only the schema can tell whether it was right, so without one it is never asked.
 */
function lastResort(text: string, schema: ReadSchema, limits: Limits): RecoveredJson | undefined {
  const span = /[{[][^]*[}\]]/.exec(text.length > LONGEST_REPAIRED ? '' : text);
  if (span === null || deepest(span[0]) > DEEPEST_REPAIRED || isCutBehind(text, span)) return undefined;
  const repaired = parseStrict(repairedText(span[0]), limits.maxDepth);
  if (repaired === undefined || typeof repaired.value !== 'object') return undefined;
  const repair: Repair = {
    kind: 'jsonrepair',
    message: 'the JSON was repaired by jsonrepair, and fits the schema',
    at: span.index,
    cost: 5,
  };
  const { value, issues, repairs } = fitReading(
    { value: repaired.value, complete: true, repairs: [repair], fenced: false },
    schema,
  );
  return issues.length > 0 ? undefined : { ok: true, value, complete: true, repairs };
}

/** True where brackets are open at the last closer and words follow: jsonrepair would be shown a value without its end. */
function isCutBehind(text: string, span: RegExpExecArray): boolean {
  const [inside] = span;
  const count = (brackets: RegExp): number => inside.match(brackets)?.length ?? 0;
  return count(/[{[]/g) > count(/[}\]]/g) && /[\p{L}\p{N}]/u.test(text.slice(span.index + inside.length));
}

function repairedText(text: string): string {
  try {
    return jsonrepair(text);
  } catch {
    return '';
  }
}

function deepest(text: string): number {
  let open = 0;
  let most = 0;
  for (const char of text) {
    if (char === '{' || char === '[' || char === '(') most = Math.max(most, (open += 1));
    else if (char === '}' || char === ']' || char === ')') open -= 1;
  }
  return most;
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
  const choice = chooseCandidate(candidates);
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

/** A scalar that a schema asks for, found in a text that is not JSON. */
interface Scalar {
  readonly value: Json;
  readonly repairs: readonly Repair[];
}

/** What a schema takes that is neither list nor object. */
interface Wanted {
  readonly types: Set<Json>;
  readonly choices: Json[];
}

const LONGEST_WORDS = 2_000;

/** The scalar that a schema asks for: the whole text as number, literal or text, or the one choice that it mentions. */
function scalarFromText(text: string, schema: JsonSchema): Scalar | undefined {
  const wanted: Wanted = { types: new Set(), choices: [] };
  collect(schema, wanted, 0);
  const plain = text.trim().replace(/^[*_`\s]+|(?<![*_`\s])[*_`\s]+$/g, '');
  if (plain === '') return undefined;
  const choice =
    wanted.choices.length > 0 && plain.length <= LONGEST_WORDS ? mentioned(plain, wanted.choices) : undefined;
  if (choice !== undefined)
    return asScalar(choice, 'mentioned', `the text mentions ${JSON.stringify(choice)} and no other choice`, 2);
  if (wanted.types.has('number') || wanted.types.has('integer')) {
    const number = readNumber(plain.replace(/\.$/, ''));
    if (number !== undefined) return asScalar(number, 'text-to-number', 'the text was read as a number', 1);
  }
  const literal = LITERALS.get(plain.toLowerCase());
  if (literal !== undefined) return asScalar(literal, 'literal', 'the text was read as a literal', 0);
  if (wanted.types.has('boolean')) {
    const flag = mentioned(plain, [true, false]);
    if (flag !== undefined) return asScalar(flag, 'mentioned', `the text mentions ${JSON.stringify(flag)} only`, 2);
  }
  return wanted.types.has('string') && wanted.choices.length === 0
    ? asScalar(unquoted(text.trim()), 'text', 'the whole text was taken', 1)
    : undefined;
}

const LITERALS = new Map<string, Json>([
  ['true', true],
  ['false', false],
  ['null', null],
  ['none', null],
]);

function asScalar(value: Json, kind: string, message: string, cost: number): Scalar {
  return { value, repairs: [{ kind, message, cost }] };
}

function collect(schema: Json | undefined, wanted: Wanted, depth: number): void {
  if (!isJsonObject(schema) || depth > 8) return;
  if (isList(schema['enum'])) wanted.choices.push(...schema['enum']);
  else if ('const' in schema) wanted.choices.push(schema['const'] ?? null);
  else for (const type of typesOf(schema) ?? []) wanted.types.add(type);
  for (const key of ['anyOf', 'oneOf']) {
    const branches = schema[key];
    if (isList(branches)) for (const branch of branches) collect(branch, wanted, depth + 1);
  }
}

/** The one choice whose words stand in the text; undefined when none or several do. */
function mentioned(text: string, choices: readonly Json[]): Json | undefined {
  const words = ` ${normalised(text)} `;
  const found = choices.filter(
    (choice) => typeof choice !== 'object' && words.includes(` ${normalised(String(choice))} `),
  );
  return found.length === 1 ? found[0] : undefined;
}

function normalised(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}

function unquoted(text: string): string {
  const inner = /^(["'“‘`])([^]*)["'”’`]$/.exec(text);
  return inner?.[2] ?? text;
}
