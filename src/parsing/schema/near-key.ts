/** The one key that is `wanted` but for case and separators, or for one wrong, missing, extra or swapped character. */
export function nearestKey(wanted: string, keys: readonly string[]): string | undefined {
  const same = keys.filter((key) => plain(key) === plain(wanted));
  if (same.length > 0) return same.length === 1 ? same[0] : undefined;
  if (wanted.length < 3) return undefined;
  const near = keys.filter((key) => isOneEditAway(key, wanted));
  return near.length === 1 ? near[0] : undefined;
}

function plain(key: string): string {
  return key.toLowerCase().replace(/[\s_.-]+/g, '');
}

/** True when one insertion, deletion, replacement or swap of neighbours turns one text into the other. */
export function isOneEditAway(a: string, b: string): boolean {
  const [short, long] = a.length <= b.length ? [a, b] : [b, a];
  if (long.length - short.length > 1 || short === long) return false;
  let i = 0;
  while (i < short.length && short[i] === long[i]) i += 1;
  if (short.length < long.length) return short.slice(i) === long.slice(i + 1);
  const swapped = short[i] === long[i + 1] && short[i + 1] === long[i] && short.slice(i + 2) === long.slice(i + 2);
  return swapped || short.slice(i + 1) === long.slice(i + 1);
}
