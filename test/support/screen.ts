/** How a terminal draws what terminals do not agree on. */
export interface Drawing {
  /** Everything beyond ASCII is two columns wide, as with East Asian fonts; else only what always is. */
  readonly wide: boolean;
  /** Marks stand in a column of their own, as on the bare Linux console; else upon the letter before. */
  readonly marksApart: boolean;
  /** It goes to the next row when the last column is filled, not with the sign after that. */
  readonly eager: boolean;
}

/** What most people have before them. */
export const USUAL: Drawing = { wide: false, marksApart: false, eager: false };

interface Row {
  /** One for each column; empty behind a wide sign. */
  cells: string[];
  /** The text goes on in the next row, since this one was full. */
  full: boolean;
}

const WIDE =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;
// oxlint-disable-next-line no-control-regex -- escape sequences begin with one
const SEQUENCE = /^\u001b\[(\d*)(?:;\d*)*([A-Za-z])/u;

/**
 * A terminal's screen: it wraps at its width, scrolls at its height, and wraps anew what stands there when its size changes.
 * Throws for a control character or sequence that no prompt of ours has a reason to write.
 */
export function openScreen(size: { readonly columns: number; readonly rows: number }, drawing: Drawing = USUAL) {
  let { columns, rows } = size;
  let lines: Row[] = [{ cells: [], full: false }];
  let at = { row: 0, column: 0 };
  let cleared = 0;
  const top = (): number => Math.max(lines.length - rows, 0);
  const rowAt = (row: number): Row => {
    while (lines.length <= row) lines.push({ cells: [], full: false });
    return lines[row] ?? { cells: [], full: false };
  };
  const nextRow = (full: boolean): void => {
    rowAt(at.row).full = full;
    at = { row: at.row + 1, column: 0 };
    rowAt(at.row);
  };
  const put = (sign: string): void => {
    const isMark = /^\p{M}$/u.test(sign);
    if (isMark && !drawing.marksApart) {
      const { cells } = rowAt(at.row);
      const last = cells.findLastIndex((cell, column) => column < at.column && cell !== '');
      if (last >= 0) cells[last] += sign;
      return;
    }
    const width = !isMark && (drawing.wide ? sign > '~' : WIDE.test(sign)) ? 2 : 1;
    if (at.column + width > columns) nextRow(true);
    const { cells } = rowAt(at.row);
    while (cells.length < at.column) cells.push(' ');
    cells.splice(at.column, width, sign, ...Array.from({ length: width - 1 }, () => ''));
    at = { ...at, column: at.column + width };
    if (drawing.eager && at.column >= columns) nextRow(true);
  };
  const obey = (count: number, order: string): void => {
    const { row, column } = at;
    if (order === 'H') at = { row: top(), column: 0 };
    else if (order === 'A') at = { row: Math.max(row - Math.max(count, 1), top()), column };
    else if (order === 'K') rowAt(row).cells.splice(column);
    else if (order === 'J' && count === 2) {
      // What stood there goes to the rows above, as in many terminals.
      const above = lines.slice(0, top() + rows);
      lines = [...above, ...Array.from({ length: rows }, () => ({ cells: [], full: false }))];
      cleared = above.length;
      at = { row: row - top() + above.length, column };
    } else throw new Error(`the screen was given the sequence ESC [ ${String(count)} ${order}`);
  };
  const one = (sign: string): void => {
    if (sign === '\n') nextRow(false);
    else if (sign === '\r') at = { ...at, column: 0 };
    else if (sign === '\b') at = { ...at, column: Math.max(at.column - 1, 0) };
    else if (/[\p{C}\p{Zl}\p{Zp}]/u.test(sign)) throw new Error(`the screen was given ${JSON.stringify(sign)}`);
    else put(sign);
  };
  const textOf = ({ cells }: Row): string => cells.join('').trimEnd();
  return {
    /** Draws what a program wrote. A line break begins a new row, as terminals are usually set. */
    write(text: string): void {
      for (let rest = text; rest !== '';) {
        const found = SEQUENCE.exec(rest);
        const sign = String.fromCodePoint(rest.codePointAt(0) ?? 0);
        if (found === null) one(sign);
        else obey(Number(found[1] ?? 0), found[2] ?? '');
        rest = rest.slice(found?.[0].length ?? sign.length);
      }
    },
    /** Changes the size; rows that were full, and those that are too long now, are wrapped anew. */
    resize(to: { readonly columns: number; readonly rows: number }): void {
      ({ columns, rows } = to);
      const before = lines;
      lines = [{ cells: [], full: false }];
      at = { row: 0, column: 0 };
      cleared = 0;
      for (const [index, line] of before.entries()) {
        for (const cell of line.cells) for (const sign of cell) put(sign);
        if (!line.full && index < before.length - 1) nextRow(false);
      }
    },
    /** The rows that can be seen now. */
    visible: (): readonly string[] => lines.slice(top()).map(textOf),
    /** These and those above them, as far as something was written since the screen was cleared. */
    written: (): readonly string[] => lines.slice(cleared).map(textOf),
  };
}
