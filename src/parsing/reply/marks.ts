import { Finder } from '../tolerant/finder.ts';
import type { DialectSource } from '../dialects/dialect-source.ts';

/** A piece of text that belongs to somebody: where its inside begins and ends, and where it ends itself. */
export interface Owned {
  readonly from: number;
  readonly to: number;
  readonly end: number;
  /** False: the text ended before it was closed. */
  readonly closed: boolean;
}

const TAG = /^<(\|?)([A-Za-z][\w:.-]{0,40})(?:\s[^<>]{0,200})?(\|?)>/;
const THOUGHT =
  /(?:^|[:_.-])(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflect(?:ion)?|scratch_?pad|monologue|analysis|deliberation|rationale|cot)(?:$|[:_.-])/i;
const CHANNEL_THOUGHT =
  /^<\|channel\|?>\s*(?:thought|thinking|reasoning|analysis)(?=\s)(?!\s*(?:to=|<\|(?:message|constrain)\|>))/i;
const FAMILY = ['</think>', '</thinking>', '</thought>', '</reasoning>', '</reflection>'];
const CLOSING_TAG =
  /^(?:<\/([A-Za-z][\w:.-]{0,40})>|<\|(?:\/|END_|end_of_)([A-Za-z][\w:.-]{0,40})\|>|<\|close\|>think<\|sep\|>|\[\/THINK\]|◁\/think▷)/;

/** The thought that opens at `at`, in whatever tags a model family uses; undefined when none does. */
export function thoughtAt(source: DialectSource, at: number): Owned | undefined {
  const { text } = source;
  if (text.startsWith('[THINK]', at)) return owned(source, at + 7, ['[/THINK]']);
  if (text.startsWith('<|open|>think<|sep|>', at)) return owned(source, at + 20, ['<|close|>think<|sep|>']);
  if (text.startsWith('◁think▷', at)) return owned(source, at + 7, ['◁/think▷']);
  const head = text.slice(at, at + 280);
  const channel = CHANNEL_THOUGHT.exec(head);
  if (channel !== null) return owned(source, at + channel[0].length, ['<channel|>', '<|channel|>', '<|end|>']);
  const tag = TAG.exec(head);
  const name = tag?.[2];
  if (tag === null || name === undefined || !THOUGHT.test(name) || /^end/i.test(name)) return undefined;
  return owned(source, at + tag[0].length, closersOf(name, tag[1] === '|'));
}

/** The closing tags of a thought: its own, and those of the usual family, because models mix them up. */
function closersOf(name: string, barred: boolean): readonly string[] {
  if (!barred) return [`</${name}>`, ...FAMILY];
  const end = name
    .replace(/start/i, (word) => sameCase(word, 'end'))
    .replace(/begin/i, (word) => sameCase(word, 'end'));
  return end === name ? [`<|/${name}|>`, `</${name}>`, '<|end_message|>'] : [`<|${end}|>`];
}

function sameCase(like: string, word: string): string {
  return like === like.toUpperCase() ? word.toUpperCase() : word;
}

/** The length of a tag that closes a thought, 0 where none stands. */
export function thoughtCloseAt(text: string, at: number): number {
  const tag = CLOSING_TAG.exec(text.slice(at, at + 60));
  const name = tag?.[1] ?? tag?.[2];
  return tag === null || (name !== undefined && !THOUGHT.test(name)) ? 0 : tag[0].length;
}

/** True where nothing but white space stands before on the same line. */
export function isLineHead(text: string, at: number): boolean {
  return /(?:^|\n)[ \t]*$/.test(text.slice(Math.max(0, at - 40), at));
}

/** True for a closing tag that is only spoken of: it has words behind it on its line, or a space before it. */
export function isMentioned(text: string, at: number, past: number): boolean {
  if (isLineHead(text, at)) return false;
  const after = text.charAt(past);
  const before = text.charAt(at - 1);
  if (after === '' || after === '\r' || after === '\n') {
    return /\s/.test(before) && !/[.!?。！？]\s*$/.test(text.slice(Math.max(0, at - 8), at));
  }
  return /[\s.,;:!?)"'`]/.test(after) || /[\s"'`([]/.test(before);
}

function owned(source: DialectSource, from: number, closers: readonly string[]): Owned {
  const to = source.next(from, ...closers);
  const closed = to < source.end;
  return { from, to, end: closed ? Math.max(source.past(to, closers), to + 1) : to, closed };
}

/** Elements that stand around calls: their inside is read. */
const AROUND_CALLS =
  /^(?:\w+[:_])?(?:(?:tool|function|fn)(?:[_-]?(?:calls?|use|invocations?))?|action|actions|invoke|json|calls?|assistant|answer|final|final_answer|reply|message|root|xml)$/i;
const OTHERS_WORDS =
  /quot|cite|example|sample|result|response|observ|tools|document|schema|pre|code|user|human|system/i;
/** So many different elements are looked for; a text with more is markup, not a message. */
const MOST_ELEMENTS = 64;

/**
 * Elements whose inside nobody reads: `<quote>…</quote>`, `<tool_response>…</tool_response>`, `<pre>…</pre>`, and any
 * other but those that models put around calls.
 */
export class Elements {
  private readonly source: DialectSource;
  private readonly closers = new Map<string, Finder>();

  constructor(source: DialectSource) {
    this.source = source;
  }

  /**
   * The end of the element that opens at `at`; undefined when none does, when it is never closed, or holds calls. One
   * that is the whole message is a wrapping, unless its name says that somebody else's words are in it.
   */
  endAt(at: number, from: number): number | undefined {
    const { text, end } = this.source;
    const tag = TAG.exec(text.slice(at, at + 280));
    const name = tag?.[2];
    if (tag === null || name === undefined || AROUND_CALLS.test(name) || tag[0].endsWith('/>')) return undefined;
    const closer = tag[1] === '|' ? `<|/${name}|>` : `</${name}>`;
    let finder = this.closers.get(closer);
    if (finder === undefined) {
      if (this.closers.size >= MOST_ELEMENTS) return undefined;
      finder = new Finder(text, closer, this.source);
      this.closers.set(closer, finder);
    }
    const close = finder.next(at + tag[0].length);
    if (close >= end) return undefined;
    const past = close + closer.length;
    const whole = this.source.skip(from) === at && this.source.skip(past) >= end;
    return whole && !OTHERS_WORDS.test(name) ? undefined : past;
  }
}

const TURN_TOKENS = [
  '<|im_start|>',
  '<|im_end|>',
  '<|eot_id|>',
  '<|eom_id|>',
  '<|end|>',
  '<|endoftext|>',
  '<|end_of_text|>',
  '<|start_header_id|>',
  '<|user|>',
  '<|observation|>',
  '<|system|>',
  '<end_of_turn>',
  '<start_of_turn>',
  '<start_function_response>',
  '<|tool_response>',
  '<|start|>user',
  '<|start|>system',
  '<|start|>developer',
  '<|start|>tool',
  '<|start|>functions.',
  '<｜User｜>',
  '<｜end▁of▁sentence｜>',
  '<｜tool▁output▁begin｜>',
  '</s>',
  '[INST]',
  '[TOOL_RESULTS]',
  '<tool_response>',
  '<tool_result>',
  '<tool_results>',
  '<function_results>',
  '<function_result>',
  '<function_response>',
];

/** True where this turn ends: what stands behind the token, or in a result that the model makes up, is not its message. */
export function turnEndsAt(text: string, at: number): boolean {
  for (const token of TURN_TOKENS) if (text.startsWith(token, at)) return true;
  return false;
}

const TURN_LINE =
  /^(?:\*\*|#{1,4} )?(?:User|USER|Human|HUMAN|System|SYSTEM|Assistant|ASSISTANT|Observation|OBSERVATION|Question|Tool (?:[Rr]esult|[Rr]esponse|[Oo]utput)|Function (?:[Rr]esult|[Rr]esponse|[Oo]utput))(?:\*\*)?[ \t]*:|^\[Result from [^\]\n]{1,200}\]:/;

/** True where a line begins a turn that somebody else would have to take: `User:`, `Observation:`, a tool's result. */
export function turnBeginsAt(text: string, at: number): boolean {
  return TURN_LINE.test(text.slice(at, at + 240));
}
