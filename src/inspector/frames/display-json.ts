import { type Building, setOwn, type Json, type JsonObject } from '../../json/json.ts';
import { isList } from '../../json/depth.ts';

const DEEPEST = 100;

/** The copy of each object, so that shared objects stay shared. */
export type DisplayCache = WeakMap<object, Json>;

/**
 * Anything at all as JSON to be looked at: what JSON cannot hold is named in its place (`«function add»`, `«actor a»`,
 * `«seen above»`). Never throws.
 */
export function displayJson(value: unknown, known: DisplayCache = new WeakMap()): Json {
  return display(value, { above: [], left: DEEPEST, known });
}

/** The same of an object, such as an event. */
export function displayObject(value: object, known?: DisplayCache): JsonObject {
  const json = displayJson(value, known);
  return typeof json === 'object' && json !== null && !isList(json) ? json : { value: json };
}

interface Place {
  readonly above: readonly object[];
  readonly left: number;
  readonly known: DisplayCache;
}

function display(value: unknown, place: Place): Json {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) ? value : `«${value}»`;
    case 'bigint':
      return `«${value}n»`;
    case 'undefined':
      return null;
    case 'function':
      return `«function ${value.name}»`;
    case 'symbol':
      return `«${String(value)}»`;
    case 'object':
      return value === null ? null : displayOf(value, place);
  }
}

function displayOf(value: object, { above, left, known }: Place): Json {
  if (above.includes(value)) return '«seen above»';
  if (left === 0) return '«deeper»';
  const before = known.get(value);
  if (before !== undefined) return before;
  const within = { above: [...above, value], left: left - 1, known };
  try {
    const json = readable(value, within);
    known.set(value, json);
    return json;
  } catch {
    return '«not readable»';
  }
}

function readable(value: object, within: Place): Json {
  if (value instanceof Error) return { name: value.name, message: value.message };
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? '«invalid date»' : value.toISOString();
  if (value instanceof Map) return { '«map»': [...value].map((pair) => display(pair, within)) };
  if (value instanceof Set) return { '«set»': [...value].map((item) => display(item, within)) };
  if (Array.isArray(value)) return value.map((item) => display(item, within));
  if ('getSnapshot' in value && 'send' in value) return `«actor ${String(Reflect.get(value, 'id'))}»`;
  const copy: Building = {};
  for (const [key, member] of Object.entries(value))
    if (member !== undefined) setOwn(copy, key, display(member, within));
  return copy;
}
