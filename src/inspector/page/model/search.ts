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

/** Looks for a text, ignoring case, in messages, requests, replies and prompts, and in steps. Ends after `most` places. */
export function search(session: SessionModel, query: string, most = 200): readonly Hit[] {
  const wanted = wantedText(query);
  if (wanted === '') return [];
  const hits: Hit[] = [];
  for (const told of session.told) {
    if (hits.length >= most) return hits;
    const excerpt = excerptOf(textOf(told), wanted);
    if (excerpt !== null)
      hits.push({ position: told.step, where: told.event.type, excerpt: escapedLine(excerpt, 160) });
  }
  for (const [line, record] of session.records.entries()) {
    if (hits.length >= most) return hits;
    const found = record === undefined ? null : findInRecord(record, wanted);
    if (found === null) continue;
    hits.push({ position: stepOfLine(session, line), where: found.where, excerpt: escapedLine(found.excerpt, 160) });
  }
  for (const [position, step] of session.steps.entries()) {
    if (hits.length >= most) return hits;
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
