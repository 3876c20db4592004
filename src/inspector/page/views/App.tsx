import { hasTalk } from '../model/talk/has-talk.ts';
import { isComparing } from '../state/comparing.ts';
import type { Pane } from '../state/page-state.ts';
import { usePage } from '../state/page-context.ts';
import { Banners } from './Banners.tsx';
import { ChartBoard } from './chart/ChartBoard.tsx';
import { DeskBoard } from './desk/DeskBoard.tsx';
import { Dialogs } from './dialogs/Dialogs.tsx';
import { TalkBoard } from './talk/TalkBoard.tsx';
import { TimeBoard } from './time/TimeBoard.tsx';
import { TopBar } from './TopBar.tsx';
import { Waiting } from './talk/Waiting.tsx';
import { useEffect } from 'preact/hooks';

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
        {talks && <TalkBoard />}
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

/** Says what became of an order, and says it aloud as well. Goes by itself. */
function Toast() {
  const { state } = usePage();
  const { text, tone } = state.notice.value;
  useEffect(() => {
    if (text === '') return;
    const timer = setTimeout(() => (state.notice.value = { text: '', tone: 'info' }), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [text]);
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
