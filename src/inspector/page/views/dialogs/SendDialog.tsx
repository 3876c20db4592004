import { useRef, useState } from 'preact/hooks';
import { isRight } from '../../model/forms/form-state.ts';
import { inertLine } from '../../model/inert-text.ts';
import { order } from '../../state/order.ts';
import { usePage } from '../../state/page-context.ts';
import { DialogFrame } from './DialogFrame.tsx';
import { EventPicker } from './EventPicker.tsx';
import { InertText } from '../InertText.tsx';
import { SchemaForm } from '../forms/SchemaForm.tsx';
import { useEventDraft } from './use-event-draft.ts';

/** Sends an event to a live actor: those that it accepts now are offered, with a form where their shape is known. */
export function SendDialog() {
  const page = usePage();
  const draft = useEventDraft(page.state);
  const { live, to, type, form, formKey, reading } = draft;
  const element = useRef<HTMLFormElement>(null);
  // What is wrong is shown where somebody has been, and everywhere once it was to be sent.
  const [strict, setStrict] = useState(false);
  const [refusal, setRefusal] = useState('');
  const afresh = (): void => {
    setStrict(false);
    setRefusal('');
  };
  const send = (event: Event): void => {
    event.preventDefault();
    setStrict(true);
    if (type === '' || to === null || reading.value === null || !isRight(reading)) {
      requestAnimationFrame(() => focusFirstWrong(element.current));
      return;
    }
    void order(page, { kind: 'send', event: { ...reading.value, type }, to }).then((done) => {
      if (done) page.state.dialog.value = null;
      else setRefusal(page.state.notice.value.text);
    });
  };
  return (
    <DialogFrame title="Send an event">
      <form
        ref={element}
        class="event-form"
        noValidate
        onSubmit={send}
        // A button that took the focus would leave a field, whose problem then moves the button from under the pointer.
        onMouseDown={(event) => {
          if (event.target instanceof Element && event.target.closest('button') !== null) event.preventDefault();
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) element.current?.requestSubmit();
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
            value={to ?? ''}
            onChange={(event) => {
              draft.address(event.currentTarget.value);
              afresh();
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
          draft={draft}
          strict={strict}
          onType={(chosen) => {
            draft.choose(chosen);
            afresh();
          }}
        />
        {form.description !== '' && <InertText class="form-about" text={form.description} most={400} />}
        {type !== '' && (
          <SchemaForm
            key={formKey}
            kind={form}
            state={draft.filled}
            reading={reading}
            strict={strict}
            title="It carries"
            jsonLabel="With (JSON)"
            onState={(next) => {
              draft.fill(next);
              setRefusal('');
            }}
          />
        )}
        <div class="form-foot">
          <button type="submit" class="button yes">
            Send
          </button>
          <p class="problem" role="alert">
            {refusal !== ''
              ? inertLine(refusal, 400)
              : strict && !isRight(reading)
                ? counted(reading.byField.size + reading.general.length)
                : ''}
          </p>
        </div>
      </form>
    </DialogFrame>
  );
}

function counted(problems: number): string {
  return `${problems === 1 ? 'One thing is' : `${problems} things are`} to be put right before it can be sent.`;
}

function focusFirstWrong(form: HTMLFormElement | null): void {
  const first = form?.querySelector('[aria-invalid="true"]');
  if (first instanceof HTMLElement) first.focus();
}
