const WIDE =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;
const MARK = /^\p{M}$/u;
const NOTHING = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;
// oxlint-disable-next-line no-control-regex -- plain ASCII needs no closer look
const NARROW = /^[\x20-\x7e]*$/;

/** How many columns of a terminal a text takes, which must hold no control characters. */
export function textWidth(text: string): number {
  if (NARROW.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes(text)) width += graphemeWidth(segment);
  return width;
}

/** Moves the cursor back over what a text has more than the one that is left of it, and wipes that. */
export function erasing(text: string, left: string): string {
  return '\b \b'.repeat(Math.max(textWidth(text) - textWidth(left), 0));
}

/** The longest beginning of a text that fits into so many columns, at least one character. */
export function cutToWidth(text: string, columns: number): string {
  return splitToWidth(text, columns)[0] ?? '';
}

/** A text in at most so many columns, at least two; where that is not all of it, it ends with an ellipsis. */
export function ellipsized(text: string, columns: number): string {
  return cutToWidth(text, columns) === text ? text : `${cutToWidth(text, columns - 1)}…`;
}

/** How a text falls into pieces that are never torn apart, and how many columns each of them takes. */
interface Measure {
  readonly piecesOf: (text: string) => Iterable<string>;
  readonly widthOf: (piece: string) => number;
}

/** As a good terminal draws text. Another one may draw an emoji or a Greek letter wider. */
const AS_DRAWN: Measure = {
  *piecesOf(text) {
    for (const { segment } of graphemes(text)) yield segment;
  },
  widthOf: graphemeWidth,
};

/**
 * The most that any terminal makes of a text, whatever it thinks of emoji and of signs that are wide in East Asia only: two
 * columns a sign and one a mark upon it. Plain ASCII is exact. For what must not run over the edge anywhere.
 */
export const AT_MOST: Measure = {
  piecesOf: (text) => text.match(/\P{M}\p{M}{0,3}|\p{M}/gu) ?? [],
  widthOf(piece) {
    let width = 0;
    for (const sign of piece) width += NARROW.test(sign) || MARK.test(sign) ? 1 : 2;
    return width;
  },
};

/** A text in pieces of at most so many columns, each of at least one character. */
export function splitToWidth(text: string, columns: number, measure: Measure = AS_DRAWN): readonly string[] {
  if (NARROW.test(text)) return splitNarrow(text, columns);
  const pieces: string[] = [];
  let piece = '';
  let width = 0;
  for (const part of measure.piecesOf(text)) {
    const more = measure.widthOf(part);
    if (width + more > columns && piece !== '') {
      pieces.push(piece);
      piece = '';
      width = 0;
    }
    piece += part;
    width += more;
  }
  return [...pieces, piece];
}

function splitNarrow(text: string, columns: number): readonly string[] {
  const step = Math.max(columns, 1);
  if (text.length <= step) return [text];
  return Array.from({ length: Math.ceil(text.length / step) }, (_, at) => text.slice(at * step, (at + 1) * step));
}

function graphemes(text: string): Iterable<{ readonly segment: string }> {
  return new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(text);
}

function graphemeWidth(grapheme: string): number {
  if (WIDE.test(grapheme)) return NOTHING.test(grapheme) ? 0 : 2;
  let width = 0;
  // Letters and vowels of Indian and Thai syllables stand side by side.
  for (const sign of grapheme) if (!NOTHING.test(sign)) width += 1;
  return width;
}

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

/** Wraps one line. What follows its first part is indented by two columns more. */
export function wrapHanging(line: string, columns: number): readonly string[] {
  const indent = line.search(/\S|$/);
  return wrapText(line.trim(), columns - indent - 2).map(
    (part, index) => ' '.repeat(index === 0 ? indent : indent + 2) + part,
  );
}

/** The least width to which the last column of a table is wrapped. */
const LEAST = 24;

/**
 * Lays rows of escaped text out in columns, two spaces apart; the last cell of a row takes what it needs, on several
 * lines where one is too short. Where that column would be too narrow, rows are wrapped as a whole instead.
 */
export function textTable(
  rows: readonly (readonly string[])[],
  columns: number = Number.POSITIVE_INFINITY,
): readonly string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [column, cell] of row.slice(0, -1).entries())
      widths[column] = Math.max(widths[column] ?? 0, textWidth(cell));
  const gap = (cell: string, column: number): string => ' '.repeat((widths[column] ?? 0) + 2 - textWidth(cell));
  const laid = rows.map((row) => {
    const start = row.slice(0, -1).map((cell, column) => cell + gap(cell, column));
    return { start: start.join(''), indent: textWidth(start.join('')), last: row.at(-1) ?? '' };
  });
  if (laid.some(({ indent, last }) => indent + Math.min(textWidth(last), LEAST) > columns))
    return rows.flatMap((row) => wrapHanging(row.map((cell) => cell.trimEnd()).join('  '), columns));
  return laid.flatMap(({ start, indent, last }) =>
    wrapText(last, columns - indent).map((part, index) => (index === 0 ? start : ' '.repeat(indent)) + part),
  );
}

/** `1 file`, `3 files`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
