/**
 * Owns: storing the messages before a run once for a whole conversation, however many runs it has.
 *
 * I1 A history is a list that only grows. The head of a run names it, and the part of it that the run began with.
 * I2 Messages are stored before the head that names them.
 * I3 Only the store that began a history adds to it; another process begins its own.
 */
import { RecordingError } from './journal-error.ts';
import type { Message } from '../../actors/model.ts';
import { digest } from '../../json/digest.ts';
import { parsedText } from '../../json/json.ts';
import { LARGE } from './blobs.ts';
import { sumOf, withSum } from './checksums.ts';

/** What stands in a stored head in the place of its starting history: the messages from `from` to before `to` of that list. */
export interface HistoryPart {
  readonly $history: string;
  readonly from: number;
  readonly to: number;
}

/** A part of a history, and the messages that must be added to it first. */
export interface StoredPart {
  readonly part: HistoryPart;
  readonly added: readonly Message[];
}

/** The histories that one store has begun. */
export interface Histories {
  /** Where the starting history of a run is stored; null if it is short enough for the run's head. */
  place(runId: string, history: readonly Message[]): StoredPart | null;
  /** A history was removed: nothing is added to it any more. */
  forget(id: string): void;
}

/** How many conversations are known at a time; one that comes back later begins a new history. */
const MOST_KNOWN = 50;

/** So many messages of a conversation are known, whatever a run of it begins with. */
const LEAST_KEPT = 1000;

/** The latest messages of a history, from one on, by which it is known again. */
interface Stored {
  readonly from: number;
  readonly digests: readonly string[];
}

/** A conversation that drops its oldest messages is known by those that it still has, and as many before them. */
function latest({ from, digests }: Stored, { length }: readonly Message[]): Stored {
  const dropped = Math.max(0, digests.length - Math.max(2 * length, LEAST_KEPT));
  return { from: from + dropped, digests: digests.slice(dropped) };
}

/** Finds out which conversation is continued, by its messages. */
export function createHistories(): Histories {
  const known = new Map<string, Stored>();
  return {
    forget: (id) => void known.delete(id),
    place: (runId, history) => {
      if (!isLarge(history)) return null;
      const digests = history.map((message) => factsOf(message).digest);
      for (const [id, stored] of known) {
        const at = placeIn(stored.digests, digests);
        if (at === null) continue;
        const beyond = stored.digests.length - at;
        const from = stored.from + at;
        known.delete(id);
        known.set(id, latest({ from: stored.from, digests: [...stored.digests, ...digests.slice(beyond)] }, history));
        return { part: { $history: id, from, to: from + history.length }, added: history.slice(beyond) };
      }
      const [oldest] = known.keys();
      if (known.size >= MOST_KNOWN && oldest !== undefined) known.delete(oldest);
      const id = `${runId}.${crypto.randomUUID().slice(0, 8)}`;
      known.set(id, { from: 0, digests });
      return { part: { $history: id, from: 0, to: history.length }, added: history };
    },
  };
}

/** Where a list begins in one that only grew: it lies within that list, or continues from its end. */
function placeIn(stored: readonly string[], digests: readonly string[]): number | null {
  const [first] = digests;
  if (first === undefined) return null;
  for (let from = stored.indexOf(first); from !== -1; from = stored.indexOf(first, from + 1)) {
    const shared = Math.min(digests.length, stored.length - from);
    let at = 1;
    while (at < shared && stored[from + at] === digests[at]) at++;
    if (at === shared) return from;
  }
  return null;
}

function isLarge(history: readonly Message[]): boolean {
  let size = 0;
  for (const message of history) {
    size += factsOf(message).size;
    if (size > LARGE) return true;
  }
  return false;
}

interface Facts {
  readonly size: number;
  readonly digest: string;
}

const facts = new WeakMap<Message, Facts>();

/** Kept for messages that cannot change: a conversation is looked at in each of its turns. */
function factsOf(message: Message): Facts {
  const before = facts.get(message);
  if (before !== undefined) return before;
  const text = JSON.stringify(message);
  const found = { size: text.length, digest: digest(text) };
  if (Object.isFrozen(message)) facts.set(message, found);
  return found;
}

/** The part that a stored head names in the place of its history; null for one that has its history itself. */
export function historyPartOf(head: object): HistoryPart | null {
  const history: unknown = Reflect.get(head, 'history');
  if (typeof history !== 'object' || history === null || Array.isArray(history)) return null;
  const { $history, from, to } = Object.fromEntries(Object.entries(history));
  return typeof $history === 'string' && isPlace(from) && isPlace(to) && from <= to ? { $history, from, to } : null;
}

function isPlace(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** Gives the lines of a history from `from` to before `to`, as many as there are. */
export type HistoryLines = (part: HistoryPart) => readonly string[];

/** A message as a line of a history, which has it at this place, from 0 on. */
export function messageLine(message: Message, at: number): string {
  return withSum(JSON.stringify(message), at + 1);
}

/**
 * A stored run with its starting history in its first line, if that is stored elsewhere; any other text unchanged.
 * Throws a {@link RecordingError} if the history is missing or damaged.
 */
export function withHistory(text: string, linesOf: HistoryLines): string {
  return beginningWith(text, (part) => messagesOf(part, linesOf(part)));
}

/** The same without the history: for a list, which shows nothing of it. */
export function withoutHistory(text: string): string {
  return beginningWith(text, () => []);
}

function beginningWith(text: string, historyOf: (part: HistoryPart) => readonly unknown[]): string {
  const found = storedHead(text);
  if (found === null) return text;
  const { head, part, rest, summed } = found;
  const whole = JSON.stringify({ ...head, history: historyOf(part) });
  return (summed ? withSum(whole, 1) : whole) + rest;
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
  // A damaged line is reported by its reader.
  if (sum?.holds === false) return null;
  const head: unknown = parsedText(sum?.text ?? line.trim());
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
    return parsedText(sum.text);
  });
}

/** A run whose starting history cannot be read. */
export function damagedHistory(id: string, what: string): RecordingError {
  return new RecordingError(1, `begins with a part of histories/${id}.jsonl, and ${what}.`);
}
