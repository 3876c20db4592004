import { sharedLines } from './timeline.ts';
import type { SessionModel } from './page-model.ts';
import { lastUpTo } from './time-scale.ts';

/** One arrow of the sequence diagram: which actor sent which event to which. `from` null: outside. */
export interface SequenceMessage {
  readonly position: number;
  readonly from: string | null;
  readonly to: string;
  readonly label: string;
  readonly kind: 'start' | 'event' | 'done' | 'failed' | 'timer';
}

/** The messages of a session: one for each step that an event made an actor take. */
export function messagesOf(session: SessionModel): readonly SequenceMessage[] {
  return session.steps.flatMap((step, position): readonly SequenceMessage[] => {
    const { actor, event } = step;
    const parent = session.actors.get(actor)?.info.parent ?? null;
    if (event === 'started') return [{ position, from: parent, to: actor, label: 'start', kind: 'start' }];
    if (event === '' || event === 'always') return [];
    if (event.startsWith('after')) return [{ position, from: actor, to: actor, label: event, kind: 'timer' }];
    const from = senderOf(session, actor, event, position);
    const below = from !== null && from !== parent;
    const kind = /\.(?:failed|denied|escalated|thrown)$/.test(event) ? 'failed' : below ? 'done' : 'event';
    return [{ position, from, to: actor, label: event, kind }];
  });
}

/**
 * The actor that sent a step's event, as it was reported; where it was not: the leaf that the event is named after
 * (`callTool.done`; a leaf is a part of its actor), the machine below it that made the transition before and is at its end, or its parent. Null: it came from
 * outside, as the recording says, or as it must be for a root.
 */
function senderOf(session: SessionModel, actor: string, event: string, position: number): string | null {
  const told = session.steps[position]?.sender;
  if (told !== undefined) return told;
  const named = /^(.+)\.(?:done|failed)$/.exec(event)?.[1];
  if (named !== undefined && session.actors.has(`${actor}/${named}`)) return `${actor}/${named}`;
  const entry = session.steps[position]?.entry ?? null;
  const record = entry === null ? undefined : session.records[entry];
  if (record?.t === 'event' && record.event.type === event) return null;
  const before = session.steps[position - 1];
  const child = before === undefined ? undefined : session.actors.get(before.actor);
  if (before === undefined || child?.info.parent !== actor)
    return named === undefined ? parentOf(session, actor) : actor;
  const now = lastUpTo(child.lives.length, (index) => child.lives[index]?.from, position) + 1;
  const over = child.lives.slice(Math.max(0, now - 3), now).some(({ to }) => to === position || to === position - 1);
  return over || named !== undefined ? before.actor : parentOf(session, actor);
}

function parentOf(session: SessionModel, actor: string): string | null {
  return session.actors.get(actor)?.info.parent ?? null;
}

/** The columns of a sequence diagram. */
export type Lifelines = ReturnType<typeof placeLifelines>;

/** Gives each actor a column. Actors of one kind that never live at the same time share one. */
export function placeLifelines(session: SessionModel) {
  const lines = sharedLines(session);
  const places = new Map<string, { readonly from: number; readonly column: number }[]>();
  for (const [column, { lives }] of lines.entries())
    for (const { track, life } of lives) {
      const { path } = track.info;
      const lived = places.get(path) ?? [];
      lived.push({ from: life.from, column });
      places.set(path, lived);
    }
  for (const lived of places.values()) lived.sort((a, b) => a.from - b.from);
  return {
    names: lines.map(({ name }) => name),
    /** The column of an actor in the life that it has at a position; null for one that is not shown. */
    columnOf: (path: string, position: number): number | null => {
      const known = places.get(path) ?? places.get(path.slice(0, path.lastIndexOf('/')));
      return (known?.findLast(({ from }) => from <= position + 1) ?? known?.[0])?.column ?? null;
    },
  };
}
