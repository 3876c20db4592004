import type { SessionInfo } from '../../frames/protocol.ts';
import { hasTalk, costsOf } from '../model/talk.ts';
import { inertLine } from '../model/inert-text.ts';
import { durationText } from '../model/time-scale.ts';
import { isComparing } from '../state/page-state.ts';
import { order } from '../state/orders.ts';
import { usePage } from '../state/page-context.ts';
import { Icon, Lamp } from './parts/Icon.tsx';
import { statusText, statusTone } from '../model/tone.ts';
import { toggleTheme } from './parts/use-screen.ts';

/** The bar: whose run this is, how it stands, what it cost, and what may be done with it. */
export function TopBar() {
  const page = usePage();
  const { state, desk } = page;
  void state.beat.value;
  const session = state.session.value;
  const info = session?.info;
  const beside = isComparing(state) ? state.other.value : null;
  const links = info === undefined ? null : desk.links(info.id, beside);
  const can = (what: 'cancel' | 'send' | 'download'): boolean => desk.acts && info?.can.includes(what) === true;
  return (
    <header class="bar">
      <h1 class="brand">
        <Mark />
        <span>Signalbox</span>
      </h1>
      {info !== undefined && (
        <button
          type="button"
          class="run-picker"
          title="Choose a run (r)"
          aria-haspopup="dialog"
          onClick={() => (state.dialog.value = { kind: 'sessions' })}
        >
          {!namesItself(info) && <span class="agent">{inertLine(info.agent, 30)}</span>}
          <span class="title">{inertLine(info.title, 120)}</span>
          <span class="dim" aria-hidden="true">
            ▾
          </span>
        </button>
      )}
      {info !== undefined && (
        <span class={`status ${statusTone(info.status)}`} data-testid="status">
          <Lamp tone={statusTone(info.status)} />
          {statusText(info)}
        </span>
      )}
      <Facts />
      <span class="spring" />
      {state.link.value === 'lost' && <span class="link-lost">connection lost, trying again</span>}
      <div class="bar-actions">
        {can('cancel') && info?.status === 'running' && (
          <button
            type="button"
            class="button"
            title="Cancel the run"
            onClick={() => void order(page, { kind: 'cancel' })}
          >
            <Icon name="stop" /> Cancel
          </button>
        )}
        {can('send') && info?.status === 'running' && (
          <button
            type="button"
            class="button quiet icon"
            title="Send an event (e)"
            aria-label="Send an event"
            onClick={() => (state.dialog.value = { kind: 'send' })}
          >
            <Icon name="send" />
          </button>
        )}
        {links !== null && (
          <>
            {can('download') && (
              <a
                class="button quiet icon"
                href={links.recording}
                download
                title="Download the recording (d)"
                aria-label="Download the recording"
              >
                <Icon name="down" />
              </a>
            )}
            <a
              class="button quiet icon"
              href={links.page}
              download
              title={beside === null ? 'Export one HTML file (x)' : 'Export both runs as one HTML file (x)'}
              aria-label="Export one HTML file"
            >
              <Icon name="page" />
            </a>
          </>
        )}
        <button
          type="button"
          class="button quiet icon"
          title="Dark or light (t)"
          aria-label="Dark or light"
          onClick={toggleTheme}
        >
          <Icon name="sun" />
        </button>
        <button
          type="button"
          class="button quiet icon"
          title="Keys (?)"
          aria-label="Keys"
          onClick={() => (state.dialog.value = { kind: 'help' })}
        >
          ?
        </button>
      </div>
    </header>
  );
}

/** The title of somebody's actor begins with the name of the app that it belongs to. */
function namesItself({ kind, title, agent }: SessionInfo): boolean {
  return kind === 'system' && title.startsWith(agent);
}

function Facts() {
  const { state } = usePage();
  const session = state.session.value;
  if (session === null) return null;
  const { total, turns } = costsOf(state.talk.value);
  return (
    <p class="facts">
      <span>
        <b>{session.steps.length}</b> moves
      </span>
      {hasTalk(session) && (
        <span>
          <b>{turns.length}</b> {turns.length === 1 ? 'turn' : 'turns'}
        </span>
      )}
      {total.inputTokens + total.outputTokens > 0 && (
        <span>
          <b>{(total.inputTokens + total.outputTokens).toLocaleString('en')}</b> tokens
        </span>
      )}
      <span>
        <b>{durationText(session.lastAt)}</b>
      </span>
    </p>
  );
}

/** Our mark: a signal with two lamps. */
function Mark() {
  return (
    <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
      <rect x="4" y="0.500" width="10" height="14" rx="4.500" fill="none" stroke="currentColor" />
      <circle class="danger" cx="9" cy="4.800" r="2.200" fill="currentColor" />
      <circle class="done" cx="9" cy="10.200" r="2.200" fill="currentColor" />
      <path d="M9 14.500V18M6 17.500h6" stroke="currentColor" />
    </svg>
  );
}
