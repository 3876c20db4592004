import { type Json, isJsonObject } from '../parsing/json.ts';

/** Where a replay left its recording. */
export interface Divergence {
  /** Number of the record, counted from 1, the head included; also its line in a file. */
  readonly entry: number;
  /** The machine's state at that moment. */
  readonly state: string;
  readonly expected: string;
  readonly actual: string;
  /** The first place in which the two requests differ, and how; empty where they are of different kinds. */
  readonly difference: string;
}

/**
 * A replay came to a point at which the code does something else than was recorded: a prompt or a tool was edited, or the
 * code changed. Thrown by the replay and never seen by the machine.
 */
export class ReplayDivergenceError extends Error {
  override readonly name = 'ReplayDivergenceError';
  readonly code = 'replay-divergence';
  readonly entry: number;
  readonly state: string;
  readonly expected: string;
  readonly actual: string;
  readonly difference: string;

  constructor(divergence: Divergence) {
    super(textOf(divergence));
    this.entry = divergence.entry;
    this.state = divergence.state;
    this.expected = divergence.expected;
    this.actual = divergence.actual;
    this.difference = divergence.difference;
  }
}

function textOf({ entry, state, expected, actual, difference }: Divergence): string {
  const lines = [
    `The replay left the recording at entry ${entry}, in state ${state}.`,
    `  recorded: ${expected}`,
    `  now:      ${actual}`,
  ];
  if (difference !== '') lines.push(`  first difference: ${difference}`, `  likely cause: ${likelyCause(difference)}`);
  return lines.join('\n');
}

function likelyCause(difference: string): string {
  if (difference.startsWith('/messages/0/'))
    return 'the instructions or the system prompt were edited, or a tool that it lists';
  if (difference.startsWith('/tools')) return 'a tool was added, removed or edited';
  if (difference.startsWith('/messages/'))
    return 'the conversation came out differently: a text that Signalbox or a tool makes was changed';
  return 'the code or the options were changed';
}

/** The JSON Pointer of the first place where two values differ, with both values there; empty when they are equal. */
export function firstDifference(recorded: Json | undefined, now: Json | undefined, path = ''): string {
  if (Object.is(recorded, now)) return '';
  if (Array.isArray(recorded) && Array.isArray(now)) {
    const length = Math.max(recorded.length, now.length);
    return firstOf(
      Array.from({ length }, (_, index) => index),
      (index) => firstDifference(recorded[index], now[index], `${path}/${index}`),
    );
  }
  if (isJsonObject(recorded) && isJsonObject(now)) {
    const keys = [...new Set([...Object.keys(recorded), ...Object.keys(now)])];
    return firstOf(keys, (key) => firstDifference(recorded[key], now[key], `${path}/${key}`));
  }
  if (typeof recorded === 'string' && typeof now === 'string') return `${path}: ${aroundDifference(recorded, now)}`;
  return `${path}: ${shown(recorded)} → ${shown(now)}`;
}

function firstOf<T>(items: readonly T[], difference: (item: T) => string): string {
  for (const item of items) {
    const found = difference(item);
    if (found !== '') return found;
  }
  return '';
}

const SHOWN = 60;

function aroundDifference(recorded: string, now: string): string {
  let at = 0;
  while (at < recorded.length && recorded[at] === now[at]) at++;
  const from = Math.max(0, at - 20);
  const lead = from === 0 ? '' : '…';
  const piece = (text: string): string =>
    JSON.stringify(`${lead}${text.slice(from, from + SHOWN)}${text.length > from + SHOWN ? '…' : ''}`);
  return `${piece(recorded)} → ${piece(now)}`;
}

function shown(value: Json | undefined): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}
