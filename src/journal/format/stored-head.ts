import type { Message } from '../../actors/model.ts';
import { sumOf, withSum } from './checksums.ts';
import { type HistoryPart, historyPartOf } from './histories.ts';
import { RecordingError } from './recording.ts';

/** Gives the lines of a history from `from` to before `to`, as many as there are. */
export type HistoryLines = (part: HistoryPart) => readonly string[];

/** A message as a line of a history, which has it at this place, from 0 on. */
export function messageLine(message: Message, at: number): string {
  return withSum(JSON.stringify(message), at + 1);
}

/**
 * A stored run with its starting history in its first line, where that stands elsewhere; any other text as it is. Throws
 * a {@link RecordingError} where the history is not there, or damaged.
 */
export function withHistory(text: string, linesOf: HistoryLines): string {
  const found = storedHead(text);
  if (found === null) return text;
  const { head, part, rest, summed } = found;
  const whole = JSON.stringify({ ...head, history: messagesOf(part, linesOf(part)) });
  return (summed ? withSum(whole, 1) : whole) + rest;
}

/** The same without the history: for a list, which shows nothing of it. */
export function withoutHistory(text: string): string {
  const found = storedHead(text);
  if (found === null) return text;
  const whole = JSON.stringify({ ...found.head, history: [] });
  return (found.summed ? withSum(whole, 1) : whole) + found.rest;
}

/** The history that the first line of a run's file names. */
export function historyIdOf(line: string): string | null {
  return storedHead(line)?.part.$history ?? null;
}

const NAMES_HISTORY = '"history":{"$history":';

function storedHead(text: string) {
  const end = text.indexOf('\n');
  const line = end === -1 ? text : text.slice(0, end);
  if (!line.includes(NAMES_HISTORY)) return null;
  const sum = sumOf(line);
  // A line that is damaged is told of by whoever reads it.
  if (sum?.holds === false) return null;
  const head: unknown = parsed(sum?.text ?? line);
  if (typeof head !== 'object' || head === null) return null;
  const part = historyPartOf(head);
  return part === null ? null : { head, part, rest: text.slice(line.length), summed: sum !== null };
}

function messagesOf({ $history: id, from, to }: HistoryPart, lines: readonly string[]): readonly unknown[] {
  if (lines.length < to - from) throw damagedHistory(id, 'it is shorter than that');
  return lines.map((line, index) => {
    const sum = sumOf(line);
    if (sum?.holds !== true || sum.n !== from + index + 1)
      throw damagedHistory(id, `line ${from + index + 1} is damaged`);
    return parsed(sum.text);
  });
}

/** A run whose starting history cannot be read. */
export function damagedHistory(id: string, what: string): RecordingError {
  return new RecordingError(1, `begins with a part of histories/${id}.jsonl, and ${what}.`);
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
