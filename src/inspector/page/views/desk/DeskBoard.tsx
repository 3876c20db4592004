import { useEffect } from 'preact/hooks';
import { hasTalk, costsOf, type TurnCost } from '../../model/talk.ts';
import { TABS } from '../../state/keys.ts';
import { type DeskTab, usePage } from '../../state/page-state.ts';
import { CompareTab } from '../compare/CompareTab.tsx';
import { ExchangesTab } from './ExchangesTab.tsx';
import { SequenceTab } from './SequenceTab.tsx';
import { StepTab } from './StepTab.tsx';
import type { StepInfo } from '../../../frames/protocol.ts';
import { innermost, labelAt } from '../../model/actor-state.ts';
import { escapedLine } from '../../model/escaped-text.ts';
import { durationText } from '../../model/time-scale.ts';
import { toneAfter } from '../../model/tone.ts';
import { goTo } from '../../state/walk.ts';
import { Empty } from '../parts/StepDetails.tsx';
import { VirtualList } from '../parts/VirtualList.tsx';
import { SearchTab } from './SearchTab.tsx';

/** What only a conversation has. */
const TALKED: readonly DeskTab[] = ['exchanges', 'costs'];

/** The desk: what is known about the step, or the whole run, one tab at a time. */
export function DeskBoard() {
  const { state } = usePage();
  const talks = hasTalk(state.session.value);
  const isThere = (one: DeskTab): boolean => talks || !TALKED.includes(one);
  const tab = isThere(state.tab.value) ? state.tab.value : 'step';
  // A narrow page does not have room for all of them.
  useEffect(() => document.getElementById(`tab-${tab}`)?.scrollIntoView({ block: 'nearest' }), [tab]);
  return (
    <section class="board board-desk" aria-label="Details">
      <h2 class="sr">Details</h2>
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

/** Why an event changed nothing. */
const IGNORED = { blocked: 'nothing: its guards said no', unknown: 'nothing: no state takes it' } as const;

/** All transitions of all machines, one per line, and the events that changed nothing. */
function StepsTab() {
  const { state } = usePage();
  const session = state.session.value;
  void state.revision.value;
  const position = state.position.value;
  if (session === null || session.steps.length === 0) return <Empty why="No transition yet." />;
  const drawingOf = ({ actor }: StepInfo) => state.model.drawingOf(session.actors.get(actor)?.info);
  return (
    <VirtualList
      items={session.steps}
      label="Transitions"
      stick={state.cursor.value === null}
      reveal={position}
      render={(step: StepInfo, index) => (
        <button
          type="button"
          class={index === position ? 'row row-step now' : 'row row-step'}
          onClick={() => goTo(state, index)}
        >
          <span class="dim">{index + 1}</span>
          <span class="dim">{durationText(step.at)}</span>
          <span>{escapedLine(labelAt(session, step.actor, index), 40)}</span>
          <span>{escapedLine(step.event, 60)}</span>
          {step.ignored === undefined ? (
            <span class={index === position ? '' : toneAfter(drawingOf(step), step)}>
              {escapedLine(innermost(step.to).join(' + '), 80)}
            </span>
          ) : (
            <span class={index === position ? '' : 'dim'}>{IGNORED[step.ignored]}</span>
          )}
        </button>
      )}
    />
  );
}

/** Tokens and time of each turn of the model. */
function CostsTab() {
  const { state } = usePage();
  const { turns, total } = costsOf(state.talk.value);
  if (turns.length === 0) return <p class="empty">The model has not replied yet.</p>;
  const longest = turns.reduce((most, { durationMs }) => Math.max(most, durationMs), 1);
  return (
    <div class="desk-page costs">
      <p class="row" aria-hidden="true">
        <span>Step</span>
        <span>Tokens in</span>
        <span>Tokens out</span>
        <span>Time</span>
      </p>
      <VirtualList
        items={turns}
        label="Usage by step"
        render={(cost: TurnCost) => <CostRow {...cost} share={cost.durationMs / longest} />}
      />
      <CostRow {...total} turn="all" share={0} />
    </div>
  );
}

function CostRow({ turn, inputTokens, outputTokens, durationMs, share }: CostRowProps) {
  return (
    <p class="row">
      <span>
        <span class="sr">Step </span>
        {turn}
      </span>
      <span>
        {inputTokens.toLocaleString('en')}
        <span class="sr"> tokens in</span>
      </span>
      <span>
        {outputTokens.toLocaleString('en')}
        <span class="sr"> tokens out</span>
      </span>
      <span>{durationText(durationMs)}</span>
      <span class="cost-bar" style={{ width: `${100 * share}%` }} />
    </p>
  );
}

interface CostRowProps extends Omit<TurnCost, 'turn'> {
  readonly turn: number | 'all';
  /** Its time against that of the longest. */
  readonly share: number;
}
