import type { DialectSource } from '../dialects/dialect-source.ts';
import { turnBeginsAt } from './marks.ts';
import type { Piece, Scan } from './scan.ts';

const GLUE =
  /^(?:[\s,;[\])]|print\(|<\/?[\w:｜|-]*(?:tool|function|action|call|answer|assistant|final|json|reply|message)[\w:｜|▁-]*>|<[|｜][^<>{}"\n]{1,40}[|｜]>|<\]minimax\[>|<\|(?:open|close)\|>\w{1,20}|function(?=<[|｜])|<\|from\|>assistant\b|\/\*[^*]{0,80}\*\/)*$/i;
const FARTHEST = 400;

/** True when nothing but separators and tags stands between two places. */
export function isGlue(text: string, from: number, to: number): boolean {
  return isGlueText(text.slice(from, to));
}

function isGlueText(text: string): boolean {
  const trimmed = text.trim();
  return trimmed.length <= FARTHEST && GLUE.test(trimmed);
}

/** Where a ReAct message thinks aloud before it acts. */
const THINKS = /^\s*\**Thought\**[ \t]*:/;

/** The fields of a message around the pieces that act. */
interface Around {
  readonly before: string;
  readonly after: string;
}

/** True when pieces are the whole message, one fence around them, thoughts and end marks aside. */
export function isAlone(source: DialectSource, scan: Scan, pieces: readonly Piece[]): boolean {
  const first = pieces[0];
  const last = pieces.at(-1);
  if (first === undefined || last === undefined) return false;
  for (let i = 1; i < pieces.length; i += 1) {
    if (!isGlue(source.text, pieces[i - 1]?.to ?? 0, pieces[i]?.from ?? 0)) return false;
  }
  const around = { before: source.text.slice(scan.from, first.from), after: source.text.slice(last.to, source.end) };
  const { before, after } = first.fence > 0 ? withoutFence(around) : around;
  if (!isGlueText(before) && !(isAction(first) && THINKS.test(before))) return false;
  return isGlueText(after) || isMadeUpTurn(after);
}

function isAction({ found }: Piece): boolean {
  return found.kind === 'block' && found.dialect === 'react';
}

const OTHERS_TURN =
  /^(?:<(?:\|[^<>|]{1,30}\||\/s|end_of_turn|｜[^<>｜]{1,30}｜)>\s*)?(?:<\|im_start\|>|<\|start\|>(?:functions\.|user|system|developer|tool)|<\|start_header_id\|>|<start_of_turn>|<\|user\|>|<\|observation\|>|<\|tool\|>|<｜User｜>|\[INST\]|\[TOOL_RESULTS\]|<(?:tool|function)_(?:results?|response)>)/;

/** What follows is a turn that somebody else would have to take; it is no part of the message. */
function isMadeUpTurn(after: string): boolean {
  const at = after.search(/\S/);
  return at < 0 || turnBeginsAt(after, at) || OTHERS_TURN.test(after.slice(at, at + 60));
}

/** What stands around a fence, without the fence itself. */
function withoutFence({ before, after }: Around): Around {
  return {
    before: before.replace(/`{3,}[ \t]*[\w+#.-]*(?=\s|$)/, ''),
    after: after.replace(/`{3,}/, ''),
  };
}

/** Fences of other languages hold samples of code. */
const DATA_FENCES = new Set(['', 'json', 'jsonc', 'json5', 'tool_call', 'tool_code', 'tool', 'xml']);
const OPENING_FENCE = /(?:^|\n)[ \t]*`{3,}[ \t]*[\w+#.-]*[ \t]*\r?\n\s*$/;
const CLOSING_FENCE = /^[ \t]*\r?\n?\s*`{3,}[ \t]*(?:\r?\n|$)/;
const SENTENCE_END = /(?:[.!?…。！？][)\]"'”’*_]*|\p{Extended_Pictographic}\u{fe0f}?)\s*$/u;
/** Tags that stand around a call. */
const OPENING_TAGS = /(?:<[^<>\s]{1,40}>\s*)+$/;
/** What some models write before every object. */
const LABEL = /^\s*(?:json|assistant[ \t]*:)\s*$/i;
const PARAGRAPH_END = /[^\s:,;–—-]\s*\n[ \t]*\r?\n\s*$/;
const LOOK_BACK = 160;

/**
 * True for a call that a sentence introduces and another may follow: in a fence on lines of its own, or bare behind a
 * sentence that has ended. Within a running sentence it is mentioned.
 */
export function isNarrated(source: DialectSource, scan: Scan, first: Piece, last: Piece): boolean {
  const { text, end } = source;
  const before = text.slice(Math.max(scan.from, first.from - LOOK_BACK), first.from);
  const after = text.slice(last.to, Math.min(end, last.to + LOOK_BACK));
  if (first.fence > 0) {
    const language = scan.fences.get(first.fence) ?? '';
    return DATA_FENCES.has(language) && OPENING_FENCE.test(before) && CLOSING_FENCE.test(after);
  }
  if (!hasEnded(before)) return false;
  const rest = /^[^\n]*/.exec(after)?.[0] ?? '';
  return !/^\s*(?:[,;:)]|\p{Ll})/u.test(rest.replace(/^(?:\s*<\/[\w:-]{1,40}>)+/, ''));
}

function hasEnded(text: string): boolean {
  const before = text.replace(OPENING_TAGS, '');
  return before.trim() === '' || LABEL.test(before) || SENTENCE_END.test(before) || PARAGRAPH_END.test(before);
}
