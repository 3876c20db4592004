import { cutToWidth, textWidth } from './text-width.ts';

/** Breaks text into lines of at most so many columns, between words where it can. Line breaks of the text are kept. */
export function wrapText(text: string, columns: number): readonly string[] {
  return text.split('\n').flatMap((line) => wrapLine(line.trimEnd(), Math.max(columns, 1)));
}

function wrapLine(line: string, columns: number): readonly string[] {
  if (textWidth(line) <= columns) return [line];
  const lines: string[] = [];
  let current = '';
  for (const piece of line.split(/(?<=\s)(?=\S)/)) {
    if (current !== '' && textWidth(current + piece.trimEnd()) > columns) {
      lines.push(current.trimEnd());
      current = '';
    }
    current += piece;
    while (textWidth(current.trimEnd()) > columns) {
      const head = cutToWidth(current, columns);
      lines.push(head);
      current = current.slice(head.length);
    }
  }
  return current.trim() === '' ? lines : [...lines, current.trimEnd()];
}
