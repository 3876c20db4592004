import { type Building, type Json, type JsonObject, type JsonSchema, isJsonObject, setOwn } from '../../json/json.ts';
import { FitContext } from '../../parsing/schema/fit-context.ts';

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
 * The schema of a tool's arguments as it is sent: it says the same or allows more, and arguments are checked against the
 * tool's own. OpenAI's servers refuse the whole request for one that is not an object with `properties`, that has
 * alternatives at its top, as zod's unions have, or a list without `items` anywhere; llama.cpp's for `true` as a member.
 * MCP servers write all of these.
 */
export function sentSchema(schema: JsonSchema): JsonObject {
  if (!isJsonObject(schema)) return { type: 'object', properties: {} };
  const known = sentForms.get(schema);
  if (known !== undefined) return known;
  const plain = flat(schema, schema);
  const given = sentNode(plain, new FitContext(plain, { coerce: false }));
  const form: Building = { ...given, type: given['type'] ?? 'object', properties: given['properties'] ?? {} };
  // llama.cpp does not follow a reference to the whole.
  if (JSON.stringify(form).includes(`"${SELF}"`))
    form['$defs'] = { ...objectOr(form['$defs']), arguments_: { ...form, $defs: {} } };
  sentForms.set(schema, form);
  return form;
}

const sentForms = new WeakMap<JsonObject, JsonObject>();
/** So many alternatives are listed for the model, with so many names each. */
const MOST_TOLD = 30;

/** What is flattened together: each schema once, and no more members than a server's schema may cost. */
class Flattening {
  readonly known = new Map<JsonObject, JsonObject>();
  #left = 20_000;

  /** As many of a list as may still be looked at. */
  counted<T>(list: () => readonly T[]): readonly T[] {
    if (this.#left === 0) return [];
    const some = list().slice(0, this.#left);
    this.#left -= some.length;
    return some;
  }
}

/** The schema without alternatives at its top: each has its properties there, and the description says which go together. */
function flat(schema: JsonObject, root: JsonObject, of = new Flattening()): JsonObject {
  const { known } = of;
  const before = known.get(schema);
  if (before !== undefined) return before;
  // Where it refers to itself it adds nothing.
  known.set(schema, {});
  const { $ref, anyOf, oneOf, allOf, not: _not, enum: _enum, ...rest } = schema;
  const meant = definitionOf($ref, root);
  const groups = [
    ...listOf(allOf).map((one) => [one]),
    listOf(anyOf),
    listOf(oneOf),
    meant === null ? [] : [meant],
  ].map((group) =>
    group
      .filter(isJsonObject)
      .map((one) => flat(one, root, of))
      .filter(({ type = 'object' }) => type === 'object'),
  );
  const isFlat = [$ref === undefined || meant === null ? undefined : $ref, anyOf, oneOf, allOf, _not, _enum].every(
    (part) => part === undefined,
  );
  const form = isFlat ? schema : merged(rest, groups, of);
  known.set(schema, form);
  return form;
}

/** A schema with the properties of all; those that every alternative of a group requires are required. */
function merged(rest: JsonObject, groups: readonly (readonly JsonObject[])[], of: Flattening): JsonObject {
  const properties = new Map<string, Json[]>();
  const required = new Set(listOf(rest['required']));
  const told = typeof rest['description'] === 'string' ? [rest['description']] : [];
  for (const one of [rest, ...groups.flat()])
    for (const [name, member] of of.counted(() => Object.entries(objectOr(one['properties'])))) {
      const list = properties.get(name) ?? [];
      list.push(...alternativesOf(member));
      properties.set(name, list);
    }
  for (const members of groups) {
    const times = new Map<Json, number>();
    for (const member of members)
      for (const name of new Set(of.counted(() => listOf(member['required']))))
        times.set(name, (times.get(name) ?? 0) + 1);
    for (const [name, count] of times) if (count === members.length) required.add(name);
    if (members.length > 1) told.push(`One of: ${members.slice(0, MOST_TOLD).map(shortly).join(' or ')}.`);
    else if (typeof members[0]?.['description'] === 'string') told.push(members[0]['description']);
  }
  const { additionalProperties: _open, ...more } = rest;
  return {
    ...more,
    type: 'object',
    properties: Object.fromEntries([...properties].map(([name, list]) => [name, oneOfThese(list)])),
    required: [...required],
    ...(told.length === 0 ? {} : { description: told.join(' ') }),
  };
}

function definitionOf($ref: Json | undefined, { $defs, definitions }: JsonObject): Json | null {
  const [, where, name = ''] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(typeof $ref === 'string' ? $ref : '') ?? [];
  return objectOr(where === 'definitions' ? definitions : $defs)[name] ?? null;
}

/** What an alternative must have, with the values that are fixed: `{kind: "circle", radius}`. */
function shortly({ properties, required }: JsonObject): string {
  const all = objectOr(properties);
  const names = listOf(required).length > 0 ? listOf(required).map(String) : Object.keys(all);
  const parts = names.slice(0, MOST_TOLD).map((name) => {
    const { const: fixed } = objectOr(all[name]);
    return fixed === undefined ? name : `${name}: ${JSON.stringify(fixed)}`;
  });
  return `{${parts.join(', ')}}`;
}

function alternativesOf(schema: Json): readonly Json[] {
  const { anyOf: list, ...rest } = objectOr(schema);
  return Array.isArray(list) && Object.keys(rest).length === 0 ? list : [schema];
}

function oneOfThese(list: readonly Json[]): Json {
  const different = [...new Map(list.map((one) => [JSON.stringify(one), one])).values()];
  return different.length > 1 ? { anyOf: different } : (different[0] ?? {});
}

const OF_SCHEMAS = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);
const BY_NAME = new Set(['properties', 'patternProperties', '$defs', 'definitions']);
const OF_ONE = new Set(['items', 'additionalProperties', 'not', 'contains']);

const TYPES: ReadonlySet<Json> = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);
const SELF = '#/$defs/arguments_';

/** What servers refuse a request for: lists of nothing, the flags of draft 4, unknown types, references to nothing. */
function isRefused(key: string, part: Json, root: FitContext): boolean {
  if (key === 'required' || key === 'enum' || OF_SCHEMAS.has(key)) return listOf(part).length === 0;
  if (key === 'exclusiveMinimum' || key === 'exclusiveMaximum') return typeof part !== 'number';
  if (key === 'type') return ![part].flat().every((type) => TYPES.has(type));
  return key === '$ref' && (typeof part !== 'string' || !/^#(?:$|\/)/.test(part) || root.resolve(part) === undefined);
}

/** A schema without what is refused; every list has one schema for its items, and every schema in it is an object. */
function sentNode(schema: JsonObject, root: FitContext): JsonObject {
  const node: Building = {};
  const sentPart = (one: Json): Json => (isJsonObject(one) ? sentNode(one, root) : one === false ? { not: {} } : {});
  for (const [key, part] of Object.entries(schema)) {
    let sent: Json = part;
    if (isRefused(key, part, root)) continue;
    if (key === '$ref' && part === '#') sent = SELF;
    else if (OF_SCHEMAS.has(key)) sent = listOf(part).map(sentPart);
    else if (OF_ONE.has(key) && Array.isArray(part)) sent = oneOfThese(part.map(sentPart));
    else if (OF_ONE.has(key) && isJsonObject(part)) sent = sentPart(part);
    else if (BY_NAME.has(key) && isJsonObject(part))
      sent = Object.fromEntries(Object.entries(part).map(([name, one]) => [name, sentPart(one)]));
    setOwn(node, key, sent);
  }
  const { type } = schema;
  const isList = type === 'array' || (Array.isArray(type) && type.includes('array'));
  if (!isList || isJsonObject(node['items'] ?? false)) return node;
  return { ...node, items: node['items'] === false ? oneOfThese(listOf(node['prefixItems'])) : {} };
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

function objectOr(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
