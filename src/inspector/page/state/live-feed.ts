import { type Frame, type FramePage, PROTOCOL } from '../../frames/protocol.ts';
import { SessionSource } from '../player/line-stream.ts';
import { fetchJson } from './desk.ts';
import { isFrame } from './feed.ts';
import type { PageState } from './page-state.ts';
import { isJsonObject, parsedText } from '../../../json/json.ts';
import type { Players } from './players.ts';

interface FeedOptions {
  readonly token: string;
  readonly take: (frame: Frame) => void;
  readonly players: Players;
}

/** All that a server has of the sessions of another. */
const NO_SESSIONS: Frame = { t: 'hello', protocol: PROTOCOL, version: '', live: true, sessions: [] };

/** A stream that ends to make room for others is open again within this time, in milliseconds. */
const LOST_MS = 3000;
/** A session that has begun within this time is followed from its beginning, in milliseconds. */
const NEW_MS = 5000;

/** Whether a session has a recording, which is played here; else its frames come from the server. */
export function isPlayed({ model }: PageState, session: string): boolean {
  return model.sessions.get(session)?.info.kind !== 'system';
}

/** Opens the stream of sessions. One that breaks is opened again by the browser. */
export function liveFeed(state: PageState, { token, take, players }: FeedOptions) {
  const at = (path: string, from: number): string =>
    `${path}?token=${encodeURIComponent(token)}${from === 0 ? '' : `&from=${from}`}`;

  const list = new EventSource(at('api/stream', 0));
  let lost: ReturnType<typeof setTimeout> | undefined;
  list.onopen = () => {
    clearTimeout(lost);
    lost = undefined;
    state.link.value = 'open';
  };
  list.onerror = () => {
    const isRefused = list.readyState === EventSource.CLOSED;
    if (!isRefused) return void (lost ??= setTimeout(() => (state.link.value = 'lost'), LOST_MS));
    clearTimeout(lost);
    state.link.value = 'refused';
    take(NO_SESSIONS);
  };
  list.onmessage = ({ data }) => {
    const frame = frameOf(data);
    if (frame !== null) take(frame);
  };

  const heard = new Map<string, SessionFeed>();
  state.model.onDropped = (session) => {
    heard.get(session)?.pause();
    heard.delete(session);
    players.drop(session);
  };
  return {
    /** Listens to these sessions and to no others: a browser has few connections to a server. Each continues where it was. */
    listen: (sessions: readonly string[]): void => {
      for (const [session, feed] of heard) if (!sessions.includes(session)) feed.pause();
      for (const session of sessions) {
        const feed =
          heard.get(session) ??
          (isPlayed(state, session)
            ? playedFeed(state, session, players)
            : sessionFeed((part, from) => at(`api/sessions/${encodeURIComponent(session)}/${part}`, from), take));
        heard.set(session, feed);
        feed.resume();
      }
    },
  };
}

/** Parses one frame; null for anything that this page does not know. */
function frameOf(data: unknown): Frame | null {
  const value = typeof data === 'string' ? parsedText(data) : null;
  return isFrame(value) ? value : null;
}

interface SessionFeed {
  /** Listens, from after the last frame that was heard. A session that is over and was heard to its end is left alone. */
  resume(): void;
  pause(): void;
}

function playedFeed({ model }: PageState, session: string, players: Players): SessionFeed {
  const info = model.sessions.get(session)?.info;
  const isNew = info?.status === 'running' && Date.now() - Date.parse(info.at) < NEW_MS;
  let listening = false;
  return {
    resume: () => {
      if (!listening) players.resume(session, isNew);
      listening = true;
    },
    pause: () => {
      if (listening) players.pause(session);
      listening = false;
    },
  };
}

/**
 * A session's frames, each passed on once and in order. A stream that breaks is opened again by the browser and continues where
 * it was; where the server left out frames because this page was too slow, they are asked for before the stream continues.
 */
function sessionFeed(at: (part: string, from: number) => string, take: (frame: Frame) => void): SessionFeed {
  const source = new SessionSource();
  let last = 0;
  // Frames without a number, such as tokens, since the last that had one: a stream that continues sends them again.
  let loose = 0;
  let again = 0;

  const open = (): void => {
    const from = last;
    const stream = source.open(at('stream', from));
    stream.onopen = () => {
      again = loose;
      loose = 0;
    };
    stream.onmessage = ({ data, lastEventId }) => {
      const frame = frameOf(data);
      if (frame === null) return;
      // Only what was cut out of the middle can be asked for; what came before a page joined is gone.
      if (frame.t === 'gap' && last > from) return void fill();
      const number = lastEventId === '' ? last : Number(lastEventId);
      loose = number === last ? loose + 1 : 0;
      if (number > last) again = 0;
      last = number;
      if (loose === 0 || loose > again) take(frame);
    };
  };
  const fill = async (): Promise<void> => {
    source.close();
    const stopped = source.untilPaused();
    for (let next: number | null = last; next !== null;) {
      const page = await fetchJson(at('frames', next));
      if (stopped()) return;
      if (!isFramePage(page)) break;
      for (const frame of page.frames) if (isFrame(frame)) take(frame);
      last = page.from + page.frames.length;
      loose = 0;
      next = page.frames.length === 0 ? null : page.next;
    }
    open();
  };

  return {
    resume: () => {
      if (source.begin()) open();
    },
    pause: () => source.pause(),
  };
}

function isFramePage(value: unknown): value is FramePage {
  return isJsonObject(value) && Array.isArray(value.frames) && typeof value.from === 'number';
}
