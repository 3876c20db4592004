import { useMemo } from 'preact/hooks';
import { escapedLine } from '../../model/escaped-text.ts';
import { type Lifelines, placeLifelines, type SequenceMessage, messagesOf } from '../../model/sequence.ts';
import { usePage } from '../../state/page-state.ts';
import { goTo } from '../../state/walk.ts';
import { Empty } from '../parts/StepDetails.tsx';
import { VirtualList } from '../parts/VirtualList.tsx';

const ROW = 24;
const LEFT = 64;
const COLUMN = 112;
const OUTSIDE = 12;

/** Which actor sent which event to which, from top to bottom. Actors that never live together share a line. */
export function SequenceTab() {
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
        estimate={ROW}
        label="Messages"
        stick={state.cursor.value === null}
        reveal={at}
        render={(message: SequenceMessage, index) => (
          <Row
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

interface RowProps {
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

function Row({ message, lines, width, now, onPick }: RowProps) {
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
