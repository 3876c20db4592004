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
  readonly collapsed: boolean;
  readonly invokes: readonly string[];
  /** Labels of transitions that lead here from any state of the machine, with their ids. */
  readonly fromAnywhere: readonly LabelLine[];
}

/** One line of an arrow's label, for one transition. */
export interface LabelLine {
  readonly transition: string;
  readonly text: string;
}

/** Arrows with the same two ends share one line. */
export interface Route {
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
  readonly routes: readonly Route[];
  readonly entrances: readonly Entrance[];
}
