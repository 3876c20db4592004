/**
 * Owns: the players of a page, in their own thread, so that the page stays responsive however long a recording is. In a
 * saved page, which cannot start one, this script comes before the page's and provides the player.
 */
import { isJsonObject, type Json } from '../../../json/json.ts';
import type { Frame, StepDetail } from '../../frames/protocol.ts';
import { JournalPlayer } from './journal-player.ts';
import { type LineStream, lineStream } from './line-stream.ts';

/** What the page asks of its players; `token` opens the session's address. */
export type PlayerOrder =
  | { readonly do: 'resume'; readonly session: string; readonly token: string; readonly isNew: boolean }
  | { readonly do: 'pause' | 'drop'; readonly session: string }
  | { readonly do: 'detail'; readonly session: string; readonly n: number; readonly id: number }
  | {
      readonly do: 'try';
      readonly session: string;
      readonly entry: number;
      readonly outcome: Json;
      readonly id: number;
    };

/** What comes back: frames as they are made, the details of a step, and why an outcome cannot be. */
export type PlayerReply =
  | { readonly frames: readonly Frame[] }
  | { readonly id: number; readonly detail: StepDetail | null }
  | { readonly id: number; readonly refusal: string | null };

interface Playing {
  readonly player: JournalPlayer;
  readonly stream: LineStream;
}

/** Plays sessions as they are ordered, and posts what comes of it. */
function playSessions(post: (reply: PlayerReply) => void): (order: PlayerOrder) => void {
  const playing = new Map<string, Playing>();
  const begin = (session: string, token: string, isNew: boolean): Playing => {
    let made: Frame[] = [];
    const player = new JournalPlayer(session, (frame) => void made.push(frame));
    // This script lies in the folder of the page's files.
    const at = (part: string, from: number): string =>
      `../api/sessions/${encodeURIComponent(session)}/${part}?token=${encodeURIComponent(token)}&from=${from}`;
    let read = -1;
    const stream = lineStream(at, isNew, (lines, share) => {
      for (const line of lines) player.take(line);
      if (share !== read) made.push({ t: 'read', session, share });
      read = share;
      if (made.length > 0) post({ frames: made });
      made = [];
      return player.count;
    });
    const begun = { player, stream };
    playing.set(session, begun);
    return begun;
  };
  return (order) => {
    const known = playing.get(order.session);
    switch (order.do) {
      case 'resume':
        return (known ?? begin(order.session, order.token, order.isNew)).stream.resume();
      case 'pause':
        known?.stream.pause();
        return known?.player.rest();
      case 'drop':
        known?.stream.pause();
        return void playing.delete(order.session);
      case 'detail':
        return post({ id: order.id, detail: known?.player.detail(order.n) ?? null });
      case 'try':
        return post({ id: order.id, refusal: known?.player.refusal(order.entry, order.outcome) ?? null });
    }
  };
}

if (typeof document === 'undefined') {
  const take = playSessions((reply) => postMessage(reply));
  addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    if (isOrder(data)) take(data);
  });
} else {
  Object.assign(globalThis, { signalboxPlayer: JournalPlayer });
}

/** Orders come from our own page: beyond their shape they are taken as they are. */
function isOrder(value: unknown): value is PlayerOrder {
  return isJsonObject(value) && typeof value.do === 'string' && typeof value.session === 'string';
}
