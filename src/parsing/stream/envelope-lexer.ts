/** What the lexer saw of one member of the envelope: text that may still grow, or JSON that is whole. */
export type Member =
  | { readonly kind: 'text'; readonly text: string; readonly isBlank: boolean; readonly complete: boolean }
  | { readonly kind: 'json'; readonly source: string };

const LONGEST_SCALAR = 400;
/** The code that closes what each quote opens: models write these, too. */
const CLOSING_QUOTES = new Map([
  [34, 34],
  [39, 39],
  [0x201c, 0x201d],
]);

/**
 * Follows one object from behind its brace, character by character, and keeps its members as they grow. It looks at
 * every character once and never back; at the first thing that is not an object it stops and keeps what it has.
 */
export class EnvelopeLexer {
  /** `open`: more may come · `closed`: the object ended · `lost`: this is not an object that can be followed. */
  state: 'open' | 'closed' | 'lost' = 'open';
  readonly members = new Map<string, Member>();
  /** The keys that were read. */
  readonly keys = new Set<string>();
  private expect: 'key' | 'colon' | 'value' | 'comma' = 'key';
  private decoder: StringDecoder | undefined;
  private quote = 34;
  private key = '';
  private depth = 0;
  private nestedString = false;
  private nestedEscape = false;
  private source = '';
  private hasMoved = false;

  /** How much has been read of a key that has not ended. */
  get keyLength(): number {
    return this.expect === 'key' ? (this.decoder?.text.length ?? this.source.length) : 0;
  }

  /**
   * Takes a piece from `from` on and returns the index behind what it took: it stops wherever a key or a value
   * begins or ends.
   */
  take(piece: string, from: number): number {
    let i = from;
    this.hasMoved = false;
    while (i < piece.length && this.state === 'open' && !this.hasMoved) {
      if (this.decoder !== undefined) i = this.takeString(piece, i, this.decoder);
      else if (this.depth > 0) i = this.takeNested(piece, i);
      else i = this.takeCharacter(piece, i);
    }
    return i;
  }

  private takeString(piece: string, from: number, decoder: StringDecoder): number {
    const { at, closed } = decoder.take(piece, from, this.quote);
    if (this.expect === 'key') {
      if (closed) this.finishKey(decoder.text);
    } else {
      this.members.set(this.key, { kind: 'text', text: decoder.text, isBlank: decoder.isBlank, complete: closed });
      if (closed) this.expect = 'comma';
    }
    if (!closed) return at;
    this.hasMoved = true;
    this.decoder = undefined;
    return at + 1;
  }

  private takeNested(piece: string, from: number): number {
    let i = from;
    for (; i < piece.length && this.depth > 0; i += 1) {
      const code = piece.charCodeAt(i);
      if (this.nestedEscape) this.nestedEscape = false;
      else if (this.nestedString) {
        if (code === 92) this.nestedEscape = true;
        else if (code === 34) this.nestedString = false;
      } else if (code === 34) this.nestedString = true;
      else if (code === 123 || code === 91) this.depth += 1;
      else if (code === 125 || code === 93) this.depth -= 1;
    }
    this.source += piece.slice(from, i);
    if (this.depth === 0) this.finishJson();
    return i;
  }

  private takeCharacter(piece: string, i: number): number {
    const code = piece.charCodeAt(i);
    const space = code === 32 || code === 10 || code === 13 || code === 9;
    if (this.expect === 'value' && this.source !== '') return this.takeScalar(piece, i, space);
    if (this.expect === 'key' && this.source !== '') return this.takeBareKey(piece, i);
    if (space) return i + 1;
    switch (this.expect) {
      case 'key':
        if (!this.opensString(code)) return this.beginBareKey(piece, i, code);
        return i + 1;
      case 'colon':
        if (code !== 58) return this.lose(i);
        this.expect = 'value';
        return i + 1;
      case 'comma':
        if (code === 44) this.expect = 'key';
        else if (code === 125) this.state = 'closed';
        else return this.lose(i);
        return i + 1;
      case 'value':
        return this.beginValue(piece, i, code);
    }
  }

  private opensString(code: number): boolean {
    const quote = CLOSING_QUOTES.get(code);
    if (quote === undefined) return false;
    this.quote = quote;
    this.decoder = new StringDecoder();
    return true;
  }

  private beginBareKey(piece: string, i: number, code: number): number {
    if (code === 125) this.state = 'closed';
    else if (isWord(code)) this.source = piece.charAt(i);
    else return this.lose(i);
    return i + 1;
  }

  private takeBareKey(piece: string, i: number): number {
    if (isWord(piece.charCodeAt(i))) {
      this.source += piece.charAt(i);
      return i + 1;
    }
    const key = this.source;
    this.source = '';
    this.finishKey(key);
    return i;
  }

  private beginValue(piece: string, i: number, code: number): number {
    this.hasMoved = true;
    if (this.opensString(code)) {
      this.members.set(this.key, { kind: 'text', text: '', isBlank: true, complete: false });
      return i + 1;
    }
    if (code === 123 || code === 91) {
      this.depth = 1;
      this.source = piece.charAt(i);
      return i + 1;
    }
    if (!isWord(code) && code !== 45) return this.lose(i);
    this.source = piece.charAt(i);
    return i + 1;
  }

  private takeScalar(piece: string, i: number, space: boolean): number {
    const code = piece.charCodeAt(i);
    if (!space && code !== 44 && code !== 125) {
      const isScalar = isWord(code) || code === 43 || code === 45 || code === 46;
      if (!isScalar || this.source.length > LONGEST_SCALAR) return this.lose(i);
      this.source += piece.charAt(i);
      return i + 1;
    }
    this.finishJson();
    return i;
  }

  /** What cannot be followed is left for others to read. */
  private lose(at: number): number {
    this.state = 'lost';
    return at;
  }

  private finishKey(key: string): void {
    this.key = key;
    this.keys.add(key);
    this.expect = 'colon';
    this.hasMoved = true;
  }

  private finishJson(): void {
    this.members.set(this.key, { kind: 'json', source: this.source });
    this.source = '';
    this.expect = 'comma';
    this.hasMoved = true;
  }
}

function isWord(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 95;
}

/** Decodes the inside of a JSON string piece by piece; what arrives cut in two is held back until it is whole. */
class StringDecoder {
  text = '';
  /** Nothing but white space so far. To ask the whole text each time that it grows would read it over and over. */
  isBlank = true;
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
    this.isBlank &&= whole.trim() === '';
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
