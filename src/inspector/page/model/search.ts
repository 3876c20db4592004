import type { SessionModel } from './page-model.ts';
import type { SaidEvent } from './talk.ts';
import { inertLine } from './inert-text.ts';

/** A place that a search has found. */
export interface Hit {
  readonly position: number;
  readonly where: string;
  readonly excerpt: string;
}

/** Looks for a text, ignoring case, in all that was said and in all steps. Ends after `most` places. */
export function search(session: SessionModel, query: string, most = 200): readonly Hit[] {
  const wanted = query.trim().toLowerCase();
  if (wanted === '') return [];
  const hits: Hit[] = [];
  for (const told of session.told) {
    if (hits.length >= most) return hits;
    const excerpt = excerptOf(textOf(told), wanted);
    if (excerpt !== null) hits.push({ position: told.step, where: told.event.type, excerpt });
  }
  for (const [position, step] of session.steps.entries()) {
    if (hits.length >= most) return hits;
    const excerpt = excerptOf(`${step.actor} ${step.event} → ${step.to.join(', ')}`, wanted);
    if (excerpt !== null) hits.push({ position, where: 'step', excerpt });
  }
  return hits;
}

/** All text of an event: its strings, keys of arguments included. */
function textOf({ event }: SaidEvent): string {
  const { seq: _seq, replayed: _replayed, type: _type, ...said } = event;
  return JSON.stringify(said);
}

function excerptOf(text: string, wanted: string): string | null {
  const at = text.toLowerCase().indexOf(wanted);
  if (at < 0) return null;
  const from = Math.max(0, at - 40);
  return `${from > 0 ? '…' : ''}${inertLine(text.slice(from, at + wanted.length + 80), 160)}`;
}
