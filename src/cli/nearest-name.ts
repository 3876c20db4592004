/** The name that was probably meant: the same but for case, one slip away, or one that contains the other. */
export function nearestName(written: string, names: readonly string[]): string | undefined {
  const lower = written.toLowerCase();
  return (
    names.find((name) => name.toLowerCase() === lower) ??
    names.find((name) => isOneEditAway(name, lower)) ??
    names.find((name) => lower.length > 2 && (name.includes(lower) || lower.includes(name)))
  );
}

/** ` Did you mean …?`, or nothing. */
export function didYouMean(written: string, names: readonly string[]): string {
  const name = nearestName(written, names);
  return name === undefined ? '' : ` Did you mean '${name}'?`;
}

/** True when one insertion, deletion, replacement or swap of neighbours turns one text into the other. */
function isOneEditAway(a: string, b: string): boolean {
  const [short, long] = a.length <= b.length ? [a, b] : [b, a];
  if (long.length - short.length > 1 || short === long) return false;
  let i = 0;
  while (i < short.length && short[i] === long[i]) i += 1;
  if (short.length < long.length) return short.slice(i) === long.slice(i + 1);
  const swapped = short[i] === long[i + 1] && short[i + 1] === long[i] && short.slice(i + 2) === long.slice(i + 2);
  return swapped || short.slice(i + 1) === long.slice(i + 1);
}
