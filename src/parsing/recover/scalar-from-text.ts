import { isList } from '../../json/depth.ts';
import { isJsonObject, type Json, type JsonSchema } from '../../json/json.ts';
import type { Repair } from '../reply.ts';
import { readNumber } from '../schema/read-number.ts';
import { typesOf } from '../schema/json-types.ts';

/** A scalar that a schema asks for, found in a text that is no JSON. */
export interface Scalar {
  readonly value: Json;
  readonly repairs: readonly Repair[];
}

/** What a schema takes that is neither list nor object. */
interface Wanted {
  readonly types: Set<Json>;
  readonly choices: Json[];
}

const LONGEST = 2_000;

/** The scalar that a schema asks for: the whole text as number, literal or text, or the one choice that it mentions. */
export function scalarFromText(text: string, schema: JsonSchema): Scalar | undefined {
  const wanted: Wanted = { types: new Set(), choices: [] };
  collect(schema, wanted, 0);
  const plain = text.trim().replace(/^[*_`\s]+|[*_`\s]+$/g, '');
  if (plain === '') return undefined;
  const choice = wanted.choices.length > 0 && plain.length <= LONGEST ? mentioned(plain, wanted.choices) : undefined;
  if (choice !== undefined)
    return scalar(choice, 'mentioned', `the text mentions ${JSON.stringify(choice)} and no other choice`, 2);
  if (wanted.types.has('number') || wanted.types.has('integer')) {
    const number = readNumber(plain.replace(/\.$/, ''));
    if (number !== undefined) return scalar(number, 'text-to-number', 'the text was read as a number', 1);
  }
  const literal = LITERALS.get(plain.toLowerCase());
  if (literal !== undefined) return scalar(literal, 'literal', 'the text was read as a literal', 0);
  if (wanted.types.has('boolean')) {
    const flag = mentioned(plain, [true, false]);
    if (flag !== undefined) return scalar(flag, 'mentioned', `the text mentions ${JSON.stringify(flag)} only`, 2);
  }
  return wanted.types.has('string') && wanted.choices.length === 0
    ? scalar(unquoted(text.trim()), 'text', 'the whole text was taken', 1)
    : undefined;
}

const LITERALS = new Map<string, Json>([
  ['true', true],
  ['false', false],
  ['null', null],
  ['none', null],
]);

function scalar(value: Json, kind: string, message: string, cost: number): Scalar {
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
