/** A point of the drawing, in its own units (CSS pixels at zoom 1). */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A state as a box. `collapsed`: it has children that are not drawn. */
export interface StateBox extends Point {
  readonly path: string;
  readonly name: string;
  readonly width: number;
  readonly height: number;
  readonly depth: number;
  readonly kind: 'atomic' | 'compound' | 'parallel' | 'final' | 'history';
  /** One of several that are active at a time: drawn with a dashed border. */
  readonly region: boolean;
  /** The sign of a history state, `H` or `H*`; null for all others. */
  readonly history: string | null;
  readonly collapsed: boolean;
  readonly invokes: readonly string[];
  /** Labels of transitions that lead here from any state of the machine, with their ids. */
  readonly fromAnywhere: readonly LabelLine[];
}

/** One line of an arrow's label, for one transition. `whole`: what it would say if there were room. */
export interface LabelLine {
  readonly transition: string;
  readonly text: string;
  readonly whole?: string;
}

/** Arrows with the same two ends share one line. */
export interface ChartRoute {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly points: readonly Point[];
  readonly transitions: readonly string[];
  /** What it says, a line for each different transition. */
  readonly lines: readonly LabelLine[];
  /** Where room was made for its label; null in a drawing without labels. */
  readonly label: (Point & { readonly width: number; readonly lines: readonly LabelLine[] }) | null;
}

/** Where a level of states begins: a dot, and the line to its initial state. */
export interface Entrance {
  readonly dot: Point;
  readonly points: readonly Point[];
}

/** A machine, laid out. */
export interface ChartLayout {
  readonly width: number;
  readonly height: number;
  readonly states: readonly StateBox[];
  readonly routes: readonly ChartRoute[];
  readonly entrances: readonly Entrance[];
}

/** How a machine is to be drawn. States whose path is in `collapsed` are drawn without their children. */
export interface ChartStyle {
  readonly collapsed: ReadonlySet<string>;
  readonly direction: 'RIGHT' | 'DOWN';
  /** Room is made for all labels; otherwise arrows that end in the same place share a track. */
  readonly labels: boolean;
}

/** What a layout is kept under: the same drawing in the same style is laid out once, here and in later visits. */
export function layoutKey(hash: string, { direction, labels, collapsed }: ChartStyle): string {
  return [hash, direction, labels ? 'labels' : 'plain', ...[...collapsed].sort()].join('|');
}
