import { effect } from '@preact/signals';
import { render } from 'preact';
import { frameFeed, isFrame, isPlayed, liveFeed } from './state/feed.ts';
import { keepFocus, listenToKeys } from './state/keys.ts';
import { prepareLayouts } from './state/layouts.ts';
import { type Desk, isStepDetail, liveDesk, workerPlayers } from './state/desk.ts';
import { acceptDrops, compareWith } from './state/orders.ts';
import { type Page, PageContext, pageState } from './state/page-state.ts';
import { runPlayer } from './state/walk.ts';
import { isJsonObject } from '../../json/json.ts';
import { type Frame, PROTOCOL, type SavedPage, type SavedSession, type StepDetail } from '../frames/protocol.ts';
import { unshare } from '../frames/shared-json.ts';
import { JournalPlayer } from './player/journal-player.ts';
import { linesIn, takeInSlices } from './player/line-stream.ts';
import { followNewest } from './state/newest.ts';
import { App } from './views/App.tsx';
import { applyTheme } from './views/parts/use-screen.ts';

const TOKEN = 'signalbox-token';

start();

/** Opens the page: live with a server behind it, or with what was saved in it. */
function start(): void {
  const state = pageState();
  const take = frameFeed(state);
  const saved = readSaved();
  const token = saved === null ? takeToken() : '';
  const players = workerPlayers(token, take);
  if (saved === null) {
    players.prepare();
    prepareLayouts();
  }
  const playerOf = (session: string) => (isPlayed(state, session) ? players : null);
  const page: Page = { state, desk: saved?.desk ?? liveDesk(token, playerOf) };
  if (saved === null) {
    const feed = liveFeed(state, { token, take, players });
    effect(() => {
      const shown = state.session.value?.info.id;
      feed.listen([shown, state.other.value].filter((id) => typeof id === 'string'));
    });
  } else {
    state.link.value = 'saved';
    state.chosen.value = saved.session;
    if (saved.beside !== null) compareWith(state, saved.beside);
    saved.show(take);
  }
  applyTheme();
  followNewest(state);
  runPlayer(state);
  listenToKeys(page);
  keepFocus();
  acceptDrops(page);
  const root = document.getElementById('page');
  if (root === null) return;
  root.replaceChildren();
  render(
    <PageContext.Provider value={page}>
      <App />
    </PageContext.Provider>,
    root,
  );
}

/** The token that the page was opened with. It leaves the address, which people show to others, and stays with this tab. */
function takeToken(): string {
  const given = new URLSearchParams(location.search).get('token');
  try {
    if (given === null) return sessionStorage.getItem(TOKEN) ?? '';
    sessionStorage.setItem(TOKEN, given);
    history.replaceState(null, '', `${location.pathname}${location.hash}`);
  } catch {
    // Without storage it stays in the address, or a reload would lose it.
  }
  return given ?? '';
}

/** Reads what was saved in a page; null for a page with a server behind it. */
function readSaved() {
  const text = document.getElementById('signalbox-saved')?.textContent;
  if (text === undefined || text === '') return null;
  const value: unknown = JSON.parse(text);
  if (!isSaved(value)) return null;
  const shown = new Map(value.sessions.map((saved) => [saved.info.id, savedSession(saved)]));
  const [first, other] = value.sessions;
  const refused = { ok: false, message: 'This page was saved: nothing can be changed in it.' } as const;
  const desk: Desk = {
    acts: false,
    detail: async (session, step) => shown.get(session)?.detail(step) ?? null,
    act: async () => refused,
    search: async () => null,
    open: async () => refused,
    address: () => location.href,
    links: () => null,
  };
  return {
    desk,
    /** The ids of the session that the page is about, and of the one it is compared with; null for none. */
    session: first?.info.id ?? null,
    beside: other?.info.id ?? null,
    /** Passes on the frames of all sessions: those of recordings as they are played. */
    show: (take: (frame: Frame) => void) => {
      const sessions = [...shown.keys()];
      take({ t: 'hello', protocol: PROTOCOL, version: value.version, sessions });
      for (const { info } of value.sessions) take({ t: 'session', session: info });
      for (const { show } of shown.values()) show(take);
    },
  };
}

interface ShownSession {
  show(take: (frame: Frame) => void): void;
  detail(step: number): StepDetail | null;
}

function savedSession(saved: SavedSession): ShownSession {
  if ('frames' in saved)
    return { show: (take) => saved.frames.filter(isFrame).forEach(take), detail: detailReader(saved) };
  let taken = 0;
  let give = (_frame: Frame): void => undefined;
  const player = new JournalPlayer(saved.info.id, (frame) => give(frame));
  const lines = linesIn(saved.lines);
  const play = (some: readonly string[]): void => {
    for (const line of some) player.take(line);
    taken += some.length;
    give({ t: 'read', session: saved.info.id, share: taken / lines.length });
  };
  return {
    show: (take) => {
      give = take;
      void takeInSlices(lines, play, () => false);
    },
    detail: (step) => player.detail(step),
  };
}

/** Finds the details of steps; they are read when the first is asked for. */
function detailReader({ details }: Extract<SavedSession, { readonly frames: unknown }>): ShownSession['detail'] {
  let known: ReadonlyMap<number, StepDetail> | null = null;
  return (step) => {
    known ??= new Map(
      listOf(unshare(details))
        .filter(isStepDetail)
        .map((detail) => [detail.step.n, detail]),
    );
    return known.get(step) ?? null;
  };
}

function isSaved(value: unknown): value is SavedPage {
  return isJsonObject(value) && Array.isArray(value.sessions) && typeof value.version === 'string';
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
