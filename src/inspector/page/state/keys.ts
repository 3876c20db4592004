import { isComparing, type DeskTab, type PageState, type Page } from './page-state.ts';
import { nextSpeed, togglePlay, goTo, walk, walkMarks } from './walk.ts';

/** A key, or several that do the same, and what they do. */
interface KeyAction {
  readonly keys: readonly string[];
  readonly does: string;
  readonly run: (page: Page, event: KeyboardEvent) => void;
}

/** Until a list has brought a row into sight. */
const SETTLED_MS = 80;

/** The tabs of the desk, in order: their numbers are their keys. What each is called there, and in the help. */
export const TABS: readonly (readonly [DeskTab, title: string, does: string])[] = [
  ['step', 'Step', 'Step details'],
  ['steps', 'Transitions', 'All transitions'],
  ['sequence', 'Sequence', 'Sequence of messages'],
  ['exchanges', 'Raw', 'Raw requests and replies'],
  ['costs', 'Usage', 'Usage'],
  ['compare', 'Compare', 'Compare with another run'],
  ['search', 'Search', 'Search'],
];

/** Every key of the page: the help is made of this list. */
export const KEYS: readonly KeyAction[] = [
  { keys: [' '], does: 'Play or pause', run: ({ state }) => togglePlay(state) },
  { keys: ['s'], does: 'Play faster', run: ({ state }) => nextSpeed(state) },
  {
    keys: ['ArrowLeft'],
    does: 'Step back (with Shift: ten)',
    run: ({ state }, event) => walk(state, event.shiftKey ? -10 : -1),
  },
  {
    keys: ['ArrowRight'],
    does: 'Step ahead (with Shift: ten)',
    run: ({ state }, event) => walk(state, event.shiftKey ? 10 : 1),
  },
  { keys: ['Home'], does: 'First step', run: ({ state }) => goTo(state, 0) },
  { keys: ['End'], does: 'Latest step, and follow', run: ({ state }) => goTo(state, null) },
  { keys: ['['], does: 'Previous retry, error or approval', run: ({ state }) => walkMarks(state, -1) },
  { keys: [']'], does: 'Next retry, error or approval', run: ({ state }) => walkMarks(state, 1) },
  { keys: ['+'], does: 'Zoom in', run: () => press('[data-key="+"]') },
  { keys: ['-'], does: 'Zoom out', run: () => press('[data-key="-"]') },
  { keys: ['f'], does: 'Fit the chart', run: () => press('[data-key="f"]') },
  { keys: ['z'], does: 'Zoom to the state', run: () => press('[data-key="z"]') },
  { keys: ['g'], does: 'Follow the active state', run: ({ state }) => (state.follow.value = !state.follow.value) },
  { keys: ['l'], does: 'Name all transitions', run: ({ state }) => (state.labels.value = !state.labels.value) },
  { keys: ['n'], does: 'Chart of the next live actor', run: nextActor },
  { keys: ['a'], does: 'Approve: go to the call that waits', run: toApproval },
  ...TABS.slice(0, -1).map(([tab, , does], index) => ({
    keys: [`${index + 1}`],
    does,
    run: ({ state }: Page) => showTab(state, tab),
  })),
  { keys: [','], does: 'Previous difference of two runs', run: () => press('[data-key=","]') },
  { keys: ['.'], does: 'Next difference of two runs', run: () => press('[data-key="."]') },
  { keys: ['/', '7'], does: 'Search', run: toSearch },
  { keys: ['r'], does: 'Choose a run', run: ({ state }) => (state.dialog.value = { kind: 'sessions' }) },
  { keys: ['e'], does: 'Send an event', run: () => press('button[aria-label="Send an event"]') },
  { keys: ['d'], does: 'Download the recording', run: () => press('a[aria-label="Download the recording"]') },
  { keys: ['x'], does: 'Export one HTML file', run: () => press('a[aria-label="Export one HTML file"]') },
  { keys: ['t'], does: 'Dark or light', run: () => press('button[aria-label="Dark or light"]') },
  { keys: ['?'], does: 'This help', run: ({ state }) => (state.dialog.value = { kind: 'help' }) },
];

/** Listens to the keyboard. Keys typed into a field, or with Control, Alt or Meta, are left alone. Call once. */
export function listenToKeys(page: Page): void {
  addEventListener('keydown', (event) => {
    if (event.isComposing || event.ctrlKey || event.altKey || event.metaKey || page.state.dialog.value !== null) return;
    const { target } = event;
    if (target instanceof Element && target.closest('input, textarea, select, dialog') !== null) {
      if (event.key === 'Escape' && target instanceof HTMLElement) target.blur();
      return;
    }
    if (event.key === ' ' && target instanceof Element && target.closest('button, a, summary') !== null) return;
    const action = KEYS.find(({ keys }) => keys.includes(event.key));
    if (action === undefined) return;
    event.preventDefault();
    action.run(page, event);
  });
}

/** Leaves the keyboard in the list around what had the focus when that is gone, such as the button of an answer. Call once. */
export function keepFocus(): void {
  let last: Element | null = null;
  let list: HTMLElement | null | undefined;
  addEventListener('focusin', ({ target }) => {
    last = target instanceof Element ? target : null;
    list = last?.parentElement?.closest<HTMLElement>('[tabindex="0"]');
  });
  new MutationObserver(() => {
    if (last?.isConnected !== false || document.activeElement !== document.body) return;
    last = null;
    list?.focus({ preventScroll: true });
  }).observe(document.body, { childList: true, subtree: true });
}

function press(selector: string): void {
  const element = document.querySelector(selector);
  if (element instanceof HTMLElement) element.click();
}

function nextActor({ state }: Page): void {
  const drawn = state.actors.value.filter(({ track }) => track.info.drawing !== null).map(({ path }) => path);
  const at = drawn.indexOf(state.focus.value ?? drawn[0] ?? '');
  state.focus.value = drawn[(at + 1) % Math.max(1, drawn.length)] ?? null;
}

/** Goes to the call that waits, and to the button that answers it. */
export function toApproval({ state }: Page): void {
  state.pane.value = 'talk';
  // A comparison takes the room of the conversation.
  if (isComparing(state)) state.tab.value = 'step';
  goTo(state, null);
  // The conversation may have to be drawn first.
  const look = (tries: number): void => {
    press('[data-key="waiting"]');
    setTimeout(() => {
      const button = document.querySelector('[data-approve]');
      if (button instanceof HTMLElement) button.focus();
      if (tries > 1 && (button === null || button !== document.activeElement)) look(tries - 1);
    }, SETTLED_MS);
  };
  requestAnimationFrame(() => look(10));
}

function showTab(state: PageState, tab: DeskTab): void {
  state.tab.value = tab;
  state.pane.value = 'desk';
}

function toSearch({ state }: Page): void {
  showTab(state, 'search');
  requestAnimationFrame(() => document.getElementById('search')?.focus());
}
