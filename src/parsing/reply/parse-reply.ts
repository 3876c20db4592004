import { parseStrict } from '../../json/depth.ts';
import type { ToolCallRequest } from '../calls/call-forms.ts';
import { type RegisteredTools, isKnown, registeredTools } from '../calls/registered-tools.ts';
import { type Repair, resolveLimits } from '../repair/repairs.ts';
import { fieldsIn, withClosers } from './broken-envelope.ts';
import { type Acting, type ChosenPieces, type Reach, actingPieces, choosePieces, soleAnswer } from './choose-pieces.ts';
import { type Envelope, readEnvelope, type Reply, type Strategy } from './envelope.ts';
import { isGlue } from './placement.ts';
import {
  type Meter,
  type ParseReplyOptions,
  type ReplySource,
  checkReplyOptions,
  replySource,
  withSpellings,
} from './reply-source.ts';
import { type Scan, scanReply } from './scan.ts';
import { stripTokens } from './special-tokens.ts';

/**
 * Reads a model's reply: thought, answer, plan and tool calls, however they are wrapped or broken. What may become a
 * call is the option `textCalls`; text that is quoted, commented, thought or made up never does. Never throws, whatever
 * the text; only unknown options throw a `TypeError`. Its work grows linearly with the text.
 *
 * @example parseReply('Sure!\n```json\n{"tool": "add", "tool_args": {"a": 1}}\n```').calls[0]?.name // 'add'
 */
export function parseReply(text: string, options?: ParseReplyOptions): Reply {
  checkReplyOptions('parseReply', options);
  return readReplyText(text, options).reply;
}

/** Options of a reader of replies beside those of `parseReply`. */
interface ReadReplyOptions extends ParseReplyOptions {
  /** The model finished by itself, so closers missing at the very end of an envelope are added. */
  readonly finished?: boolean;
  /** The only format, beside the envelope, whose calls count. */
  readonly heldTo?: string | null;
  readonly meter?: Meter;
}

/** A call in the text that the mode does not take. */
export interface CallNotRun {
  readonly tool: string;
  /** `envelope`, `bare-json`, or the name of a dialect. */
  readonly form: string;
  /** The format has its own mark that is rarely written by chance. */
  readonly marked: boolean;
  /** Nothing stands behind it. */
  readonly last: boolean;
}

/** A reply, and what else its text holds. */
interface ReplyReading {
  readonly reply: Reply;
  /** The format of the calls that were taken; null where none was. */
  readonly form: string | null;
  readonly notRun: CallNotRun | null;
}

const REACHES: readonly Reach[] = ['never', 'whole-reply', 'narrated'];

/** Reads a reply in one pass over its text. */
export function readReplyText(raw: unknown, options: ReadReplyOptions = {}): ReplyReading {
  const read = readTextOnce(raw, options);
  return { ...read, reply: withSpellings(read.reply, options.tools) };
}

function readTextOnce(raw: unknown, options: ReadReplyOptions): ReplyReading {
  const text = typeof raw === 'string' ? raw : '';
  const { textCalls } = options;
  const reach = textCalls === undefined ? 'lenient' : (REACHES.find((one) => one === textCalls) ?? 'lenient');
  const direct = reach === 'lenient' || reach === 'narrated' ? readDirect(text, options) : undefined;
  if (direct !== undefined) return direct;
  const from = replySource(text, options);
  const scan = scanReply(from.source);
  const found = actingPieces(scan, from.tools);
  const acting = options.finished === true ? found.map((one) => withClosers(from, one)) : found;
  const read = readPieces({ from, scan, acting, reach, heldTo: options.heldTo ?? null });
  if (options.meter !== undefined) options.meter.steps += text.length + scan.steps + from.source.work;
  return read;
}

interface Reading {
  readonly from: ReplySource;
  readonly scan: Scan;
  readonly acting: readonly Acting[];
  readonly reach: Reach;
  readonly heldTo: string | null;
}

/** Valid JSON is taken literally. */
function readDirect(text: string, options: ReadReplyOptions): ReplyReading | undefined {
  const { maxChars, maxDepth } = resolveLimits(options.limits);
  const strict = text.length > maxChars ? undefined : parseStrict(text, maxDepth);
  if (strict === undefined) return undefined;
  const envelope = readEnvelope(strict.value, registeredTools(options.tools), { complete: true, repaired: false });
  if (envelope === undefined || !isHeld(options.heldTo ?? null, envelope.form === 'calls' ? 'bare-json' : 'envelope')) {
    return undefined;
  }
  const reply = replyOf(envelope, { strategy: 'direct', complete: true, repairs: [], thinking: '' });
  return { reply, form: formOf(reply, envelope), notRun: null };
}

function formOf({ calls, plan }: Reply, envelope: Envelope): string | null {
  if (calls.length === 0 && plan === undefined) return null;
  return envelope.form === 'calls' ? 'bare-json' : 'envelope';
}

/** The envelope is what was asked for; of other formats only the one that was seen first counts. */
function isHeld(heldTo: string | null, form: string): boolean {
  return heldTo === null || form === heldTo || form === 'envelope';
}

function readPieces(reading: Reading): ReplyReading {
  const { from, scan, reach, heldTo } = reading;
  const sole = reach === 'lenient' ? undefined : soleAnswer(from.source, scan, reading.acting);
  if (sole !== undefined) return { reply: replyOfPiece(reading, sole), form: null, notRun: null };
  const decision = choosePieces(
    from.source,
    scan,
    reading.acting.filter(({ form }) => isHeld(heldTo, form)),
    reach,
  );
  const calls = reach !== 'whole-reply' || reading.acting.some((one) => namesTool(one, from.tools));
  if (decision.kind === 'ambiguous' && calls)
    return { reply: ambiguous(reading, decision.acting), form: null, notRun: null };
  if (decision.kind === 'taken' && mayTake(reading, decision)) return readTaken(reading, decision.acting);
  const fields = reach === 'never' ? undefined : readByFields(reading);
  if (fields !== undefined) return fields;
  const notRun = reach === 'lenient' ? null : notRunOf(reading);
  return { reply: readText(reading, notRun), form: null, notRun };
}

/** Where prose is the rule, JSON has to be a call of a known tool to be more than an answer. */
function mayTake({ reach, from }: Reading, { acting: [first] }: ChosenPieces & { readonly kind: 'taken' }): boolean {
  if (reach !== 'whole-reply') return true;
  return first.piece.found.kind === 'block' || namesTool(first, from.tools);
}

/** True where a call or a plan names a tool that is known. */
function namesTool({ calls, envelope }: Acting, tools: RegisteredTools | undefined): boolean {
  const named = [...calls.map(({ name }) => name), ...(envelope?.plan ?? []).map(({ tool }) => tool)];
  return named.some((name) => isKnown(tools, name));
}

function readTaken(reading: Reading, acting: readonly [Acting, ...Acting[]]): ReplyReading {
  const [first] = acting;
  const reply = first.piece.found.kind === 'value' ? replyOfValues(reading, acting) : replyOfBlocks(reading, acting);
  const takes = reply.calls.length > 0 || reply.plan !== undefined;
  return { reply, form: takes ? first.form : null, notRun: null };
}

function replyOfValues(reading: Reading, acting: readonly [Acting, ...Acting[]]): Reply {
  const [first] = acting;
  const reply = replyOfPiece(reading, first);
  if (acting.length === 1) return reply;
  const repairs = acting.flatMap(({ piece: { found } }) => (found.kind === 'value' ? found.candidate.repairs : []));
  return {
    ...reply,
    calls: acting.flatMap(({ calls }) => calls),
    complete: acting.every(({ piece: { found } }) => found.kind === 'value' && found.candidate.complete),
    repairs: [...reading.from.repairs, ...repairs],
  };
}

/** The reply that a value makes. */
function replyOfPiece({ from, scan }: Reading, { piece, envelope }: Acting): Reply {
  const { found } = piece;
  if (found.kind !== 'value' || envelope === undefined) return textReply('', scan.thinking, from);
  const { candidate } = found;
  const isWhole =
    isGlue(from.source.text, scan.from, piece.from) && isGlue(from.source.text, piece.to, from.source.end);
  return replyOf(envelope, {
    strategy: strategyOf(candidate.strict, piece.fence > 0, isWhole),
    complete: candidate.complete && from.complete,
    repairs: [...from.repairs, ...candidate.repairs],
    thinking: scan.thinking,
  });
}

function strategyOf(strict: boolean, fenced: boolean, whole: boolean): Strategy {
  if (!strict) return 'repaired';
  if (fenced) return 'code-block';
  return whole ? 'direct' : 'balanced';
}

interface Provenance {
  readonly strategy: Strategy;
  readonly complete: boolean;
  readonly repairs: readonly Repair[];
  /** What was thought outside the envelope; it is the thought where the envelope has none. */
  readonly thinking: string;
}

function replyOf(envelope: Envelope, how: Provenance): Reply {
  const { form, repairs: moved = [], ...said } = envelope;
  return {
    ...said,
    thought: said.thought === '' ? how.thinking : said.thought,
    strategy: form === 'calls' ? 'dialect' : how.strategy,
    ...(form === 'calls' ? { dialect: 'bare-json' } : {}),
    complete: how.complete,
    repairs: moved.length === 0 ? how.repairs : [...how.repairs, ...moved],
  };
}

/** The reply that blocks of one format make. */
function replyOfBlocks({ from, scan }: Reading, acting: readonly [Acting, ...Acting[]]): Reply {
  const readings = acting.flatMap(({ piece: { found } }) => (found.kind === 'block' ? [found.reading] : []));
  const thoughts = readings.flatMap(({ thought }) => (thought === undefined ? [] : [thought]));
  const answers = readings.flatMap(({ answer }) => (answer === undefined ? [] : [answer]));
  const open = acting.findIndex(({ piece: { found } }) => found.kind === 'block' && found.reading.openEnded === true);
  const calls: readonly ToolCallRequest[] = acting.flatMap((one, at) =>
    open === -1 || at <= open ? one.calls : one.calls.map((call) => ({ ...call, complete: false })),
  );
  const [first] = acting;
  const aloud = first.form === 'react' ? spokenThought(from.source.text.slice(scan.from, first.piece.from)) : '';
  return {
    thought: thoughts.length > 0 ? thoughts.join('\n') : aloud === '' ? scan.thinking : aloud,
    goal: '',
    calls,
    strategy: 'dialect',
    dialect: first.form,
    complete: readings.every(({ complete }) => complete) && from.complete,
    repairs: [...from.repairs, ...readings.flatMap(({ repairs }) => repairs)],
    ...(answers.length === 0 ? {} : { answer: answers.join('\n') }),
  };
}

/** `Thought: …` before an action. */
function spokenThought(text: string): string {
  return /(?:^|\n)[ \t*]*Thought[ \t*]*:[ \t]*([^\n]*)/.exec(text)?.[1]?.trim() ?? '';
}

function ambiguous({ from, scan }: Reading, acting: readonly Acting[]): Reply {
  const candidates = acting.flatMap(({ piece: { found } }) => (found.kind === 'value' ? [found.candidate] : []));
  return {
    thought: scan.thinking,
    goal: '',
    calls: [],
    strategy: candidates[0]?.strict === true ? 'balanced' : 'repaired',
    complete: from.complete && !scan.openThinking,
    ambiguous: candidates.map(({ value }) => value),
    repairs: from.repairs,
  };
}

/** The envelope's fields without an object around them that could be read. */
function readByFields({ from, scan, reach, heldTo }: Reading): ReplyReading | undefined {
  const { source } = from;
  if (scan.openThinking || !isHeld(heldTo, 'envelope')) return undefined;
  const said = fieldsIn(from, scan);
  if (said === undefined || (reach !== 'lenient' && source.skipSpace(scan.from) < said.found.at)) return undefined;
  const { found, envelope } = said;
  if (reach === 'whole-reply' && envelope.calls.length === 0 && envelope.plan === undefined) return undefined;
  const reply = replyOf(envelope, {
    strategy: 'fields',
    complete: found.complete && from.complete && envelope.calls.every(({ complete }) => complete),
    repairs: [...from.repairs, ...found.repairs],
    thinking: scan.thinking,
  });
  return { reply, form: formOf(reply, envelope), notRun: null };
}

/** Plain conversation: the text is the answer. */
function readText({ from, scan }: Reading, notRun: CallNotRun | null): Reply {
  const { source } = from;
  // Tokens behind a call that the text ends with belong to what it quotes.
  const said = notRun?.last === true ? source.text.slice(scan.from) : stripTokens(source.text.slice(scan.from));
  const text = scan.openThinking ? '' : said.trim();
  return { ...textReply(text, scan.thinking, from), complete: from.complete && !scan.openThinking };
}

function textReply(answer: string, thinking: string, { complete, repairs }: ReplySource): Reply {
  return {
    thought: thinking,
    goal: '',
    calls: [],
    strategy: 'text',
    complete,
    repairs,
    ...(answer === '' ? {} : { answer }),
  };
}

/** The call that a more lenient reading would have taken. */
function notRunOf({ from, acting }: Reading): CallNotRun | null {
  const able = acting.filter(({ calls }) => calls.some(({ name }) => isKnown(from.tools, name)));
  const one = able.at(-1);
  const call = one?.calls.find(({ name }) => isKnown(from.tools, name));
  if (one === undefined || call === undefined) return null;
  const { source } = from;
  const marked = one.piece.found.kind === 'block' && one.piece.found.marked;
  return {
    tool: call.name,
    form: one.form,
    marked,
    last: one.piece.fence === 0 && isGlue(source.text, one.piece.to, source.end),
  };
}
