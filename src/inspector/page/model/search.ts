import type { SessionModel } from './page-model.ts';
import type { SaidEvent } from './talk.ts';
import { escapedLine } from './escaped-text.ts';
import { excerptOf, findInRecord, wantedText } from '../../frames/record-search.ts';
import { lastUpTo } from './time-scale.ts';

/** A place that a search has found. */
export interface Hit {
  readonly position: number;
  readonly where: string;
  readonly excerpt: string;
}

/** More places than this help nobody. */
export const MOST_HITS = 200;

/** Looks for a text, ignoring case, in messages, requests, replies and prompts, and in steps. The first places, in order. */
export function search(session: SessionModel, query: string): readonly Hit[] {
  const wanted = wantedText(query);
  if (wanted === '') return [];
  const hits = [hitsInEvents, hitsInRecords, hitsInSteps].flatMap((look) => look(session, wanted));
  return hits.toSorted((one, other) => one.position - other.position).slice(0, MOST_HITS);
}

function hitsInEvents(session: SessionModel, wanted: string): readonly Hit[] {
  const hits: Hit[] = [];
  for (const told of session.told) {
    if (hits.length >= MOST_HITS) break;
    const excerpt = excerptOf(textOf(told), wanted);
    if (excerpt !== null)
      hits.push({ position: told.step, where: told.event.type, excerpt: escapedLine(excerpt, 160) });
  }
  return hits;
}

function hitsInRecords(session: SessionModel, wanted: string): readonly Hit[] {
  const hits: Hit[] = [];
  for (const [line, record] of session.records.entries()) {
    if (hits.length >= MOST_HITS) break;
    const found = record === undefined ? null : findInRecord(record, wanted);
    if (found === null) continue;
    hits.push({ position: stepOfLine(session, line), where: found.where, excerpt: escapedLine(found.excerpt, 160) });
  }
  return hits;
}

function hitsInSteps(session: SessionModel, wanted: string): readonly Hit[] {
  const hits: Hit[] = [];
  for (const [position, step] of session.steps.entries()) {
    if (hits.length >= MOST_HITS) break;
    const excerpt = excerptOf(`${step.actor} ${step.event} → ${step.to.join(', ')}`, wanted);
    if (excerpt !== null) hits.push({ position, where: 'step', excerpt: escapedLine(excerpt, 160) });
  }
  return hits;
}

/** The step of a line of the recording: the first that it caused, else the one in which it was written. */
export function stepOfLine({ steps }: Pick<SessionModel, 'steps'>, line: number): number {
  const before = lastUpTo(steps.length, (index) => steps[index]?.entry ?? 0, line - 1);
  return Math.max(0, steps[before + 1]?.entry === line ? before + 1 : before);
}

/** All text of an event: its strings, keys of arguments included. */
function textOf({ event }: SaidEvent): string {
  const { seq: _seq, replayed: _replayed, type: _type, ...said } = event;
  return JSON.stringify(said);
}
