import type { Repair } from '../reply.ts';

/** A reply with what is not its message blanked out: same length, so every position still points into the original. */
export interface Masked {
  readonly text: string;
  /** The reasoning that was set apart, without its tags. */
  readonly thinking: string;
  /** True when a reasoning block was still open at the end. */
  readonly openThinking: boolean;
  /** Where the message ends: special tokens and white space at the very end are left out. */
  readonly end: number;
  /** What was blanked out although it is no reasoning. */
  readonly repairs: readonly Repair[];
}

const OPENING = /<(think|thinking|thought|reasoning|reflection)>|\[THINK\]|◁think▷/i;
const CLOSING = /<\/(?:think|thinking|thought|reasoning|reflection)>|\[\/THINK\]|◁\/think▷/i;
const TRAILING = /(?:\s|<\|[^<>|{}"\n]{1,40}\|>|<\/s>|<｜[^<>{}"\n]{1,40}｜>|\[\/INST\]|<end_of_turn>|<eos>)+$/;
const TAIL = 400;

/** Sets reasoning blocks apart, strips quote marks at line starts and finds the end of the message. */
export function maskReply(text: string): Masked {
  const quoted = unquoteLines(text);
  const { text: masked, thinking, open } = maskThinking(quoted);
  const repairs = quoted === text ? [] : [QUOTED];
  return { text: masked, thinking, openThinking: open, end: messageEnd(masked), repairs };
}

const QUOTED: Repair = {
  kind: 'quoted-lines',
  message: 'the quote marks at the beginning of the lines were left out',
  at: 0,
  cost: 0,
};

/** Special tokens at the very end are no part of the message; white space before them may be part of a cut string. */
export function messageEnd(text: string): number {
  const tail = Math.max(0, text.length - TAIL);
  const trailing = TRAILING.exec(text.slice(tail));
  if (trailing === null) return text.length;
  const token = trailing[0].search(/\S/);
  return token < 0 ? text.length : tail + trailing.index + token;
}

/** `> {` on every line: the whole message is quoted, so the marks become white space. */
function unquoteLines(text: string): string {
  if (!/^\s*>/.test(text)) return text;
  const lines = text.split('\n');
  if (!lines.every((line) => line.trim() === '' || /^\s*>/.test(line))) return text;
  return lines.map((line) => line.replace(/^\s*>/, (mark) => ' '.repeat(mark.length))).join('\n');
}

interface Thinking {
  readonly text: string;
  readonly thinking: string;
  readonly open: boolean;
}

/** Blocks count only before the message begins: a tag inside the JSON of the reply is text. */
function maskThinking(text: string): Thinking {
  const thoughts: string[] = [];
  let from = 0;
  let open = false;
  for (;;) {
    const start = openingAt(text, from);
    if (start === undefined) break;
    const close = CLOSING.exec(text.slice(start.content));
    const end = close === null ? text.length : start.content + close.index;
    thoughts.push(text.slice(start.content, end).trim());
    from = close === null ? text.length : end + close[0].length;
    open = close === null;
    if (open) break;
  }
  if (from === 0) {
    const orphan = orphanClose(text);
    if (orphan !== undefined) {
      thoughts.push(text.slice(0, orphan.index).trim());
      from = orphan.end;
    }
  }
  if (from === 0) return { text, thinking: '', open: false };
  return { text: ' '.repeat(from) + text.slice(from), thinking: thoughts.filter((t) => t !== '').join('\n'), open };
}

function openingAt(text: string, from: number): { readonly content: number } | undefined {
  const head = text.slice(from);
  const opening = OPENING.exec(head);
  if (opening === null) return undefined;
  const before = head.slice(0, opening.index);
  if (/[{["]|<tool_call>/.test(before)) return undefined;
  return { content: from + opening.index + opening[0].length };
}

/** `reasoning …</think>` without its opening tag, as servers leave it that put the tag into the prompt. */
function orphanClose(text: string): { readonly index: number; readonly end: number } | undefined {
  if (/^\s*[{["]/.test(text)) return undefined;
  const close = /<\/think(?:ing)?>|\[\/THINK\]|◁\/think▷/i.exec(text);
  return close === null ? undefined : { index: close.index, end: close.index + close[0].length };
}
