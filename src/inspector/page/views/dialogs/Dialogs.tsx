import { usePage } from '../../state/page-state.ts';
import { later } from '../parts/later.tsx';
import { useState } from 'preact/hooks';
import { escapedLine } from '../../model/escaped-text.ts';
import { openFiles } from '../../state/orders.ts';
import { showSession } from '../../state/walk.ts';
import { DialogFrame } from '../parts/DialogFrame.tsx';
import { Icon, Lamp } from '../parts/Button.tsx';
import { statusText, statusTone } from '../../model/tone.ts';
import { KEYS } from '../../state/keys.ts';

const ForkDialog = later(async () => (await import('../forms/ForkForms.tsx')).ForkDialog);
const SendDialog = later(async () => (await import('./SendDialog.tsx')).SendDialog);

/** The dialog that is open, if any. */
export function Dialogs() {
  const { state } = usePage();
  const dialog = state.dialog.value;
  switch (dialog?.kind) {
    case 'help':
      return <HelpDialog />;
    case 'send':
      return <SendDialog />;
    case 'fork':
      return <ForkDialog entry={dialog.entry} outcome={dialog.outcome} />;
    case 'sessions':
      return <SessionsDialog />;
    case undefined:
      return null;
  }
}

const MOST_ROWS = 300;

/** All runs and recordings, newest first, to choose from; recordings can be opened from disk. */
function SessionsDialog() {
  const page = usePage();
  const { state, desk } = page;
  void state.revision.value;
  const [wanted, setWanted] = useState('');
  const sessions = [...state.model.sessions.values()]
    .filter(({ info }) => `${info.title} ${info.agent} ${info.id}`.toLowerCase().includes(wanted.toLowerCase()))
    .sort((a, b) => b.info.at.localeCompare(a.info.at));
  const choose = (id: string): void => {
    state.dialog.value = null;
    showSession(state, id);
  };
  return (
    <DialogFrame title="Runs">
      <input
        class="field"
        type="search"
        aria-label="Filter runs"
        placeholder="Filter…"
        value={wanted}
        onInput={(event) => setWanted(event.currentTarget.value)}
      />
      <div>
        {sessions.slice(0, MOST_ROWS).map(({ info }) => (
          <button
            key={info.id}
            type="button"
            class="session-row"
            aria-current={info.id === state.session.value?.info.id}
            onClick={() => choose(info.id)}
          >
            <Lamp tone={statusTone(info)} />
            <bdi>{escapedLine(info.title, 160)}</bdi>
            <span class={statusTone(info)}>{statusText(info)}</span>
            <span class="sub">
              <bdi>{escapedLine(info.agent, 40)}</bdi> · <time dateTime={info.at}>{localTime(info.at)}</time> ·{' '}
              {escapedLine(info.id, 60)}
              {info.parent === null ? '' : ` · fork of ${escapedLine(info.parent.runId, 40)} at ${info.parent.entry}`}
            </span>
          </button>
        ))}
        {sessions.length > MOST_ROWS && <p class="pad dim">{sessions.length - MOST_ROWS} older ones</p>}
      </div>
      {desk.acts && (
        <label class="button">
          <Icon name="page" /> Open recordings…
          <input
            class="sr"
            type="file"
            multiple
            accept=".jsonl,.ndjson,.json"
            onChange={(event) => void openFiles(page, [...(event.currentTarget.files ?? [])])}
          />
        </label>
      )}
    </DialogFrame>
  );
}

/** A time as the reader's clock shows it: `2026-11-22 14:05:09`. */
function localTime(at: string): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? at : date.toLocaleString('sv-SE');
}

/** All keys, and what the signs mean. */
function HelpDialog() {
  return (
    <DialogFrame title="Keys and signs">
      <div class="keys">
        {KEYS.map(({ keys, does }) => (
          <div key={does}>
            <span>{does}</span>
            <span>
              {keys.map((key) => (
                <kbd key={key}>{SHOWN[key] ?? key}</kbd>
              ))}
            </span>
          </div>
        ))}
      </div>
      <div class="chips">
        {(['go', 'wait', 'caution', 'danger', 'done'] as const).map((tone) => (
          <span key={tone} class="status">
            <Lamp tone={tone} /> {MEANINGS[tone]}
          </span>
        ))}
      </div>
      <p class="dim">On the timeline: ▲ a retry, ✕ an error, ◆ an approval, ■ a plan, ● the answer.</p>
    </DialogFrame>
  );
}

const SHOWN: { readonly [key: string]: string } = {
  ' ': 'Space',
  ArrowLeft: '←',
  ArrowRight: '→',
};
const MEANINGS = { go: 'at work', wait: 'waiting', caution: 'recovering', danger: 'failed', done: 'done' } as const;
