import { cutToWidth, textWidth, wrapText } from '../../terminal/text-width.ts';
import { escaped } from './escaped.ts';
import type { Terminal } from './terminal.ts';

/** The styles of the console. */
export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** Puts a style on a text, or leaves it unchanged if colours are off. */
export type Paint = (style: Style, text: string) => string;

const CODES: Readonly<Record<Style, readonly [number, number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
};

/** Makes the paint of a terminal. Every line is closed on its own, so that a cut never bleeds. */
export function painter(color: boolean): Paint {
  if (!color) return (_style, text) => text;
  return (style, text) => {
    const [open, close] = CODES[style];
    return text === '' ? '' : `\u001b[${open}m${text}\u001b[${close}m`;
  };
}

/** A text with what stands before its first line; further lines begin below its first word. */
export interface TextEntry {
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
export function layOut(entry: TextEntry, terminal: Terminal, paint: Paint): readonly string[] {
  const { indent, labelStyle, maxLines } = entry;
  const columns = terminal.columns() - indent;
  const label = cutToWidth(escaped(entry.label).replaceAll('\n', ' '), columns);
  const shownLabel = labelStyle === undefined ? label : paint(labelStyle, label);
  const labelWidth = label === '' ? 0 : Math.max(entry.labelWidth ?? 0, textWidth(label) + 1);
  // A label that leaves no room for the text gets its own line.
  const apart = labelWidth > columns / 2;
  const margin = apart ? APART : labelWidth;
  const all = wrapText(escaped(entry.text), columns - margin);
  const lines = maxLines !== undefined && all.length > maxLines ? shorten(all, maxLines) : all;
  const texts = lines.map((line) => (entry.style === undefined ? line : paint(entry.style, line)));
  const first = ' '.repeat(indent) + shownLabel;
  const below = texts.map((text) => (text === '' ? '' : ' '.repeat(indent + margin) + text));
  if (apart) return [first, ...below];
  return [`${first}${' '.repeat(labelWidth - textWidth(label))}${texts[0] ?? ''}`.trimEnd(), ...below.slice(1)];
}

/** The indent of a text below a label on its own line. */
const APART = 2;

function shorten(lines: readonly string[], max: number): readonly string[] {
  return [...lines.slice(0, max - 1), `… ${lines.length - max + 1} more lines`];
}
