import type { Frame } from '../../protocol.ts';
import { readFrame } from './feed.ts';
import type { PageState } from './page-state.ts';

/** The streams that a page listens to: the list of sessions, and those sessions that somebody looks at. */
export interface LiveFeed {
  /** Listens to a session from now on. Listening to more than one is meant for comparing. */
  listen(session: string): void;
}

/** Opens the stream of sessions. A stream that breaks is opened again by the browser and goes on where it was. */
export function liveFeed(state: PageState, token: string, take: (frame: Frame) => void): LiveFeed {
  const open = (path: string): EventSource => {
    const source = new EventSource(`${path}?token=${encodeURIComponent(token)}`);
    source.onmessage = ({ data }) => {
      const frame = typeof data === 'string' ? readFrame(data) : null;
      if (frame !== null) take(frame);
    };
    return source;
  };
  const list = open('api/stream');
  list.onopen = () => {
    state.link.value = 'open';
  };
  list.onerror = () => {
    state.link.value = 'lost';
  };
  const heard = new Set<string>();
  return {
    listen: (session) => {
      if (heard.has(session)) return;
      heard.add(session);
      open(`api/sessions/${encodeURIComponent(session)}/stream`);
    },
  };
}
