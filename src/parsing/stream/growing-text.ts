import { CHANNELS, tagKind, TagReader } from './marks.ts';

/**
 * A text that is shown while it grows. White space and special tokens at its end wait until something follows: at the
 * very end of a message they are not part of it.
 */
export class GrowingText {
  text = '';
  private first = '';
  private waiting: string[] = [];

  /** True while nothing but white space was written. */
  get isBlank(): boolean {
    return this.text === '' && this.waiting.every((piece) => piece.trim() === '');
  }

  /** True when the text begins as JSON does. */
  get opensJson(): boolean {
    return this.first === '{' || this.first === '[' || this.first === '"';
  }

  write(piece: string): void {
    const visible = piece.trimEnd();
    if (visible === '') return this.wait(piece);
    const whole = this.waiting.length === 0 ? visible : this.waiting.join('') + visible;
    const added = this.text === '' ? whole.trimStart() : whole;
    if (this.text === '') this.first = added.charAt(0);
    this.text += added;
    this.waiting = visible.length < piece.length ? [piece.slice(visible.length)] : [];
  }

  /** Takes what belongs to the text only if more of it follows. */
  wait(piece: string): void {
    if (piece !== '') this.waiting.push(piece);
  }

  clear(): void {
    this.text = '';
    this.waiting = [];
  }
}

/** How a block of reasoning ends: with a closing tag, with its channel, or with its message or a closing tag. */
export type ThoughtForm = 'tag' | 'channel' | 'message';

const ENDS = new Set(['<|end|>', '<|return|>', '<|call|>']);

/** Keeps the reasoning of a message, block after block, as it is written. */
export class ThoughtReader {
  /** True once a message has marked its reasoning. */
  hasBlock = false;
  private readonly thought = new GrowingText();
  private readonly tags = new TagReader();
  private form: ThoughtForm = 'tag';

  get text(): string {
    return this.thought.text;
  }

  /** Begins a block. */
  open(form: ThoughtForm): void {
    if (this.thought.text !== '') this.thought.wait('\n');
    this.hasBlock = true;
    this.form = form;
  }

  /** Takes what had been read as text before a closing tag marked it as reasoning. */
  add(text: string): void {
    this.hasBlock = true;
    this.thought.write(text);
  }

  /** Takes a character of a block and returns the tag that ends it. */
  take(char: string): string | undefined {
    const before = this.tags.tag;
    const tag = this.tags.take(char);
    if (tag !== undefined && this.ends(tag)) return tag;
    if (this.tags.tag === '') this.thought.write(before + char);
    else if (this.tags.tag.length === 1) this.thought.write(before);
    return undefined;
  }

  private ends(tag: string): boolean {
    if (this.form !== 'channel' && tagKind(tag) === 'closes-thinking') return true;
    return this.form !== 'tag' && (ENDS.has(tag) || CHANNELS.has(tag));
  }
}
