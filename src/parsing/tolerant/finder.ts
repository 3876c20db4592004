/**
 * Finds the next occurrence of one piece of text, remembering the last answer: asking again from inside the same gap
 * costs nothing, so that looking ahead from many places stays linear.
 */
export class Finder {
  private readonly text: string;
  private readonly piece: string;
  private readonly work: { steps: number };
  private from = 0;
  private found = -1;

  /** `work` counts the characters that were searched. */
  constructor(text: string, piece: string, work: { steps: number }) {
    this.text = text;
    this.piece = piece;
    this.work = work;
  }

  /** The first index from `index` on where the piece begins, or Infinity. */
  next(index: number): number {
    if (index < this.from || index > this.found) {
      const found = this.text.indexOf(this.piece, index);
      this.from = index;
      this.found = found < 0 ? Infinity : found;
      this.work.steps += (found < 0 ? this.text.length : found) - index + 1;
    }
    return this.found;
  }
}
