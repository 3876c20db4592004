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

/** How far the lists of a run were looked through, and what was found: what comes later is looked for there alone. */
interface Looked {
  readonly wanted: string;
  readonly lists: readonly (SearchedList & { done: number; readonly found: Found[] })[];
}

/** `at`: a position, or a line of the recording, of which the steps may be yet to come. */
interface Found extends Omit<Hit, 'position'> {
  readonly at: number;
}

const looked = new WeakMap<SessionModel, Looked>();

/** Looks for a text, ignoring case, in messages, requests, replies and prompts, and in steps. The first places, in order. */
export function search(session: SessionModel, query: string): readonly Hit[] {
  const wanted = wantedText(query);
  if (wanted === '') return [];
  let known = looked.get(session);
  if (known?.wanted !== wanted) known = { wanted, lists: LISTS.map((list) => ({ ...list, done: 0, found: [] })) };
  looked.set(session, known);
  const hits = known.lists.flatMap((list) => {
    const { found, countOf, look, positionOf } = list;
    for (; list.done < countOf(session) && found.length < MOST_HITS; list.done++) {
      const one = look(session, list.done, wanted);
      if (one !== null) found.push({ ...one, excerpt: escapedLine(one.excerpt, 160) });
    }
    return found.map(({ at, ...hit }) => ({ ...hit, position: positionOf?.(session, at) ?? at }));
  });
  return hits.toSorted((one, other) => one.position - other.position).slice(0, MOST_HITS);
}

/** One of the lists that a run consists of. */
interface SearchedList {
  readonly countOf: (session: SessionModel) => number;
  readonly look: (session: SessionModel, index: number, wanted: string) => Found | null;
  readonly positionOf?: (session: SessionModel, at: number) => number;
}

const LISTS: readonly SearchedList[] = [
  {
    countOf: ({ told }) => told.length,
    look: ({ told }, index, wanted) => {
      const said = told[index];
      const excerpt = said === undefined ? null : excerptOf(textOf(said), wanted);
      return said === undefined || excerpt === null ? null : { at: said.step, where: said.event.type, excerpt };
    },
  },
  {
    countOf: ({ records }) => records.length,
    look: ({ records }, line, wanted) => {
      const record = records[line];
      const found = record === undefined ? null : findInRecord(record, wanted);
      return found === null ? null : { at: line, ...found };
    },
    positionOf: stepOfLine,
  },
  {
    countOf: ({ steps }) => steps.length,
    look: ({ steps }, at, wanted) => {
      const { actor, event, to } = steps[at] ?? { actor: '', event: '', to: [] };
      const excerpt = excerptOf(`${actor} ${event} → ${to.join(', ')}`, wanted);
      return excerpt === null ? null : { at, where: 'step', excerpt };
    },
  },
];

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
