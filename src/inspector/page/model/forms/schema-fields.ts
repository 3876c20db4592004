import { isList } from '../../../../json/depth.ts';
import { type Json, type JsonObject, type JsonSchema, isJsonObject } from '../../../../json/json.ts';
import { FitContext } from '../../../../parsing/schema/fit-context.ts';
import { typesOf } from '../../../../parsing/schema/json-types.ts';

/** One thing to choose. `key` tells the choices of a field apart. */
interface FieldChoice {
  readonly key: string;
  readonly label: string;
  readonly value: Json;
}

/** One member of an object, as a form asks for it. */
export interface SchemaField {
  readonly name: string;
  /** The schema's title; the name where it has none. */
  readonly label: string;
  readonly help: string;
  /** What may be put in, such as `whole number, 1 to 99`; empty where that goes without saying. */
  readonly hint: string;
  /** How its JSON looks; empty where that is not known. */
  readonly example: string;
  readonly required: boolean;
  readonly control: Control;
  readonly choices: readonly FieldChoice[];
  /** What it means when nothing is put in. */
  readonly empty: 'left-out' | 'needed' | 'null' | 'text';
  /** What stands in it at first; undefined: nothing. */
  readonly initial: Json | undefined;
  readonly schema: JsonObject;
}

/** The fields of an object's schema, in its order; null where a form cannot say all that the schema asks for. */
export function schemaFields(schema: JsonSchema): readonly SchemaField[] | null {
  if (typeof schema === 'boolean') return null;
  const context = new FitContext(schema, { coerce: false });
  const { properties, required, type, additionalProperties, ...rest } = resolved(schema, context);
  if (type !== undefined && type !== 'object') return null;
  if (!isJsonObject(properties)) {
    const closed = type === 'object' && !('anyOf' in rest || 'oneOf' in rest || 'allOf' in rest);
    return closed && !isJsonObject(additionalProperties) && !('patternProperties' in rest) ? [] : null;
  }
  return Object.entries(properties).map(([name, member]) =>
    fieldOf(name, resolved(member, context), { required: isList(required) && required.includes(name), context }),
  );
}

interface FieldPlace {
  readonly required: boolean;
  readonly context: FitContext;
}

function fieldOf(name: string, given: JsonObject, { required, context }: FieldPlace): SchemaField {
  const { schema, nullable } = withoutNull(given, context);
  const { title, description } = { ...schema, ...given };
  const found = choicesOf(schema, context);
  const all = nullable && found.length > 0 ? [...found, choiceOf(null)] : found;
  const isTwin = (one: FieldChoice): boolean => all.some(({ key, label }) => label === one.label && key !== one.key);
  const choices = all.map((one) => (isTwin(one) ? { ...one, label: one.key } : one));
  const control = choices.length > 0 ? 'choice' : controlOf(schema);
  const standard = given.default ?? schema.default;
  const empty = standard === '' ? 'text' : nullable && required ? 'null' : required ? 'needed' : 'left-out';
  return {
    name,
    label: typeof title === 'string' && title !== '' ? title : name,
    help: typeof description === 'string' ? description : '',
    hint: fieldHint(schema, control, nullable),
    example: control === 'json' ? exampleOf(schema) : '',
    required,
    control,
    choices,
    empty,
    initial: standard ?? (required ? onlyValue(control, choices, nullable) : undefined),
    schema: given,
  };
}

/** The members of a nested object. */
function exampleOf({ properties }: JsonObject): string {
  if (!isJsonObject(properties)) return '';
  return `{ ${Object.keys(properties)
    .map((name) => `${JSON.stringify(name)}: …`)
    .join(', ')} }`;
}

/** The default of a field: its only choice, if there is one, and false rather than nothing. */
function onlyValue(control: Control, choices: readonly FieldChoice[], nullable: boolean): Json | undefined {
  if (control === 'check' && !nullable) return false;
  return choices.length === 1 ? choices[0]?.value : undefined;
}

/** The values of `enum` and `const`, and of unions of them; none where anything else may stand too. */
function choicesOf(schema: JsonObject, context: FitContext, depth = 0): readonly FieldChoice[] {
  if (isList(schema.enum)) return schema.enum.map((value) => choiceOf(value));
  if (schema.const !== undefined) return [choiceOf(schema.const, schema.title)];
  const branches = isList(schema.anyOf) ? schema.anyOf : isList(schema.oneOf) ? schema.oneOf : [];
  // A union may refer to itself.
  if (depth > LONGEST_CHAIN) return [];
  const each = branches.map((branch) => choicesOf(resolved(branch, context), context, depth + 1));
  return each.every((choices) => choices.length > 0) ? each.flat() : [];
}

function choiceOf(value: Json, title?: Json): FieldChoice {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return { key: JSON.stringify(value), label: typeof title === 'string' ? title : text, value };
}

/** What remains of a schema when null, which it allows, is set apart. */
function withoutNull(
  given: JsonObject,
  context: FitContext,
): { readonly schema: JsonObject; readonly nullable: boolean } {
  const types = typesOf(given);
  if (types !== undefined && types.length > 1 && types.includes('null')) {
    const others = types.filter((type) => type !== 'null');
    const { enum: values, ...rest } = given;
    const choices = isList(values) ? { enum: values.filter((value) => value !== null) } : {};
    return {
      schema: { ...rest, ...choices, type: others.length === 1 ? (others[0] ?? null) : others },
      nullable: true,
    };
  }
  const key = isList(given.anyOf) ? 'anyOf' : 'oneOf';
  const { [key]: union, ...rest } = given;
  if (!isList(union)) return { schema: given, nullable: false };
  const branches = union.map((branch) => resolved(branch, context));
  const others = branches.filter(({ type }) => type !== 'null');
  if (others.length === branches.length) return { schema: given, nullable: false };
  const [only] = others;
  return {
    schema: others.length === 1 && only !== undefined ? { ...only, ...rest } : { ...rest, [key]: others },
    nullable: true,
  };
}

const LONGEST_CHAIN = 8;

/** A schema with what it refers to written in. */
function resolved(schema: Json, context: FitContext): JsonObject {
  let found: JsonObject = isJsonObject(schema) ? schema : {};
  for (let hop = 0; hop < LONGEST_CHAIN && typeof found.$ref === 'string'; hop++) {
    const { $ref, ...own } = found;
    const target = typeof $ref === 'string' ? context.resolve($ref) : undefined;
    found = { ...(isJsonObject(target) ? target : {}), ...own };
  }
  return found;
}

/** What a member of a form is filled in with. `json` takes everything that the others do not. */
export type Control = 'text' | 'long' | 'date' | 'number' | 'check' | 'choice' | 'json';

const LONG_TEXT = 160;

/** What a value of this schema is filled in with, where it is none of a few choices. */
function controlOf(schema: JsonObject): Control {
  const [type, more] = typesOf(schema) ?? [];
  if (more !== undefined || 'anyOf' in schema || 'oneOf' in schema || 'allOf' in schema) return 'json';
  if (type === 'boolean') return 'check';
  if (type === 'number' || type === 'integer') return 'number';
  if (type !== 'string') return 'json';
  if (schema.format === 'date') return 'date';
  const { minLength, maxLength, contentMediaType } = schema;
  const long = [minLength, maxLength].some((length) => typeof length === 'number' && length >= LONG_TEXT);
  return long || contentMediaType !== undefined ? 'long' : 'text';
}

/** What may be put into a field, in words; empty where the control says it. */
function fieldHint(schema: JsonObject, control: Control, nullable: boolean): string {
  const or = nullable && control !== 'choice' ? ['or null'] : [];
  return [...wordsOf(schema, control), ...or].join(', ');
}

function wordsOf(schema: JsonObject, control: Control): readonly string[] {
  switch (control) {
    case 'number':
      return [schema.type === 'integer' ? 'whole number' : 'number', ...range(schema), ...steps(schema.multipleOf)];
    case 'text':
    case 'long':
      return [...format(schema.format), ...lengths(schema)];
    case 'json':
      return [jsonWords(schema)];
    case 'date':
    case 'check':
    case 'choice':
      return [];
  }
}

function range({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonObject): readonly string[] {
  const least = meant(minimum);
  const most = meant(maximum);
  const above = meant(exclusiveMinimum);
  const below = meant(exclusiveMaximum);
  if (least !== null && most !== null) return [`${least} to ${most}`];
  return [
    ...(least === null ? [] : [`at least ${least}`]),
    ...(above === null ? [] : [`more than ${above}`]),
    ...(most === null ? [] : [`at most ${most}`]),
    ...(below === null ? [] : [`less than ${below}`]),
  ];
}

/** Null for no bound, and for one that only says what a number can hold. */
function meant(bound: Json | undefined): number | null {
  return typeof bound === 'number' && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : null;
}

function steps(multipleOf: Json | undefined): readonly string[] {
  return typeof multipleOf === 'number' && multipleOf !== 1 ? [`in steps of ${multipleOf}`] : [];
}

const FORMATS: { readonly [format: string]: string } = {
  email: 'e-mail address',
  uri: 'address such as https://example.com',
  'date-time': 'time such as 2026-01-31T09:00:00Z',
  uuid: 'UUID',
};

function format(name: Json | undefined): readonly string[] {
  if (typeof name !== 'string') return [];
  return [Object.hasOwn(FORMATS, name) ? (FORMATS[name] ?? name) : name];
}

function lengths({ minLength, maxLength }: JsonObject): readonly string[] {
  const least = typeof minLength === 'number' && minLength > 1 ? minLength : null;
  const most = meant(maxLength);
  if (least !== null && most !== null)
    return [least === most ? `${most} characters` : `${least} to ${most} characters`];
  if (most !== null) return [`at most ${most} characters`];
  return least === null ? [] : [`at least ${least} characters`];
}

const PLURALS: { readonly [type: string]: string } = {
  string: 'texts',
  number: 'numbers',
  integer: 'whole numbers',
  boolean: 'booleans',
  object: 'objects',
};

function jsonWords(schema: JsonObject): string {
  const [type, more] = typesOf(schema) ?? [];
  if (more !== undefined) return 'JSON';
  if (type === 'object') return 'object, as JSON';
  if (type !== 'array') return 'JSON';
  const item = isJsonObject(schema.items) ? schema.items.type : undefined;
  const items = typeof item === 'string' && Object.hasOwn(PLURALS, item) ? ` of ${PLURALS[item]}` : '';
  return `list${items}, as JSON`;
}
