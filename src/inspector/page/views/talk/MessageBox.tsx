import { useState } from 'preact/hooks';
import { order } from '../../state/orders.ts';
import { usePage } from '../../state/page-context.ts';
import { Button } from '../parts/Button.tsx';

/** Where a person writes to a live run: its model reads it before its next step, or the next run begins with it. */
export function MessageBox() {
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
          if (event.key !== 'Enter' || event.shiftKey) return;
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
