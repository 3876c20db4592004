import { textWidth } from '../../terminal/text-width.ts';

/** Breaks text into lines between words while it arrives in pieces. */
export interface WordFlow {
  /** What can be written now; the word that may still grow is held back. */
  add(text: string): string;
  /** What was held back. */
  end(): string;
}

/** Chinese and Japanese are written without spaces: a line may end at every sign. */
const SIGN = String.raw`[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\u3000-\u303f\uff01-\uff60]`;
const PIECES = new RegExp(String.raw`\n|[^\S\n]+|${SIGN}|(?:(?!${SIGN})\S)+`, 'gu');
const GROWING = new RegExp(String.raw`^(?!${SIGN})\S`, 'u');

/** Flows text into lines of at most so many columns. A word that is longer than a line is left to the terminal. */
export function wordFlow(columns: number): WordFlow {
  let column = 0;
  let held = '';
  const place = (piece: string): string => {
    if (piece === '\n') {
      column = 0;
      return piece;
    }
    const width = textWidth(piece);
    const breaks = column > 0 && column + width > columns;
    column = breaks ? 0 : column + width;
    // The space between two lines is not shown.
    if (breaks && piece.trim() === '') return '\n';
    if (!breaks) return piece;
    column = width;
    return `\n${piece}`;
  };
  const release = (): string => {
    const word = held;
    held = '';
    return word === '' ? '' : place(word);
  };
  return {
    add(text) {
      let flowed = '';
      for (const [piece] of text.matchAll(PIECES)) {
        if (GROWING.test(piece)) held += piece;
        else flowed += release() + place(piece);
      }
      return flowed;
    },
    end() {
      const rest = release();
      column = 0;
      return rest;
    },
  };
}
