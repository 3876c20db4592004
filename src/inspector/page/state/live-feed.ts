import { isJsonObject } from '../../../parsing/json.ts';
import type { Frame, FramePage } from '../../protocol.ts';
import { isFrame, readFrame } from './feed.ts';
import type { PageState } from './page-state.ts';

/** The streams that a page listens to: the list of sessions, and those sessions that somebody looks at. */
export interface LiveFeed {
  /** Listens to a session from now on. Listening to more than one is meant for comparing. */
  listen(session: string): void;
}

/**
 * Opens the stream of sessions. A stream that breaks is opened again by the browser and goes on where it was; where the
 * server left out frames because this page was too slow, they are asked for before the stream goes on.
 */
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

  const follow = (path: string, from: number): void => {
    const source = new EventSource(at(`${path}/stream`, from));
    let last = from;
    // Frames without a number, such as tokens, since the last that had one: a stream that goes on sends them again.
    let loose = 0;
    let again = 0;
    source.onopen = () => {
      again = loose;
      loose = 0;
    };
    source.onmessage = ({ data, lastEventId }) => {
      const frame = frameOf(data);
      if (frame === null) return;
      // Only what was cut out of the middle can be asked for; what came before a page joined is gone.
      if (frame.t === 'gap' && last > from) {
        source.close();
        void fill(path, last);
        return;
      }
      const number = lastEventId === '' ? last : Number(lastEventId);
      loose = number === last ? loose + 1 : 0;
      if (number > last) again = 0;
      last = number;
      if (loose === 0 || loose > again) take(frame);
    };
  };

  const fill = async (path: string, from: number): Promise<void> => {
    let next: number | null = from;
    let last = from;
    while (next !== null) {
      const page = await readPage(at(`${path}/frames`, next));
      if (page === null) break;
      for (const frame of page.frames) if (isFrame(frame)) take(frame);
      last = page.from + page.frames.length;
      next = page.frames.length === 0 ? null : page.next;
    }
    follow(path, last);
  };

  const heard = new Set<string>();
  return {
    listen: (session) => {
      if (heard.has(session)) return;
      heard.add(session);
      follow(`api/sessions/${encodeURIComponent(session)}`, 0);
    },
  };
}

function frameOf(data: unknown): Frame | null {
  return typeof data === 'string' ? readFrame(data) : null;
}

async function readPage(url: string): Promise<FramePage | null> {
  try {
    const response = await fetch(url);
    const value: unknown = response.ok ? await response.json() : null;
    return isFramePage(value) ? value : null;
  } catch {
    return null;
  }
}

function isFramePage(value: unknown): value is FramePage {
  return isJsonObject(value) && Array.isArray(value.frames) && typeof value.from === 'number';
}
