const REMEMBERED = 60;
/** What may stand on a line before a call that is written as code: a label, `print(`, an opening bracket. */
const CALLABLE = /^[ \t`>*]*(?:<[^<>]{1,40}>[ \t]*)?(?:[\w.]{1,40}[ \t]*=[ \t]*)?(?:print\(|await )?[({[ \t]*$/;

/** Where in its line a text is, and whether it stands in a fence or between back-ticks. */
export class LineState {
  /** True inside of a fence. */
  fenced = false;
  private text = '';
  private ticks = 0;
  private atStart = true;
  private code: 'none' | 'atStart' | 'inside' = 'none';

  /** Between back-ticks in a running line everything is quoted; a call may be all that a line has between them. */
  get isQuoted(): boolean {
    return this.code === 'inside';
  }

  /** True inside of a fence and between back-ticks. */
  get isCode(): boolean {
    return this.fenced || this.code !== 'none';
  }

  /** Nothing but white space and what opens a block has been read of this line. */
  get isAtStart(): boolean {
    return this.atStart;
  }

  /** How many characters of the line that decision looks at. */
  get length(): number {
    return this.atStart ? 1 : this.text.length;
  }

  /** True where a function's name would begin a statement, and not stand in a sentence. */
  get isCallable(): boolean {
    return this.atStart || (this.text.length < REMEMBERED && CALLABLE.test(this.text));
  }

  /** True for a line that has opened or closed a fence so far. */
  get isFence(): boolean {
    return this.ticks >= 3;
  }

  take(char: string): void {
    if (char === '\n') return this.end();
    if (this.text.length < REMEMBERED) this.text += char;
    if (char === '`') this.takeTick();
    else if (!isLead(char)) this.atStart = false;
  }

  /** Takes what was read as one thing, whatever it was made of. */
  skip(): void {
    this.end();
    this.atStart = false;
    this.text = '}';
  }

  private takeTick(): void {
    if (this.atStart) this.ticks += 1;
    if (this.fenced || this.ticks >= 3) this.code = 'none';
    else if (this.code !== 'none') this.code = 'none';
    else this.code = this.atStart ? 'atStart' : 'inside';
  }

  private end(): void {
    if (this.ticks >= 3) this.fenced = !this.fenced;
    this.ticks = 0;
    this.text = '';
    this.atStart = true;
    this.code = 'none';
  }
}

/** What may open a block or a list before a call. */
export function isLead(char: string): boolean {
  return char === '`' || char === '[' || char === '(' || isBlank(char);
}

/** White space, and marks that are not seen. */
export function isBlank(char: string): boolean {
  return (
    char === ' ' ||
    char === '\n' ||
    char === '\t' ||
    char === '\r' ||
    char === '\u200b' ||
    char === '\ufeff' ||
    char === '\u2060'
  );
}
