import { Finder } from './finder.ts';

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
