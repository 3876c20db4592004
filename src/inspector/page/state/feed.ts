import { batch } from '@preact/signals';
import { type Frame, type FramePage, PROTOCOL } from '../../frames/protocol.ts';
import { isJsonObject, parsedText } from '../../../json/json.ts';
import type { PageState } from './page-state.ts';
import { SessionSource } from '../player/line-stream.ts';
import { fetchJson, type Players } from './desk.ts';

/** How long folding may take of one animation frame, in milliseconds: the rest of its 16 is for drawing. */
const BUDGET_MS = 6;
/** With more frames than this to come, a recording is being loaded: it is drawn now and then, and folded for longer. */
const FAR_BEHIND = 500;
const LOADING_BUDGET_MS = 12;
const LOADING_PACE_MS = 250;
/** Runs of more steps than this are looked at as a whole only so often. */
const LONG_RUN = 1500;
const SLOW_MS = 300;

/** A page that is drawn within this many milliseconds keeps up with the screen. */
const SMOOTH_MS = 24;

/**
 * Takes frames as fast as they come and folds them in step with the screen, never more than a part of each animation
 * frame: a flood shows late rather than freezing the page. What it costs to draw what has come is watched too: where that
 * is more than the screen allows, at most half of the time goes into it. In a hidden page a clock stands in for the screen,
 * which browsers soon slow down to one tick a minute: each takes all that has come.
 */
export function frameFeed(state: PageState): (frame: Frame) => void {
  let queue: Frame[] = [];
  let waiting = false;
  let slowAt = 0;
  /** Something was folded that is not drawn yet. */
  let fresh = false;
  let drawnAt: number | null = null;
  let restUntil = 0;
  /** When it was drawn last. */
  let latestAt = 0;

  const fold = (): void => {
    const budget = queue.length > FAR_BEHIND ? LOADING_BUDGET_MS : BUDGET_MS;
    const until = document.hidden ? Infinity : performance.now() + budget;
    let done = 0;
    while (done < queue.length && (done % 32 !== 0 || performance.now() < until)) {
      const frame = queue[done++];
      if (frame !== undefined) state.model.add(frame);
    }
    queue = queue.slice(done);
    fresh ||= done > 0;
  };
  const draw = (): void =>
    batch(() => {
      state.revision.value += 1;
      const now = performance.now();
      const long = (state.session.peek()?.steps.length ?? 0) > LONG_RUN;
      if (!long || queue.length === 0 || now - slowAt > SLOW_MS) {
        slowAt = now;
        state.slowRevision.value += 1;
      }
    });
  const drawNext = (): void => {
    waiting = false;
    const begun = performance.now();
    const took = drawnAt === null ? 0 : begun - drawnAt;
    if (took > SMOOTH_MS) restUntil = begun + took;
    drawnAt = null;
    fold();
    if (fresh && begun >= restUntil && (queue.length <= FAR_BEHIND || begun >= latestAt + LOADING_PACE_MS)) {
      fresh = false;
      drawnAt = begun;
      latestAt = begun;
      draw();
    }
    // One more look at the clock after the last drawing shows what it took.
    if (queue.length > 0 || fresh || drawnAt !== null) wait();
  };
  const wait = (): void => {
    if (waiting) return;
    waiting = true;
    if (document.hidden) setTimeout(drawNext, 200);
    else requestAnimationFrame(drawNext);
  };
  // The screen asks no more for what a page was waiting to draw when it was hidden.
  document.onvisibilitychange = drawNext;

  return (frame) => {
    queue.push(frame);
    wait();
  };
}

/** Frames come from our own server or from a page that it saved: they are taken as they are. One of a later kind changes nothing. */
export function isFrame(value: unknown): value is Frame {
  return isJsonObject(value) && typeof value.t === 'string';
}

interface FeedOptions {
  readonly token: string;
  readonly take: (frame: Frame) => void;
  readonly players: Players;
}

/** All that a server has of the sessions of another. */
const NO_SESSIONS: Frame = { t: 'hello', protocol: PROTOCOL, version: '', sessions: [] };

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

/** Parses one frame; null for anything else. */
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
  return {
    resume: () => players.resume(session, isNew),
    pause: () => players.pause(session),
  };
}

/**
 * A session's frames, each passed on once and in order. A stream that breaks is opened again by the browser and continues where
 * it was; where the server left out frames because this page was too slow, they are asked for before the stream continues.
 */
function sessionFeed(at: (part: string, from: number) => string, take: (frame: Frame) => void): SessionFeed {
  const source = new SessionSource();
  let last = 0;

  const open = (): void => {
    const from = last;
    source.open(at('stream', from)).onmessage = ({ data, lastEventId }) => {
      const frame = frameOf(data);
      if (frame === null) return;
      // Only what was cut out of the middle can be asked for; what came before a page joined is gone.
      if (frame.t === 'gap' && last > from) return void fill();
      last = lastEventId === '' ? last : Number(lastEventId);
      take(frame);
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
