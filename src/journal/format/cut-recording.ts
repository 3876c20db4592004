import { wrongOption } from '../../json/known-options.ts';
import { RecordingError } from './journal-error.ts';
import { checkReply } from '../../actors/check-reply.ts';
import type { Effect, Outcome } from '../../actors/journal.ts';
import { isJsonObject, type Json, type JsonObject, parsedText, plainJson } from '../../json/json.ts';
import { describeThrown } from '../../json/to-json.ts';
import { sumOf } from './checksums.ts';
import { entryRecord, recordedEntry, type RecordLine } from './record.ts';
import { lineNumber, readRecording, type Recording } from './recording.ts';

/** A recording in two parts. */
export interface CutRecording {
  /** Up to the cut, without an end. */
  readonly past: Recording;
  /** What the recording holds after the cut. */
  readonly rest: readonly RecordLine[];
  /** The number of the last record of the past that is unchanged in the recording. */
  readonly entry: number;
}

/**
 * Cuts a recording right behind the record of a number, counted from 1, the head included. With an `outcome`, that record
 * (an outcome, or the start of a leaf) gets this outcome instead. Throws a `TypeError` for a number that is not that of a
 * record before the end, and for an outcome of a record that has none.
 */
export function cutRecording(recording: Recording, at: number, outcome?: Outcome): CutRecording {
  const { head, lines } = recording;
  const end = lines.findIndex(({ t }) => t === 'end');
  const last = end === 0 || lines.length === 0 ? 1 : lineNumber(recording, (end === -1 ? lines.length : end) - 1);
  if (!Number.isInteger(at) || at < 1 || at > last)
    throw wrongOption(`The recording can be cut after its records 1 to ${last}, and not after ${at}.`);
  const count = lines.filter((_, index) => lineNumber(recording, index) <= at).length;
  const [kept, rest] = [lines.slice(0, count), lines.slice(count)];
  const past = (pastLines: readonly RecordLine[]): Recording => ({ ...recording, lines: pastLines });
  if (outcome === undefined) return { past: past(kept), rest, entry: at };
  const changed = (id: string, was: number): RecordLine =>
    entryRecord({ t: 'outcome', id, out: checkedOutcome(id, outcome) }, was);
  const edited = count === 0 || lineNumber(recording, count - 1) !== at ? undefined : kept.at(-1);
  if (edited?.t === 'outcome') {
    const shared = [...kept.slice(0, -1), changed(edited.id, edited.at)];
    return { past: past(shared), rest, entry: count < 2 ? 1 : lineNumber(recording, count - 2) };
  }
  if (edited?.t !== 'start' || edited.ms !== undefined)
    throw wrongOption(
      `Record ${at} of ${head.runId} is neither an outcome nor the start of a call, so it has no outcome to change.`,
    );
  // Everything that was started together stays together.
  const behind = lines.findIndex(({ t }, index) => index >= count && t !== 'start');
  const starts = lines.slice(0, behind === -1 ? lines.length : behind);
  const others = lines.slice(starts.length).filter((line) => !(line.t === 'outcome' && line.id === edited.id));
  const begun = past([...starts, changed(edited.id, edited.at)]);
  return { past: begun, rest: others, entry: lineNumber(recording, starts.length - 1) };
}

/** A model's turn may only give what a model can: its machine has nothing else to expect. */
function checkedOutcome(id: string, outcome: Outcome): Outcome {
  const given: { readonly ok?: unknown; readonly value?: unknown; readonly error?: unknown } = Object(outcome);
  if (given.ok === true ? given.value === undefined : given.ok !== false || !isJsonObject(given.error))
    throw wrongOption("Option 'outcome' must be { ok: true, value } or { ok: false, error: { code, message } }.");
  if (!outcome.ok || !id.includes('/callLlm#')) return outcome;
  try {
    return { ok: true, value: plainJson(checkReply(outcome.value)) };
  } catch (error) {
    throw wrongOption(`Option 'outcome': ${describeThrown(error).message}`, { cause: error });
  }
}

/**
 * What a person wrote as the outcome of a record: one as the recording writes it, else what the work gave. Where that has an
 * `ok` of its own, only one around another is the recording's.
 */
export function writtenOutcome(json: Json, record: RecordLine | undefined): Outcome {
  if (hasOk(json) && json.ok === true && json.value !== undefined) {
    const isWork = record?.t === 'outcome' && record.ok && hasOk(record.value) && !hasOk(json.value);
    return { ok: true, value: isWork ? json : json.value };
  }
  const error = hasOk(json) && json.ok === false && isJsonObject(json.error) ? json.error : null;
  if (error !== null && typeof error.code === 'string' && typeof error.message === 'string')
    return { ok: false, error: { code: error.code, message: error.message } };
  return { ok: true, value: json };
}

function hasOk(json: Json): json is JsonObject {
  return isJsonObject(json) && typeof json.ok === 'boolean';
}

/** Finds the outcomes after a cut for what was in flight there. */
export function outcomesOf(rest: readonly RecordLine[]): (effect: Pick<Effect, 'id'>) => KnownOutcome | undefined {
  const known = new Map<string, KnownOutcome>();
  for (const [order, line] of rest.entries()) {
    const entry = recordedEntry(line);
    if (entry?.t === 'outcome' && !known.has(entry.id)) known.set(entry.id, { out: entry.out, order });
  }
  return (effect) => known.get(effect.id);
}

/** The result of repairing a damaged run: it now ends before the first damage. */
export interface RepairedRun {
  /** How many lines are left, and how many were cut off; 0: there was no damage. */
  readonly kept: number;
  readonly lost: number;
  /** What was wrong, with the number of the line; null: nothing. */
  readonly damage: string | null;
  /** Tools whose calls came after the damage, as far as that can still be read: resuming the run may repeat them. */
  readonly calls: readonly string[];
}

/** The beginning of damaged lines that is whole. */
export interface WholePart {
  readonly recording: Recording;
  readonly repaired: RepairedRun;
}

/** Finds how much of a run's lines is whole. Throws a `RecordingError` when not even the first is. */
export function wholePart(lines: readonly string[]): WholePart {
  let count = lines.length;
  let damage: RecordingError | null = null;
  for (;;) {
    try {
      const recording = readRecording(lines.slice(0, count), { torn: false });
      const calls = lines.slice(count).flatMap(calledTool);
      const lost = lines.length - count;
      return {
        recording,
        repaired: { kept: count, lost, damage: damage?.message ?? null, calls: [...new Set(calls)] },
      };
    } catch (error) {
      if (!(error instanceof RecordingError) || error.line === 1) throw error;
      damage = error;
      count = error.line - 1;
    }
  }
}

function calledTool(line: string): readonly string[] {
  const record = parsedText(sumOf(line)?.text ?? line);
  if (!isJsonObject(record) || record.name !== 'callTool' || !isJsonObject(record.request)) return [];
  return typeof record.request.tool === 'string' ? [record.request.tool] : [];
}

/** An outcome from elsewhere, and its place among others of that kind. */
export interface KnownOutcome {
  readonly out: Outcome;
  readonly order: number;
}
