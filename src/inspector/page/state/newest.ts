import { effect } from '@preact/signals';
import { escapedLine } from '../model/escaped-text.ts';
import { waitingCalls } from '../model/talk.ts';
import { NO_DRAFT, newestOf, type PageState } from './page-state.ts';
import { goTo, showSession } from './walk.ts';

/** How long a user who moves through a run must pause, in milliseconds. */
const SETTLED_MS = 150;

/**
 * Shows the newest run as long as the user is not busy with another, and offers it otherwise; shows in the window's
 * title how many calls wait; keeps the URL of what is shown, and follows it. Call once; ends with the page.
 */
export function followNewest(state: PageState): void {
  let latest: string | null = null;
  let asked = addressed();
  const otherwise = state.chosen.peek();
  if (asked !== null) {
    state.chosen.value = asked.run;
    goTo(state, asked.step);
  }
  effect(() => {
    void state.revision.value;
    if (asked !== null && state.model.server?.sessions.has(asked.run) === false) {
      tellMissing(state, asked.run);
      asked = null;
      state.chosen.value = otherwise;
      goTo(state, null);
    }
    const last = newestOf(state.model)?.info.id ?? null;
    if (last === null || last === latest) return;
    const isFirst = latest === null;
    latest = last;
    // A page that followed the newest run before a reload does so after it.
    if (isFirst && asked?.run === last && asked.step === null) state.chosen.value = null;
    asked = null;
    if (state.chosen.peek() === null && (isFirst || !isBusy(state))) {
      state.newest.value = last;
      state.offered.value = null;
    } else if (!isFirst && state.session.peek()?.info.id !== last) state.offered.value = last;
  });
  effect(() => {
    const session = state.session.value?.info.id;
    if (session === undefined) return;
    if (state.offered.peek() === session) state.offered.value = null;
    state.model.forgetGone();
    const hash = hashOf(session, state.cursor.value);
    if (state.link.peek() === 'saved') return;
    // A browser allows few changes of an address in a row, and a reader that scrubs makes many.
    const timer = setTimeout(() => keepAddress(state, session, hash), SETTLED_MS);
    return () => clearTimeout(timer);
  });
  addEventListener('popstate', () => {
    const named = addressed();
    if (named === null) return;
    if (!state.model.sessions.has(named.run)) return tellMissing(state, named.run);
    showSession(state, named.run);
    goTo(state, named.step);
  });
  effect(() => tellOvertaken(state));
  effect(() => {
    const calls = waitingIn(state);
    document.title = calls === 0 ? 'Signalbox' : `(${calls}) Signalbox`;
  });
}

/** Puts what is shown into the address: a run that the user chose is a place to come back to, a step is not. */
function keepAddress(state: PageState, session: string, hash: string): void {
  const before = addressed()?.run ?? session;
  if (before !== session && state.chosen.peek() === session) history.pushState(null, '', hash);
  else history.replaceState(null, '', hash);
}

/** Drops what was written in answer to calls that wait no more, and says so where it was not sent. */
function tellOvertaken(state: PageState): void {
  void state.revision.value;
  const session = state.session.value;
  if (state.drafts.size === 0) return;
  for (const item of session?.talk.items ?? []) {
    if (item.kind !== 'call' || item.status === 'waiting') continue;
    const key = `${session?.info.id ?? ''}/${item.callId}`;
    const { edited, reason, sent } = state.drafts.get(key) ?? NO_DRAFT;
    state.drafts.delete(key);
    if (sent || (edited === null && reason === '')) continue;
    const text = `${escapedLine(item.tool, 60)} no longer waits for an answer. What you wrote was not sent.`;
    state.notice.value = { text, tone: 'danger' };
  }
}

function tellMissing({ notice }: PageState, run: string): void {
  notice.value = { text: `The address names a run that is not here: ${escapedLine(run, 60)}.`, tone: 'danger' };
}

/** How many calls wait for a person, in all runs. */
export function waitingIn(state: PageState): number {
  void state.revision.value;
  return [...state.model.sessions.values()].reduce((sum, { info }) => sum + waitingOf(info), 0);
}

function waitingOf({ waiting = 0, can }: { readonly waiting?: number; readonly can: readonly string[] }): number {
  return can.includes('approve') ? waiting : 0;
}

/** The next run after the one that is shown in which a call waits; null for none, or if it is the one that is shown. */
export function nextWaiting(state: PageState): string | null {
  const all = [...state.model.sessions.values()].map(({ info }) => info);
  const shown = all.findIndex(({ id }) => id === state.session.peek()?.info.id);
  const found = [...all.slice(shown + 1), ...all.slice(0, shown + 1)].find((info) => waitingOf(info) > 0);
  return found === undefined || found.id === all[shown]?.id ? null : found.id;
}

/** The user edits, scrubs, plays, has selected something or has a dialog open. */
function isBusy(state: PageState): boolean {
  const session = state.session.peek()?.info.id ?? '';
  const isAnswering = waitingCalls(state.talk.peek()).some(({ callId }) => {
    const { edited, reason } = state.drafts.get(`${session}/${callId}`) ?? NO_DRAFT;
    return edited !== null || reason !== '';
  });
  const fields = [...document.querySelectorAll('textarea, input:not([type="search"])')];
  return (
    state.cursor.peek() !== null ||
    state.focus.peek() !== null ||
    state.speed.peek() !== null ||
    state.dialog.peek() !== null ||
    state.fork.peek()?.session === session ||
    isAnswering ||
    fields.some((field) => 'value' in field && field.value !== '') ||
    String(getSelection() ?? '') !== ''
  );
}

function hashOf(run: string, cursor: number | null): string {
  return `#run=${encodeURIComponent(run)}${cursor === null ? '' : `&step=${cursor + 1}`}`;
}

/** The run, and the position in it, that the page's address names. */
function addressed(): { readonly run: string; readonly step: number | null } | null {
  const named = new URLSearchParams(location.hash.slice(1));
  const run = named.get('run');
  const step = Number(named.get('step') ?? Number.NaN);
  return run === null ? null : { run, step: Number.isInteger(step) && step > 0 ? step - 1 : null };
}
