import { splitToWidth, textWidth } from './text-width.ts';

/** Breaks text into lines of at most so many columns, between words where it can. Line breaks of the text are kept. */
export function wrapText(text: string, columns: number): readonly string[] {
  return text.split('\n').flatMap((line) => wrapLine(line.trimEnd(), Math.max(columns, 1)));
}

function wrapLine(line: string, columns: number): readonly string[] {
  if (textWidth(line) <= columns) return [line];
  const lines: string[] = [];
  let current = '';
  let width = 0;
  const push = (): void => {
    if (current.trim() !== '') lines.push(current.trimEnd());
    current = '';
    width = 0;
  };
  for (const word of line.split(/(?<=\s)(?=\S)/)) {
    const bare = word.trimEnd();
    if (width + textWidth(bare) > columns) push();
    // A word that is longer than a line is broken where the line ends.
    for (const part of splitToWidth(bare, columns)) {
      if (width > 0 && width + textWidth(part) > columns) push();
      current += part;
      width += textWidth(part);
    }
    current += word.slice(bare.length);
    width += word.length - bare.length;
  }
  push();
  return lines;
}
