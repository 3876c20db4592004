import type { ComponentChildren } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { hasTalk, costsOf, type TurnCost } from '../../model/talk.ts';
import { TABS } from '../../state/keys.ts';
import { type DeskTab, usePage } from '../../state/page-state.ts';
import { CompareTab } from '../compare/CompareTab.tsx';
import { ExchangesTab } from './ExchangesTab.tsx';
import { type Lifelines, messagesOf, placeLifelines, type SequenceMessage } from '../../model/sequence.ts';
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
  const View = VIEWS[tab];
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
        <View />
      </div>
    </section>
  );
}

const VIEWS: { readonly [tab in DeskTab]: () => ComponentChildren } = {
  step: StepTab,
  steps: StepsTab,
  sequence: SequenceTab,
  exchanges: ExchangesTab,
  costs: CostsTab,
  compare: CompareTab,
  search: SearchTab,
};

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

const ROW = 24;
const LEFT = 64;
const COLUMN = 112;
const OUTSIDE = 12;

/** Which actor sent which event to which, from top to bottom. Actors that never live together share a line. */
function SequenceTab() {
  const { state } = usePage();
  const session = state.session.value;
  const revision = state.slowRevision.value;
  const messages = useMemo(() => (session === null ? [] : messagesOf(session)), [session, revision]);
  const lines = useMemo(() => (session === null ? null : placeLifelines(session)), [session, revision]);
  const position = state.position.value;
  if (session === null || lines === null || messages.length === 0)
    return <Empty why="No actor has received an event yet." />;
  const width = LEFT + lines.names.length * COLUMN + 24;
  const at = messages.findLastIndex((message) => message.position <= position);
  return (
    <div class="desk-page sequence">
      <svg width={width} height={28} role="img" aria-label={`Actors: ${lines.names.join(', ')}`}>
        {lines.names.map((name, column) => (
          <text key={column} x={LEFT + column * COLUMN} y={18} text-anchor="middle">
            {escapedLine(name, 16)}
          </text>
        ))}
      </svg>
      <VirtualList
        items={messages}
        label="Messages"
        stick={state.cursor.value === null}
        reveal={at}
        render={(message: SequenceMessage, index) => (
          <MessageRow
            message={message}
            lines={lines}
            width={width}
            now={index === at}
            onPick={() => goTo(state, message.position)}
          />
        )}
      />
    </div>
  );
}

interface MessageRowProps {
  readonly message: SequenceMessage;
  readonly lines: Lifelines;
  readonly width: number;
  readonly now: boolean;
  readonly onPick: () => void;
}

/** Behind what an actor tells itself, in the middle of an arrow; what comes from outside has no room on both sides. */
function labelPlace(start: number, end: number): { readonly x: number; readonly y: number; 'text-anchor'?: 'middle' } {
  if (start === end) return { x: end + 22, y: 15 };
  return start === OUTSIDE ? { x: OUTSIDE, y: 11 } : { x: (start + end) / 2, y: 11, 'text-anchor': 'middle' };
}

function MessageRow({ message, lines, width, now, onPick }: MessageRowProps) {
  const { from, to, label, kind } = message;
  const x = (path: string | null): number =>
    path === null ? OUTSIDE : LEFT + (lines.columnOf(path, message.position) ?? 0) * COLUMN;
  const [start, end] = [x(from), x(to)];
  const text = escapedLine(label, 34);
  return (
    <svg width={width} height={ROW}>
      {/* oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- There are no buttons inside a drawing. */}
      <g
        class={now ? 'message-row now' : 'message-row'}
        role="button"
        tabIndex={-1}
        aria-label={`${from ?? 'outside'} to ${to}: ${text}`}
        onClick={onPick}
      >
        <rect class="row-back" width={width} height={ROW} />
        {lines.names.map((_, column) => (
          <line key={column} class="life" x1={LEFT + column * COLUMN} x2={LEFT + column * COLUMN} y1={0} y2={ROW} />
        ))}
        <path
          class={`message ${kind}`}
          d={start === end ? `M${end} 7h16v9h-12` : `M${start} 16H${end + (end > start ? -5 : 5)}`}
          stroke-dasharray={kind === 'start' ? '4 3' : ''}
        />
        <path
          class={`message ${kind}`}
          d={end > start ? `M${end - 9} 12.500l4.500 3.500-4.500 3.500` : `M${end + 9} 12.500l-4.500 3.500 4.500 3.500`}
        />
        <text {...labelPlace(start, end)}>{text}</text>
      </g>
    </svg>
  );
}
