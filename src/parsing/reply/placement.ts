import type { DialectSource } from '../dialects/dialect.ts';
import { turnBeginsAt } from './outside-message.ts';
import type { Piece, Scan } from './scan.ts';

/** What may stand around calls, one piece after the other. */
const GLUE =
  /[\s,;[\])]+|print\(|<\|from\|>assistant\b|<\|(?:open|close)\|>\w{1,20}|<\]minimax\[>|<\/?([\w:.｜|▁-]{1,60})>|function(?=<[|｜])|\/\*[^*]{0,80}\*\//y;
const TAG_OF_CALLS = /tool|function|action|call|answer|assistant|final|json|reply|message|root|xml/i;
const OTHERS_TAG = /output|result|response|observ|error|user|system|human|ipython|developer|^[|｜]tool[|｜]$/i;
const FARTHEST = 400;

/** True when nothing but separators and tags stands between two offsets. */
export function isGlue(text: string, from: number, to: number): boolean {
  return isGlueText(text.slice(from, to));
}

function isGlueText(text: string): boolean {
  const trimmed = text.trim();
  if (trimmed.length > FARTHEST) return false;
  for (let at = 0; at < trimmed.length; at = GLUE.lastIndex) {
    GLUE.lastIndex = at;
    const found = GLUE.exec(trimmed);
    const tag = found?.[1];
    if (found === null) return false;
    if (tag !== undefined && (OTHERS_TAG.test(tag) || !(/^[|｜]/.test(tag) || TAG_OF_CALLS.test(tag)))) return false;
  }
  return true;
}

/** Where a ReAct message thinks aloud before it acts. */
const THINKS = /^\s*\**Thought\**[ \t]*:/;

/** True when pieces are the whole message, one fence around them, thoughts and end marks aside. */
export function isAlone(source: DialectSource, scan: Scan, pieces: readonly Piece[]): boolean {
  const first = pieces[0];
  const last = pieces.at(-1);
  if (first === undefined || last === undefined) return false;
  for (let i = 1; i < pieces.length; i += 1) {
    if (!isGlue(source.text, pieces[i - 1]?.to ?? 0, pieces[i]?.from ?? 0)) return false;
  }
  const fence = scan.fences.get(first.fence);
  const { text, end } = source;
  const before =
    fence === undefined
      ? [text.slice(scan.from, first.from)]
      : [text.slice(scan.from, fence.at), text.slice(fence.from, first.from)];
  const after = text.slice(last.to, end).trimStart();
  if (!before.every(isGlueText) && !(isAction(first) && THINKS.test(before.join('')))) return false;
  return isGlueText(fence === undefined ? after : withoutClosing(after)) || isMadeUpTurn(after);
}

/** The text behind a fenced piece without the mark that closes the fence. */
function withoutClosing(after: string): string {
  const at = after.search(/[`~]{3}/);
  if (at < 0 || at > FARTHEST) return after;
  let to = at;
  while (after.charAt(to) === after.charAt(at)) to += 1;
  return after.slice(0, at) + after.slice(to);
}

function isAction({ found }: Piece): boolean {
  return found.kind === 'block' && found.dialect === 'react';
}

const OTHERS_TURN =
  /^(?:<(?:\|[^<>|]{1,30}\||\/s|end_of_turn|｜[^<>｜]{1,30}｜)>\s*)?(?:<\|im_start\|>|<\|start\|>(?:functions\.|user|system|developer|tool)|<\|start_header_id\|>|<start_of_turn>|<\|user\|>|<\|observation\|>|<\|tool\|>|<｜User｜>|\[INST\]|\[TOOL_RESULTS\]|<(?:tool|function)_(?:results?|responses?)(?::\w+)?>|<\|begin\|>(?:user|system|tool))/;

/** What follows is a turn of another speaker; it is not part of the message. */
function isMadeUpTurn(after: string): boolean {
  const at = after.search(/\S/);
  return at < 0 || turnBeginsAt(after, at) || OTHERS_TURN.test(after.slice(at, at + 60));
}

/** Fences of other languages hold samples of code. */
const DATA_FENCES = new Set(['', 'json', 'jsonc', 'json5', 'tool_call', 'tool_code', 'tool', 'xml']);
const CLOSING_FENCE = /^[ \t]*\r?\n?\s*[`~]{3,}[ \t]*(?:\r?\n|$)/;
const SENTENCE_END =
  /(?:[.!?…。！？।؟][)\]"'”’*_]*|\p{Extended_Pictographic}\p{Emoji_Modifier}?\u{fe0f}?(?=\s*\n))\s*$/u;
const ABBREVIATION = /(?:\b(?:e\.g|i\.e|etc|vs|cf|fig|no|approx|resp|z\.B|d\.h)\.|\s\d{1,3}\.)\s*$/i;
/** Tags that stand around a call. */
const OPENING_TAGS = /(?:<([^<>\s]{1,40})>\s*)+$/;
/** A rule or a line of emphasis at the end changes nothing about what stands before it. */
const DECORATION = /(?:\n[ \t]*(?:-{3,}|\*{3,}|_{3,})\s*)$/;
/** What some models write before every object. */
const LABEL = /^\s*(?:json|assistant[ \t]*:)\s*$/i;
const PARAGRAPH_END = /\n[ \t]*\r?\n\s*$/;
const HEADING = /(?:^|\n)[ \t]*(?:#{1,6} [^\n]*|[^\n]*\r?\n[=-]{3,})\s*$/;
const LOOK_BACK = 160;
/** At the end of a message: who asks the user about a call does not make it. */
const QUESTION = /[?？؟]["'”’»)*_`\s]*$/;

/**
 * True for a call that a sentence introduces and another may follow: in a fence on lines of its own, or bare behind a
 * sentence that has ended. Within a running sentence it is mentioned, and before a question it is proposed.
 */
export function isNarrated(source: DialectSource, scan: Scan, first: Piece, last: Piece): boolean {
  const { text, end } = source;
  const before = text.slice(Math.max(scan.from, first.from - LOOK_BACK), first.from);
  const after = text.slice(last.to, Math.min(end, last.to + LOOK_BACK));
  if (QUESTION.test(text.slice(Math.max(last.to, end - LOOK_BACK), end))) return false;
  const fence = scan.fences.get(first.fence);
  if (fence === undefined) {
    const proposed =
      QUESTION.test(before.replace(OPENING_TAGS, '')) && /[\p{L}\p{N}]/u.test(after.replace(/<[^<>]{1,60}>/g, ''));
    return hasEnded(before) && beginsAnew(after) && !proposed;
  }
  const opens = /(?:^|\n)[ \t]*$/.test(text.slice(Math.max(0, fence.at - 20), fence.at));
  const alone = text.slice(fence.from, first.from).trim() === '' && /\n\s*$/.test(before);
  return opens && alone && DATA_FENCES.has(fence.language) && CLOSING_FENCE.test(after);
}

function hasEnded(text: string): boolean {
  const tagless = text.replace(OPENING_TAGS, (tags) => (OTHERS_TAG.test(tags) ? tags : ''));
  if (tagless.trim() === '' || LABEL.test(tagless)) return true;
  const before = tagless.replace(DECORATION, '\n\n');
  if (ABBREVIATION.test(before) || HEADING.test(before)) return false;
  if (SENTENCE_END.test(before)) return true;
  return PARAGRAPH_END.test(before) && !/[:,;–—-][*_)"'`]*\s*$/.test(before);
}

/** What follows a call is a sentence of its own, or nothing on its line and the next. */
function beginsAnew(after: string): boolean {
  const rest = after.replace(/^(?:\s*<\/[\w:-]{1,40}>)+/, '').replace(/^(?:[ \t]*<[|｜][^<>\s]{1,40}>)+/, '');
  if (/^[ \t]*(?:\r?\n[ \t]*\r?\n|$)/.test(rest)) return true;
  const next = /^[ \t]*(\r?\n)?[ \t]*([^\n]?)/u.exec(rest)?.[2] ?? '';
  return next === '' || /^[\p{Lu}\p{Lo}\p{N}\p{Extended_Pictographic}*#`<[{(>-]/u.test(next);
}
