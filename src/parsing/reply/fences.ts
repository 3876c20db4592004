import type { DialectSource } from '../dialects/dialect-source.ts';
import { CODE } from '../tolerant/characters.ts';

const INFO = /^[\w+#.-]*[ \t]*(?=\r?\n|$)|^(?:jsonc?|json5)\b/i;

/** The fences of a message, and code within its lines. */
export class Fences {
  /** The number of the open fence; 0: none. */
  current = 0;
  /** What is written in each fence's opening line, by its number. */
  readonly infos = new Map<number, string>();
  private readonly source: DialectSource;
  private mark = 0;

  constructor(source: DialectSource) {
    this.source = source;
  }

  /** Takes the back-ticks at `at`. `closed`: code within a line, which nobody looks into. */
  take(at: number): { readonly to: number; readonly closed: boolean } {
    const to = this.runEnd(at);
    if (to - at >= 3) return { to: this.takeFence(to - at, to), closed: false };
    const end = this.current > 0 ? undefined : this.inlineEnd(to - at, to);
    return { to: end ?? to, closed: end !== undefined };
  }

  private runEnd(at: number): number {
    const { text, end } = this.source;
    let to = at;
    while (to < end && text.charCodeAt(to) === CODE.backtick) to += 1;
    return to;
  }

  private takeFence(length: number, to: number): number {
    if (this.current > 0) {
      if (length >= this.mark) this.current = 0;
      return to;
    }
    this.current = this.infos.size + 1;
    this.mark = length;
    const info = INFO.exec(this.source.text.slice(to, to + 60))?.[0] ?? '';
    this.infos.set(this.current, info.trim().toLowerCase());
    return to + info.length;
  }

  /** Where code within a line ends: behind a run of as many back-ticks in the same paragraph. */
  private inlineEnd(length: number, from: number): number | undefined {
    const paragraph = this.source.next(from, '\n\n');
    let at = this.source.next(from, '`');
    for (let tries = 0; at < paragraph && tries < 8; tries += 1) {
      const to = this.runEnd(at);
      if (to - at === length) return to;
      at = this.source.next(to, '`');
    }
    return undefined;
  }
}
