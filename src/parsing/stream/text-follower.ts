import type { PartialReply } from './partial-reply.ts';

const OPEN_THINKING = /^<(?:think|thinking|thought|reasoning|reflection)>$/i;
const CLOSE_THINKING = /^<\/(?:think|thinking|thought|reasoning|reflection)>$/i;
const CALL_MARK =
  /^<(?:\|?(?:tool_call|toolcall|tool_calls|function_call|python_tag|START_ACTION|plugin|channel|tool_call_begin|recipient|tool_calls_section_begin)\|?>|function=|[\w:｜|]*invoke\b|minimax:|｜)/i;
const TOKEN = /^<\|[^|>]{1,40}\|>$|^<\/?s>$|^<(?:start|end)_of_turn>$/;
const LONGEST_TAG = 60;
const OLD_MISTRAL = '[TOOL_CALLS]';

/**
 * Follows the part of a message that is no JSON: reasoning, plain text, and where an object or a tool call begins.
 * White space, fences and tags are held back until it is clear that they belong to the text.
 */
export class TextFollower {
  phase: PartialReply['phase'] = 'waiting';
  answer = '';
  thinking = '';
  private held = '';
  private tag = '';
  private lineStart = true;
  private fence = false;

  /** Takes a piece from `from` on; returns the index of the brace where an object begins, or the piece's end. */
  take(piece: string, from: number): number {
    for (let i = from; i < piece.length; i += 1) {
      if (this.phase === 'calls') return piece.length;
      const char = piece.charAt(i);
      if (this.tag !== '') this.takeTag(char);
      else if (char === '<' || (char === '[' && this.phase !== 'thinking')) this.tag = char;
      else if (char === '{' && this.phase !== 'thinking') return i;
      else this.takeText(char);
    }
    return piece.length;
  }

  /** Text that turned out to be none of the agent's JSON goes on as text. */
  append(text: string): void {
    if (text !== '') this.write(text);
  }

  private takeTag(char: string): void {
    this.tag += char;
    if (this.tag.startsWith('[')) {
      if (this.tag === OLD_MISTRAL) this.phase = 'calls';
      else if (!OLD_MISTRAL.startsWith(this.tag)) this.flushTag();
      return;
    }
    if (char === '<' || this.tag.length > LONGEST_TAG) this.flushTag();
    else if (char === '>') this.closeTag();
    else if (char === '=' && CALL_MARK.test(this.tag)) this.phase = 'calls';
  }

  private closeTag(): void {
    const { tag } = this;
    if (this.phase === 'thinking') {
      if (!CLOSE_THINKING.test(tag)) return this.flushTag();
      this.phase = 'waiting';
      this.held = '';
    } else if (OPEN_THINKING.test(tag) && this.answer === '') this.phase = 'thinking';
    else if (CALL_MARK.test(tag)) this.phase = 'calls';
    else if (!TOKEN.test(tag)) return this.flushTag();
    this.tag = '';
  }

  private flushTag(): void {
    const text = this.tag;
    this.tag = '';
    this.write(text);
  }

  private takeText(char: string): void {
    if (this.fence) {
      this.held += char;
      if (char === '\n') this.fence = false;
      return;
    }
    if (/\s/.test(char) || char === '\u200b' || char === '\ufeff') {
      this.held += char;
      if (char === '\n') this.lineStart = true;
      return;
    }
    if (char === '`' && this.lineStart) {
      this.held += char;
      this.fence = this.held.endsWith('```');
      return;
    }
    this.write(char);
  }

  private write(text: string): void {
    const nothing = this.phase === 'thinking' ? this.thinking === '' : this.answer === '';
    const piece = nothing ? this.held.trimStart() + text : this.held + text;
    this.held = '';
    this.lineStart = false;
    if (this.phase === 'thinking') this.thinking += piece;
    else {
      this.phase = 'text';
      this.answer += piece;
    }
  }
}
