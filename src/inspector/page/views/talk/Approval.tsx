import { useState } from 'preact/hooks';
import { isJsonObject } from '../../../../json/json.ts';
import type { AnswerDraft } from '../../model/forms/answer-draft.ts';
import type { TalkItem } from '../../model/talk/talk.ts';
import { order } from '../../state/order.ts';
import { usePage } from '../../state/page-context.ts';
import { goTo } from '../../state/walk.ts';
import type { ToolSource } from '../../../../tools/server-tool.ts';
import { inertLine } from '../../model/inert-text.ts';
import { InertText } from '../InertText.tsx';
import { later } from '../later.tsx';
import { useDraft } from '../forms/use-draft.ts';

const ArgumentsEditor = later(async () => (await import('../forms/ArgumentsEditor.tsx')).ArgumentsEditor);

/** The question that a waiting call puts, and its answers: approve, always, with edits, reject with a reason. */
export function Approval({ item }: { readonly item: Extract<TalkItem, { kind: 'call' }> }) {
  const page = usePage();
  const session = page.state.session.value;
  const draft = useDraft(`${session?.info.id ?? ''}/${item.callId}`);
  const { edited, reason } = draft.value;
  const setEdited = (next: AnswerDraft['edited']): void => draft.change({ edited: next });
  const [sent, setSent] = useState(false);
  const may = page.desk.acts && session?.info.can.includes('approve') === true;
  const { callId, tool } = item;

  const answer = (act: Parameters<typeof order>[1]): void => {
    setSent(true);
    void order(page, act).then((done) => {
      if (!done) setSent(false);
    });
  };
  const approve = (always: boolean): void => {
    const args = edited === null ? {} : { args: edited.args };
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
      <SourceRows source={item.source} />
      {may && page.state.cursor.value !== null && (
        <button type="button" class="button" onClick={() => goTo(page.state, null)}>
          Go to now, to answer
        </button>
      )}
      {may && page.state.cursor.value === null && (
        <>
          {edited !== null && (
            <ArgumentsEditor
              tool={tool}
              args={edited.args}
              onArgs={(args) => setEdited(args === null ? { ...edited, wrong: true } : { args, wrong: false })}
            />
          )}
          <div class="approval-row">
            <button
              type="button"
              class="button yes"
              data-approve={callId}
              disabled={sent || edited?.wrong === true}
              onClick={() => approve(false)}
            >
              {edited === null ? 'Approve' : 'Approve with edits'}
            </button>
            {edited === null && (
              <>
                <button type="button" class="button" disabled={sent} onClick={() => approve(true)}>
                  Always
                </button>
                <button
                  type="button"
                  class="button"
                  disabled={sent}
                  onClick={() => setEdited({ args: isJsonObject(item.args) ? item.args : {}, wrong: false })}
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
              onInput={(event) => draft.change({ reason: event.currentTarget.value })}
            />
          </div>
        </>
      )}
    </form>
  );
}

/** Whose tool it is, what its MCP server says of it, and what has changed since it was always allowed. */
function SourceRows({ source }: { readonly source: ToolSource }) {
  const { server, address, serverTool, title, description, annotations, changes = [] } = source;
  if (server === undefined) return null;
  const rows = [
    ['MCP server', address === undefined ? server : `${server} (${address})`],
    ['Its tool', serverTool],
    ['Title', title],
    ['Description', description],
    ['Annotations', annotations === undefined ? undefined : JSON.stringify(annotations)],
    ...changes.flatMap(({ what, before, after }) => [
      [`Changed: ${what}, before`, before],
      [`Changed: ${what}, now`, after],
    ]),
  ];
  return (
    <dl class="approval-source">
      {rows.map(([name, text]) =>
        text === undefined ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <InertText text={text} most={400} />
            </dd>
          </div>
        ),
      )}
    </dl>
  );
}
