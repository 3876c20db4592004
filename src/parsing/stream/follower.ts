import type { ParseReplyOptions, TextCalls } from '../reply-source.ts';
import { type Decision, MarkWatch, ParenWatch } from './call-watch.ts';
import { GrowingText } from './growing-text.ts';
import { isBlank } from './line.ts';
import { CHANNELS, type TagKind, tagKind, TagReader } from './marks.ts';
import { NameReader } from './name-reader.ts';
import { ObjectWatch } from './object-watch.ts';
import type { PartialReply } from './partial-reply.ts';
import { type Found, TextWatch } from './text-watch.ts';

/**
 * What is being read: plain text, reasoning, a header of channels, what may turn out to be a call, an object, data that
 * is part of the text, what follows a whole envelope, or what nobody is shown.
 */
type Place = 'text' | 'thinking' | 'header' | 'mark' | 'object' | 'data' | 'behind' | 'called' | 'settled';

const MESSAGE = '<|message|>';
const LONGEST_HEADER = 300;
const ENDS = new Set(['<|end|>', '<|return|>', '<|call|>']);

/**
 * Owns what is known of a message while it arrives. Does not own what the whole message says: that is for `parseReply`.
 *
 * I1. Every character is looked at a bounded number of times, however the message is cut into pieces.
 * I2. What is held back comes out in order and unchanged, or belongs to a call, an envelope or reasoning.
 * I3. The answer grows by appending, until the text turns out to lead to one of these.
 */
export class Follower {
  /** How many characters were looked at. */
  steps = 0;
  private readonly mode: TextCalls;
  private readonly names: NameReader | undefined;
  private readonly answer = new GrowingText();
  private readonly thought = new GrowingText();
  private readonly tags = new TagReader();
  private watch: TextWatch;
  private place: Place = 'text';
  private held: string[] = [];
  private heldTag = '';
  private isHarmony = false;
  private hasThought = false;
  private mark: { take(char: string): Decision } | undefined;
  private object: ObjectWatch | undefined;

  constructor(options?: ParseReplyOptions) {
    const tools: unknown = options?.tools;
    this.mode = options?.textCalls ?? 'lenient';
    this.names = Array.isArray(tools) ? new NameReader(options?.tools ?? []) : undefined;
    this.watch = new TextWatch(this.names);
  }

  take(chunk: string): void {
    let i = 0;
    while (i < chunk.length && this.place !== 'called' && this.place !== 'settled') {
      const from = i;
      if (this.place === 'object' || this.place === 'data') i = this.takeObject(chunk, i);
      else {
        this.takeCharacter(chunk.charAt(i));
        i += 1;
      }
      this.steps += i - from;
    }
  }

  read(): PartialReply {
    const thought = this.thought.text;
    if (this.object?.verdict === 'envelope') return this.object.read(thought);
    const answer = this.place === 'called' ? '' : this.answer.text;
    return { phase: this.phase(), thought, goal: '', calls: [], ...(answer === '' ? {} : { answer }) };
  }

  private phase(): PartialReply['phase'] {
    if (this.place === 'called') return 'calls';
    if (this.place === 'thinking') return 'thinking';
    return this.answer.text === '' ? 'waiting' : 'text';
  }

  private takeCharacter(char: string): void {
    switch (this.place) {
      case 'thinking':
        return this.takeThought(char);
      case 'header':
        return this.takeHeader(char);
      case 'mark':
        return this.takeMark(char);
      case 'behind':
        return this.takeBehind(char);
      default:
        return this.takeText(char);
    }
  }

  /** In a mode that takes no text, or only a whole message, what follows text is text. */
  private get mayBecomeCall(): boolean {
    return this.mode === 'lenient' || (this.mode === 'whole-reply' && this.answer.text === '');
  }

  private takeText(char: string): void {
    const isFirst = this.answer.text === '';
    const found = this.watch.take(char, { isFirst, mayBecomeCall: this.mayBecomeCall });
    if (found === undefined || !this.takeFound(found, char)) this.show();
  }

  private show(): void {
    const shown = this.watch.show();
    if (shown === '') return;
    this.steps += shown.length;
    this.answer.write(shown);
  }

  /** False for what turns out to be text. */
  private takeFound(found: Found, char: string): boolean {
    switch (found.kind) {
      case 'call':
        this.settle('called');
        return true;
      case 'mark':
        this.hold('mark', new MarkWatch(found.mark, found.names));
        return true;
      case 'paren':
        this.hold('mark', new ParenWatch(found.names));
        return true;
      case 'object':
        this.openObject();
        return true;
      case 'tag':
        return this.takeTag(found.tag, found.means);
      case 'late-close':
        this.turnIntoThought();
        this.takeText(char);
        return true;
    }
  }

  private takeTag(tag: string, means: TagKind): boolean {
    const isFirst = this.answer.text === '' && this.watch.held.trim() === tag;
    if (means === 'opens-thinking') {
      if (isFirst) this.think(false);
      return isFirst;
    }
    if (means === 'closes-thinking') {
      if (this.hasThought || /^[{["]/.test(this.answer.text)) return false;
      this.watch.awaitLateClose();
    } else if (this.mayBecomeCall && CHANNELS.has(tag)) this.openHeader();
    else if (means === 'head-token' && isFirst) this.watch.dropHead(tag);
    else if (means !== 'opens-call') this.endToken(tag);
    else if (this.names !== undefined && this.mayBecomeCall) this.hold('mark', new MarkWatch(tag, this.names));
    else return false;
    return true;
  }

  /** At the very end a special token is no part of the message. */
  private endToken(tag: string): void {
    const held = this.watch.release();
    this.answer.write(held.slice(0, held.length - tag.length));
    this.answer.wait(tag);
  }

  private think(isHarmony: boolean): void {
    this.watch = new TextWatch(this.names);
    this.hasThought = true;
    this.isHarmony = isHarmony;
    this.place = 'thinking';
    if (this.thought.text !== '') this.thought.wait('\n');
  }

  /** A message that began inside of its reasoning: all before the closing tag was that. */
  private turnIntoThought(): void {
    this.hasThought = true;
    this.thought.write(this.answer.text);
    this.answer.clear();
    this.watch = new TextWatch(this.names);
  }

  private takeThought(char: string): void {
    const before = this.tags.tag;
    const tag = this.tags.take(char);
    const ends = tag !== undefined && (this.isHarmony ? ENDS.has(tag) : tagKind(tag) === 'closes-thinking');
    if (ends || (this.isHarmony && tag !== undefined && CHANNELS.has(tag))) {
      this.place = 'text';
      this.answer.clear();
      if (!ends) this.openHeader();
    } else if (this.tags.tag === '') this.thought.write(before + char);
    else if (this.tags.tag.length === 1) this.thought.write(before);
  }

  private openHeader(): void {
    this.hold('header', undefined);
    this.heldTag = '';
  }

  /** `<|channel|>…<|message|>`: the channel says what the message is. */
  private takeHeader(char: string): void {
    this.held.push(char);
    this.heldTag += char;
    if (this.heldTag.length > LONGEST_HEADER) return this.letGo();
    if (char !== '>' || !this.heldTag.endsWith(MESSAGE)) return;
    const header = this.heldTag;
    this.held = [];
    if (/to=/.test(header)) return this.settle('called');
    if (!/final/.test(header)) return this.think(true);
    this.answer.clear();
    this.watch = new TextWatch(this.names);
    this.place = 'text';
  }

  private hold(place: Place, mark: { take(char: string): Decision } | undefined): void {
    this.held = [this.watch.release()];
    this.mark = mark;
    this.place = place;
  }

  private takeMark(char: string): void {
    const decision = this.mark?.take(char) ?? 'text';
    if (decision === 'call') return this.settle('called');
    if (decision === 'open') {
      this.held.push(char);
      this.watch.pass(char);
      return;
    }
    this.letGo();
    this.takeText(char);
  }

  /** What was held back was text. */
  private letGo(): void {
    const text = this.held.join('');
    this.held = [];
    this.steps += text.length;
    this.answer.write(text);
    this.place = 'text';
  }

  private settle(place: 'called' | 'settled'): void {
    this.held = [];
    this.place = place;
  }

  private openObject(): void {
    this.hold('object', undefined);
    this.object = new ObjectWatch(this.mode, this.names);
  }

  private takeObject(chunk: string, from: number): number {
    const { object } = this;
    if (object === undefined) return chunk.length;
    if (this.place === 'data') {
      const to = object.pass(chunk, from);
      this.answer.write(chunk.slice(from, to));
      this.steps += to - from;
      if (!object.isOpen) this.leaveObject();
      return to;
    }
    const to = object.take(chunk, from);
    this.held.push(chunk.slice(from, to));
    if (object.verdict === 'call') this.settle('called');
    else if (object.verdict === 'text') {
      this.letGo();
      if (object.isOpen) this.place = 'data';
      else this.leaveObject();
    } else if (!object.isOpen) {
      if (this.mode === 'lenient') this.settle('settled');
      else this.place = 'behind';
    }
    return to;
  }

  private leaveObject(): void {
    this.object = undefined;
    this.watch.leaveObject();
    this.place = 'text';
  }

  /** Only a whole message is an envelope: anything but a fence and special tokens behind it makes all of it text. */
  private takeBehind(char: string): void {
    const before = this.tags.tag;
    const tag = this.tags.take(char);
    this.held.push(char);
    const isToken = tag !== undefined && tagKind(tag).endsWith("token");
    const goesOn = isToken || (this.tags.tag !== '' && before === '') || (before !== '' && this.tags.tag !== '');
    if (goesOn || isBlank(char) || (char === '`' && this.mode === 'whole-reply')) return;
    this.letGo();
    this.leaveObject();
  }
}
