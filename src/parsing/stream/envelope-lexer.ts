import { StringDecoder } from './string-decoder.ts';

/** What the lexer saw of one member of the envelope: text that may still grow, or JSON that is whole. */
export type Member =
  | { readonly kind: 'text'; readonly text: string; readonly complete: boolean }
  | { readonly kind: 'json'; readonly source: string };

/** `open`: more may come · `closed`: the object ended · `lost`: this is not an object that can be followed. */
export type LexerState = 'open' | 'closed' | 'lost';

type Expect = 'key' | 'colon' | 'value' | 'comma';

/**
 * Follows one JSON object character by character and keeps its members as they grow. It looks at every character once
 * and never back; at the first thing that is no JSON it stops and keeps what it has.
 */
export class EnvelopeLexer {
  state: LexerState = 'open';
  readonly members = new Map<string, Member>();
  /** True once a key was read: before that an opening brace may be prose. */
  hasKey = false;
  private expect: Expect = 'key';
  private decoder: StringDecoder | undefined;
  private key = '';
  private depth = 0;
  private nestedString = false;
  private nestedEscape = false;
  private source = '';

  /** Takes a piece from `from` on and returns the index behind what it took. */
  take(piece: string, from: number): number {
    let i = from;
    while (i < piece.length && this.state === 'open') {
      if (this.decoder !== undefined) i = this.takeString(piece, i, this.decoder);
      else if (this.depth > 0) i = this.takeNested(piece, i);
      else i = this.takeCharacter(piece, i);
    }
    return i;
  }

  private takeString(piece: string, from: number, decoder: StringDecoder): number {
    const { at, closed } = decoder.take(piece, from, 34);
    if (this.expect === 'key') {
      if (closed) {
        this.key = decoder.text;
        this.hasKey = true;
        this.expect = 'colon';
      }
    } else {
      this.members.set(this.key, { kind: 'text', text: decoder.text, complete: closed });
      if (closed) this.expect = 'comma';
    }
    if (!closed) return at;
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
    if (space) return i + 1;
    switch (this.expect) {
      case 'key':
        if (code === 34) this.decoder = new StringDecoder();
        else this.state = code === 125 ? 'closed' : 'lost';
        return i + 1;
      case 'colon':
        if (code === 58) this.expect = 'value';
        else this.state = 'lost';
        return i + 1;
      case 'comma':
        if (code === 44) this.expect = 'key';
        else this.state = code === 125 ? 'closed' : 'lost';
        return i + 1;
      case 'value':
        return this.beginValue(piece, i, code);
    }
  }

  private beginValue(piece: string, i: number, code: number): number {
    if (code === 34) {
      this.decoder = new StringDecoder();
      return i + 1;
    }
    if (code === 123 || code === 91) {
      this.depth = 1;
      this.source = piece.charAt(i);
      return i + 1;
    }
    if (/[-\d\w]/.test(piece.charAt(i))) this.source = piece.charAt(i);
    else this.state = 'lost';
    return i + 1;
  }

  private takeScalar(piece: string, i: number, space: boolean): number {
    const code = piece.charCodeAt(i);
    if (!space && code !== 44 && code !== 125) {
      this.source += piece.charAt(i);
      if (this.source.length > 400) this.state = 'lost';
      return i + 1;
    }
    this.finishJson();
    return i;
  }

  private finishJson(): void {
    this.members.set(this.key, { kind: 'json', source: this.source });
    this.source = '';
    this.expect = 'comma';
  }
}
