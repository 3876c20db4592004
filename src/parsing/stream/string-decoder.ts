/** Decodes the inside of a JSON string piece by piece; what arrives cut in two is held back until it is whole. */
export class StringDecoder {
  text = '';
  private escape = '';
  private half = '';

  /**
   * Takes characters from `from` on and returns where it stopped: at the closing quote, which is not taken, or at the
   * end of the piece. `closed` says which.
   */
  take(piece: string, from: number, quote: number): { readonly at: number; readonly closed: boolean } {
    let i = from;
    while (i < piece.length) {
      if (this.escape !== '') {
        this.escape += piece.charAt(i);
        i += 1;
        this.finishEscape();
        continue;
      }
      const start = i;
      while (i < piece.length && piece.charCodeAt(i) !== quote && piece.charCodeAt(i) !== 92) i += 1;
      if (i > start) this.append(piece.slice(start, i));
      if (i >= piece.length) break;
      if (piece.charCodeAt(i) === quote) return { at: i, closed: true };
      this.escape = '\\';
      i += 1;
    }
    return { at: i, closed: false };
  }

  private finishEscape(): void {
    const kind = this.escape.charAt(1);
    if (kind === 'u' && this.escape.length < 6) return;
    const known = kind === 'u' ? unicode(this.escape) : ESCAPES.get(kind);
    this.append(known ?? this.escape);
    this.escape = '';
  }

  /** The first half of a character waits for the second. */
  private append(piece: string): void {
    const whole = this.half + piece;
    const last = whole.charCodeAt(whole.length - 1);
    const isHalf = last >= 0xd800 && last <= 0xdbff;
    this.half = isHalf ? whole.slice(-1) : '';
    this.text += isHalf ? whole.slice(0, -1) : whole;
  }
}

const ESCAPES = new Map([
  ['"', '"'],
  ["'", "'"],
  ['\\', '\\'],
  ['/', '/'],
  ['_', '_'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);

function unicode(escape: string): string | undefined {
  const hex = escape.slice(2);
  return /^[0-9a-fA-F]{4}$/.test(hex) ? String.fromCharCode(parseInt(hex, 16)) : undefined;
}
