import { type Json, isJsonObject } from '../../json/json.ts';
import type { ToolCallRequest } from '../calls/call-forms.ts';
import type { RegisteredTools } from '../calls/registered-tools.ts';
import type { DialectSource } from '../dialects/dialect.ts';
import { jsonEquals } from '../schema/json-types.ts';
import { type Envelope, readEnvelope } from './envelope.ts';
import { isAlone, isGlue, isNarrated } from './placement.ts';
import type { Piece, Scan } from './scan.ts';

/** A piece that says something: calls of registered tools, or what the envelope holds. */
export interface Acting {
  readonly piece: Piece;
  /** The name of the format: `envelope`, `bare-json`, or that of a dialect. */
  readonly form: string;
  readonly calls: readonly ToolCallRequest[];
  readonly envelope: Envelope | undefined;
}

/** Where a call may stand: see `TextCalls`. `narrated` lets sentences stand before and behind the one call. */
export type Reach = 'never' | 'whole-reply' | 'narrated' | 'lenient';

/** What is taken of a message: nothing, the pieces that act together, or several of equal rank that differ. */
export type ChosenPieces =
  | { readonly kind: 'none' }
  | { readonly kind: 'taken'; readonly acting: readonly [Acting, ...Acting[]] }
  | { readonly kind: 'ambiguous'; readonly acting: readonly Acting[] };

const NONE: ChosenPieces = { kind: 'none' };

/** The pieces that say something, talk left out; in the order in which they stand. */
export function actingPieces(scan: Scan, tools: RegisteredTools | undefined): readonly Acting[] {
  return scan.pieces.flatMap((piece): readonly Acting[] => {
    if (piece.talk !== null) return [];
    const { found } = piece;
    if (found.kind === 'value') {
      const { value, complete, strict } = found.candidate;
      const envelope = readEnvelope(value, tools, { complete, repaired: !strict || !complete });
      if (envelope === undefined) return [];
      return [{ piece, form: envelope.form === 'calls' ? 'bare-json' : 'envelope', calls: envelope.calls, envelope }];
    }
    const { reading, dialect } = found;
    const calls = reading.calls.filter(({ name }) => tools?.has(name) === true);
    const answers = reading.calls.length === 0 && (reading.answer !== undefined || reading.thought !== undefined);
    return calls.length > 0 || answers ? [{ piece, form: dialect, calls, envelope: undefined }] : [];
  });
}

/** Decides which pieces count, by how far from the whole message a call may stand. */
export function choosePieces(source: DialectSource, scan: Scan, acting: readonly Acting[], reach: Reach): ChosenPieces {
  switch (reach) {
    case 'lenient':
      return chooseLenient(source, acting);
    case 'narrated':
      return chooseNarrated(source, scan, acting);
    case 'whole-reply':
      return chooseWhole(source, scan, acting);
    case 'never':
      return NONE;
  }
}

/** What an envelope says: it acts, or it only thinks. */
function acts({ calls, envelope, piece }: Acting): boolean {
  if (calls.length > 0 || envelope?.plan !== undefined || envelope?.answer !== undefined) return true;
  return (
    envelope?.planError !== undefined || (piece.found.kind === 'block' && piece.found.reading.answer !== undefined)
  );
}

/** The first that acts decides on the format; outside of fences goes before inside. */
function chooseLenient(source: DialectSource, acting: readonly Acting[]): ChosenPieces {
  const able = acting.filter(acts);
  const candidates = able.length > 0 ? able : acting;
  const open = candidates.filter(({ piece }) => piece.fence === 0);
  const pool = open.length > 0 ? open : candidates;
  const [first] = pool;
  if (first === undefined) return NONE;
  if (first.piece.found.kind === 'value') {
    return chooseValues(
      source,
      pool.filter(({ piece }) => piece.found.kind === 'value'),
    );
  }
  const same = pool.filter(({ form }) => form === first.form);
  if (first.piece.fence > 0) return chooseFenced(same);
  return taken(first.form === 'pythonic' ? adjacentTo(source, first, same) : same);
}

/** Several fences that all call the same say it twice; several that differ are documentation. */
function chooseFenced(fenced: readonly Acting[]): ChosenPieces {
  const inFence = Map.groupBy(fenced, ({ piece }) => piece.fence);
  const [first = [], ...others] = inFence.values();
  const calls = first.flatMap((one) => one.calls.map(callValue));
  const same = others.every((other) =>
    jsonEquals(
      other.flatMap((one) => one.calls.map(callValue)),
      calls,
    ),
  );
  return same ? taken(first) : NONE;
}

function callValue({ name, args }: ToolCallRequest): Json {
  return [name, args];
}

/** Values of equal rank that differ: calls one after the other are one message, anything else is ambiguous. */
function chooseValues(source: DialectSource, values: readonly Acting[]): ChosenPieces {
  const [first] = values;
  if (first === undefined) return NONE;
  const different = values.some((other) => !sameValue(other, first));
  if (!different) return { kind: 'taken', acting: [first] };
  const areOpen = values.every(({ form, piece }) => form === 'bare-json' && piece.fence === 0);
  if (areOpen && areTogether(source, values)) return taken(values);
  return { kind: 'ambiguous', acting: values };
}

function taken(acting: readonly Acting[]): ChosenPieces {
  const [first, ...others] = acting;
  return first === undefined ? NONE : { kind: 'taken', acting: [first, ...others] };
}

function sameValue({ piece: { found: a } }: Acting, { piece: { found: b } }: Acting): boolean {
  return a.kind === 'value' && b.kind === 'value' && jsonEquals(a.candidate.value, b.candidate.value);
}

/** The first group of calls counts; what comes later, behind prose, is an explanation. */
function adjacentTo(source: DialectSource, first: Acting, same: readonly Acting[]): readonly Acting[] {
  const group: Acting[] = [first];
  for (const next of same.slice(1)) {
    if (!isGlue(source.text, group.at(-1)?.piece.to ?? 0, next.piece.from)) break;
    group.push(next);
  }
  return group;
}

/** The whole message is what acts: one format, nothing else but thoughts, one fence and end marks. */
function chooseWhole(source: DialectSource, scan: Scan, acting: readonly Acting[]): ChosenPieces {
  const [first] = acting;
  if (
    first === undefined ||
    acting.some(({ form, piece }) => form !== first.form || piece.fence !== first.piece.fence)
  ) {
    return NONE;
  }
  if (
    !isAlone(
      source,
      scan,
      acting.map(({ piece }) => piece),
    )
  )
    return NONE;
  return first.piece.found.kind === 'value' ? chooseValues(source, acting) : taken(acting);
}

/** One call, or calls one after the other, with sentences around them that have ended. */
function chooseNarrated(source: DialectSource, scan: Scan, acting: readonly Acting[]): ChosenPieces {
  const whole = chooseWhole(source, scan, acting);
  if (whole.kind !== 'none') return whole;
  const able = acting.filter((one) => acts(one) && !isSample(one));
  const [first] = able;
  if (first === undefined) return NONE;
  if (first.piece.found.kind === 'block' && !first.piece.found.marked) return NONE;
  const distinct = able.filter((one, i) => i === 0 || !sameValue(one, first));
  if (distinct.some(({ form }) => form !== first.form)) return NONE;
  if (first.piece.found.kind === 'value' ? distinct.length > 1 : !areTogether(source, distinct)) return NONE;
  const last = distinct.at(-1) ?? first;
  if (!isNarrated(source, scan, first.piece, last.piece)) return NONE;
  return taken(distinct);
}

/** `{"answer": 42}` among words is data: an envelope that answers says what was thought. */
function isSample({ calls, envelope }: Acting): boolean {
  if (envelope === undefined || calls.length > 0 || envelope.plan !== undefined) return false;
  return envelope.thought === '' && envelope.goal === '';
}

function areTogether(source: DialectSource, acting: readonly Acting[]): boolean {
  return acting.every(({ piece }, i) => {
    const next = acting[i + 1]?.piece;
    return next === undefined || (piece.fence === next.fence && isGlue(source.text, piece.to, next.from));
  });
}

/**
 * The answer of a message that is nothing but an envelope with a text as its answer, a thought or a goal, and no other
 * field. It is read in every mode: it is never written for anything else.
 */
export function soleAnswer(source: DialectSource, scan: Scan, acting: readonly Acting[]): Acting | undefined {
  const [only, ...others] = acting;
  if (only === undefined || others.length > 0 || only.piece.found.kind !== 'value') return undefined;
  const { value } = only.piece.found.candidate;
  if (!isJsonObject(value) || typeof value['answer'] !== 'string' || value['answer'].trim() === '') return undefined;
  const { answer: _answer, thought, goal, ...rest } = value;
  const explains = typeof thought === 'string' || typeof goal === 'string';
  if (!explains || Object.keys(rest).length > 0 || !isAlone(source, scan, [only.piece])) return undefined;
  return only;
}
