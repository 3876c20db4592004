import { tagKind, TagReader } from './marks.ts';
import { type NameReader, isNameCharacter } from './name-reader.ts';

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
    if (this.fenced || this.ticks >= 3 || this.code !== 'none') this.code = 'none';
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

/** `open`: not decided yet · `call`: the model calls a tool · `text`: it does not, and the last character is not taken. */
export type WatchResult = 'open' | 'call' | 'text';

/** Words that stand between the mark of a call and the tool's name. */
const FILLERS = ['name', 'function', 'functions', 'call', 'tool', 'json', 'assistant', 'commentary', 'to'];
const FARTHEST = 300;
const PUNCTUATION = new Set(['*', ']', '"', "'", '=', ':', '|', '｜', '`']);

/** Behind this mark of Solar Open stands the id of the call, before the mark of its name. */
const BEFORE_ID = '<|tool_call:begin|>';

/** Looks at what follows a dialect's mark: a tool's name or its arguments make it a call, anything else a mention. */
export class MarkWatch {
  private readonly names: NameReader;
  /** A mark that is not written by chance: arguments without a name are enough behind it. */
  private readonly isStrong: boolean;
  private inTag: boolean;
  private word = '';
  private mayBeName = false;
  private count = 0;
  /** The latest characters, as many as may be the mark before an id. */
  private latest: string;

  constructor(mark: string, names: NameReader) {
    this.names = names;
    this.latest = mark;
    this.isStrong = /^[<[\]]|\[$|[▁|]/.test(mark);
    this.inTag = mark.startsWith('<') && !mark.endsWith('>');
  }

  take(char: string): WatchResult {
    this.count += 1;
    if (this.count > FARTHEST) return 'text';
    if (this.latest === BEFORE_ID && char !== '<') return 'open';
    this.latest = (this.latest + char).slice(-BEFORE_ID.length);
    if (isNameCharacter(char)) return this.takeWord(char);
    const word = this.endWord();
    if (word !== 'open') return word;
    if (char === '<') this.inTag = true;
    else if (char === '>') this.inTag = false;
    else if (char === '{' || char === '[') return this.isStrong ? 'call' : 'text';
    else if (!isBlank(char) && !PUNCTUATION.has(char) && !(this.inTag && char !== '/')) return 'text';
    return 'open';
  }

  private takeWord(char: string): WatchResult {
    if (this.word === '') {
      this.names.begin();
      this.mayBeName = true;
    }
    this.word += char;
    this.mayBeName = this.mayBeName && this.names.take(char);
    const isPossible = this.mayBeName || this.inTag || FILLERS.some((filler) => filler.startsWith(this.word));
    return isPossible ? 'open' : 'text';
  }

  private endWord(): WatchResult {
    if (this.word === '') return 'open';
    const isFiller = this.inTag || FILLERS.includes(this.word);
    this.word = '';
    if (this.mayBeName && this.names.isName) return 'call';
    return isFiller ? 'open' : 'text';
  }
}

/** Follows `name(…)` on a line of its own: with nothing behind it on the line it is a call, else a sentence. */
export class ParenWatch {
  private readonly names: NameReader;
  private depth = 1;
  private quote = '';
  private isEscaped = false;
  private behind: 'punctuation' | 'separator' | 'name' = 'punctuation';

  constructor(names: NameReader) {
    this.names = names;
  }

  take(char: string): WatchResult {
    if (this.depth === 0) return this.takeBehind(char);
    if (this.isEscaped) this.isEscaped = false;
    else if (this.quote !== '') {
      if (char === '\\') this.isEscaped = true;
      else if (char === this.quote) this.quote = '';
    } else if (char === '"' || char === "'") this.quote = char;
    else if (char === '(') this.depth += 1;
    else if (char === ')') this.depth -= 1;
    return 'open';
  }

  /** Another call may follow after a comma; a comment may, too. */
  private takeBehind(char: string): WatchResult {
    if (char === '\n' || char === '#' || char === '/') return 'call';
    if (this.behind === 'name') {
      if (char === '(' && this.names.isName) return 'call';
      return this.names.take(char) ? 'open' : 'text';
    }
    if (char === ',' || char === ';') this.behind = 'separator';
    else if (this.behind === 'separator' && isNameCharacter(char)) {
      this.behind = 'name';
      this.names.begin();
      return this.names.take(char) ? 'open' : 'text';
    } else if (!isBlank(char) && char !== ')' && char !== '`' && char !== ']') return 'text';
    return 'open';
  }
}

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

  take(char: string): WatchResult {
    if (this.closer === '') return this.takeBehind(char);
    this.seen = (this.seen + char).slice(-this.closer.length);
    if (this.seen === this.closer) this.closer = '';
    return 'open';
  }

  private takeBehind(char: string): WatchResult {
    const before = this.tags.tag;
    const tag = this.tags.take(char);
    if (tag !== undefined) return tagKind(tag).endsWith('token') ? 'open' : this.more();
    if (this.tags.tag !== '' && (before === '' || this.tags.tag.length > 1)) return 'open';
    if (before !== '') return 'text';
    if (isBlank(char) || this.between.includes(char)) return 'open';
    return char === '{' ? this.more() : 'text';
  }

  private more(): WatchResult {
    return this.between === '' ? 'text' : 'call';
  }
}

/** The end of the block that a mark opens, where it is a tag with an end of its own. */
export function closerOf(mark: string): string | undefined {
  const name = /^<([\w:]+)>$/.exec(mark)?.[1];
  return name === undefined ? undefined : `</${name}>`;
}
