import { type Act, type ActReply, MOST_RECORDING_BYTES, type SessionInfo } from '../../frames/protocol.ts';
import type { Json } from '../../../json/json.ts';
import { escapedLine } from '../model/escaped-text.ts';
import type { SessionModel } from '../model/page-model.ts';
import type { Page, PageState } from './page-state.ts';
import type { ForkLeaf } from './fork-draft.ts';
import { showSession } from './walk.ts';

/** Asks the server for something about the session that is shown, and reports the outcome. True if it was done. */
export async function order({ state, desk }: Pick<Page, 'state' | 'desk'>, act: Act): Promise<boolean> {
  const session = state.session.value;
  if (session === null) return false;
  const reply = await desk.act(session.info.id, act);
  if (reply.ok) state.notice.value = { text: DONE[act.kind], tone: 'info' };
  showReply(state, reply);
  return reply.ok;
}

/** Forks the session that is shown, and shows the new one beside it. True when it was done. */
export async function forkBeside(page: Pick<Page, 'state' | 'desk'>, entry: number, outcome: Json): Promise<boolean> {
  const { state } = page;
  const parent = state.session.value?.info.id ?? null;
  const done = await order(page, { kind: 'fork', entry, outcome });
  if (done) compareWith(state, parent);
  return done;
}

/** Shows another run beside the one that is shown. */
export function compareWith(state: PageState, other: string | null): void {
  state.other.value = other;
  state.tab.value = 'compare';
  state.pane.value = 'desk';
}

function showReply(state: PageState, reply: ActReply): void {
  if (!reply.ok) state.notice.value = { text: reply.message, tone: 'danger' };
  else if (reply.session !== undefined) showSession(state, reply.session);
}

const DONE: { readonly [kind in Act['kind']]: string } = {
  approve: 'Approved.',
  reject: 'Rejected.',
  cancel: 'The run is being cancelled.',
  send: 'The event was sent.',
  fork: 'A fork of the run continues from here.',
};

/** Copies a text, and confirms it. */
export async function copyText({ notice }: Pick<PageState, 'notice'>, text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notice.value = { text: 'Copied.', tone: 'info' };
  } catch {
    notice.value = { text: 'The browser does not let this page copy.', tone: 'danger' };
  }
}

/** Opens recordings from disk: the server reads them, and each becomes one more session. */
export async function openFiles({ state, desk }: Page, files: Iterable<File>): Promise<void> {
  state.dialog.value = null;
  const refused: string[] = [];
  for (const file of files) {
    // Sessions in the order of the files.
    const reply = await openFile(desk, file);
    if (reply.ok) showReply(state, reply);
    else refused.push(`${escapedLine(file.name, 80)}: ${reply.message}`);
  }
  if (refused.length > 0) state.notice.value = { text: refused.join(' '), tone: 'danger' };
}

async function openFile(desk: Page['desk'], file: File): Promise<ActReply> {
  if (file.size > MOST_RECORDING_BYTES)
    return { ok: false, message: 'It is larger than 100 MB. Show it with: signalbox inspect <file>' };
  const text = await file.text().catch(() => null);
  return text === null ? { ok: false, message: 'It cannot be read. Is it a folder?' } : desk.open(text);
}

/** Lets recordings be dropped anywhere on the page. Call once. */
export function acceptDrops(page: Page): void {
  const root = document.documentElement;
  addEventListener('dragover', (event) => {
    event.preventDefault();
    root.classList.toggle('dropping', page.desk.acts);
  });
  addEventListener('dragleave', () => root.classList.remove('dropping'));
  addEventListener('drop', (event) => {
    event.preventDefault();
    root.classList.remove('dropping');
    if (page.desk.acts) void openFiles(page, [...(event.dataTransfer?.files ?? [])]);
  });
}

/** Whether the page can fork a run from one of its steps, or why not. */
export type ForkOffer =
  | { readonly kind: 'offered'; readonly entry: number }
  | { readonly kind: 'refused'; readonly entry: number; readonly why: string }
  /** Nothing was recorded at this step, so it cannot be continued from. */
  | { readonly kind: 'none' };

/** The outcome of this leaf that came with the step at a position, and its line in the recording; null for none. */
export function outcomeAt(
  { steps, records }: Pick<SessionModel, 'steps' | 'records'>,
  position: number | null,
  leaf: ForkLeaf,
): { readonly entry: number; readonly value: Json } | null {
  const entry = position === null ? null : (steps[position]?.entry ?? null);
  const record = entry === null ? undefined : records[entry];
  if (entry === null || record?.t !== 'outcome') return null;
  if (!record.id.slice(record.id.lastIndexOf('/') + 1).startsWith(`${leaf}#`)) return null;
  return { entry, value: record.ok ? { ok: true, value: record.value } : { ok: false, error: { ...record.error } } };
}

/** What stands in the place of the fork button. `live` is false in a page that was saved. */
export function forkOffer(info: Pick<SessionInfo, 'kind' | 'can'>, entry: number | null, live: boolean): ForkOffer {
  if (entry === null) return { kind: 'none' };
  if (live && info.can.includes('fork')) return { kind: 'offered', entry };
  const refused = (why: string): ForkOffer => ({ kind: 'refused', entry, why });
  if (!live) return refused('This page was saved, and no agent stands behind it.');
  if (info.kind === 'recording') return refused('This is a recording, and the agent that made it is not here.');
  return refused('Its agent does not offer it.');
}
