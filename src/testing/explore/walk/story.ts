import type { Effect, Outcome, OutsideEvent } from '../../../actors/journal.ts';

/** One thing that happened on a path, as somebody outside of the machines sees it. Laws are judged by these alone. */
export type Happening =
  | { readonly kind: 'started'; readonly effect: Effect }
  | { readonly kind: 'settled'; readonly effect: Effect; readonly out: Outcome }
  | { readonly kind: 'fired'; readonly effect: Effect }
  | { readonly kind: 'told'; readonly event: OutsideEvent; readonly to: string | null }
  | {
      readonly kind: 'moved';
      readonly machine: string;
      readonly actor: string;
      readonly event: string;
      readonly from: string;
      readonly to: string;
      /** What the machine ended with; left out while it goes on. */
      readonly output?: unknown;
    };

/** The happenings of a path so far, oldest first. */
export type Story = readonly Happening[];

/** The path of the actor that started an effect: `agent/c1` for `agent/c1/callTool#2`. */
export function ownerOf(effect: Effect): string {
  return effect.id.slice(0, effect.id.lastIndexOf('/'));
}

/** True where a call's actor begins: its first move. */
export function isBirth(one: Happening): one is Extract<Happening, { readonly kind: 'moved' }> {
  return one.kind === 'moved' && one.machine === 'toolCall' && one.event === 'started' && one.from === 'RESOLVING';
}
