import { useState } from 'preact/hooks';
import { inertLine } from '../../model/inert-text.ts';
import { openFile } from '../../state/open-file.ts';
import { usePage } from '../../state/page-context.ts';
import { showSession } from '../../state/walk.ts';
import { DialogFrame } from './DialogFrame.tsx';
import { Icon, Lamp } from '../Icon.tsx';
import { statusText, statusTone } from '../status.ts';

/** All runs and recordings, newest first, to choose from; recordings can be opened from disk. */
export function SessionsDialog() {
  const page = usePage();
  const { state, desk } = page;
  void state.beat.value;
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
        {sessions.slice(0, 300).map(({ info }) => (
          <button
            key={info.id}
            type="button"
            class="session-row"
            aria-current={info.id === state.session.value?.info.id}
            onClick={() => choose(info.id)}
          >
            <Lamp tone={statusTone(info.status)} />
            <span>{inertLine(info.title, 160)}</span>
            <span class={statusTone(info.status)}>{statusText(info)}</span>
            <span class="sub">
              {inertLine(info.agent, 40)} · {info.at.slice(0, 19).replace('T', ' ')} · {inertLine(info.id, 60)}
              {info.parent === null ? '' : ` · fork of ${inertLine(info.parent.runId, 40)} at ${info.parent.entry}`}
            </span>
          </button>
        ))}
      </div>
      {desk.acts && (
        <label class="button">
          <Icon name="page" /> Open a recording…
          <input
            class="sr"
            type="file"
            accept=".jsonl,.ndjson,.json"
            onChange={(event) => {
              const [file] = event.currentTarget.files ?? [];
              if (file !== undefined) void openFile(page, file);
            }}
          />
        </label>
      )}
    </DialogFrame>
  );
}
