import { hasTalk, waitingCalls } from '../model/talk.ts';
import { isComparing, type Pane, usePage } from '../state/page-state.ts';
import { ChartBoard } from './chart/ChartBoard.tsx';
import { DeskBoard } from './desk/DeskBoard.tsx';
import { Dialogs } from './dialogs/Dialogs.tsx';
import { TalkBoard } from './talk/TalkBoard.tsx';
import { TimeBoard } from './time/TimeBoard.tsx';
import { TopBar } from './TopBar.tsx';
import { useEffect } from 'preact/hooks';
import { escapedLine } from '../model/escaped-text.ts';
import { compareWith } from '../state/orders.ts';
import { showSession } from '../state/walk.ts';
import { Lamp } from './parts/Button.tsx';
import { EscapedText } from './parts/Values.tsx';
import { statusText } from '../model/tone.ts';

const PANES: readonly (readonly [Pane, string])[] = [
  ['chart', 'Chart'],
  ['talk', 'Conversation'],
  ['desk', 'Details'],
];

/** The whole page. */
export function App() {
  const { state } = usePage();
  const talks = hasTalk(state.session.value);
  const pane = state.pane.value === 'talk' && !talks ? 'chart' : state.pane.value;
  return (
    <div class="app">
      <div>
        <TopBar />
        <Banners />
      </div>
      <main class="boards" data-pane={pane} data-talk={talks} data-comparing={isComparing(state)}>
        <ChartBoard />
        <TimeBoard />
        {talks && <TalkBoard key={state.session.value?.info.id} />}
        <DeskBoard />
      </main>
      <nav class="phone-tabs" aria-label="Parts of the page">
        {PANES.filter(([one]) => talks || one !== 'talk').map(([one, name]) => (
          <button key={one} type="button" aria-current={pane === one} onClick={() => (state.pane.value = one)}>
            {name}
          </button>
        ))}
      </nav>
      <Waiting />
      <Toast />
      <Dialogs />
    </div>
  );
}

const SHOWN_MS = 5000;

/** Shows the outcome of an action, and announces it. Disappears by itself. */
function Toast() {
  const { state } = usePage();
  const notice = state.notice.value;
  const { text, tone } = notice;
  useEffect(() => {
    if (text === '') return;
    const timer = setTimeout(() => (state.notice.value = { text: '', tone: 'info' }), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [notice]);
  return (
    <div role="status" aria-live="polite">
      {text !== '' && (
        <p class="toast" data-tone={tone}>
          {text}
        </p>
      )}
    </div>
  );
}

const REPLACED =
  'The inspector at this address does not know this page: it is another one, or the page has no token. Open the address that it printed.';

/** What the reader must know about what is shown: that it is not all, or made by a newer version, or a fork of another run. */
function Banners() {
  const { state } = usePage();
  void state.revision.value;
  const session = state.session.value;
  const parent = session?.info.parent ?? null;
  const problem = session?.problem ?? session?.info.problem ?? null;
  return (
    <>
      {state.model.server?.newer === true && (
        <Banner
          text={`Signalbox ${state.model.server.version} made this; this page is older and may not show all of it.`}
        />
      )}
      {state.link.value === 'refused' && <Banner text={REPLACED} />}
      {problem !== null && <Banner text={problem} />}
      {session !== null && session.dropped > 0 && (
        <Banner
          text={`${session.dropped} messages are missing here. Reload the page to see what the server still has.`}
        />
      )}
      {parent !== null && (
        <p class="banner">
          <span>
            A fork of{' '}
            <button type="button" class="more" onClick={() => showSession(state, parent.runId)}>
              {escapedLine(parent.runId, 60)}
            </button>{' '}
            after entry {parent.entry}.{' '}
            {state.model.sessions.has(parent.runId) && !isComparing(state) && (
              <button type="button" class="more" onClick={() => compareWith(state, parent.runId)}>
                Show both
              </button>
            )}
          </span>
        </p>
      )}
    </>
  );
}

function Banner({ text }: { readonly text: string }) {
  return (
    <p class="banner" role="note">
      <Lamp tone="caution" /> <EscapedText text={text} most={400} />
    </p>
  );
}

/** Announces what a screen reader's user must know: that a call waits, and how a run ended. */
function Waiting() {
  const { state } = usePage();
  const session = state.session.value;
  void state.revision.value;
  if (session === null) return null;
  const calls = waitingCalls(session.talk);
  const tools = calls.map(({ tool }) => escapedLine(tool, 40)).join(', ');
  return (
    <p class="sr" role="status" aria-live="assertive">
      {calls.length > 0 ? `${tools} waits for your approval. Press A.` : `Run ${statusText(session.info)}`}
    </p>
  );
}
