/** For shorter names it is not clear which one two wrong letters, or a part, refer to. */
const LONG = 6;
const SHORTEST_PART = 3;

/**
 * The name that was probably meant: the same except for case, one edit away (a letter too many, too few, wrong, or two
 * in the wrong order), one that contains the other, or a long one with two wrong letters.
 */
export function nearestName(written: string, names: readonly string[]): string | undefined {
  const lower = written.toLowerCase().slice(0, 100);
  const known = names.map((name) => ({ name, lower: name.toLowerCase() }));
  return (
    known.find((one) => one.lower === lower) ??
    known.find((one) => isOneEditAway(one.lower, lower)) ??
    known.find((one) => contains(one.lower, lower) || contains(lower, one.lower)) ??
    known.find((one) => Math.min(one.lower.length, lower.length) >= LONG && editDistance(one.lower, lower) <= 2)
  )?.name;
}

/** ` Did you mean …?`, or nothing. */
export function didYouMean(written: string, names: readonly string[]): string {
  const name = nearestName(written, names);
  return name === undefined ? '' : ` Did you mean '${name}'?`;
}

function contains(whole: string, part: string): boolean {
  return part.length >= SHORTEST_PART && whole.includes(part);
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

/** The number of letters to insert, delete or replace until one text is the other. */
export function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replace = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(replace, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
