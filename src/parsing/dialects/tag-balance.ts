/** The opening and closing tags of a format in a text, counted once from its end. */
export class TagBalance {
  private readonly places: readonly number[];
  /** By place: the fewest tags that are open at any later place, seen from here; below zero where one closes nothing. */
  private readonly lowest: readonly number[];

  constructor(text: string, openers: readonly string[], closers: readonly string[]) {
    const tags = [...placesOf(text, openers, 1), ...placesOf(text, closers, -1)].toSorted((a, b) => a.at - b.at);
    const lowest: number[] = [];
    let low = 0;
    for (const { step } of tags.toReversed()) {
      low = Math.min(0, low + step);
      lowest.push(low);
    }
    this.places = tags.map(({ at }) => at);
    this.lowest = lowest.toReversed();
  }

  /** True when, from `from` on, some tag closes what was not opened there. */
  closesTooMuch(from: number): boolean {
    let low = 0;
    let high = this.places.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.places[middle] ?? 0) < from) low = middle + 1;
      else high = middle;
    }
    return (this.lowest[low] ?? 0) < 0;
  }
}

function placesOf(
  text: string,
  pieces: readonly string[],
  step: 1 | -1,
): { readonly at: number; readonly step: number }[] {
  return pieces.flatMap((piece) => {
    const found: { readonly at: number; readonly step: number }[] = [];
    for (let at = text.indexOf(piece); at >= 0; at = text.indexOf(piece, at + piece.length)) found.push({ at, step });
    return found;
  });
}
