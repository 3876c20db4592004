import type { Decision } from './call-watch.ts';
import { isBlank } from './line.ts';
import { tagKind, TagReader } from './marks.ts';

/**
 * Reads on behind what must be the whole message: a fence's end and special tokens change nothing (`open`), more of the
 * same may follow (`call`), and anything else makes all of it text.
 */
export class RestWatch {
  private readonly tags = new TagReader();
  private readonly between: string;
  /** What must come first: the end of the block that a mark opened. */
  private closer: string;
  private seen = '';

  constructor(between: string, closer: string) {
    this.between = between;
    this.closer = closer;
  }

  take(char: string): Decision {
    if (this.closer === '') return this.takeBehind(char);
    this.seen = (this.seen + char).slice(-this.closer.length);
    if (this.seen === this.closer) this.closer = '';
    return 'open';
  }

  private takeBehind(char: string): Decision {
    const before = this.tags.tag;
    const tag = this.tags.take(char);
    if (tag !== undefined) return tagKind(tag).endsWith('token') ? 'open' : this.more();
    if (this.tags.tag !== '' && (before === '' || this.tags.tag.length > 1)) return 'open';
    if (before !== '') return 'text';
    if (isBlank(char) || this.between.includes(char)) return 'open';
    return char === '{' ? this.more() : 'text';
  }

  private more(): Decision {
    return this.between === '' ? 'text' : 'call';
  }
}

/** The end of the block that a mark opens, where it is a tag with an end of its own. */
export function closerOf(mark: string): string | undefined {
  const name = /^<([\w:]+)>$/.exec(mark)?.[1];
  return name === undefined ? undefined : `</${name}>`;
}
