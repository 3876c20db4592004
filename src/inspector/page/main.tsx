import { effect } from '@preact/signals';
import { render } from 'preact';
import { frameFeed, isPlayed, liveFeed } from './state/feed.ts';
import { keepFocus, listenToKeys } from './state/keys.ts';
import { prepareLayouts } from './state/layouts.ts';
import { liveDesk, workerPlayers } from './state/desk.ts';
import { acceptDrops, compareWith } from './state/orders.ts';
import { type Page, PageContext, pageState } from './state/page-state.ts';
import { runPlayer } from './state/walk.ts';
import { readSaved } from './state/saved.ts';
import { followNewest } from './state/newest.ts';
import { App } from './views/App.tsx';
import { applyTheme } from './views/parts/use-screen.ts';

const TOKEN = 'signalbox-token';

start();

/** Opens the page: live with a server behind it, or with what was saved in it. */
function start(): void {
  const state = pageState();
  const take = frameFeed(state);
  const saved = readSaved(document);
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
