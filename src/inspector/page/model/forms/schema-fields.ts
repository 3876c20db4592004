import { isList } from '../../../../json/depth.ts';
import { type Json, type JsonObject, type JsonSchema, isJsonObject } from '../../../../json/json.ts';
import { FitContext } from '../../../../parsing/schema/fit-context.ts';
import { typesOf } from '../../../../parsing/schema/json-types.ts';
import { fieldHint, type Control, controlOf } from './field-control.ts';

/** One thing to choose. `key` tells the choices of a field apart. */
export interface FieldChoice {
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
