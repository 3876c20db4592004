import type { Meter, ParseReplyOptions, TextCalls } from '../reply/reply-source.ts';
import { type WatchResult, closerOf, MarkWatch, ParenWatch, RestWatch } from './call-watch.ts';
import { GrowingText, ThoughtReader } from './growing-text.ts';
import { type TagKind, CHANNELS, TagReader } from './marks.ts';
import { NameReader } from './name-reader.ts';
import { type PartialReply, ObjectWatch } from './partial-reply.ts';
import { type FoundInText, TextWatch } from './text-watch.ts';

/**
 * What is being read: plain text, reasoning, a channel's header, what may turn out to be a call, an object, data that is
 * part of the text, what must be the rest of a whole message, or a call or envelope behind which nothing is read.
 */
type State = 'text' | 'thinking' | 'header' | 'mark' | 'object' | 'data' | 'rest' | 'called' | 'settled';

const MESSAGE = '<|message|>';
const LONGEST_HEADER = 300;
/** What may stand between and behind the calls of a message that is nothing else. */
const BETWEEN = '`,;]';

/**
 * Owns what is known of a message while it arrives. Does not own what the whole message means: that is for `parseReply`.
 *
 * I1. Every character is looked at a bounded number of times, however the message is cut into pieces.
 * I2. What is held back comes out in order and unchanged, or belongs to a call, an envelope or reasoning.
 * I3. The answer grows by appending, until the text turns out to lead to one of these.
 */
export class Follower {
  private readonly meter: Meter;
  private readonly mode: TextCalls;
  private readonly isLenient: boolean;
  private readonly tools: unknown;
  private readonly names: NameReader | undefined;
  private readonly answer = new GrowingText();
  private readonly thoughts = new ThoughtReader();
  private watch: TextWatch;
  private state: State = 'text';
  private held: string[] = [];
  private header = '';
  private headerTags = new TagReader();
  private closer: string | undefined;
  private decider: { take(char: string): WatchResult } | undefined;
  private object: ObjectWatch | undefined;

  constructor(options?: ParseReplyOptions, meter: Meter = { steps: 0 }) {
    this.meter = meter;
    this.tools = options?.tools;
    const { textCalls = 'lenient' } = options ?? {};
    this.isLenient = textCalls === 'lenient';
    this.mode = textCalls === 'narrated' ? 'lenient' : textCalls;
    this.names = Array.isArray(this.tools) ? new NameReader(options?.tools ?? []) : undefined;
    this.watch = new TextWatch(this.names, this.meter);
  }

  take(chunk: string): void {
    let i = 0;
    while (i < chunk.length && this.state !== 'called' && this.state !== 'settled') {
      const from = i;
      if (this.state === 'object' || this.state === 'data') i = this.takeObject(chunk, i);
      else {
        this.takeCharacter(chunk.charAt(i));
        i += 1;
      }
      this.meter.steps += i - from;
    }
  }

  read(): PartialReply {
    const thought = this.thoughts.text;
    if (this.object?.verdict === 'envelope') return this.open(this.object.read(thought));
    const phase = this.phase();
    const answer = phase === 'calls' ? '' : this.answer.text;
    return { phase, thought, goal: '', calls: [], ...(answer === '' ? {} : { answer }) };
  }

  /** Where text stands before an envelope, or only a whole message is a call, nothing is complete before the end. */
  private open(partial: PartialReply): PartialReply {
    if (this.isLenient && this.answer.text === '') return partial;
    const { calls, plan } = partial;
    const opened = <T>(one: T): T & { complete: boolean } => ({ ...one, complete: false });
    return { ...partial, calls: calls.map(opened), ...(plan === undefined ? {} : { plan: plan.map(opened) }) };
  }

  private phase(): PartialReply['phase'] {
    if (this.state === 'called' || (this.mode === 'lenient' && this.object?.verdict === 'call')) return 'calls';
    if (this.state === 'thinking') return 'thinking';
    return this.answer.text === '' ? 'waiting' : 'text';
  }

  private takeCharacter(char: string): void {
    switch (this.state) {
      case 'thinking':
        return this.takeThought(char);
      case 'header':
        return this.takeHeader(char);
      case 'mark':
        return this.takeMark(char);
      case 'rest':
        return this.takeRest(char);
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
    if (shown !== '') this.answer.write(shown);
  }

  /** False for what turns out to be text. */
  private takeFound(found: FoundInText, char: string): boolean {
    switch (found.kind) {
      case 'call':
        this.settle('called');
        return true;
      case 'mark':
        this.hold('mark', new MarkWatch(found.mark, found.names), closerOf(found.mark));
        return true;
      case 'paren':
        this.hold('mark', new ParenWatch(found.names));
        return true;
      case 'object':
        this.hold('object');
        this.object = new ObjectWatch(this.mode, this.names, this.tools);
        return true;
      case 'tag':
        return this.takeTag(found.tag, found.means);
      case 'late-close':
        this.thoughts.add(this.answer.text);
        this.beginAnswer();
        this.takeText(char);
        return true;
    }
  }

  private takeTag(tag: string, means: TagKind): boolean {
    const isFirst = this.answer.text === '' && this.watch.held.trim() === tag;
    switch (means) {
      case 'opens-thinking':
        if (!isFirst) return false;
        this.thoughts.open(tag.startsWith('<|think') ? 'message' : 'tag');
        this.state = 'thinking';
        return true;
      case 'closes-thinking':
        if (this.thoughts.hasBlock || this.answer.opensJson) return false;
        this.watch.awaitLateClose();
        return true;
      case 'opens-header':
        this.openHeader();
        return true;
      case 'head-token':
      case 'end-token':
        if (means === 'head-token' && isFirst && this.answer.isBlank) this.beginAnswer().dropHead(tag);
        else this.endToken(tag);
        return true;
      case 'opens-call':
      case 'text':
        return false;
    }
  }

  /** At the very end a special token is not part of the message. */
  private endToken(tag: string): void {
    const held = this.watch.release();
    this.answer.write(held.slice(0, held.length - tag.length));
    this.answer.wait(tag);
  }

  /** Whatever stood before was not part of the answer. */
  private beginAnswer(): TextWatch {
    this.answer.clear();
    this.watch = new TextWatch(this.names, this.meter);
    this.state = 'text';
    return this.watch;
  }

  private takeThought(char: string): void {
    const end = this.thoughts.take(char);
    if (end === undefined) return;
    this.beginAnswer();
    if (CHANNELS.has(end)) this.openHeader();
  }

  private openHeader(): void {
    this.hold('header');
    this.header = '';
    this.headerTags = new TagReader();
  }

  /** `<|channel|>…<|message|>`: the channel says what the message is. */
  private takeHeader(char: string): void {
    this.held.push(char);
    this.header += char;
    if (this.header.length > LONGEST_HEADER) return this.letGo();
    if (this.headerTags.take(char) !== MESSAGE) return;
    if (/to=/.test(this.header)) return this.settle('called');
    this.beginAnswer();
    if (/final/.test(this.header)) return;
    this.thoughts.open('channel');
    this.state = 'thinking';
  }

  private hold(state: State, decider?: { take(char: string): WatchResult }, closer?: string): void {
    this.held = [this.watch.release()];
    this.decider = decider;
    this.closer = closer;
    this.state = state;
  }

  private takeMark(char: string): void {
    const decision = this.decider?.take(char) ?? 'text';
    if (decision === 'text') {
      this.letGo();
      return this.takeText(char);
    }
    this.held.push(char);
    this.watch.pass(char);
    if (decision === 'open') return;
    if (this.mode === 'lenient' || this.closer === undefined) this.settle('called');
    else this.awaitRest(this.closer);
  }

  /** Only a whole message is a call or an envelope: what follows it may make all of it text. */
  private awaitRest(closer: string): void {
    this.decider = new RestWatch(this.mode === 'never' ? '' : BETWEEN, closer);
    this.state = 'rest';
  }

  private takeRest(char: string): void {
    const decision = this.decider?.take(char) ?? 'text';
    if (decision === 'call') return this.settle('called');
    if (decision === 'open') return void this.held.push(char);
    this.letGo();
    this.leaveObject();
    this.takeText(char);
  }

  /** What was held back was text. */
  private letGo(): void {
    const text = this.held.join('');
    this.held = [];
    this.meter.steps += text.length;
    this.answer.write(text);
    this.state = 'text';
  }

  private settle(state: 'called' | 'settled'): void {
    this.held = [];
    this.state = state;
  }

  private takeObject(chunk: string, from: number): number {
    const { object } = this;
    if (object === undefined) return chunk.length;
    if (this.state === 'data') {
      const to = object.pass(chunk, from);
      this.answer.write(chunk.slice(from, to));
      this.meter.steps += to - from;
      if (!object.isOpen) this.leaveObject();
      return to;
    }
    const to = object.verdict === 'call' ? object.pass(chunk, from) : object.take(chunk, from);
    this.held.push(chunk.slice(from, to));
    if (object.verdict === 'text') {
      this.letGo();
      if (object.isOpen) this.state = 'data';
      else this.leaveObject();
    } else if (this.mode === 'lenient') {
      if (object.verdict === 'call') this.settle('called');
      else if (!object.isOpen) this.settle('settled');
    } else if (!object.isOpen) this.awaitRest('');
    return to;
  }

  private leaveObject(): void {
    this.object = undefined;
    this.watch.leaveObject();
    this.state = 'text';
  }
}
