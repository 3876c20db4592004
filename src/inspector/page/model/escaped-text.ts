import { UNSEEN } from '../../../output/console/escaped.ts';

/** A piece of foreign text made harmless: `mark` pieces replace characters that would act on the reader's screen. */
export interface EscapedPiece {
  readonly kind: 'text' | 'mark';
  readonly text: string;
}

const NAMES: { readonly [code: number]: string } = {
  0x200b: 'ZWSP',
  0x200c: 'ZWNJ',
  0x200e: 'LRM',
  0x200f: 'RLM',
  0x061c: 'ALM',
  0x202a: 'LRE',
  0x202b: 'RLE',
  0x202c: 'PDF',
  0x202d: 'LRO',
  0x202e: 'RLO',
  0x2066: 'LRI',
  0x2067: 'RLI',
  0x2068: 'FSI',
  0x2069: 'PDI',
  0x2028: 'LS',
  0x2029: 'PS',
  0xfeff: 'BOM',
};

/**
 * Splits foreign text into what is shown as it is and what is shown as a named symbol: no control sequence, direction
 * override or invisible character takes effect. A carriage return before a line feed is dropped.
 */
export function escapedText(text: string): readonly EscapedPiece[] {
  const pieces: EscapedPiece[] = [];
  const plain = text.replaceAll('\r\n', '\n');
  let from = 0;
  for (const match of plain.matchAll(UNSEEN)) {
    if (match.index > from) pieces.push({ kind: 'text', text: plain.slice(from, match.index) });
    pieces.push({ kind: 'mark', text: symbolOf(match[0].codePointAt(0) ?? 0) });
    from = match.index + match[0].length;
  }
  if (from < plain.length) pieces.push({ kind: 'text', text: plain.slice(from) });
  return pieces;
}

/** The same as one line of text, for labels and places too small for marks; cut to `most` characters. */
export function escapedLine(text: string, most = 120): string {
  const line = escapedText(text.slice(0, most + 1))
    .map((piece) => piece.text)
    .join('')
    .replaceAll(/\s+/g, ' ');
  return line.length > most || text.length > most ? `${line.slice(0, most)}…` : line;
}

function symbolOf(code: number): string {
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return '␡';
  return NAMES[code] ?? `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}
