import type { DialectSource } from '../dialects/dialect.ts';
import { Finder } from '../repair/cursor.ts';

/** A delimited piece of text: where its content begins and ends, and where the piece ends. */
interface Owned {
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
const FAMILY = 'think|thinking|thought|reasoning|reflection';
const CLOSING_TAG =
  /^(?:<\/([A-Za-z][\w:.-]{0,40})>|<\|(?:\/|END_|end_of_)([A-Za-z][\w:.-]{0,40})\|>|<\|close\|>think<\|sep\|>|\[\/THINK\]|◁\/think▷)/;

/** The thought that opens at `at`, in whatever tags a model family uses; undefined when none does. */
export function thoughtAt(source: DialectSource, at: number): Owned | undefined {
  const { text } = source;
  if (text.startsWith('[THINK]', at)) return owned(source, at + 7, ['[/THINK]']);
  if (text.startsWith('<|open|>think<|sep|>', at)) return owned(source, at + 20, ['<|close|>think<|sep|>']);
  if (text.startsWith('◁think▷', at)) return owned(source, at + 7, ['◁/think▷']);
  if (text.startsWith('<|inner_prefix|>', at)) return owned(source, at + 16, ['<|inner_suffix|>']);
  const head = text.slice(at, at + 280);
  const channel = CHANNEL_THOUGHT.exec(head);
  if (channel !== null) return owned(source, at + channel[0].length, ['<channel|>', '<|channel|>', '<|end|>']);
  const tag = TAG.exec(head);
  const name = tag?.[2];
  if (tag === null || name === undefined || !THOUGHT.test(name) || /^end/i.test(name)) return undefined;
  if (tag[0].endsWith('/>'))
    return { from: at + tag[0].length, to: at + tag[0].length, end: at + tag[0].length, closed: true };
  return owned(source, at + tag[0].length, closersOf(name, tag[1] === '|'), tag[0]);
}

/** The closing tags of a thought: its own, and those of the usual family, because models mix them up. */
function closersOf(name: string, barred: boolean): readonly string[] | RegExp {
  if (!barred) return new RegExp(`</(?:${name.replaceAll('.', '\\.')}|${FAMILY})>`, 'gi');
  const end = name.replace(/start/i, endLike).replace(/begin/i, endLike);
  if (end !== name) return [`<|${end}|>`];
  return [`<|/${name}|>`, `</${name}>`, '<|end_message|>', ...(name === 'think' ? ['<|end|>'] : [])];
}

function endLike(word: string): string {
  return word === word.toUpperCase() ? 'END' : 'end';
}

/** The length of a tag that closes a thought, 0 where none stands. */
export function thoughtCloseAt(text: string, at: number): number {
  const tag = CLOSING_TAG.exec(text.slice(at, at + 60));
  const name = tag?.[1] ?? tag?.[2];
  return tag === null || (name !== undefined && !THOUGHT.test(name)) ? 0 : tag[0].length;
}

/** The closing tag of a thought that opened before `from`: the first tag of a thought that follows is a closing one. */
export function openThoughtCloseFrom(
  text: string,
  from: number,
): { readonly at: number; readonly past: number } | undefined {
  const tag = new RegExp(`[<[](/?)(?:${FAMILY})[>\\]]`, 'gi');
  tag.lastIndex = from;
  const found = tag.exec(text);
  return found?.[1] === '/' ? { at: found.index, past: tag.lastIndex } : undefined;
}

/** True for a closing tag that is only spoken of: it has words behind it on its line, or a space before it. */
export function isMentioned(text: string, at: number, past: number): boolean {
  const indent = /(?:^|\n)([ \t]*)$/.exec(text.slice(Math.max(0, at - 40), at))?.[1];
  if (indent !== undefined) return indent.length >= 4;
  const after = text.charAt(past);
  const before = text.charAt(at - 1);
  if (after === '' || after === '\r' || after === '\n') {
    return /\s/.test(before) && !/[.!?。！？]\s*$/.test(text.slice(Math.max(0, at - 8), at));
  }
  return /[\s.,;:!?)"'`*_|/>]/.test(after) || /[\s"'`([*_|/<]/.test(before);
}

/** Thoughts nest no deeper than this; what is nested deeper ends where the first closing tag stands. */
const DEEPEST = 32;

function owned(source: DialectSource, from: number, closers: readonly string[] | RegExp, opener = ''): Owned {
  let close = closeFrom(source, from, closers);
  let inside = from;
  const deepest = opener === '' ? 0 : DEEPEST;
  for (let depth = 0; close.to < source.end && depth < deepest; depth += 1) {
    inside = source.next(inside, opener) + opener.length;
    if (inside > close.to) break;
    const next = closeFrom(source, close.to + 1, closers);
    if (next.to >= source.end) break;
    close = next;
  }
  return { from, ...close, closed: close.to < source.end };
}

/** The next closing tag: where it begins and where it ends; both at the end of the text where there is none. */
function closeFrom(
  source: DialectSource,
  from: number,
  closers: readonly string[] | RegExp,
): { readonly to: number; readonly end: number } {
  const { end } = source;
  if (!(closers instanceof RegExp)) {
    const to = source.next(from, ...closers);
    return { to, end: to < end ? Math.max(source.past(to, closers), to + 1) : to };
  }
  closers.lastIndex = from;
  const found = closers.exec(source.text);
  const to = found === null || found.index >= end ? end : found.index;
  source.steps += to - from;
  return { to, end: to < end ? closers.lastIndex : end };
}

/** Elements that stand around calls: their inside is read. */
const AROUND_CALLS =
  /^(?:\w+[:_])?(?:(?:tool|function|fn)(?:[_-]?(?:calls?|use|invocations?))?|action|actions|invoke|json|calls?|assistant|answer|final|final_answer|reply|message|root|xml)(?::\w+)?$/i;
const OTHERS_WORDS =
  /quot|cite|example|sample|error|result|response|observ|tools|document|schema|pre|code|user|human|system/i;

/** So many different elements are looked for; a text with more is markup, not a message. */
const MOST_ELEMENTS = 128;

/**
 * Elements whose inside is not read: `<quote>…</quote>`, `<tool_response>…</tool_response>`, `<pre>…</pre>`, and any
 * other but those that models put around calls.
 */
export class Elements {
  private readonly source: DialectSource;
  private readonly finders = new Map<string, Finder>();
  private head: number | undefined;

  constructor(source: DialectSource) {
    this.source = source;
  }

  /**
   * The end of the element that opens at `at`; undefined when none does, when it is never closed, or holds calls. One
   * that is the whole message is a wrapping, unless its name says that it holds someone else's words.
   */
  endAt(at: number, from: number): number | undefined {
    const { text, end } = this.source;
    const tag = TAG.exec(text.slice(at, at + 280));
    const name = tag?.[2];
    if (tag === null || name === undefined || AROUND_CALLS.test(name) || tag[0].endsWith('/>')) return undefined;
    const [opener, closer] = tag[1] === '|' ? [`<|${name}|>`, `<|/${name}|>`] : [`<${name}`, `</${name}>`];
    const past = this.pastCloser(at + tag[0].length, opener, closer);
    if (past === undefined) return OTHERS_WORDS.test(name) ? end : undefined;
    this.head ??= this.source.skipSpace(from);
    const whole = this.head === at && this.source.skipSpace(past) >= end;
    return whole && !OTHERS_WORDS.test(name) ? undefined : past;
  }

  /** Behind the closing tag that is in balance with the opening one, else behind the last; undefined without any. */
  private pastCloser(from: number, opener: string, closer: string): number | undefined {
    const openers = this.finder(opener);
    const closers = this.finder(closer);
    if (openers === undefined || closers === undefined) return this.source.end;
    let open = openers.next(from);
    let close = closers.next(from);
    let past: number | undefined;
    for (let depth = 1; close < this.source.end;) {
      if (open < close) {
        depth += 1;
        open = openers.next(open + 1);
        continue;
      }
      past = close + closer.length;
      depth -= 1;
      if (depth === 0) break;
      close = closers.next(past);
    }
    return past;
  }

  private finder(piece: string): Finder | undefined {
    const known = this.finders.get(piece);
    if (known !== undefined || this.finders.size >= MOST_ELEMENTS) return known;
    const made = new Finder(this.source.text, piece, this.source);
    this.finders.set(piece, made);
    return made;
  }
}

const TURN_TOKENS = [
  '<|im_start|> <|im_end|> <|eot_id|> <|eom_id|> <|end|> <|endoftext|> <|end_of_text|>',
  '<|start_header_id|> <|user|> <|observation|> <|system|> <end_of_turn> <start_of_turn>',
  '<start_function_response> <|tool_response> <|start|>user <|start|>system <|start|>developer',
  '<|start|>tool <|start|>functions. <|begin|>user <|begin|>system <|begin|>tool <｜User｜>',
  '<｜end▁of▁sentence｜> <｜tool▁output▁begin｜> </s> [INST] [TOOL_RESULTS] <tool_response> <tool_result>',
  '<tool_results> <function_results> <function_result> <function_response>',
].flatMap((row) => row.split(' '));

/** Solar Open writes a turn as several messages. */
const NEXT_MESSAGE = '<|end|><|begin|>assistant';

/** Tokens and tags of other roles, and of what tools give back, in whatever template. */
const OTHERS_TOKEN =
  /^(?:<[|｜][^<>\n]{0,40}(?:output|result|response|observ|error|user|system|human|ipython|developer)[^<>\n]{0,40}>|<\|tool\|>|<(?:tool|function|fn|api)[\w-]*(?:output|result|response|observation|error|message)s?(?::\w+)?>)/i;

/** True where this turn ends: what stands behind the token, or in a result that the model makes up, is not its message. */
export function turnEndsAt(text: string, at: number): boolean {
  if (text.startsWith(NEXT_MESSAGE, at)) return false;
  for (const token of TURN_TOKENS) if (text.startsWith(token, at)) return true;
  return text.charCodeAt(at) === 60 && OTHERS_TOKEN.test(text.slice(at, at + 90));
}

const ROLE =
  'user|human|system|assistant|observation|question|instruction|input|(?:tool|function) (?:result|response|output)';
const TURN_LINE = new RegExp(
  `^(?:\\*\\*|#{1,4} )?(?:${ROLE})(?: ?\\d{1,3}| \\([^)\\n]{0,30}\\))?(?:\\*\\*)?[ \\t]*:|^#{1,4} (?:${ROLE}|tool)[ \\t]*(?:\\r?\\n|$)|^\\[Result from [^\\]\\n]{1,200}\\]:|^✿(?:RESULT|RETURN)✿`,
  'i',
);
/** In capitals only: \`tool: name\` is a field. */
const TOOL_LINE = /^(?:\*\*)?Tool(?:\*\*)?[ \t]*:/;

/** True if a line begins a turn of another speaker: `User:`, `Observation:`, a tool's result. */
export function turnBeginsAt(text: string, at: number): boolean {
  const head = text.slice(at, at + 240);
  return TURN_LINE.test(head) || TOOL_LINE.test(head);
}
