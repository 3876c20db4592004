import { type Json, isJsonObject } from '../../../parsing/json.ts';

/** One difference between two values. `path` reads like code: `books.errorHistory[2].code`. */
export type Difference =
  | { readonly kind: 'added'; readonly path: string; readonly after: Json }
  | { readonly kind: 'removed'; readonly path: string; readonly before: Json }
  | { readonly kind: 'changed'; readonly path: string; readonly before: Json; readonly after: Json };

/**
 * What differs between two values, innermost first found: objects by key, lists by position, everything else whole. Stops
 * after `most` differences, so a rewritten megabyte costs no more than a small change.
 */
export function jsonDiff(before: Json, after: Json, most = 200): readonly Difference[] {
  const found: Difference[] = [];
  walk('', before, after);
  return found;

  function walk(path: string, old: Json, now: Json): void {
    if (found.length >= most || old === now) return;
    if (isList(old) && isList(now)) return walkLists(path, old, now);
    if (isJsonObject(old) && isJsonObject(now)) return walkObjects(path, old, now);
    found.push({ kind: 'changed', path, before: old, after: now });
  }

  function walkLists(path: string, old: readonly Json[], now: readonly Json[]): void {
    for (let at = 0; at < Math.max(old.length, now.length) && found.length < most; at++)
      step(`${path}[${at}]`, old[at], now[at]);
  }

  function walkObjects(path: string, old: { readonly [key: string]: Json }, now: typeof old): void {
    for (const key of new Set([...Object.keys(old), ...Object.keys(now)])) {
      if (found.length >= most) return;
      step(joined(path, key), ownOf(old, key), ownOf(now, key));
    }
  }

  function step(path: string, old: Json | undefined, now: Json | undefined): void {
    if (old !== undefined && now !== undefined) walk(path, old, now);
    else if (now !== undefined) found.push({ kind: 'added', path, after: now });
    else if (old !== undefined) found.push({ kind: 'removed', path, before: old });
  }
}

function ownOf(value: { readonly [key: string]: Json }, key: string): Json | undefined {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function joined(path: string, key: string): string {
  if (!/^[\w$-]+$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
