/** The last index of a rising sequence whose value is at most `most`; -1 when there is none. */
export function lastUpTo(count: number, valueAt: (index: number) => number | undefined, most: number): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((valueAt(middle) ?? Infinity) <= most) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
