import { hasTalk } from '../../model/talk/has-talk.ts';
import type { DeskTab } from '../../state/page-state.ts';
import { usePage } from '../../state/page-context.ts';
import { CompareTab } from '../compare/CompareTab.tsx';
import { CostsTab } from './CostsTab.tsx';
import { ExchangesTab } from './ExchangesTab.tsx';
import { SearchTab } from './SearchTab.tsx';
import { SequenceTab } from './SequenceTab.tsx';
import { StepsTab } from './StepsTab.tsx';
import { StepTab } from './StepTab.tsx';

/** The tabs of the desk, in order: their numbers are their keys. */
export const TABS: readonly (readonly [DeskTab, string])[] = [
  ['step', 'Step'],
  ['steps', 'Moves'],
  ['sequence', 'Sequence'],
  ['exchanges', 'Raw'],
  ['costs', 'Usage'],
  ['compare', 'Compare'],
  ['search', 'Search'],
];

/** What only a conversation has. */
const TALKED: readonly DeskTab[] = ['exchanges', 'costs'];

/** The desk: what is known about the step, or the whole run, one tab at a time. */
export function DeskBoard() {
  const { state } = usePage();
  const talks = hasTalk(state.session.value);
  const isThere = (one: DeskTab): boolean => talks || !TALKED.includes(one);
  const tab = isThere(state.tab.value) ? state.tab.value : 'step';
  return (
    <section class="board board-desk" aria-label="Details">
      <div class="tabs" role="tablist" aria-label="Details">
        {TABS.map(([name, title], index) =>
          isThere(name) ? (
            <button
              key={name}
              type="button"
              role="tab"
              id={`tab-${name}`}
              title={`${title} (${index + 1})`}
              aria-selected={tab === name}
              aria-controls="desk-page"
              onClick={() => (state.tab.value = name)}
            >
              {title}
            </button>
          ) : null,
        )}
      </div>
      <div class="desk-page" id="desk-page" role="tabpanel" aria-labelledby={`tab-${tab}`}>
        <Page tab={tab} />
      </div>
    </section>
  );
}

function Page({ tab }: { readonly tab: DeskTab }) {
  switch (tab) {
    case 'step':
      return <StepTab />;
    case 'steps':
      return <StepsTab />;
    case 'sequence':
      return <SequenceTab />;
    case 'exchanges':
      return <ExchangesTab />;
    case 'costs':
      return <CostsTab />;
    case 'compare':
      return <CompareTab />;
    case 'search':
      return <SearchTab />;
  }
}
