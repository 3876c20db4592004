import { usePage } from '../state/page-context.ts';
import type { TalkItem } from '../model/talk.ts';
import { Entry } from './Entry.tsx';
import { VirtualList } from './VirtualList.tsx';

/** The conversation up to the step that is looked at. */
export function TalkBoard() {
  const { state } = usePage();
  const { items } = state.talk.value;
  const position = state.position.value;
  const standing = state.cursor.value !== null;
  return (
    <section class="board board-talk" aria-label="Conversation">
      <div class="board-head">
        <h2>Conversation</h2>
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
          reveal={standing ? items.length - 1 : null}
          render={(item: TalkItem) => <Entry item={item} now={standing && item.last === position} />}
        />
      )}
    </section>
  );
}
