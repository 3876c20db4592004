import type { Meter } from '../reply/reply-source.ts';
import { isBlank, isLead, LineState } from './call-watch.ts';
import { type Mark, type TagKind, callTagKind, marks, step, tagKind, TagReader } from './marks.ts';
import { type NameReader, isNameCharacter } from './name-reader.ts';

/** What a text turns out to hold; `held` then ends with it. */
export type FoundInText =
  | { readonly kind: 'call' }
  | { readonly kind: 'mark'; readonly mark: string; readonly names: NameReader }
  | { readonly kind: 'paren'; readonly names: NameReader }
  | { readonly kind: 'object' }
  | { readonly kind: 'tag'; readonly tag: string; readonly means: TagKind }
  | { readonly kind: 'late-close' };

/** Where in the message a character stands: nothing of the answer before it, and whether text may be a call there. */
interface TextPosition {
  readonly isFirst: boolean;
  readonly mayBecomeCall: boolean;
}

const LONGEST_RUN = 200;
const ROLE_TOKEN = /^<\|(?:im_start|start_header_id|begin)\|>$|^<start_of_turn>$/;
const ROLES = new Set(['assistant', 'model']);
/** Behind it the text is none of the model's own turn, and its token stays. */
const OTHERS_ROLE = /^(?:user|system|tool|function)/;
/** Behind a closing tag that text merely mentions. */
const CONTINUES = /[ \t.,;:!?)'"`*]/;

/**
 * Reads running text and holds back its end as long as that may be the beginning of a call, an object or a tag: a fence
 * or a bracket, a registered tool's name at the beginning of a line, the beginning of a mark.
 */
export class TextWatch {
  /** The end of the text that must not be shown yet. */
  held = '';
  private readonly names: NameReader | undefined;
  private readonly meter: Meter;
  private readonly line = new LineState();
  private readonly tags = new TagReader();
  private mark: Mark = marks();
  /** How many characters at the end may lead to a call: what opens a block, then a name. */
  private run = 0;
  private isList = false;
  private word: 'none' | 'reading' | 'named' = 'none';
  private wordIsFirst = false;
  private afterName = false;
  private waitsBehindTag = false;
  private role: string | undefined;
  /** The special token that was left out at the beginning. */
  private head = '';

  constructor(names: NameReader | undefined, meter: Meter) {
    this.names = names;
    this.meter = meter;
  }

  /** Takes a character and returns what it completes. */
  take(char: string, standing: TextPosition): FoundInText | undefined {
    if (this.waitsBehindTag) {
      this.waitsBehindTag = false;
      if (!CONTINUES.test(char)) return { kind: 'late-close' };
    }
    if (this.role !== undefined && this.takeRole(char, this.role)) return undefined;
    const isQuoted = this.line.isQuoted || !standing.mayBecomeCall;
    this.held += char;
    const tag = this.tags.take(char);
    this.mark = step(this.mark, char);
    const found = this.find(char, tag, standing);
    if (found?.kind !== 'object' && found?.kind !== 'call') this.advance(char, isQuoted);
    if (isQuoted) this.mark = marks();
    this.line.take(char);
    return found;
  }

  /** What is text by now; it is held no more. */
  show(): string {
    const { held } = this;
    const last = held.charCodeAt(held.length - 1);
    const isHalf = last >= 0xd800 && last <= 0xdbff;
    const mark = this.mark.depth < this.mark.telling ? 0 : this.mark.depth;
    const needed = this.waitsBehindTag || this.role !== undefined ? held.length : 0;
    const kept = Math.max(needed, mark, this.tags.tag.length, this.run, isHalf ? 1 : 0);
    if (kept >= held.length) return '';
    this.meter.steps += held.length;
    this.held = held.slice(held.length - kept);
    return held.slice(0, held.length - kept);
  }

  /** Passes on all held text. */
  release(): string {
    const { held } = this;
    this.meter.steps += held.length;
    this.held = '';
    this.run = 0;
    this.word = 'none';
    this.tags.tag = '';
    this.mark = marks();
    return held;
  }

  /** Notes a character that another reader consumes. */
  pass(char: string): void {
    this.afterName = isNameCharacter(char);
    this.line.take(char);
  }

  /** Continues behind an object that was text. */
  leaveObject(): void {
    this.line.skip();
    this.afterName = false;
  }

  /** A closing tag without an opening one: what follows says whether the text only mentions it. */
  awaitLateClose(): void {
    this.waitsBehindTag = true;
  }

  /** Leaves out a special token at the beginning, and the role behind it. */
  dropHead(tag: string): void {
    this.release();
    this.head = tag;
    this.role = ROLE_TOKEN.test(tag) ? '' : undefined;
  }

  private takeRole(char: string, role: string): boolean {
    const isLetter = char >= 'a' && char <= 'z' && role.length < LONGEST_RUN;
    this.role = isLetter ? role + char : undefined;
    if (isLetter) this.held += char;
    else if (ROLES.has(role)) this.held = '';
    else if (OTHERS_ROLE.test(role)) this.held = this.head + this.held;
    return isLetter;
  }

  private find(
    char: string,
    tag: string | undefined,
    { isFirst, mayBecomeCall }: TextPosition,
  ): FoundInText | undefined {
    const { names } = this;
    const isNamed = this.word === 'named' || (this.word === 'reading' && names?.isName === true);
    const isOpen = mayBecomeCall && !this.line.isQuoted;
    if (char === '{') {
      if (isOpen && isNamed && this.wordIsFirst) return { kind: 'call' };
      return isOpen || (isFirst && this.held.trim() === '{') ? { kind: 'object' } : undefined;
    }
    const kind = tag === undefined ? 'text' : isOpen ? callTagKind(tag, names !== undefined) : tagKind(tag);
    if (isOpen && names !== undefined && !isThinking(kind) && kind !== 'opens-header') {
      const mark = this.mark.found ?? (kind === 'opens-call' ? tag : undefined);
      if (mark !== undefined) return { kind: 'mark', mark, names };
    }
    if (isOpen && char === '(' && names !== undefined && this.word === 'reading' && names.isName) {
      return this.isList ? { kind: 'call' } : { kind: 'paren', names };
    }
    // A token may be the beginning of a mark that is longer.
    if (kind === 'end-token' && this.mark.next.size > 0 && this.mark.depth === tag?.length) return undefined;
    if (tag === undefined || kind === 'text' || (isThinking(kind) && this.line.isCode)) return undefined;
    return { kind: 'tag', tag, means: kind };
  }

  /** Follows what opens a block and the name behind it. */
  private advance(char: string, isQuoted: boolean): void {
    const isName = isNameCharacter(char);
    const { afterName } = this;
    this.afterName = isName;
    if (this.continuesName(char, isName)) return this.grow();
    if (isQuoted) this.run = 0;
    else if (isName && !afterName && this.beginsName(char)) this.grow();
    else if (this.leads(char)) {
      if (!isBlank(char)) this.isList = char === '[';
      this.grow();
    } else if (this.run > 0 && this.tags.tag !== '') this.grow();
    else this.run = 0;
  }

  private continuesName(char: string, isName: boolean): boolean {
    if (this.word === 'none' || this.names === undefined) return false;
    if (this.word === 'reading' && isName && this.names.take(char)) return true;
    const isBehind = char === ':' || isBlank(char);
    if (isBehind && (this.word === 'named' || (this.names.isName && this.wordIsFirst))) {
      this.word = 'named';
      return true;
    }
    this.word = 'none';
    this.run = 0;
    return false;
  }

  private beginsName(char: string): boolean {
    const isList = this.run > 0 && this.isList;
    if (this.names === undefined || !(isList || this.isCallable())) return false;
    this.names.begin();
    if (!this.names.take(char)) return false;
    this.isList = isList;
    this.word = 'reading';
    this.wordIsFirst = this.line.isAtStart;
    return true;
  }

  private isCallable(): boolean {
    this.meter.steps += this.line.length;
    return this.line.isCallable;
  }

  private leads(char: string): boolean {
    if (this.run > 0) return isLead(char) || this.line.isFence;
    if (char === '[') return true;
    return this.line.isAtStart && (char === '(' || (char === '`' && !this.line.fenced));
  }

  private grow(): void {
    this.run += 1;
    if (this.run <= LONGEST_RUN) return;
    this.run = 0;
    this.word = 'none';
  }
}

function isThinking(kind: TagKind): boolean {
  return kind === 'opens-thinking' || kind === 'closes-thinking';
}
