import { useRef, useState } from 'preact/hooks';
import { acceptedEvents, describes, wildcards } from '../model/accepted-events.ts';
import { actorsAt } from '../model/actor-state.ts';
import { eventForm } from '../model/event-form.ts';
import { type FormState, beginForm, isRight, readForm } from '../model/form-state.ts';
import { inertLine } from '../model/inert-text.ts';
import { order } from '../state/order.ts';
import { usePage } from '../state/page-context.ts';
import { DialogFrame } from './DialogFrame.tsx';
import { EventPicker } from './EventPicker.tsx';
import { InertText } from './InertText.tsx';
import { SchemaForm } from './SchemaForm.tsx';

/** Sends an event to a live actor: those that it accepts now are offered, with a form where their shape is known. */
export function SendDialog() {
  const page = usePage();
  const { state } = page;
  void state.beat.value;
  const form = useRef<HTMLFormElement>(null);
  const session = state.session.value;
  const live = (session === null ? [] : actorsAt(session, session.steps.length - 1)).filter(
    ({ alive, track }) => alive && track.info.drawing !== null,
  );
  const [chosen, setChosen] = useState(state.focus.value);
  const actor = live.find(({ path }) => path === chosen) ?? live[0];
  const drawing = state.model.drawings.get(actor?.track.info.drawing ?? '');
  const accepted = actor === undefined || drawing === undefined ? [] : acceptedEvents(drawing, actor.active);
  const [typed, setType] = useState<string | null>(null);
  const type = typed ?? (accepted.length === 1 ? (accepted[0] ?? '') : '');
  const patterns = actor === undefined || drawing === undefined ? [] : wildcards(drawing, actor.active);
  const isAccepted = accepted.includes(type) || patterns.some((pattern) => describes(pattern, type));

  const kind = eventForm(drawing, type);
  // What was filled in for one event is there again when it is chosen again; what is written freely goes with any.
  const key = kind.fields === null && kind.description === '' ? '' : `${drawing?.hash ?? ''} ${type}`;
  const [forms, setForms] = useState<{ readonly [key: string]: FormState }>({});
  const filled = forms[key] ?? beginForm(kind);
  const reading = readForm(kind, filled);
  const [strict, setStrict] = useState(false);
  const [refusal, setRefusal] = useState('');
  const wrong = reading.byField.size + reading.general.length;

  const change = (next: FormState): void => {
    setForms({ ...forms, [key]: next });
    setRefusal('');
  };
  const choose = (next: string): void => {
    setType(next);
    setStrict(false);
    setRefusal('');
  };
  const send = (event: Event): void => {
    event.preventDefault();
    setStrict(true);
    if (type === '' || actor === undefined || reading.value === null || !isRight(reading)) {
      requestAnimationFrame(() => focusFirstWrong(form.current));
      return;
    }
    void order(page, { kind: 'send', event: { ...reading.value, type }, to: actor.path }).then((done) => {
      if (done) state.dialog.value = null;
      else setRefusal(state.notice.value.text);
    });
  };
  return (
    <DialogFrame title="Send an event">
      <form
        ref={form}
        class="event-form"
        noValidate
        onSubmit={send}
        // A button that took the focus would leave a field, whose problem then moves the button from under the pointer.
        onMouseDown={(event) => {
          if (event.target instanceof Element && event.target.closest('button') !== null) event.preventDefault();
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.current?.requestSubmit();
        }}
      >
        <div class="form-row">
          <label class="form-label" for="send-to">
            To
          </label>
          <select
            id="send-to"
            class="field"
            autofocus
            value={actor?.path ?? ''}
            onChange={(event) => {
              setChosen(event.currentTarget.value);
              setType(null);
              setStrict(false);
            }}
          >
            {live.map(({ path }) => (
              <option key={path} value={path}>
                {inertLine(path, 80)}
              </option>
            ))}
          </select>
        </div>
        <EventPicker
          type={type}
          accepted={accepted}
          patterns={patterns}
          isAccepted={isAccepted}
          strict={strict}
          onType={choose}
        />
        {kind.description !== '' && <InertText class="form-about" text={kind.description} most={400} />}
        {type !== '' && (
          <SchemaForm
            key={key}
            kind={kind}
            state={filled}
            reading={reading}
            strict={strict}
            title="It carries"
            jsonLabel="With (JSON)"
            onState={change}
          />
        )}
        <div class="form-foot">
          <button type="submit" class="button yes">
            Send
          </button>
          <p class="problem" role="alert">
            {refusal !== ''
              ? inertLine(refusal, 400)
              : strict && wrong > 0
                ? `${counted(wrong)} before it can be sent.`
                : ''}
          </p>
        </div>
      </form>
    </DialogFrame>
  );
}

function counted(problems: number): string {
  return problems === 1 ? 'One thing is to be put right' : `${problems} things are to be put right`;
}

function focusFirstWrong(form: HTMLFormElement | null): void {
  const first = form?.querySelector('[aria-invalid="true"]');
  if (first instanceof HTMLElement) first.focus();
}
