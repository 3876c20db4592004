/**
 * Finds the next occurrence of one piece of text, remembering the last answer: asking again from inside the same gap
 * costs nothing, so that looking ahead from many places stays linear.
 */
export class Finder {
  private readonly text: string;
  private readonly piece: string;
  private from = 0;
  private found = -1;

  constructor(text: string, piece: string) {
    this.text = text;
    this.piece = piece;
  }

  /** The first index from `index` on where the piece begins, or Infinity. */
  next(index: number): number {
    if (index < this.from || index > this.found) {
      const found = this.text.indexOf(this.piece, index);
      this.from = index;
      this.found = found < 0 ? Infinity : found;
    }
    return this.found;
  }
}
