const WIDE =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;
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

/** The longest beginning of a text that fits into so many columns, at least one character. */
export function cutToWidth(text: string, columns: number): string {
  return splitToWidth(text, columns)[0] ?? '';
}

/** A text in pieces of at most so many columns, each of at least one character. */
export function splitToWidth(text: string, columns: number): readonly string[] {
  if (textWidth(text) <= columns) return [text];
  const pieces: string[] = [];
  let piece = '';
  let width = 0;
  for (const { segment } of graphemes(text)) {
    const more = graphemeWidth(segment);
    if (width + more > columns && piece !== '') {
      pieces.push(piece);
      piece = '';
      width = 0;
    }
    piece += segment;
    width += more;
  }
  return [...pieces, piece];
}

function graphemes(text: string): Iterable<{ readonly segment: string }> {
  return new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(text);
}

function graphemeWidth(grapheme: string): number {
  if (NOTHING.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}
