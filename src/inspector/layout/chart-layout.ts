import { guardLabel, inWords } from '../frames/names.ts';
import type { StateDrawing, TransitionDrawing } from '../frames/protocol.ts';

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

/** What is left out of an arrow's text. */
export interface TextStyle {
  /** False: the transition's actions are not listed. */
  readonly actions?: boolean;
}

/**
 * What an arrow says in every drawing: `EVENT [guard] / action, action`, names in words. Empty for the only transition of a
 * state that needs no event; where several are tried, the one without a guard is `[otherwise]`.
 */
export function transitionText(
  { eventType, label, guard, actions }: TransitionDrawing,
  state: StateDrawing,
  { actions: withActions = true }: TextStyle = {},
): string {
  const guarded = guard ?? '';
  const parts = [
    ...(eventType === '' ? [] : [eventText(eventType, label)]),
    ...(guarded === '' ? [] : [`[${guardLabel(guarded)}]`]),
    ...(guarded === '' && eventType === '' && triesOthers(state) ? ['[otherwise]'] : []),
    ...(withActions && actions.length > 0 ? [`/ ${actions.map(inWords).join(', ')}`] : []),
  ];
  return parts.join(' ');
}

/** A coordinate as a drawing writes it. */
export function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}

/** The end of a text that is longer than its place is left out. */
export function ellipsis(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1).trimEnd()}…` : text;
}

/** The sign of a history state: `H`, or `H*` for one that remembers all levels. */
export function historySign({ history }: { readonly history?: 'shallow' | 'deep' }): string {
  return history === 'deep' ? 'H*' : 'H';
}

function eventText(eventType: string, label: string): string {
  const words = inWords(label);
  return eventType.startsWith('xstate.') ? words.replace(/\.(done|failed|changed)$/, ' $1') : words;
}

/** A history state has one transition, which nothing competes with. */
function triesOthers({ transitions }: StateDrawing): boolean {
  return transitions.filter(({ eventType }) => eventType === '').length > 1;
}
