import type { SessionModel } from './page-model.ts';

/** One arrow of the sequence diagram: who told whom what. `from` null: somebody outside. */
export interface SequenceMessage {
  readonly position: number;
  readonly from: string | null;
  readonly to: string;
  readonly label: string;
  readonly kind: 'start' | 'event' | 'done' | 'failed' | 'timer';
}

/** The messages of a session: one for each step that something told an actor to make. */
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
 * Who an actor heard from at a step, as it was told; where it was not: the leaf that the event is named after (`callTool.done`; a leaf is a part of its
 * actor), the machine below it that made the move before and is at its end, or its parent. Null: somebody outside, as the
 * recording says, or as it must be for a root.
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
  const over = child.lives.some(({ to }) => to === position || to === position - 1);
  return over || named !== undefined ? before.actor : parentOf(session, actor);
}

function parentOf(session: SessionModel, actor: string): string | null {
  return session.actors.get(actor)?.info.parent ?? null;
}

/** The columns of a sequence diagram. */
export interface Lifelines {
  readonly names: readonly string[];
  /** The column of an actor in the life that it has at a position; null for one that is not shown. */
  columnOf(path: string, position: number): number | null;
}

/** Gives each actor a column. Actors of one kind that never live at the same time share one. */
export function placeLifelines(session: SessionModel): Lifelines {
  const columns: { kind: string; name: string; busyUntil: number }[] = [];
  const places = new Map<string, { from: number; column: number }[]>();
  const lives = [...session.actors.values()]
    .filter(({ info }) => info.drawing !== null)
    .flatMap((track) => track.lives.map((life) => ({ track, life })))
    .sort((a, b) => a.life.from - b.life.from);
  for (const { track, life } of lives) {
    const { path, src, parent } = track.info;
    const kind = `${(parent ?? '').replaceAll(/\d+/g, '#')}/${src}`;
    let column = columns.findIndex((one) => one.kind === kind && one.busyUntil < life.from);
    if (column < 0) column = columns.push({ kind, name: src, busyUntil: 0 }) - 1;
    const taken = columns[column];
    if (taken !== undefined) taken.busyUntil = life.to ?? Infinity;
    places.set(path, [...(places.get(path) ?? []), { from: life.from, column }]);
  }
  return {
    names: columns.map(({ name }) => name),
    columnOf: (path, position) => {
      const known = places.get(path) ?? places.get(path.slice(0, path.lastIndexOf('/')));
      return (known?.findLast(({ from }) => from <= position + 1) ?? known?.[0])?.column ?? null;
    },
  };
}
