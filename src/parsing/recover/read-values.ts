import type { Issue } from '../../json/errors.ts';
import { type Json, isJsonObject } from '../../json/json.ts';
import { hoistName } from '../calls/call-forms.ts';
import { parsePrefix } from '../repair/parse-prefix.ts';
import type { Limits, Repair } from '../repair/repairs.ts';
import { type Candidate, findCandidates } from '../repair/values-in-text.ts';
import { type Envelope, readEnvelope } from '../reply/envelope.ts';
import { messageEnd } from '../reply/special-tokens.ts';
import { jsonEquals } from '../schema/json-types.ts';

/** Every value that a text holds, and the text as the readings saw it. */
export interface Values {
  readonly candidates: readonly Candidate[];
  /** The single value that the whole message is, valid or cut off; its candidate stands alone. */
  readonly whole: boolean;
  readonly masked: Masked;
}

/** Reads the values of a text: the whole as JSON or as its beginning, else every object and list in it. */
export function readValues(text: string, limits: Limits, how: { readonly trimsLayout: boolean }): Values {
  const masked = maskReply(text);
  const found = valuesIn(masked, limits, how);
  if ('masked' in found) return found;
  if (masked.repairs.length === 0) return { ...found, masked };
  const candidates = found.candidates.map((candidate) => ({
    ...candidate,
    repairs: [...masked.repairs, ...candidate.repairs],
  }));
  return { ...found, candidates, masked };
}

function valuesIn(
  masked: Masked,
  { maxDepth }: Limits,
  how: { readonly trimsLayout: boolean },
): Omit<Values, 'masked'> | Values {
  const from = firstVisible(masked.text);
  const prefix = parsePrefix(masked.text, from, { to: masked.end, maxDepth });
  const isObject = prefix.kind !== 'invalid' && typeof prefix.value === 'object' && prefix.value !== null;
  if (prefix.kind === 'cut' && isObject) {
    return { candidates: [withHoistedName(plainCandidate(prefix, from, false))], whole: true };
  }
  const whole = prefix.kind === 'whole' && masked.text.slice(prefix.end, masked.end).trim() === '';
  if (prefix.kind === 'whole' && whole) {
    if (isObject) return { candidates: [plainCandidate(prefix, from, true)], whole: true };
    if (typeof prefix.value === 'string') return valuesInString(prefix.value, { maxDepth, ...how }, from);
  }
  const candidates = findCandidates(masked.text, { from: 0, to: masked.end, maxDepth, ...how });
  return { candidates: candidates.map(withHoistedName), whole: false };
}

/** What a message holds that is one JSON string: JSON that was written as text, or words around some. */
function valuesInString(
  text: string,
  how: { readonly maxDepth: number; readonly trimsLayout: boolean },
  at: number,
): Values {
  const repair: Repair = { kind: 'escaped', message: 'one level of escaping was removed', at: at + 1, cost: 1 };
  const found = findCandidates(text, { from: 0, to: text.length, ...how });
  const candidates = found
    .filter(({ complete, value }) => complete || Object.keys(value ?? {}).length > 0)
    .map((one) => ({ ...one, strict: false, repairs: [repair, ...one.repairs], cost: one.cost + repair.cost }));
  return { candidates: candidates.map(withHoistedName), whole: false, masked: { text, end: text.length, repairs: [] } };
}

/** The first character that is neither white space nor an invisible mark. */
function firstVisible(text: string): number {
  const found = text.search(/[^\s\u200b\u2060\ufeff]/);
  return found < 0 ? text.length : found;
}

function plainCandidate(
  read: { readonly value: Candidate['value']; readonly end: number },
  from: number,
  complete: boolean,
): Candidate {
  return { value: read.value, from, to: read.end, fenced: false, strict: true, complete, repairs: [], cost: 0 };
}

/** A value that was not closed may have lost the brace before its name. */
function withHoistedName(candidate: Candidate): Candidate {
  if (candidate.complete) return candidate;
  const hoisted = hoistName(candidate.value);
  if (hoisted === undefined) return candidate;
  const { value, repair } = hoisted;
  return {
    ...candidate,
    value,
    strict: false,
    repairs: [...candidate.repairs, repair],
    cost: candidate.cost + repair.cost,
  };
}

/** A recovered value, or why there is none. */
export type RecoveredJson =
  | { readonly ok: true; readonly value: Json; readonly complete: boolean; readonly repairs: readonly Repair[] }
  | { readonly ok: false; readonly issues: readonly Issue[] };

/** A candidate with what it says and how good a reply it makes; higher is better. */
export interface Ranked {
  readonly candidate: Candidate;
  readonly envelope: Envelope | undefined;
  readonly rank: number;
}

/** The best candidate, or several of equal rank and different value, or nothing. */
type Choice =
  | { readonly kind: 'one'; readonly chosen: Ranked }
  | { readonly kind: 'several'; readonly tied: readonly Ranked[] }
  | { readonly kind: 'none' };

/** Ranks candidates: what acts or answers over what only thinks, envelopes over bare data, unfenced over fenced. */
export function chooseCandidate(candidates: readonly Candidate[]): Choice {
  const ranked = candidates.map((candidate) => {
    const envelope = readEnvelope(candidate.value, undefined, { complete: candidate.complete, repaired: true });
    return { candidate, envelope, rank: rankOf(candidate, envelope) };
  });
  const top = ranked.reduce((highest, { rank }) => Math.max(highest, rank), 0);
  const best = ranked.filter(({ rank }) => rank === top);
  const [chosen] = best;
  if (chosen === undefined || top === 0) return { kind: 'none' };
  const different = best.some(({ candidate }) => !jsonEquals(candidate.value, chosen.candidate.value));
  return different ? { kind: 'several', tied: best } : { kind: 'one', chosen };
}

function rankOf(candidate: Candidate, envelope: Envelope | undefined): number {
  const outside = candidate.fenced ? 0 : 1;
  if (envelope !== undefined) {
    const acts = envelope.calls.length > 0 || envelope.plan !== undefined || envelope.answer !== undefined;
    return (acts || envelope.planError !== undefined ? 30 : 20) + outside;
  }
  if (isJsonObject(candidate.value)) return (Object.keys(candidate.value).length > 0 ? 10 : 4) + outside;
  return 6 + outside;
}

/** A reply with what is not its message blanked out: same length, so every position still points into the original. */
interface Masked {
  readonly text: string;
  /** Where the message ends: special tokens and white space at the very end are left out. */
  readonly end: number;
  /** What was blanked out although it is not reasoning. */
  readonly repairs: readonly Repair[];
}

const OPENING = /<(think|thinking|thought|reasoning|reflection)>|\[THINK\]|◁think▷/i;
const CLOSING = /<\/(?:think|thinking|thought|reasoning|reflection)>|\[\/THINK\]|◁\/think▷/i;

/** Blanks out reasoning blocks and quote marks at line starts, and finds the end of the message. */
function maskReply(text: string): Masked {
  const unquoted = unquoteLines(text);
  const start = messageStart(unquoted);
  const masked = ' '.repeat(start) + unquoted.slice(start);
  return { text: masked, end: messageEnd(masked), repairs: unquoted === text ? [] : [QUOTED] };
}

const QUOTED: Repair = {
  kind: 'quoted-lines',
  message: 'the quote marks at the beginning of the lines were left out',
  at: 0,
  cost: 0,
};

/** `> {` on every line: the whole message is quoted, so the marks become white space. */
function unquoteLines(text: string): string {
  if (!/^\s*>/.test(text)) return text;
  const lines = text.split('\n');
  if (!lines.every((line) => line.trim() === '' || /^\s*>/.test(line))) return text;
  return lines.map((line) => line.replace(/^\s*>/, (mark) => ' '.repeat(mark.length))).join('\n');
}

/** Where the message begins, behind its reasoning. Blocks count only before it: a tag inside the JSON of a reply is text. */
function messageStart(text: string): number {
  let from = 0;
  for (;;) {
    const content = openingAt(text, from);
    if (content === undefined) return from > 0 ? from : orphanEnd(text);
    const close = CLOSING.exec(text.slice(content));
    if (close === null) return text.length;
    from = content + close.index + close[0].length;
  }
}

/** Where the reasoning begins whose tag opens behind `from`, before anything that may be JSON or a call. */
function openingAt(text: string, from: number): number | undefined {
  const head = text.slice(from);
  const opening = OPENING.exec(head);
  if (opening === null || /[{["]|<tool_call>/.test(head.slice(0, opening.index))) return undefined;
  return from + opening.index + opening[0].length;
}

/** Behind `reasoning …</think>` without its opening tag, as servers leave it that put the tag into the prompt. */
function orphanEnd(text: string): number {
  if (/^\s*[{["]/.test(text)) return 0;
  const close = /<\/think(?:ing)?>|\[\/THINK\]|◁\/think▷/i.exec(text);
  return close === null ? 0 : close.index + close[0].length;
}
