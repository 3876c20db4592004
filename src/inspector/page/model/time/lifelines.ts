import type { SessionModel } from '../session-model.ts';

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
