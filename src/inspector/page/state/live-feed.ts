import type { Frame } from '../../frames/protocol.ts';
import { readFrame } from './feed.ts';
import type { PageState } from './page-state.ts';
import { type SessionFeed, sessionFeed } from './session-feed.ts';

/** The streams that a page listens to: the list of sessions, and those sessions that somebody looks at. */
export interface LiveFeed {
  /**
   * Listens to these sessions from now on and to no others: a browser has few connections to a server. Who is listened to
   * again goes on where it was.
   */
  listen(sessions: readonly string[]): void;
}

/** Opens the stream of sessions. One that breaks is opened again by the browser. */
export function liveFeed(state: PageState, token: string, take: (frame: Frame) => void): LiveFeed {
  const at = (path: string, from: number): string =>
    `${path}?token=${encodeURIComponent(token)}${from === 0 ? '' : `&from=${from}`}`;

  const list = new EventSource(at('api/stream', 0));
  list.onopen = () => {
    state.link.value = 'open';
  };
  list.onerror = () => {
    state.link.value = 'lost';
  };
  list.onmessage = ({ data }) => {
    const frame = frameOf(data);
    if (frame !== null) take(frame);
  };

  const heard = new Map<string, SessionFeed>();
  return {
    listen: (sessions) => {
      for (const [session, feed] of heard) if (!sessions.includes(session)) feed.pause();
      for (const session of sessions) {
        const path = `api/sessions/${encodeURIComponent(session)}`;
        const feed = heard.get(session) ?? sessionFeed((part, from) => at(`${path}/${part}`, from), take);
        heard.set(session, feed);
        feed.resume();
      }
    },
  };
}

function frameOf(data: unknown): Frame | null {
  return typeof data === 'string' ? readFrame(data) : null;
}
