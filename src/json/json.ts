/** Any value that survives `JSON.stringify` and `JSON.parse` unchanged: what crosses every boundary of Signalbox. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  readonly [key: string]: Json;
}

/** A JSON Schema (2020-12 or draft 7) as plain data. `true` allows everything, `false` nothing. */
export type JsonSchema = JsonObject | boolean;

/** True for a JSON object: neither null nor a list. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object without its members that are undefined: what is not given is not there. */
export function defined<T extends object>(members: T): Defined<T>;
export function defined(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

type Defined<T> = { [Name in keyof T as undefined extends T[Name] ? never : Name]: T[Name] } & {
  [Name in keyof T as undefined extends T[Name] ? Name : never]?: Exclude<T[Name], undefined>;
};

/** An object under construction. */
export type Building = Record<string, Json>;

/** Sets a property of the object itself, whatever its name: `__proto__` becomes a plain key, as in `JSON.parse`. */
export function setOwn(target: Building, key: string, value: Json): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    target[key] = value;
  }
}

const encoder = new TextEncoder();

/** How many bytes a text has in UTF-8. Most texts are short and ASCII: to encode them takes far longer than to look. */
export const utf8Bytes = (text: string): number =>
  /[\u0080-\uffff]/.test(text) ? encoder.encode(text).length : text.length;

/** The value of a JSON text; undefined for any other text. */
export function parsedText(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

/** Plain data as JSON has it, such as without members that are undefined. */
export function plainJson(value: unknown): Json {
  const json: Json = JSON.parse(JSON.stringify(value ?? null));
  return json;
}

/** The value of a JSON text; any other text as it is. */
export function jsonOrText(text: string): Json {
  const value = parsedText(text);
  return value === undefined ? text : value;
}

/** Freezes a value and all it holds; what is frozen already is taken to be frozen throughout. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  if (Array.isArray(value)) freezeItems(value);
  else for (const member of Object.values(value)) deepFreeze(member);
  return value;
}

/** For the first item of a list: the latest list that began with it and whose items are frozen. */
const frozenLists = new WeakMap<object, WeakRef<readonly unknown[]>>();

/** From here on a list is compared with the one before rather than looked through. */
const LONG = 16;

/** A conversation is long, and its list a new one in each turn: only what is new in it has to be frozen. */
function freezeItems(list: readonly unknown[]): void {
  const first = list.length < LONG ? undefined : list[0];
  const key = typeof first === 'object' && first !== null ? first : undefined;
  const before = key && frozenLists.get(key)?.deref();
  const grew = before !== undefined && before.length <= list.length;
  for (const item of list.slice(grew ? sameAtFirst(list, before) : 0)) deepFreeze(item);
  if (key !== undefined) frozenLists.set(key, new WeakRef(list));
}

/**
 * How many items two lists have in common before the first that differs. V8 reads a frozen list slowly, item by item, and copies
 * it fast: looking through copies costs a third.
 */
export function sameAtFirst(list: readonly unknown[], other: readonly unknown[]): number {
  const [one, two] = [[...list], [...other]];
  const most = Math.min(one.length, two.length);
  let at = 0;
  while (at < most && one[at] === two[at]) at += 1;
  return at;
}

/**
 * Makes a function that gives an object members which are worked out when they are read, as own members, so that spreading
 * the object copies them. All objects share the getters: V8 gives an object with getters of its own a hidden class of its
 * own, and that keeps what they refer to until the next full collection.
 */
export function lazyMembers<TSource, TMembers extends object>(members: {
  readonly [Name in keyof TMembers]: (source: TSource) => TMembers[Name];
}): <T extends object>(target: T, source: TSource) => T & Readonly<TMembers> {
  const hidden = Symbol('source');
  const getters: PropertyDescriptorMap = {};
  for (const [name, read] of Object.entries<(source: TSource) => unknown>(members))
    getters[name] = {
      enumerable: true,
      configurable: true,
      get(this: { readonly [hidden]: TSource }) {
        return read(this[hidden]);
      },
    };
  return (target, source) =>
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has them now
    Object.defineProperties(Object.defineProperty(target, hidden, { value: source }), getters) as never;
}

/** A property of the value, if it has properties. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
