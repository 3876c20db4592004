import { useState } from 'preact/hooks';
import { type JsonObject, isJsonObject } from '../../../parsing/json.ts';
import type { TalkItem } from '../model/talk.ts';
import { order } from '../state/order.ts';
import { usePage } from '../state/page-context.ts';
import { goTo } from '../state/walk.ts';
import { inertLine } from '../model/inert-text.ts';

/** The question that a waiting call puts, and its answers: approve, always, with edits, reject with a reason. */
export function Approval({ item }: { readonly item: Extract<TalkItem, { kind: 'call' }> }) {
  const page = usePage();
  const session = page.state.session.value;
  const [text, setText] = useState<string | null>(null);
  const [reason, setReason] = useState('');
  const [sent, setSent] = useState(false);
  const may = page.desk.acts && session?.info.can.includes('approve') === true;
  const edited = text === null ? null : readObject(text);
  const { callId, tool } = item;

  const answer = (act: Parameters<typeof order>[1]): void => {
    setSent(true);
    void order(page, act).then((done) => {
      if (!done) setSent(false);
    });
  };
  const approve = (always: boolean): void => {
    const args = edited === null || !edited.ok ? {} : { args: edited.value };
    answer({ kind: 'approve', callId, ...(always ? { always } : {}), ...args });
  };
  return (
    <form
      class="approval"
      aria-label={`Approval of ${inertLine(tool, 60)}`}
      onSubmit={(event) => event.preventDefault()}
    >
      <p>
        <b class="mono">{inertLine(tool, 80)}</b> may only run when you say so.
      </p>
      {may && page.state.cursor.value !== null && (
        <button type="button" class="button" onClick={() => goTo(page.state, null)}>
          Go to now, to answer
        </button>
      )}
      {may && page.state.cursor.value === null && (
        <>
          {text !== null && (
            <label>
              <span class="sr">Arguments as JSON</span>
              <textarea
                class="field"
                rows={Math.min(12, text.split('\n').length + 1)}
                spellcheck={false}
                value={text}
                aria-invalid={edited?.ok === false}
                onInput={(event) => setText(event.currentTarget.value)}
              />
              {edited?.ok === false && <span class="problem">{edited.problem}</span>}
            </label>
          )}
          <div class="approval-row">
            <button
              type="button"
              class="button yes"
              data-approve={callId}
              disabled={sent || edited?.ok === false}
              onClick={() => approve(false)}
            >
              {text === null ? 'Approve' : 'Approve with edits'}
            </button>
            {text === null && (
              <>
                <button type="button" class="button" disabled={sent} onClick={() => approve(true)}>
                  Always
                </button>
                <button
                  type="button"
                  class="button"
                  disabled={sent}
                  onClick={() => setText(JSON.stringify(item.args, null, 2))}
                >
                  Edit
                </button>
              </>
            )}
          </div>
          <div class="approval-row">
            <button
              type="button"
              class="button no"
              disabled={sent}
              onClick={() => answer({ kind: 'reject', callId, ...(reason === '' ? {} : { reason }) })}
            >
              Reject
            </button>
            <input
              class="field reason"
              placeholder="Reason, told to the model"
              aria-label="Reason for rejecting"
              value={reason}
              onInput={(event) => setReason(event.currentTarget.value)}
            />
          </div>
        </>
      )}
    </form>
  );
}

function readObject(
  text: string,
): { readonly ok: true; readonly value: JsonObject } | { readonly ok: false; readonly problem: string } {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? { ok: true, value } : { ok: false, problem: 'Arguments are a JSON object: { … }' };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : 'This is no JSON.' };
  }
}
