import { escaped } from './escaped.ts';
import type { Screen } from './screen.ts';
import { textWidth } from '../../terminal/text-width.ts';

/** Where and whether replies are streamed. */
interface LiveTextOptions {
  /** False if there is no terminal: then whole texts are written. */
  readonly live: boolean;
  /** False where the answer is shown elsewhere. */
  readonly wanted: boolean;
  readonly columns: () => number;
}

/** A reply that begins so is meant for the machine: JSON, a code block, a tag. */
const FOR_THE_MACHINE = /^(?:[{[<]|```)/;
/** What may still become one of those. */
const UNCLEAR = /^`{1,2}$/;

/**
 * Streams prose to a terminal. A reply that is not meant for people, or is not `wanted` here, is not shown; a spinner
 * indicates that it is arriving.
 */
export function liveText(screen: Screen, { live, wanted, columns }: LiveTextOptions) {
  let pending = '';
  let shown = '';
  let mode: 'undecided' | 'prose' | 'hidden' = 'undecided';
  let flow = wordFlow(columns());
  const print = (text: string): void => {
    shown += text;
    screen.raw(flow.add(escaped(text.replaceAll('\r', ''))));
  };
  const begin = (): void => {
    shown = '';
    mode = wanted && !FOR_THE_MACHINE.test(pending) ? 'prose' : 'hidden';
    if (mode === 'hidden') return screen.spin('Receiving the reply');
    flow = wordFlow(columns());
    screen.gap();
    print(pending);
  };
  return {
    token(text: string): void {
      if (!live || mode === 'hidden') return;
      if (mode === 'prose') return print(text);
      pending = (pending + text).trimStart();
      if (pending !== '' && !UNCLEAR.test(pending)) begin();
    },
    end(): void {
      if (mode === 'undecided' && pending !== '') begin();
      if (mode === 'hidden') screen.stopSpinning();
      if (mode === 'prose') {
        screen.raw(flow.end());
        screen.gap();
      }
      mode = 'undecided';
      pending = '';
    },
    /** Whether the last reply that was streamed is this text. */
    hasShown: (text: string) => shown !== '' && shown.trim() === text.trim(),
  };
}

/** Chinese and Japanese are written without spaces: a line may end at every sign. */
const SIGN = String.raw`[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\u3000-\u303f\uff01-\uff60]`;
const PIECES = new RegExp(String.raw`\n|[^\S\n]+|${SIGN}|(?:(?!${SIGN})\S)+`, 'gu');
/** A word or the space between two: more of it may come. */
const GROWING = new RegExp(String.raw`^(?!${SIGN})[^\n]`, 'u');
const isSpace = (text: string): boolean => text.trim() === '';

/** Flows text into lines of at most so many columns. A word that is longer than a line is left to the terminal. */
export function wordFlow(columns: number) {
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
    /** What can be written now; the word that may still grow is held back. */
    add(text: string): string {
      let flowed = '';
      for (const [piece] of text.matchAll(PIECES)) {
        if (held !== '' && isSpace(held) !== isSpace(piece)) flowed += release();
        if (GROWING.test(piece)) held += piece;
        else flowed += release() + place(piece);
      }
      return flowed;
    },
    /** What was held back. */
    end(): string {
      const rest = release();
      column = 0;
      return rest;
    },
  };
}
