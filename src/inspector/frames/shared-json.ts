import { isList } from '../../json/depth.ts';
import type { Json, JsonObject } from '../../json/json.ts';
import type { SharedJson } from './protocol.ts';

/**
 * Writes a JSON value in which each object that occurs more than once is written only once. Snapshots of a machine share
 * nearly everything with those before them, so a list of them takes little more space than its last.
 */
export function share(value: unknown): SharedJson {
  const shared: Json[] = [];
  const places = new Map<object, number>();
  const counts = new Map<object, number>();
  const count = (item: unknown): void => {
    if (typeof item !== 'object' || item === null) return;
    const before = counts.get(item) ?? 0;
    counts.set(item, before + 1);
    if (before === 0) for (const member of Object.values(item)) count(member);
  };
  const write = (item: unknown): Json => {
    if (typeof item === 'string' || typeof item === 'number' || typeof item === 'boolean') return item;
    if (typeof item !== 'object' || item === null) return null;
    if ((counts.get(item) ?? 0) < 2) return copied(item, write);
    const known = places.get(item);
    if (known !== undefined) return { $: known };
    const place = shared.push(null) - 1;
    places.set(item, place);
    shared[place] = copied(item, write);
    return { $: place };
  };
  count(value);
  const root = write(value);
  return { shared, root };
}

/** Reads back what {@link share} wrote; shared objects are shared again. */
export function unshare({ shared, root }: SharedJson): Json {
  const made = new Map<number, Json>();
  const read = (item: Json): Json => {
    if (typeof item !== 'object' || item === null) return item;
    if (isList(item)) return item.map(read);
    const keys = Object.keys(item);
    const place = item.$;
    if (keys.length === 1 && typeof place === 'number') {
      const known = made.get(place);
      if (known !== undefined) return known;
      const whole = read(shared[place] ?? null);
      made.set(place, whole);
      return whole;
    }
    return mapped(keys.length === 1 && isEscaped(item) ? item.$ : item, read);
  };
  return read(root);
}

/** An object whose only key is `$` is wrapped in another, so that it is not taken for a pointer. */
function isEscaped(item: JsonObject): item is { readonly $: JsonObject } {
  return typeof item.$ === 'object' && item.$ !== null && !isList(item.$);
}

function copied(item: object, each: (member: unknown) => Json): Json {
  if (Array.isArray(item)) return item.map(each);
  const copy = mapped(item, each);
  return Object.hasOwn(item, '$') && Object.keys(item).length === 1 ? { $: copy } : copy;
}

function mapped(item: object, each: (member: Json) => Json): JsonObject {
  return Object.fromEntries(Object.entries(item).map(([key, member]) => [key, each(member)]));
}
