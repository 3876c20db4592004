import type { DialectSource } from '../dialects/dialect-source.ts';

const INFO = /^[\w+#.-]*[ \t]*(?=\r?\n|$)|^(?:jsonc?|json5)\b/i;

/** Where a fence was opened: its mark, and the text behind the line of its mark. */
export interface OpenedFence {
  readonly at: number;
  readonly from: number;
  readonly language: string;
}

/** The fences of a message, and code within its lines. */
export class Fences {
  /** The number of the open fence; 0: none. */
  current = 0;
  /** All fences, by their numbers. */
  readonly opened = new Map<number, OpenedFence>();
  private readonly source: DialectSource;
  private mark = '';

  constructor(source: DialectSource) {
    this.source = source;
  }

  /** Takes the back-ticks or tildes at `at`. `closed`: code within a line, which nobody looks into. */
  take(at: number): { readonly to: number; readonly closed: boolean } {
    const to = this.runEnd(at);
    if (to - at >= 3) return { to: this.takeFence(at, to), closed: false };
    const end = this.current > 0 ? undefined : this.inlineEnd(to - at, to);
    return { to: end ?? to, closed: end !== undefined };
  }

  private runEnd(at: number): number {
    const { text, end } = this.source;
    let to = at;
    const code = text.charCodeAt(at);
    while (to < end && text.charCodeAt(to) === code) to += 1;
    return to;
  }

  private takeFence(at: number, to: number): number {
    const run = this.source.text.slice(at, to);
    if (this.current > 0) {
      if (run.startsWith(this.mark)) this.current = 0;
      return to;
    }
    this.current = this.opened.size + 1;
    this.mark = run;
    const info = INFO.exec(this.source.text.slice(to, to + 60))?.[0] ?? '';
    const from = to + info.length;
    this.opened.set(this.current, { at, from, language: info.trim().toLowerCase() });
    return from;
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
