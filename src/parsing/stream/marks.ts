import { MARKED_DIALECTS } from '../dialects/index.ts';

/** A node in the table of marks: what has been read so far is the beginning of one, or a whole one. */
export interface Mark {
  /** How many characters of a mark have been read: as many must not be shown yet. */
  readonly depth: number;
  /** From this depth on it is worth holding back: a mark may begin like many a word, or with a common sign. */
  readonly telling: number;
  /** The mark that ends here. */
  found: string | undefined;
  readonly next: Map<string, Mark>;
  /** The longest other beginning of a mark that what was read ends with. */
  shorter: Mark | undefined;
}

function node(depth: number, telling: number): Mark {
  return { depth, telling, found: undefined, next: new Map(), shorter: undefined };
}

/** The node after one more character. However many marks there are, no character is read again. */
export function step(from: Mark, char: string): Mark {
  const wanted = char.toLowerCase();
  let at = from;
  for (;;) {
    const next = at.next.get(wanted);
    if (next !== undefined) return next;
    if (at.shorter === undefined) return at;
    at = at.shorter;
  }
}

function add(root: Mark, mark: string): void {
  const telling = /^[<[]/.test(mark) ? 1 : /^\w/.test(mark) ? 3 : 2;
  let at = root;
  for (let i = 0; i < mark.length; i += 1) {
    const char = mark.charAt(i).toLowerCase();
    const next = at.next.get(char) ?? node(at.depth + 1, telling);
    at.next.set(char, next);
    at = next;
  }
  at.found = mark;
}

/** Says for every node which shorter beginning continues where this one does not: short ones first. */
function link(root: Mark): Mark {
  const queue: Mark[] = [root];
  for (let at = queue.shift(); at !== undefined; at = queue.shift()) {
    for (const [char, next] of at.next) {
      next.shorter = at.shorter === undefined ? root : step(at.shorter, char);
      next.found ??= next.shorter.found;
      queue.push(next);
    }
  }
  return root;
}

/** A recipient before its channel: the table knows this format by its messages. */
const RECIPIENT = 'to=functions.';

let table: Mark | undefined;

/** The table of all marks of the dialects, made on first use. */
export function marks(): Mark {
  if (table !== undefined) return table;
  const root = node(0, 1);
  for (const { markers } of MARKED_DIALECTS) for (const marker of markers) add(root, marker);
  add(root, RECIPIENT);
  table = link(root);
  return table;
}

/** Tags behind which a header says what the message is: a call, reasoning or the answer. */
export const CHANNELS: ReadonlySet<string> = new Set(['<|channel|>', '<|start|>']);

const CALL_TAG =
  /^<(?!\/).*(?:tools?[_▁]|toolcall|function[_▁]?call|action_start|start_action|plugin|python_tag|recipient|channel|message_sep|invoke|dsml)/i;
const END_TOKEN =
  /^(?:<\|[^<>|{}"\n]{1,40}\|>|<｜[^<>{}"\n]{1,40}｜>|<\/?s>|\[\/INST\]|<(?:start|end)_of_turn>|<eos>|<bos>)$/;
const HEAD_TOKEN =
  /^(?:<\|(?:im_start|start_header_id|end_header_id|assistant|begin_of_text|begin|content)\|>|<s>|<bos>|<start_of_turn>|\[\/INST\])$/;
const THINK = '(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad)';
const OPEN_THINKING = new RegExp(
  `^(?:<(?:\\w+:)?${THINK}(?::\\w+)?>|<\\|think\\|>|\\[THINK\\]|◁think▷|<\\|START_THINKING\\|>|<\\|channel>thought)$`,
  'i',
);
const CLOSE_THINKING = new RegExp(
  `^(?:</(?:\\w+:)?${THINK}(?::\\w+)?>|<\\|/think\\|>|\\[/THINK\\]|◁/think▷|<\\|END_THINKING\\|>|<channel\\|>)$`,
  'i',
);

/** What a whole tag means: reasoning begins or ends, a call begins, a special token, or nothing but text. */
export type TagKind =
  | 'opens-thinking'
  | 'closes-thinking'
  | 'opens-header'
  | 'opens-call'
  | 'head-token'
  | 'end-token'
  | 'text';

/** Says what a tag means where no call is looked for. */
export function tagKind(tag: string): TagKind {
  if (OPEN_THINKING.test(tag)) return 'opens-thinking';
  if (CLOSE_THINKING.test(tag)) return 'closes-thinking';
  if (HEAD_TOKEN.test(tag)) return 'head-token';
  return END_TOKEN.test(tag) ? 'end-token' : 'text';
}

/** Says what a tag means where channels count and, with tools, calls. */
export function callTagKind(tag: string, mayCall: boolean): TagKind {
  if (CHANNELS.has(tag)) return 'opens-header';
  const kind = tagKind(tag);
  const isThinking = kind === 'opens-thinking' || kind === 'closes-thinking';
  return mayCall && !isThinking && CALL_TAG.test(tag) ? 'opens-call' : kind;
}

const SQUARE = ['[think]', '[/think]', '[/inst]'];
const LONGEST_TAG = 60;
const CLOSERS = new Set(['>', ']', '▷']);
/** The only tag with a word behind it. */
const CHANNEL_THOUGHT = '<|channel>thought';

/** Follows one tag at a time, from its bracket on; a tag that cannot become one any more is text at once. */
export class TagReader {
  /** What of a tag has been read; empty outside of tags. */
  tag = '';

  /** Takes a character and returns the tag that it closes. */
  take(char: string): string | undefined {
    if (char === '<' || char === '[' || char === '◁') {
      this.tag = char;
      return undefined;
    }
    if (this.tag === '') return undefined;
    const tag = this.tag + char;
    const isSquare = tag.startsWith('[');
    const continues = isSquare ? SQUARE.some((known) => known.startsWith(tag.toLowerCase())) : !/\s/.test(char);
    const isClosed = tag === CHANNEL_THOUGHT || (CLOSERS.has(char) && tag !== '<|channel>');
    this.tag = isClosed || !continues || tag.length > LONGEST_TAG ? '' : tag;
    return isClosed && continues ? tag : undefined;
  }
}
