import { Button, Lamp } from '../parts/Button.tsx';
import { useState } from 'preact/hooks';
import { usePage } from '../../state/page-state.ts';
import type { TalkItem } from '../../model/talk.ts';
import { Empty } from '../parts/StepDetails.tsx';
import { VirtualList } from '../parts/VirtualList.tsx';
import { endingInWords } from '../../../../machines/contract/run-result.ts';
import { durationText } from '../../model/time-scale.ts';
import { CallEntry } from './CallEntry.tsx';
import { depthOf, EntryFrame, ModelEntry, PlanEntry } from './entries.tsx';
import { CopyButton, EscapedText } from '../parts/Values.tsx';
import { escapedLine } from '../../model/escaped-text.ts';
import { order } from '../../state/orders.ts';

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
        <h2 class="small-title">Conversation</h2>
        <span class="spring" />
        {!standing && waiting >= 0 && (
          <Button look="quiet wait" data-key="waiting" title="Go to it (a)" onClick={seekWaiting}>
            <Lamp tone="wait" size={12} /> a call waits for you
          </Button>
        )}
      </div>
      {items.length === 0 ? (
        <Empty why="Nothing has been said yet." />
      ) : (
        <VirtualList
          items={items}
          estimate={64}
          measured
          label="Conversation"
          stick={!standing}
          reveal={standing ? items.length - 1 : seek === waiting ? seek : null}
          render={(item: TalkItem) => <Entry item={item} now={standing && item.last === position} />}
        />
      )}
      <MessageBox />
    </section>
  );
}

/** One entry of the conversation. */
function Entry({ item, now }: { readonly item: TalkItem; readonly now: boolean }) {
  switch (item.kind) {
    case 'turn':
      return (
        <div class="turn" {...depthOf(item)}>
          {item.by === null ? '' : `${escapedLine(item.by.name, 40)} · `}Step {item.number} of {item.limit}
          {item.of === 'plan' ? ' · plan' : ''}
        </div>
      );
    case 'task':
      return (
        <EntryFrame item={item} now={now} tone="go" head={<b>Task</b>}>
          <EscapedText class="task" text={item.text} />
        </EntryFrame>
      );
    case 'model':
      return <ModelEntry item={item} now={now} />;
    case 'plan':
      return <PlanEntry item={item} now={now} />;
    case 'call':
      return <CallEntry item={item} now={now} />;
    case 'message':
      return (
        <EntryFrame item={item} now={now} tone={isOpen(item) ? 'wait' : 'go'} head={<b>You, {whenRead(item)}</b>}>
          <EscapedText class="task" text={item.text} />
        </EntryFrame>
      );
    case 'note':
      return (
        <EntryFrame item={item} now={now} tone={item.tone === 'info' ? 'go' : item.tone} head={null}>
          <EscapedText text={item.text} />
        </EntryFrame>
      );
    case 'answer':
      return (
        <EntryFrame item={item} now={now} tone="done" head={<b>Answer</b>}>
          <div class="answer-text copied">
            <EscapedText text={item.text} />
            <CopyButton text={() => item.text} />
          </div>
        </EntryFrame>
      );
    case 'end': {
      const { success, status, reason, stepsTaken, durationMs } = item.result;
      return (
        <EntryFrame
          item={item}
          now={now}
          tone={success ? 'done' : status === 'failed' ? 'danger' : 'caution'}
          head={
            <b>
              {status}: {reason}
            </b>
          }
        >
          {!success && <EscapedText text={endingInWords(item.result)} />}
          <div class="meta">
            <span>
              {stepsTaken} {stepsTaken === 1 ? 'step' : 'steps'}
            </span>
            <span>{durationText(durationMs)}</span>
          </div>
        </EntryFrame>
      );
    }
  }
}

type MessageItem = Extract<TalkItem, { kind: 'message' }>;

function isOpen({ way, delivered }: MessageItem): boolean {
  return way === 'queue' || delivered === null;
}

/** When a message of a person is read. */
function whenRead({ way, delivered }: MessageItem): string {
  if (way === 'queue') return 'for the next run';
  return delivered === null ? 'for the next step' : `read in step ${delivered}`;
}

/** Where a person writes to a live run: its model reads it before its next step, or the next run begins with it. */
function MessageBox() {
  const page = usePage();
  const { state } = page;
  const session = state.session.value;
  const id = session?.info.id ?? '';
  const [text, setText] = useState(state.messages.get(id) ?? '');
  const [sending, setSending] = useState(false);
  const isOver = state.talk.value.items.some(({ kind }) => kind === 'end');
  const isRun = state.talk.value.items[0]?.kind === 'task';
  if (session === null || !page.desk.acts || !session.info.can.includes('send') || !isRun || isOver) return null;
  if (state.cursor.value !== null) return null;
  const write = (written: string): void => {
    state.messages.set(id, written);
    setText(written);
  };
  const send = (type: 'message.steered' | 'message.queued'): void => {
    if (text.trim() === '' || sending) return;
    setSending(true);
    void order(page, { kind: 'send', event: { type, id: crypto.randomUUID(), text } }).then((done) => {
      setSending(false);
      if (done) write('');
    });
  };
  return (
    <form
      class="message-box"
      aria-label="Message to the agent"
      onSubmit={(event) => {
        event.preventDefault();
        send('message.steered');
      }}
    >
      <textarea
        rows={1}
        value={text}
        aria-label="Message to the agent"
        placeholder="Say something to the agent while it works"
        onInput={(event) => write(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          send('message.steered');
        }}
      />
      <Button type="submit" disabled={sending} title="The model reads it before its next step (Enter)">
        Steer
      </Button>
      <Button disabled={sending} title="The next run begins with it" onClick={() => send('message.queued')}>
        Queue
      </Button>
    </form>
  );
}
