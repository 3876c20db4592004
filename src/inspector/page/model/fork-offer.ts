import type { SessionInfo } from '../../frames/protocol.ts';

/** Whether the page can fork a run from one of its steps, or why not. */
export type ForkOffer =
  | { readonly kind: 'offered'; readonly entry: number }
  | { readonly kind: 'refused'; readonly entry: number; readonly why: string }
  /** Nothing was recorded at this step: nobody expects to go on from here. */
  | { readonly kind: 'none' };

/** What stands in the place of the fork button. `live` is false in a page that was saved. */
export function forkOffer(info: Pick<SessionInfo, 'kind' | 'can'>, entry: number | null, live: boolean): ForkOffer {
  if (entry === null) return { kind: 'none' };
  if (live && info.can.includes('fork')) return { kind: 'offered', entry };
  const refused = (why: string): ForkOffer => ({ kind: 'refused', entry, why });
  if (!live) return refused('This page was saved, and no agent stands behind it.');
  if (info.kind === 'recording') return refused('This is a recording, and the agent that made it is not here.');
  return refused('Its agent does not offer it.');
}
