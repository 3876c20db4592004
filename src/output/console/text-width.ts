const WIDE =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;
const NOTHING = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;
// oxlint-disable-next-line no-control-regex -- plain ASCII needs no closer look
const NARROW = /^[\x20-\x7e]*$/;

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** How many columns of a terminal a text takes, which must hold no control characters. */
export function textWidth(text: string): number {
  if (NARROW.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += graphemeWidth(segment);
  return width;
}

/** The longest beginning of a text that fits into so many columns, at least one character. */
export function cutToWidth(text: string, columns: number): string {
  if (NARROW.test(text)) return text.slice(0, Math.max(1, columns));
  let taken = '';
  let width = 0;
  for (const { segment } of segmenter.segment(text)) {
    width += graphemeWidth(segment);
    if (width > columns && taken !== '') break;
    taken += segment;
  }
  return taken;
}

function graphemeWidth(grapheme: string): number {
  if (NOTHING.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}
