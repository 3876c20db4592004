import { guardLabel, inWords } from '../frames/names.ts';
import type { StateDrawing, TransitionDrawing } from '../frames/protocol.ts';

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
