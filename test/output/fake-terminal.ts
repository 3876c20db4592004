import { stripVTControlCharacters } from 'node:util';
import type { OutputStream } from '../../src/output/console/terminal.ts';

/** A stream that keeps what is written: a terminal of so many columns, or no terminal at all. */
export function fakeStream(columns?: number): OutputStream & { readonly text: () => string } {
  const written: string[] = [];
  return {
    write: (text) => written.push(text),
    text: () => written.join(''),
    ...(columns === undefined ? { isTTY: false } : { isTTY: true, columns }),
  };
}

/** What a terminal shows of what was written to it: erased lines are gone, styles too. */
export function screenText(written: string): string {
  const lines = written.split('\n').map((line) => line.slice(line.lastIndexOf(ERASE) + 1).replace(ERASE.slice(1), ''));
  return stripVTControlCharacters(lines.join('\n'));
}

const ERASE = '\r\u001b[K';
