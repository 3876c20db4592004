/**
 * Finds the next occurrence of one piece of text, remembering the last answer: asking again from inside the same gap
 * costs nothing, so that looking ahead from many offsets stays linear.
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

/**
 * Where the next line break, comment end and closers of a text are. One set serves all readings of the same text, so
 * that a thousand readings do not search it a thousand times. `steps` counts the characters searched.
 */
export class Landmarks {
  readonly text: string;
  readonly newlines: Finder;
  readonly commentCloses: Finder;
  readonly braces: Finder;
  readonly brackets: Finder;
  steps = 0;
  /** How often the rest of the text may still be read with one level of escaping removed. */
  unescapings = 3;

  constructor(text: string) {
    this.text = text;
    this.newlines = new Finder(text, '\n', this);
    this.commentCloses = new Finder(text, '*/', this);
    this.braces = new Finder(text, '}', this);
    this.brackets = new Finder(text, ']', this);
  }
}
