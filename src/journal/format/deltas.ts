import { isList } from '../../json/depth.ts';
import type { Effect } from '../../actors/journal.ts';
import { type Building, type Json, type JsonObject, isJsonObject, sameAtFirst, setOwn } from '../../json/json.ts';

/**
 * Writes requests against the one before of the same name, so that a recording grows with what is new: a member that is
 * the same object becomes `{ "$same": id }`, a list that begins alike `{ "$from": id, "keep": n, "add": [...] }`. A
 * member that itself looks like one of these is wrapped in `{ "$is": member }`. A first list that continues the
 * starting history, which is in the run's first line, becomes `{ "$history": n, "lead": [...], "add": [...] }`.
 */
export function deltaWriter({ history }: { readonly history: readonly object[] }): (effect: Effect) => Json {
  // Few names, so a list, which takes less memory than a map.
  let last: readonly Written[] = [];
  return (effect) => {
    const { name, id, request } = effect;
    if (!isJsonObject(request)) return request;
    const before = last.find((one) => one.name === name);
    last = [...last.filter((one) => one !== before), new Written(name, id, request)];
    const written: Building = {};
    for (const key of Object.keys(request)) {
      const value = request[key];
      if (value === undefined) continue;
      const first = before === undefined ? afterHistory(history, value) : null;
      setOwn(written, key, first ?? against(before, key, value));
    }
    return written;
  };
}

class Written {
  readonly name: string;
  readonly id: string;
  readonly request: JsonObject;
  #same: JsonObject | undefined;

  constructor(name: string, id: string, request: JsonObject) {
    this.name = name;
    this.id = id;
    this.request = request;
  }

  /** The reference to an equal member; one object for all of them. */
  get same(): JsonObject {
    return (this.#same ??= { $same: this.id });
  }
}

function against(before: Written | undefined, key: string, value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  const old = before?.request[key];
  if (before !== undefined && value === old) return before.same;
  if (!isList(value)) return LOOKS_WRITTEN.some((name) => Object.hasOwn(value, name)) ? { $is: value } : value;
  if (before === undefined || old === undefined || !isList(old)) return value;
  const keep = sameAtFirst(value, old);
  return keep === 0 ? value : { $from: before.id, keep, add: value.slice(keep) };
}

/** How far behind the beginning of a list its history may begin: behind the system prompt. */
const LONGEST_LEAD = 2;

function afterHistory(history: readonly object[], value: Json): Json {
  const first = history[0];
  if (first === undefined || typeof value !== 'object' || value === null || !isList(value)) return null;
  const lead = value.slice(0, LONGEST_LEAD).findIndex((item) => item === first);
  if (lead === -1) return null;
  let keep = 1;
  while (keep < history.length && value[lead + keep] === history[keep]) keep++;
  return { $history: keep, lead: value.slice(0, lead), add: value.slice(lead + keep) };
}

const LOOKS_WRITTEN = ['$same', '$from', '$is', '$history'] as const;

/** Reads requests back: feed it the start records in order. `history` is that of the run's first line. */
export function deltaReader({ history }: { readonly history: readonly object[] }): (id: string, written: Json) => Json {
  const requests = new Map<string, JsonObject>();
  return (id, written) => {
    const request = wholeRequest(written, history, (before) => requests.get(before));
    if (isJsonObject(request)) requests.set(id, request);
    return request;
  };
}

/** A request as it was before a {@link deltaWriter} wrote it against another, which `before` gives by its id. */
export function wholeRequest(
  written: Json,
  history: readonly object[],
  before: (id: string) => JsonObject | undefined,
): Json {
  if (!isJsonObject(written)) return written;
  return Object.fromEntries(
    Object.entries(written).map(([key, value]) => [key, withHistory(history, value) ?? restored(before, key, value)]),
  );
}

function withHistory(history: readonly object[], value: Json): Json {
  if (!isJsonObject(value) || typeof value.$history !== 'number') return null;
  const { $history: keep, lead, add } = value;
  return Array.isArray(lead) && Array.isArray(add) ? ([...lead, ...history.slice(0, keep), ...add] as Json) : null;
}

function restored(before: (id: string) => JsonObject | undefined, key: string, value: Json): Json {
  if (!isJsonObject(value)) return value;
  if (isJsonObject(value.$is)) return value.$is;
  if (typeof value.$same === 'string') return before(value.$same)?.[key] ?? null;
  if (typeof value.$from !== 'string' || typeof value.keep !== 'number' || !Array.isArray(value.add)) return value;
  const old = before(value.$from)?.[key];
  const add: readonly Json[] = value.add;
  return [...(old !== undefined && isList(old) ? old.slice(0, value.keep) : []), ...add];
}
