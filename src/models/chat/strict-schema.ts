import { type Json, type JsonObject, type JsonSchema, isJsonObject } from '../../json/json.ts';

/**
 * The schema in the form that OpenAI enforces strictly (Structured Outputs): every object closed, every member required,
 * with null for those that were optional, and unsupported keywords stated in the description. Null if a schema has no
 * such form: a map with arbitrary keys, or something that only other keywords express.
 *
 * @example strictForm({ type: 'object', properties: { n: { type: 'integer', minimum: 1 } } })
 * // { type: 'object', properties: { n: { type: ['integer', 'null'], description: 'minimum: 1' } }, required: ['n'], additionalProperties: false }
 */
export function strictForm(schema: JsonObject): JsonObject | null {
  const known = forms.get(schema);
  if (known !== undefined) return known;
  const form = isJsonObject(schema) && schema.type === 'object' ? strictNode(schema) : null;
  forms.set(schema, form);
  return form;
}

const forms = new WeakMap<JsonObject, JsonObject | null>();

const KEPT = new Set(['type', 'enum', 'const', 'title', 'description']);
/** References that servers follow. */
const REFERENCE = /^#(?:\/(?:\$defs|definitions)\/[^/]+)?$/;
/** Keywords that narrow a value: they are stated in the description, and we check them ourselves. */
const TOLD = new Set(
  'minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems uniqueItems minProperties maxProperties default examples'.split(
    ' ',
  ),
);
/** Keywords that say nothing about the value, or that the form states itself. */
const DROPPED = new Set(['$schema', '$id', '$comment', 'deprecated', 'readOnly', 'writeOnly', 'discriminator']);

function strictNode(schema: Json): JsonObject | null {
  if (!isJsonObject(schema)) return null;
  const { properties, required, additionalProperties, items, anyOf, oneOf, $defs, definitions, ...rest } = schema;
  // Nothing may stand beside a reference.
  const { $ref } = rest;
  if ($ref !== undefined) return typeof $ref === 'string' && REFERENCE.test($ref) ? { $ref } : null;
  const form: { [key: string]: Json } = {};
  const told: string[] = [];
  for (const [key, value] of Object.entries(rest))
    if (KEPT.has(key)) form[key] = value;
    else if (!TOLD.has(key)) {
      if (!DROPPED.has(key)) return null;
    } else if (!isSafe(value)) told.push(`${key}: ${JSON.stringify(value)}`);
  if (told.length > 0)
    form.description = [...(typeof form.description === 'string' ? [form.description] : []), told.join(', ')].join(' ');
  const union = anyOf ?? oneOf;
  const parts: readonly (readonly [string, Json | undefined, (part: Json) => Json | null])[] = [
    ['anyOf', union, strictList],
    ['items', items, strictNode],
    ['$defs', $defs, strictMap],
    ['definitions', definitions, strictMap],
  ];
  for (const [key, part, read] of parts) {
    if (part === undefined) continue;
    const strict = read(part);
    if (strict === null) return null;
    form[key] = strict;
  }
  const isOpenList = form.type === 'array' && form.items === undefined;
  if (!hasObjectType(form)) return hasSomething(form) && !isOpenList ? form : null;
  if (additionalProperties !== undefined && additionalProperties !== false) return null;
  if (!isJsonObject(properties)) return null;
  const members = strictMembers(properties, Array.isArray(required) ? required.map(String) : []);
  return members === null
    ? null
    : { ...form, properties: members, required: Object.keys(members), additionalProperties: false };
}

/** The bounds of every integer, which zod writes down, say nothing. */
function isSafe(value: Json): boolean {
  return typeof value === 'number' && Math.abs(value) === Number.MAX_SAFE_INTEGER;
}

function hasObjectType({ type }: JsonObject): boolean {
  return type === 'object' || (Array.isArray(type) && type.includes('object'));
}

/** A node that allows anything has no strict form. */
function hasSomething(form: JsonObject): boolean {
  return ['type', 'enum', 'const', 'anyOf'].some((key) => key in form);
}

function strictMembers(properties: JsonObject, required: readonly string[]): JsonObject | null {
  const members: { [name: string]: Json } = {};
  for (const [name, member] of Object.entries(properties)) {
    const form = strictNode(member);
    if (form === null) return null;
    members[name] = required.includes(name) ? form : orNull(form);
  }
  return members;
}

/** What may be left out is null instead; read back, null where the schema does not take it means left out. */
function orNull(form: JsonObject): JsonObject {
  const { type } = form;
  if (typeof type === 'string' && !('enum' in form) && !('const' in form))
    return type === 'null' ? form : { ...form, type: [type, 'null'] };
  if (Array.isArray(form.anyOf)) return { ...form, anyOf: [...form.anyOf, { type: 'null' }] };
  const { description, ...value } = form;
  return { anyOf: [value, { type: 'null' }], ...(description === undefined ? {} : { description }) };
}

function strictList(list: Json): Json | null {
  const strict = Array.isArray(list) ? list.map(strictNode) : [null];
  return strict.some((form) => form === null) ? null : strict.filter((form) => form !== null);
}

function strictMap(map: Json): Json | null {
  if (!isJsonObject(map)) return null;
  const entries = Object.entries(map).map(([name, member]) => [name, strictNode(member)] as const);
  return entries.some(([, form]) => form === null) ? null : Object.fromEntries(entries);
}

/**
 * The schema of a tool's arguments as it is sent. OpenAI's servers refuse the whole request for one that does not say that it
 * is an object, or has no `properties`; MCP servers leave these out where a tool takes no arguments.
 */
export function sentSchema(schema: JsonSchema): JsonObject {
  const given = isJsonObject(schema) ? schema : {};
  return { ...given, type: given['type'] ?? 'object', properties: given['properties'] ?? {} };
}
