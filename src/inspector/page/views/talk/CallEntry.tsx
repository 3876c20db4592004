import type { Act, Tone } from '../../../frames/protocol.ts';
import { Button } from '../parts/Button.tsx';
import { isJsonObject } from '../../../../json/json.ts';
import type { CallQuestion, CallStatus, TalkItem } from '../../model/talk.ts';
import { jsonDiff } from '../../model/compare/json-diff.ts';
import { Changes } from '../parts/StepDetails.tsx';
import { durationText } from '../../model/time-scale.ts';
import { escapedLine } from '../../model/escaped-text.ts';
import { EntryFrame, OtherOutcome } from './entries.tsx';
import { EscapedText, JsonTree, Payload } from '../parts/Values.tsx';
import { useState } from 'preact/hooks';
import { type AnswerDraft, NO_DRAFT, usePage } from '../../state/page-state.ts';
import { order } from '../../state/orders.ts';
import { goTo } from '../../state/walk.ts';
import type { ToolSource } from '../../../../tools/server-tool.ts';
import { later } from '../parts/later.tsx';

type CallItem = Extract<TalkItem, { kind: 'call' }>;

const TONES: { readonly [status in CallStatus]: Tone } = {
  waiting: 'wait',
  running: 'tool',
  ok: 'done',
  failed: 'danger',
  denied: 'caution',
  dropped: 'caution',
};
const WORDS: { readonly [status in CallStatus]: string } = {
  waiting: 'waits for you',
  running: 'running',
  ok: 'done',
  failed: 'failed',
  denied: 'denied',
  dropped: 'not ended',
};

/** A call of a tool: its arguments, what recovery did, its result; and the buttons while it waits for a person. */
export function CallEntry({ item, now }: { readonly item: CallItem; readonly now: boolean }) {
  const { tool, args, status, result, durationMs, recovery, reason, proposed, questions, progress } = item;
  const lastError = recovery.at(-1)?.error ?? '';
  const head = (
    <>
      <b class="mono">{escapedLine(tool, 80)}</b>
      <span class={TONES[status]}>{WORDS[status]}</span>
      {status === 'running' && progress !== '' && <span class="dim">{escapedLine(progress, 80)}</span>}
      {durationMs !== null && durationMs > 0 && <span class="dim">{durationText(durationMs)}</span>}
    </>
  );
  return (
    <EntryFrame item={item} now={now} tone={TONES[status]} head={head}>
      {isJsonObject(args) && Object.keys(args).length === 0 ? null : (
        <Payload name="arguments">
          <JsonTree key={String(status === 'waiting')} value={args} open={status === 'waiting' ? Infinity : 2} />
        </Payload>
      )}
      {proposed !== null && (
        <details class="edited">
          <summary>Changed by a person before it ran</summary>
          <Changes differences={jsonDiff(proposed, args)} />
        </details>
      )}
      {recovery.length > 0 && (
        <div class="chips">
          {recovery.map(({ step, error }, index) => (
            <span key={index} class="chip" title={escapedLine(error, 400)}>
              {escapedLine(step, 40)}
            </span>
          ))}
        </div>
      )}
      {lastError !== '' && (
        <p class="caution">
          Because: <EscapedText text={lastError} most={300} />
        </p>
      )}
      {questions.map((question, index) => (
        <QuestionView key={index} question={question} />
      ))}
      {status === 'waiting' && <Approval item={item} />}
      {status === 'denied' && <EscapedText class="caution" text={reason} />}
      {result !== null && (
        <Payload name={result.status === 'error' ? 'error' : 'result'}>
          {result.status === 'error' && typeof result.error === 'string' && Object.keys(result).length <= 2 ? (
            <div>
              <EscapedText class="danger" text={result.error} />
            </div>
          ) : (
            <JsonTree
              value={result.data !== undefined && Object.keys(result).length <= 2 ? result.data : defined(result)}
            />
          )}
        </Payload>
      )}
      {(status === 'ok' || status === 'failed') && (
        <OtherOutcome position={item.last} leaf="callTool" label="Other result…" />
      )}
    </EntryFrame>
  );
}

/** What an MCP server asked meanwhile, and the answer. */
function QuestionView({ question: { server, kind, message, action, content } }: { readonly question: CallQuestion }) {
  return (
    <div class="payload" data-testid="question">
      <span class="payload-name">{kind === 'elicitation' ? 'question' : 'sampling'}</span>
      <p>
        <b>{escapedLine(server, 60)}</b> <EscapedText text={message} most={600} />
      </p>
      <p class={action === null ? 'wait' : 'dim'}>{action === null ? 'not answered yet' : ANSWERS[action]}</p>
      {isJsonObject(content) && Object.keys(content).length > 0 && <JsonTree value={content} />}
    </div>
  );
}

const ANSWERS = { accept: 'answered', decline: 'declined', cancel: 'cancelled' } as const;

/** The members of a result that are there. */
function defined(result: NonNullable<CallItem['result']>) {
  return Object.fromEntries(
    Object.entries(result).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
}

const ArgumentsEditor = later(async () => (await import('../forms/SchemaForm.tsx')).ArgumentsEditor);

/** The question that a waiting call puts, and its answers: approve, always, with edits, reject with a reason. */
function Approval({ item }: { readonly item: CallItem }) {
  const page = usePage();
  const session = page.state.session.value;
  const draft = useDraft(`${session?.info.id ?? ''}/${item.callId}`);
  void page.state.revision.value;
  const may = page.desk.acts && session?.info.can.includes('approve') === true;
  const isNow = page.state.cursor.value === null;
  const answer = (act: Act): void => {
    draft.change({ sent: true });
    void order(page, act).then((done) => {
      if (!done) draft.change({ sent: false });
    });
  };
  return (
    <form
      class="approval"
      aria-label={`Approval of ${escapedLine(item.tool, 60)}`}
      onSubmit={(event) => event.preventDefault()}
    >
      <p>
        <b class="mono">{escapedLine(item.tool, 80)}</b> may only run when you say so.
      </p>
      <SourceRows source={item.source} />
      {may && !isNow && <Button onClick={() => goTo(page.state, null)}>Go to now, to answer</Button>}
      {may && isNow && <Answers item={item} draft={draft} onAnswer={answer} />}
    </form>
  );
}

interface AnswersProps {
  readonly item: CallItem;
  readonly draft: ReturnType<typeof useDraft>;
  readonly onAnswer: (act: Act) => void;
}

function Answers({ item, draft, onAnswer }: AnswersProps) {
  const { callId, tool, args: proposed } = item;
  const { edited, reason, sent } = draft.value;
  const setEdited = (next: AnswerDraft['edited']): void => draft.change({ edited: next });
  const approve = (always: boolean): void => {
    const args = edited === null ? {} : { args: edited.args };
    onAnswer({ kind: 'approve', callId, ...(always ? { always } : {}), ...args });
  };
  return (
    <>
      {edited !== null && (
        <ArgumentsEditor
          tool={tool}
          args={edited.args}
          onArgs={(args) => setEdited(args === null ? { ...edited, wrong: true } : { args, wrong: false })}
        />
      )}
      <div class="approval-row">
        <Button
          look="yes"
          data-approve={callId}
          disabled={sent || edited?.wrong === true}
          onClick={() => approve(false)}
        >
          {edited === null ? 'Approve' : 'Approve with edits'}
        </Button>
        {edited !== null && <Button onClick={() => setEdited(null)}>Discard edits</Button>}
        {edited === null && (
          <>
            <Button disabled={sent} onClick={() => approve(true)}>
              Always
            </Button>
            <Button
              disabled={sent}
              onClick={() => setEdited({ args: isJsonObject(proposed) ? proposed : {}, wrong: false })}
            >
              Edit
            </Button>
          </>
        )}
      </div>
      <div class="approval-row">
        <Button
          look="no"
          disabled={sent}
          onClick={() => onAnswer({ kind: 'reject', callId, ...(reason === '' ? {} : { reason }) })}
        >
          Reject
        </Button>
        <input
          class="field reason"
          placeholder="Reason, for the model"
          aria-label="Reason for rejecting"
          value={reason}
          onInput={(event) => draft.change({ reason: event.currentTarget.value })}
        />
      </div>
    </>
  );
}

/** The tool's MCP server, how the server describes it, and what has changed since it was always allowed. */
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
              <EscapedText text={text} most={400} />
            </dd>
          </div>
        ),
      )}
    </dl>
  );
}

/** The draft of an answer, kept by the page: an entry that is scrolled out of sight is not in the document, what was written is. */
function useDraft(call: string): {
  readonly value: AnswerDraft;
  change(change: Partial<AnswerDraft>): void;
} {
  const { drafts } = usePage().state;
  const [, again] = useState(0);
  return {
    value: drafts.get(call) ?? NO_DRAFT,
    change: (change) => {
      drafts.set(call, { ...(drafts.get(call) ?? NO_DRAFT), ...change });
      again((n) => n + 1);
    },
  };
}
