import { isList } from '../../json/depth.ts';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import { checkArguments } from '../../parsing/calls/arguments.ts';
import { formatProblem } from '../../parsing/schema/check-bounds.ts';
import type { McpElicitationAnswer } from '../config/answers.ts';
import { HIDDEN } from '../../actors/redactor.ts';

/** One value that a form asks for. */
export interface QuestionField {
  readonly name: string;
  readonly schema: JsonObject;
  readonly required: boolean;
  /** What may be chosen; empty where anything may be typed. */
  readonly choices: readonly { readonly value: Json; readonly title: string }[];
  readonly many: boolean;
}

/** What a person typed into a field, read. `left-out`: nothing was typed and nothing is needed. */
type QuestionFieldValue =
  | { readonly kind: 'value'; readonly value: Json }
  | { readonly kind: 'left-out' }
  | { readonly kind: 'wrong'; readonly problem: string };

/** The fields of a flat schema, in its order; null for a schema that no form can be made of. */
export function questionFields(schema: JsonObject): readonly QuestionField[] | null {
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  const required: readonly Json[] = isList(schema.required) ? schema.required : [];
  const fields = Object.entries(properties).map(([name, member]) =>
    isJsonObject(member) ? fieldOf(name, member, required.includes(name)) : null,
  );
  return fields.every((field) => field !== null) ? fields : null;
}

/** Reads what was typed into a field. A choice may be given by its number, its title or its value. */
export function readField(field: QuestionField, typed: string): QuestionFieldValue {
  const text = typed.trim();
  if (text === '') {
    if (field.schema.default !== undefined) return { kind: 'value', value: field.schema.default };
    if (!field.required) return { kind: 'left-out' };
    return { kind: 'wrong', problem: 'a value is needed' };
  }
  const value = valueOf(field, text);
  if (value === undefined) return { kind: 'wrong', problem: 'that is none of the choices' };
  const checked = checkArguments({ value }, { type: 'object', properties: { value: field.schema } });
  if (!checked.ok) {
    const issue = checked.error.kind === 'deserialization' ? checked.error.issues[0]?.message : undefined;
    return { kind: 'wrong', problem: issue ?? 'it does not fit' };
  }
  const fitted = checked.value.value ?? null;
  const problem = formatProblem(fitted, field.schema);
  return problem === null ? { kind: 'value', value: fitted } : { kind: 'wrong', problem };
}

const PLAIN: ReadonlySet<Json | undefined> = new Set(['string', 'number', 'integer', 'boolean']);

function fieldOf(name: string, schema: JsonObject, required: boolean): QuestionField | null {
  if (schema.type === 'array') {
    const choices = isJsonObject(schema.items) ? choicesOf(schema.items) : [];
    return choices.length === 0 ? null : { name, schema, required, choices, many: true };
  }
  if (!PLAIN.has(schema.type) && choicesOf(schema).length === 0) return null;
  return { name, schema, required, choices: choicesOf(schema), many: false };
}

function choicesOf({ enum: values, enumNames, oneOf, anyOf, type }: JsonObject): QuestionField['choices'] {
  if (type === 'boolean') return [];
  const names = isList(enumNames) ? enumNames : [];
  if (isList(values)) return values.map((value, at) => ({ value, title: textOf(names[at] ?? value) }));
  const branches = isList(oneOf) ? oneOf : isList(anyOf) ? anyOf : [];
  return branches.flatMap((branch) =>
    isJsonObject(branch) && branch.const !== undefined
      ? [{ value: branch.const, title: textOf(branch.title ?? branch.const) }]
      : [],
  );
}

const WORDS: ReadonlyMap<string, boolean> = new Map([
  ...['y', 'yes', 'true'].map((word) => [word, true] as const),
  ...['n', 'no', 'false'].map((word) => [word, false] as const),
]);

/** Undefined where what was typed is none of the choices. */
function valueOf({ schema, choices, many }: QuestionField, text: string): Json | undefined {
  if (many) {
    const chosen = text.split(',').map((part) => chosenBy(choices, part.trim()));
    return chosen.every((value) => value !== undefined) ? chosen : undefined;
  }
  if (choices.length > 0) return chosenBy(choices, text);
  if (schema.type === 'boolean') return WORDS.get(text.toLowerCase());
  return text;
}

function chosenBy(choices: QuestionField['choices'], text: string): Json | undefined {
  const byWord = choices.find(({ value, title }) => textOf(value) === text || title === text);
  return (byWord ?? (/^\d+$/.test(text) ? choices[Number(text) - 1] : undefined))?.value;
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

type Checked =
  | { readonly ok: true; readonly answer: McpElicitationAnswer }
  | { readonly ok: false; readonly problem: string };

/**
 * Checks a person's answer against the server's schema. Text that spells a number becomes one, and missing values get the
 * schema's defaults; a value that was not requested is an error. Never throws.
 */
export function checkElicited(answer: unknown, schema: JsonObject): Checked {
  if (!isJsonObject(answer)) return { ok: false, problem: 'an answer is { action } or { action: "accept", content }' };
  const { action, content } = answer;
  if (action === 'decline' || action === 'cancel') return { ok: true, answer: { action } };
  if (action !== 'accept') return { ok: false, problem: `there is no action ${JSON.stringify(action)}` };
  return checkContent(content ?? {}, schema);
}

function checkContent(content: unknown, schema: JsonObject): Checked {
  if (!isJsonObject(content)) return { ok: false, problem: 'its content is not an object' };
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  const checked = checkArguments(content, { additionalProperties: false, ...schema });
  if (!checked.ok) {
    const { error } = checked;
    const issues = error.kind === 'deserialization' ? error.issues : [{ path: '', message: error.parseError }];
    return { ok: false, problem: issues.map(({ path, message }) => `${path.slice(1)}: ${message}`).join('; ') };
  }
  for (const [name, value] of Object.entries(checked.value)) {
    const problem = formatProblem(value, properties[name]);
    if (problem !== null) return { ok: false, problem: `${name}: ${problem}` };
  }
  return { ok: true, answer: { action: 'accept', content: checked.value } };
}

/** Words of a field's name or title that say what it asks for is a secret. */
const SECRET_WORDS: ReadonlySet<string> = new Set(
  'password passwords passwd pwd passphrase passcode pin otp totp token secret secrets credential credentials cvv cvc bearer apikey mfa'.split(
    ' ',
  ),
);
/** `key` alone names many things. */
const SECRET_KEY =
  /(?:^|_)(?:api|access|auth|private|secret|ssh|signing|encryption|license|licence|recovery|security)_?(?:keys?|codes?)(?:_|$)/;

/** Whether what is typed into a field of a form is a secret: by its format, or by what it is called. */
export function isHiddenField(name: string, schema: Json | undefined): boolean {
  const { format, title, type, enum: choices }: JsonObject = isJsonObject(schema) ? schema : {};
  if (type === 'boolean' || choices !== undefined) return false;
  return format === 'password' || [name, title].some((text) => typeof text === 'string' && soundsSecret(text));
}

/** The answer as model, events and recording may have it: each secret is replaced by a mark. */
export function maskedAnswer(content: JsonObject, schema: JsonObject): JsonObject {
  const members = Object.entries(content).map(([name, value]) => [name, isHidden(name, schema) ? HIDDEN : value]);
  return Object.fromEntries(members);
}

/** The secrets of an answer, as texts. */
export function hiddenTexts(content: JsonObject, schema: JsonObject): readonly string[] {
  return Object.entries(content).flatMap(([name, value]) =>
    isHidden(name, schema) && (typeof value === 'string' || typeof value === 'number') ? [String(value)] : [],
  );
}

function isHidden(name: string, { properties }: JsonObject): boolean {
  const own = isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
  return isHiddenField(name, own);
}

function soundsSecret(text: string): boolean {
  const words = text
    .replaceAll(/(?<=\p{Ll})(?=\p{Lu})/gu, '_')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
  return words.some((word) => SECRET_WORDS.has(word)) || SECRET_KEY.test(words.join('_'));
}
