import { useRef, useState } from 'preact/hooks';
import { type Json, type JsonObject, isJsonObject } from '../../../../json/json.ts';
import { inertLine } from '../../model/inert-text.ts';
import { callableTools } from '../../model/forms/known-forms.ts';
import { forkBeside, order } from '../../state/orders.ts';
import { usePage } from '../../state/page-context.ts';
import { ArgumentsEditor } from '../forms/ArgumentsEditor.tsx';
import { Button } from '../parts/Button.tsx';
import { DialogFrame } from './DialogFrame.tsx';

/** Forks the run after an entry of its recording, with what that entry brought, or with something else. */
export function ForkDialog({ entry, outcome }: { readonly entry: number; readonly outcome: string }) {
  const page = usePage();
  const [text, setText] = useState(outcome);
  const changed = text !== outcome;
  const read = readJson(text);
  const fork = (): void => {
    page.state.dialog.value = null;
    void order(page, changed && read.ok ? { kind: 'fork', entry, outcome: read.value } : { kind: 'fork', entry });
  };
  return (
    <DialogFrame title={`Fork after entry ${entry}`}>
      <p>
        A new run begins with all that is recorded up to here, and goes on live from there.
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
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
      )}
      {changed && !read.ok && <p class="problem">{read.problem}</p>}
      <Button look="yes" disabled={changed && !read.ok} onClick={fork}>
        {changed ? 'Fork with this outcome' : 'Fork'}
      </Button>
    </DialogFrame>
  );
}

interface OutcomeProps {
  readonly entry: number;
  /** The outcome as the recording writes it. */
  readonly value: Json;
}

interface DraftCall {
  readonly key: number;
  readonly tool: string;
  /** What the form begins with. */
  readonly begin: JsonObject;
  /** Null: what stands there is no use. */
  readonly args: JsonObject | null;
}

/** Lets the model say something else at this entry: a text, calls of tools, or both. */
export function ReplyDialog({ entry, value }: OutcomeProps) {
  const page = usePage();
  const reply = valueOf(value);
  const [text, setText] = useState(typeof reply.content === 'string' ? reply.content : '');
  const [calls, setCalls] = useState<readonly DraftCall[]>(() => callsOf(reply.toolCalls));
  const next = useRef(calls.length);
  const tools = callableTools(page.state.session.value?.records ?? []);
  const change = (key: number, how: Partial<DraftCall>): void =>
    setCalls((now) => now.map((call) => (call.key === key ? { ...call, ...how } : call)));
  const add = (): void => {
    next.current += 1;
    setCalls([...calls, { key: next.current, tool: tools[0] ?? '', begin: {}, args: {} }]);
  };
  const wrong =
    calls.some(({ tool, args }) => tool === '' || args === null) || (text.trim() === '' && calls.length === 0);
  const fork = (): void => {
    const toolCalls = calls.map(({ tool, args }) => ({ name: tool, arguments: args ?? {} }));
    page.state.dialog.value = null;
    void forkBeside(page, entry, {
      ok: true,
      value: { content: text, ...(toolCalls.length > 0 ? { toolCalls } : {}) },
    });
  };
  return (
    <DialogFrame title="Reply differently">
      <p>A new run begins as this one did; here its model says this, and the run goes on live from there.</p>
      <label>
        Text
        <textarea
          class="field"
          rows={calls.length > 0 ? 3 : 8}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
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
              onChange={(event) => change(call.key, { tool: event.currentTarget.value, begin: {}, args: {} })}
            >
              {[...new Set([...tools, call.tool])].map((name) => (
                <option key={name} value={name}>
                  {inertLine(name, 80)}
                </option>
              ))}
            </select>
            <Button
              aria-label={`Leave out call ${index + 1}`}
              onClick={() => setCalls(calls.filter(({ key }) => key !== call.key))}
            >
              Leave out
            </Button>
          </div>
          <ArgumentsEditor
            key={call.tool}
            tool={call.tool}
            args={call.begin}
            onArgs={(args) => change(call.key, { args })}
          />
        </fieldset>
      ))}
      <div class="approval-row">
        <Button disabled={tools.length === 0} onClick={add}>
          Add a call
        </Button>
        <span class="spring" />
        <Button look="yes" disabled={wrong} onClick={fork}>
          Fork with this reply
        </Button>
      </div>
    </DialogFrame>
  );
}

/** Lets a tool give something else at this entry, or fail. */
export function ResultDialog({ entry, value }: OutcomeProps) {
  const page = usePage();
  const { data, error, ...rest } = valueOf(value);
  const threw = isJsonObject(value) && isJsonObject(value.error) ? value.error.message : null;
  const failure = threw ?? error ?? null;
  const [fails, setFails] = useState(failure !== null);
  const [json, setJson] = useState(() => JSON.stringify(failure === null ? (data ?? rest) : {}, null, 2));
  const [message, setMessage] = useState(typeof failure === 'string' ? failure : '');
  const read = readJson(json);
  const fork = (): void => {
    page.state.dialog.value = null;
    if (fails) void forkBeside(page, entry, { ok: false, error: { code: 'execution', message } });
    else if (read.ok) void forkBeside(page, entry, { ok: true, value: { status: 'success', data: read.value } });
  };
  return (
    <DialogFrame title="Other result">
      <p>A new run begins as this one did; here the tool gives this, and the run goes on live from there.</p>
      <div class="form-switch">
        <button type="button" aria-pressed={!fails} onClick={() => setFails(false)}>
          It gives
        </button>
        <button type="button" aria-pressed={fails} onClick={() => setFails(true)}>
          It fails
        </button>
      </div>
      <label>
        {fails ? 'What the error says' : 'Result (JSON)'}
        <textarea
          class="field"
          rows={8}
          spellcheck={false}
          value={fails ? message : json}
          aria-invalid={!fails && !read.ok}
          onInput={(event) => (fails ? setMessage : setJson)(event.currentTarget.value)}
        />
      </label>
      {!fails && !read.ok && <p class="problem">{read.problem}</p>}
      <Button look="yes" disabled={fails ? message.trim() === '' : !read.ok} onClick={fork}>
        Fork with this result
      </Button>
    </DialogFrame>
  );
}

function valueOf(outcome: Json): JsonObject {
  return isJsonObject(outcome) && isJsonObject(outcome.value) ? outcome.value : {};
}

function callsOf(list: Json | undefined): readonly DraftCall[] {
  return (Array.isArray(list) ? list : []).flatMap((call: unknown, key) => {
    if (!isJsonObject(call) || typeof call.name !== 'string') return [];
    const read = typeof call.arguments === 'string' ? readJson(call.arguments) : null;
    const args = read === null ? call.arguments : read.ok ? read.value : null;
    const begin = isJsonObject(args) ? args : {};
    return [{ key, tool: call.name, begin, args: begin }];
  });
}

function readJson(
  text: string,
): { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly problem: string } {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : 'This is not JSON.' };
  }
}
