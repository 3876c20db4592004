import { GrowingText } from './growing-text.ts';
import { CHANNELS, tagKind, TagReader } from './marks.ts';

const ENDS = new Set(['<|end|>', '<|return|>', '<|call|>']);

/** Keeps the reasoning of a message, block after block, as it is written. */
export class ThoughtReader {
  /** True once a message has said what its reasoning is. */
  hasBlock = false;
  private readonly thought = new GrowingText();
  private readonly tags = new TagReader();
  private form: 'tag' | 'channel' = 'tag';

  get text(): string {
    return this.thought.text;
  }

  /** Begins a block, which ends with a tag or with its channel. */
  open(form: 'tag' | 'channel'): void {
    if (this.thought.text !== '') this.thought.wait('\n');
    this.hasBlock = true;
    this.form = form;
  }

  /** Takes what had been read as text before a closing tag said that it was reasoning. */
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
    return this.form === 'tag' ? tagKind(tag) === 'closes-thinking' : ENDS.has(tag) || CHANNELS.has(tag);
  }
}
