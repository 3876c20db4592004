import { inert } from './inert.ts';
import type { Paint, Style } from './paint.ts';
import type { Terminal } from './terminal.ts';
import { textWidth } from './text-width.ts';
import { wrapText } from './wrap-text.ts';

/** A text with what stands before its first line; further lines begin below its first word. */
export interface Entry {
  readonly indent: number;
  readonly label: string;
  readonly labelStyle?: Style;
  /** Columns that labels of this kind take, for texts that stand below each other. */
  readonly labelWidth?: number;
  readonly text: string;
  readonly style?: Style;
  /** Lines of text that are shown at most; the rest is counted. */
  readonly maxLines?: number;
}

/** Lays an entry out in lines for a terminal. Text that comes from a model or a tool is made harmless here. */
export function layOut(entry: Entry, terminal: Terminal, paint: Paint): readonly string[] {
  const { indent, labelStyle, style, maxLines } = entry;
  const label = inert(entry.label).replaceAll('\n', ' ');
  const labelWidth = label === '' ? 0 : Math.max(entry.labelWidth ?? 0, textWidth(label) + 1);
  const margin = ' '.repeat(indent + labelWidth);
  const all = wrapText(inert(entry.text), terminal.columns() - indent - labelWidth);
  const lines = maxLines !== undefined && all.length > maxLines ? shorten(all, maxLines) : all;
  return lines.map((line, index) => {
    const text = style === undefined ? line : paint(style, line);
    if (index > 0) return line === '' ? '' : margin + text;
    const shownLabel = labelStyle === undefined ? label : paint(labelStyle, label);
    return `${' '.repeat(indent)}${shownLabel}${' '.repeat(labelWidth - textWidth(label))}${text}`.trimEnd();
  });
}

function shorten(lines: readonly string[], max: number): readonly string[] {
  return [...lines.slice(0, max - 1), `… ${lines.length - max + 1} more lines`];
}
