import { checkArguments } from '../../parsing/calls/arguments.ts';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import { formatProblem } from '../../parsing/schema/check-bounds.ts';

/** One value that a form asks for. */
export interface FormField {
  readonly name: string;
  readonly schema: JsonObject;
  readonly required: boolean;
  /** What may be chosen; empty where anything may be typed. */
  readonly choices: readonly { readonly value: Json; readonly title: string }[];
  readonly many: boolean;
}

/** What a person typed into a field, read. `left-out`: nothing was typed and nothing is needed. */
export type FieldValue =
  | { readonly kind: 'value'; readonly value: Json }
  | { readonly kind: 'left-out' }
  | { readonly kind: 'wrong'; readonly problem: string };

/** The fields of a flat schema, in its order; null for a schema that no form can be made of. */
export function formFields(schema: JsonObject): readonly FormField[] | null {
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  const required: readonly Json[] = isList(schema.required) ? schema.required : [];
  const fields = Object.entries(properties).map(([name, member]) =>
    isJsonObject(member) ? fieldOf(name, member, required.includes(name)) : null,
  );
  return fields.every((field) => field !== null) ? fields : null;
}

/** Reads what was typed into a field. A choice may be given by its number, its title or its value. */
export function readField(field: FormField, typed: string): FieldValue {
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

function fieldOf(name: string, schema: JsonObject, required: boolean): FormField | null {
  if (schema.type === 'array') {
    const choices = isJsonObject(schema.items) ? choicesOf(schema.items) : [];
    return choices.length === 0 ? null : { name, schema, required, choices, many: true };
  }
  if (!PLAIN.has(schema.type) && choicesOf(schema).length === 0) return null;
  return { name, schema, required, choices: choicesOf(schema), many: false };
}

function choicesOf({ enum: values, enumNames, oneOf, anyOf, type }: JsonObject): FormField['choices'] {
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
function valueOf({ schema, choices, many }: FormField, text: string): Json | undefined {
  if (many) {
    const chosen = text.split(',').map((part) => chosenBy(choices, part.trim()));
    return chosen.every((value) => value !== undefined) ? chosen : undefined;
  }
  if (choices.length > 0) return chosenBy(choices, text);
  if (schema.type === 'boolean') return WORDS.get(text.toLowerCase());
  return text;
}

function chosenBy(choices: FormField['choices'], text: string): Json | undefined {
  const byWord = choices.find(({ value, title }) => textOf(value) === text || title === text);
  return (byWord ?? (/^\d+$/.test(text) ? choices[Number(text) - 1] : undefined))?.value;
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}
