import { useState } from 'preact/hooks';
import { usePage } from '../../state/page-context.ts';
import type { TalkItem } from '../../model/talk/talk.ts';
import { Entry } from './Entry.tsx';
import { Lamp } from '../Icon.tsx';
import { VirtualList } from '../VirtualList.tsx';

/** The conversation up to the step that is looked at. */
export function TalkBoard() {
  const { state } = usePage();
  const { items } = state.talk.value;
  const position = state.position.value;
  const standing = state.cursor.value !== null;
  const [seek, setSeek] = useState<number | null>(null);
  const waiting = items.findIndex((item) => item.kind === 'call' && item.status === 'waiting');
  const seekWaiting = (): void => {
    setSeek(null);
    requestAnimationFrame(() => setSeek(waiting));
  };
  return (
    <section class="board board-talk" aria-label="Conversation">
      <div class="board-head">
        <h2>Conversation</h2>
        <span class="spring" />
        {!standing && waiting >= 0 && (
          <button type="button" class="button quiet wait" data-key="waiting" title="Go to it (a)" onClick={seekWaiting}>
            <Lamp tone="wait" size={12} /> a call waits for you
          </button>
        )}
      </div>
      {items.length === 0 ? (
        <p class="empty">Nothing has been said yet.</p>
      ) : (
        <VirtualList
          items={items}
          estimate={64}
          measured
          label="Conversation"
          stick={!standing}
          reveal={standing ? items.length - 1 : seek}
          render={(item: TalkItem) => <Entry item={item} now={standing && item.last === position} />}
        />
      )}
    </section>
  );
}
