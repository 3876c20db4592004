import { useEffect, useRef, useState } from 'preact/hooks';
import { escapedLine } from '../../model/escaped-text.ts';
import { callableTools } from '../../model/forms/known-forms.ts';
import {
  type DraftCall,
  type ForkDraft,
  type ReplyDraft,
  type ResultDraft,
  draftOutcome,
  readJson,
} from '../../state/fork-draft.ts';
import { forkBeside, order } from '../../state/orders.ts';
import { usePage } from '../../state/page-state.ts';
import { Button } from '../parts/Button.tsx';
import { DialogFrame } from '../parts/DialogFrame.tsx';
import { ArgumentsEditor } from './SchemaForm.tsx';

/** Forks the run after an entry of its recording, with what that entry brought, or with something else. */
export function ForkDialog({ entry, outcome }: { readonly entry: number; readonly outcome: string }) {
  const page = usePage();
  const [text, setText] = useState(outcome);
  const changed = text !== outcome;
  const read = readJson(text);
  const [isSent, setSent] = useState(false);
  const [refusal, setRefusal] = useState('');
  const fork = async (): Promise<void> => {
    setSent(true);
    const other = changed && read.ok ? { outcome: read.value } : {};
    // What the machine or the agent refuses can be written otherwise.
    if (await order(page, { kind: 'fork', entry, ...other })) page.state.dialog.value = null;
    else setRefusal(page.state.notice.value.text);
    setSent(false);
  };
  return (
    <DialogFrame title={`Fork after entry ${entry}`}>
      <p>
        A new run begins with all that is recorded up to here, and continues live from there.
        {outcome === '' ? '' : ' What came back at this entry may be changed first.'}
      </p>
      {outcome !== '' && (
        <label>
          Outcome (JSON)
          <textarea
            class="field"
            rows={12}
            spellcheck={false}
            value={text}
            aria-invalid={changed && !read.ok}
            onInput={(event) => {
              setText(event.currentTarget.value);
              setRefusal('');
            }}
          />
        </label>
      )}
      {changed && !read.ok && <p class="problem">{read.problem}</p>}
      <div class="form-foot">
        <Button look="yes" disabled={isSent || (changed && !read.ok)} onClick={() => void fork()}>
          {changed ? 'Fork with this outcome' : 'Fork'}
        </Button>
        <p class="problem" role="alert">
          {escapedLine(refusal, 400)}
        </p>
      </div>
    </DialogFrame>
  );
}

const TEXTS = {
  callLlm: {
    title: 'Reply differently',
    what: 'A new run begins as this one did; here its model says this, and the run continues live.',
    fork: 'Fork with this reply',
  },
  callTool: {
    title: 'Other result',
    what: 'A new run begins as this one did; here the tool gives this, and the run continues live.',
    fork: 'Fork with this result',
  },
} as const;

/** Writes another outcome where the recorded one stands, and forks the run with it. */
export function ForkForm({ draft }: { readonly draft: ForkDraft }) {
  const page = usePage();
  const { title, what, fork } = TEXTS[draft.leaf];
  const [isSent, setSent] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    form.current?.querySelector('textarea')?.focus({ preventScroll: true });
    if (form.current !== null) bringIntoSight(form.current);
  }, []);
  const outcome = draftOutcome(draft);
  const change = (next: ForkDraft | null): void => {
    page.state.fork.value = next;
  };
  const send = async (): Promise<void> => {
    if (outcome === null) return;
    setSent(true);
    // What the machine or the agent refuses can be written otherwise.
    if (await forkBeside(page, draft.entry, outcome)) change(null);
    setSent(false);
  };
  const cancel = (): void => {
    change(null);
    requestAnimationFrame(() => {
      const button = document.querySelector(`[data-fork="${draft.entry}"]`);
      if (button instanceof HTMLElement) button.focus();
    });
  };
  return (
    <form ref={form} class="fork-form" aria-label={title} onSubmit={(event) => event.preventDefault()}>
      <p>{what}</p>
      {draft.leaf === 'callLlm' ? (
        <ReplyFields draft={draft} onDraft={change} />
      ) : (
        <ResultFields draft={draft} onDraft={change} />
      )}
      <div class="approval-row">
        <Button look="yes" disabled={outcome === null || isSent} onClick={() => void send()}>
          {fork}
        </Button>
        <Button onClick={cancel}>Cancel</Button>
      </div>
    </form>
  );
}

/** Scrolls the list that a form stands in, and nothing around it, as far as shows the most of it. */
function bringIntoSight(form: HTMLElement): void {
  const list = form.closest('.scroll');
  if (list === null) return;
  const [inner, outer] = [form.getBoundingClientRect(), list.getBoundingClientRect()];
  const hidden = Math.min(inner.bottom - outer.bottom, inner.top - outer.top);
  if (hidden > 0) list.scrollTop += hidden;
}

interface FieldsProps<Draft> {
  readonly draft: Draft;
  readonly onDraft: (draft: Draft) => void;
}

function ReplyFields({ draft, onDraft }: FieldsProps<ReplyDraft>) {
  const { text, calls } = draft;
  const { state } = usePage();
  const tools = callableTools(state.session.value?.records ?? []);
  const put = (next: readonly DraftCall[]): void => onDraft({ ...draft, calls: next });
  const change = (key: number, how: Partial<DraftCall>): void => {
    // Several forms that are shown together say what they hold before this one is drawn again.
    const now = state.fork.peek();
    if (now?.leaf !== 'callLlm') return;
    onDraft({ ...now, calls: now.calls.map((call) => (call.key === key ? { ...call, ...how } : call)) });
  };
  const add = (): void => {
    const key = Math.max(-1, ...calls.map((call) => call.key)) + 1;
    put([...calls, { key, tool: tools[0] ?? '', args: {}, isWrong: false }]);
  };
  return (
    <>
      <label>
        Text
        <textarea
          class="field"
          rows={calls.length > 0 ? 3 : 6}
          value={text}
          onInput={(event) => onDraft({ ...draft, text: event.currentTarget.value })}
        />
      </label>
      {calls.map((call, index) => (
        <fieldset key={call.key} class="call-form">
          <legend>Call {index + 1}</legend>
          <div class="call-form-head">
            <select
              class="field mono"
              aria-label={`Tool of call ${index + 1}`}
              value={call.tool}
              onChange={(event) => change(call.key, { tool: event.currentTarget.value, args: {}, isWrong: false })}
            >
              {[...new Set([...tools, call.tool])].map((name) => (
                <option key={name} value={name}>
                  {escapedLine(name, 80)}
                </option>
              ))}
            </select>
            <Button
              aria-label={`Leave out call ${index + 1}`}
              onClick={() => put(calls.filter(({ key }) => key !== call.key))}
            >
              Leave out
            </Button>
          </div>
          <ArgumentsEditor
            key={call.tool}
            tool={call.tool}
            args={call.args}
            keepFocus
            onArgs={(args) => change(call.key, args === null ? { isWrong: true } : { args, isWrong: false })}
          />
        </fieldset>
      ))}
      <Button look="quiet" disabled={tools.length === 0} onClick={add}>
        Add a call
      </Button>
    </>
  );
}

function ResultFields({ draft, onDraft }: FieldsProps<ResultDraft>) {
  const { fails, json, message } = draft;
  const read = readJson(json);
  return (
    <>
      <div class="form-switch">
        <button type="button" aria-pressed={!fails} onClick={() => onDraft({ ...draft, fails: false })}>
          It gives
        </button>
        <button type="button" aria-pressed={fails} onClick={() => onDraft({ ...draft, fails: true })}>
          It fails
        </button>
      </div>
      <label>
        {fails ? 'What the error says' : 'Result (JSON)'}
        <textarea
          class="field"
          rows={6}
          spellcheck={false}
          value={fails ? message : json}
          aria-invalid={!fails && !read.ok}
          onInput={({ currentTarget: { value } }) =>
            onDraft({ ...draft, ...(fails ? { message: value } : { json: value }) })
          }
        />
      </label>
      {!fails && !read.ok && <p class="problem">{read.problem}</p>}
    </>
  );
}
