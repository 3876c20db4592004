import { type Json, isJsonObject } from '../../json/json.ts';

/** The candidate whose request has most in common with this one; the first of equals. */
export function nearestOf<T extends { readonly request: Json }>(
  request: Json,
  candidates: readonly T[],
): T | undefined {
  const wanted = new Set(pieces(request));
  let nearest: T | undefined;
  let most = -1;
  for (const candidate of candidates) {
    const own = new Set(pieces(candidate.request));
    const shared = [...own].filter((piece) => wanted.has(piece)).length;
    const score = shared / Math.max(1, wanted.size + own.size - shared);
    if (score > most) [nearest, most] = [candidate, score];
  }
  return nearest;
}

/** Every scalar with its place; of a text its first and last words too, so that an edited prompt still looks alike. */
function pieces(value: Json, path = ''): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item: Json, index) => pieces(item, `${path}/${index}`));
  if (isJsonObject(value)) return Object.entries(value).flatMap(([key, item]) => pieces(item, `${path}/${key}`));
  if (typeof value !== 'string') return [`${path}=${JSON.stringify(value)}`];
  return [`${path}=${value}`, `${path}^${value.slice(0, 24)}`, `${path}$${value.slice(-24)}`];
}
