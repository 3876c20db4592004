import { isComparing } from '../state/comparing.ts';
import type { Pane } from '../state/page-state.ts';
import { usePage } from '../state/page-context.ts';
import { Banners } from './Banners.tsx';
import { ChartBoard } from './ChartBoard.tsx';
import { DeskBoard } from './DeskBoard.tsx';
import { Dialogs } from './Dialogs.tsx';
import { TalkBoard } from './TalkBoard.tsx';
import { TimeBoard } from './TimeBoard.tsx';
import { Toast } from './Toast.tsx';
import { TopBar } from './TopBar.tsx';
import { Waiting } from './Waiting.tsx';

const PANES: readonly (readonly [Pane, string])[] = [
  ['chart', 'Chart'],
  ['talk', 'Conversation'],
  ['desk', 'Details'],
];

/** The whole page. */
export function App() {
  const { state } = usePage();
  return (
    <div class="app">
      <div>
        <TopBar />
        <Banners />
      </div>
      <main class="boards" data-pane={state.pane.value} data-comparing={isComparing(state)}>
        <ChartBoard />
        <TimeBoard />
        <TalkBoard />
        <DeskBoard />
      </main>
      <nav class="phone-tabs" aria-label="Parts of the page">
        {PANES.map(([pane, name]) => (
          <button
            key={pane}
            type="button"
            aria-current={state.pane.value === pane}
            onClick={() => (state.pane.value = pane)}
          >
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
