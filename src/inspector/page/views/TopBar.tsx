import { useEffect, useState } from 'preact/hooks';
import type { SessionInfo } from '../../frames/protocol.ts';
import type { SessionModel } from '../model/page-model.ts';
import { hasTalk, costsOf } from '../model/talk.ts';
import { escapedLine } from '../model/escaped-text.ts';
import { durationText } from '../model/time-scale.ts';
import { isComparing, usePage } from '../state/page-state.ts';
import { copyText, order } from '../state/orders.ts';
import { Button, IconButton, Icon, type IconName, Lamp } from './parts/Button.tsx';
import { statusText, statusTone } from '../model/tone.ts';
import { toggleTheme } from './parts/use-screen.ts';
import { nextWaiting, waitingIn } from '../state/newest.ts';
import { toApproval } from '../state/keys.ts';
import { showSession } from '../state/walk.ts';

/** The top bar: the run's agent, its status, its cost, and the actions on it. */
export function TopBar() {
  const { state } = usePage();
  void state.revision.value;
  const info = state.session.value?.info;
  return (
    <header class="bar">
      <h1 class="brand" aria-label="Signalbox">
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
          {!namesItself(info) && <span class="agent cut">{escapedLine(info.agent, 30)}</span>}
          <span class="cut">{escapedLine(info.title, 120)}</span>
          <span class="dim" aria-hidden="true">
            ▾
          </span>
        </button>
      )}
      {info !== undefined && (
        <span class={`status ${statusTone(info)}`} data-testid="status">
          <Lamp tone={statusTone(info)} />
          {statusText(info)}
        </span>
      )}
      <NewRun />
      <Inbox />
      <Facts />
      <span class="spring" />
      {state.link.value === 'lost' && <span class="link-lost">connection lost, trying again</span>}
      <div class="bar-actions">
        {info !== undefined && <RunActions info={info} />}
        <IconButton icon="sun" label="Dark or light" title="Dark or light (t)" onClick={toggleTheme} />
        <Button
          look="quiet icon"
          title="Keys (?)"
          aria-label="Keys"
          onClick={() => (state.dialog.value = { kind: 'help' })}
        >
          ?
        </Button>
      </div>
    </header>
  );
}

/** A run that began while the user was busy with this one. */
function NewRun() {
  const { state } = usePage();
  const offered = state.offered.value;
  if (offered === null) return null;
  const title = escapedLine(state.model.sessions.get(offered)?.info.title ?? '', 120);
  const show = (): void => {
    showSession(state, offered);
    // From here on the newest is followed again.
    state.newest.value = offered;
    state.chosen.value = null;
  };
  return (
    <Button look="quiet offer" title={`Show it: ${title}`} onClick={show}>
      new run ›
    </Button>
  );
}

/** How many calls wait for a person, over all runs, and the way to the next. */
function Inbox() {
  const page = usePage();
  const { state } = page;
  const calls = waitingIn(state);
  if (calls === 0 || !page.desk.acts) return null;
  const go = (): void => {
    const next = nextWaiting(state);
    if (next !== null) showSession(state, next);
    toApproval(page);
  };
  return (
    <Button look="quiet wait" data-testid="inbox" title="Go to the next" onClick={go}>
      <Lamp tone="wait" size={12} /> {calls === 1 ? '1 call waits' : `${calls} calls wait`}
    </Button>
  );
}

function RunActions({ info }: { readonly info: SessionInfo }) {
  const page = usePage();
  const { state, desk } = page;
  const beside = isComparing(state) ? state.other.value : null;
  const links = state.link.value === 'refused' ? null : desk.links(info.id, beside);
  const can = (what: SessionInfo['can'][number]): boolean => desk.acts && info.can.includes(what);
  const exporting = beside === null ? 'Export one HTML file (x)' : 'Export both runs as one HTML file (x)';
  return (
    <>
      {can('cancel') && info.status === 'running' && (
        <Button title="Cancel the run" onClick={() => void order(page, { kind: 'cancel' })}>
          <Icon name="stop" /> Cancel
        </Button>
      )}
      {can('send') && info.status === 'running' && (
        <IconButton
          icon="send"
          label="Send an event"
          title="Send an event (e)"
          onClick={() => (state.dialog.value = { kind: 'send' })}
        />
      )}
      {links !== null && (
        <IconButton
          icon="link"
          label="Copy the link"
          title="Copy the link to this step, with its token"
          onClick={() => void copyText(state, desk.address())}
        />
      )}
      {links !== null && can('download') && (
        <Download
          icon="down"
          href={links.recording}
          label="Download the recording"
          title="Download the recording (d)"
        />
      )}
      {links !== null && <Download icon="page" href={links.page} label="Export one HTML file" title={exporting} />}
    </>
  );
}

interface DownloadProps {
  readonly icon: IconName;
  readonly href: string;
  readonly label: string;
  readonly title: string;
}

function Download({ icon, href, label, title }: DownloadProps) {
  return (
    <a class="button quiet icon" href={href} download title={title} aria-label={label}>
      <Icon name={icon} />
    </a>
  );
}

/** The title of a user's own actor begins with the name of the app that it belongs to. */
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
        <b>{session.steps.length}</b> {session.steps.length === 1 ? 'transition' : 'transitions'}
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
        <Clock session={session} />
      </span>
    </p>
  );
}

/** How long a run has taken; while it is live, the clock runs even if nothing happens. */
function Clock({ session: { info, lastAt } }: { readonly session: SessionModel }) {
  const { desk, state } = usePage();
  void state.revision.value;
  const [now, setNow] = useState(0);
  const isLive = desk.acts && info.status === 'running' && info.kind === 'run';
  useEffect(() => {
    if (!isLive) return;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [isLive, info.id]);
  return <b data-testid="clock">{durationText(isLive ? Math.max(lastAt, now - Date.parse(info.at)) : lastAt)}</b>;
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
