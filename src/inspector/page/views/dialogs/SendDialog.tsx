import { describes } from '../../../frames/event-issues.ts';
import { Button } from '../parts/Button.tsx';
import { useRef, useState } from 'preact/hooks';
import { isRight, type FormState, beginForm, readForm } from '../../model/forms/form-state.ts';
import { escapedLine } from '../../model/escaped-text.ts';
import { order } from '../../state/orders.ts';
import { usePage, type PageState } from '../../state/page-state.ts';
import { DialogFrame } from '../parts/DialogFrame.tsx';
import { EscapedText } from '../parts/Values.tsx';
import { SchemaForm } from '../forms/SchemaForm.tsx';
import { acceptedEvents, wildcards, eventForm } from '../../model/forms/known-forms.ts';
import { actorsAt, actorText } from '../../model/actor-state.ts';

/** Sends an event to a live actor: those that it accepts now are offered, with a form where their shape is known. */
export function SendDialog() {
  const page = usePage();
  const draft = useEventDraft(page.state);
  const { type, form, formKey, reading } = draft;
  const element = useRef<HTMLFormElement>(null);
  // Errors are shown in visited fields, and everywhere after an attempt to send.
  const [strict, setStrict] = useState(false);
  const [refusal, setRefusal] = useState('');
  const afresh = (): void => {
    setStrict(false);
    setRefusal('');
  };
  const send = (event: Event): void => {
    event.preventDefault();
    setStrict(true);
    if (type === '' || draft.to === null || reading.value === null || !isRight(reading)) {
      requestAnimationFrame(() => focusFirstWrong(element.current));
      return;
    }
    void order(page, { kind: 'send', event: { ...reading.value, type }, to: draft.to }).then((done) => {
      if (done) page.state.dialog.value = null;
      else setRefusal(page.state.notice.value.text);
    });
  };
  const missing = strict && !isRight(reading) ? counted(reading.byField.size + reading.general.length) : '';
  return (
    <DialogFrame title="Send an event">
      <form
        ref={element}
        class="event-form"
        noValidate
        onSubmit={send}
        onMouseDown={keepFocus}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) element.current?.requestSubmit();
        }}
      >
        <AddressPicker draft={draft} onAddress={afresh} />
        <EventPicker
          draft={draft}
          strict={strict}
          onType={(chosen) => {
            draft.choose(chosen);
            afresh();
          }}
        />
        {form.description !== '' && <EscapedText class="form-about" text={form.description} most={400} />}
        {type !== '' && (
          <SchemaForm
            key={formKey}
            kind={form}
            state={draft.filled}
            reading={reading}
            strict={strict}
            title="Data"
            jsonLabel="With (JSON)"
            onState={(next) => {
              draft.fill(next);
              setRefusal('');
            }}
          />
        )}
        <div class="form-foot">
          <Button type="submit" look="yes">
            Send
          </Button>
          <p class="problem" role="alert">
            {refusal === '' ? missing : escapedLine(refusal, 400)}
          </p>
        </div>
      </form>
    </DialogFrame>
  );
}

/** A button that took the focus would leave a field, whose problem then moves the button from under the pointer. */
function keepFocus(event: MouseEvent): void {
  if (event.target instanceof Element && event.target.closest('button') !== null) event.preventDefault();
}

function AddressPicker({ draft, onAddress }: { readonly draft: EventDraft; readonly onAddress: () => void }) {
  return (
    <div class="form-row">
      <label class="form-label" for="send-to">
        To
      </label>
      <select
        id="send-to"
        class="field"
        autofocus
        value={draft.to ?? ''}
        onChange={(event) => {
          draft.address(event.currentTarget.value);
          onAddress();
        }}
      >
        {draft.live.map(({ path }) => (
          <option key={path} value={path}>
            {escapedLine(draft.nameOf(path), 80)}
          </option>
        ))}
      </select>
    </div>
  );
}

function counted(problems: number): string {
  return `Fix ${problems === 1 ? 'one problem' : `${problems} problems`} before sending.`;
}

function focusFirstWrong(form: HTMLFormElement | null): void {
  const first = form?.querySelector('[aria-invalid="true"]');
  if (first instanceof HTMLElement) first.focus();
}

interface EventPickerProps {
  readonly draft: EventDraft;
  readonly strict: boolean;
  readonly onType: (type: string) => void;
}

/** Chooses the type of an event: those that the machine accepts now are one press away, any other can be written. */
function EventPicker({ draft, strict, onType }: EventPickerProps) {
  const { type, accepted } = draft;
  const missing = strict && type === '';
  return (
    <div class="form-row">
      <label class="form-label" for="send-type">
        Event
      </label>
      <input
        id="send-type"
        class="field mono"
        list="accepted"
        autocomplete="off"
        value={type}
        placeholder={accepted[0] ?? 'subject.happened'}
        aria-invalid={missing}
        aria-describedby="send-type-note"
        onInput={(event) => onType(event.currentTarget.value)}
      />
      <datalist id="accepted">
        {accepted.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <div class="picks">
        {accepted.map((name) => (
          <button key={name} type="button" class="pick" aria-pressed={name === type} onClick={() => onType(name)}>
            {escapedLine(name, 60)}
          </button>
        ))}
      </div>
      <p id="send-type-note" class={missing ? 'problem' : 'form-hint'}>
        {missing ? 'Which event is it?' : noteOf(draft)}
      </p>
    </div>
  );
}

function noteOf({ type, accepted, patterns, isAccepted }: EventDraft): string {
  if (type !== '' && !isAccepted) return 'The machine has no transition for it now.';
  if (patterns.length > 0) return `It also takes ${escapedLine(patterns.join(', '), 120)}.`;
  return accepted.length === 0 ? 'It takes no event from outside now.' : '';
}

type EventDraft = ReturnType<typeof useEventDraft>;

/** Keeps an event while it is written: who gets it, what it is, and what it carries. What was filled in for one type is there again when it is chosen again. */
function useEventDraft(state: PageState) {
  void state.revision.value;
  const session = state.session.value;
  const [wanted, setWanted] = useState(state.focus.value);
  const [typed, setTyped] = useState<string | null>(null);
  const [forms, setForms] = useState<{ readonly [key: string]: FormState }>({});

  const live = (session === null ? [] : actorsAt(session, session.steps.length - 1)).filter(
    ({ alive, track }) => alive && track.info.drawing !== null,
  );
  const actor = live.find(({ path }) => path === wanted) ?? live[0];
  const drawing = state.model.drawingOf(actor?.track.info);
  const known = actor !== undefined && drawing !== undefined;
  const accepted = known ? acceptedEvents(drawing, actor.active) : [];
  const patterns = known ? wildcards(drawing, actor.active) : [];
  const [only, ...others] = accepted;
  const type = typed ?? (others.length === 0 ? (only ?? '') : '');

  const form = eventForm(drawing, type);
  // What is written freely goes with any type: it is there before the last letter of the type is.
  const formKey = form.fields === null ? '' : `${drawing?.hash ?? ''} ${type}`;
  const filled = forms[formKey] ?? beginForm(form);
  const text = (path: string): string => actorText(session, path, (session?.steps.length ?? 0) - 1);
  const isShared = (path: string): boolean =>
    live.some((other) => other.path !== path && text(other.path) === text(path));
  return {
    live,
    /** An actor by its name; of several with one name also by its path. */
    nameOf: (path: string): string => (isShared(path) ? `${text(path)} (${path})` : text(path)),
    to: actor?.path ?? null,
    type,
    accepted,
    patterns,
    isAccepted: accepted.includes(type) || patterns.some((pattern) => describes(pattern, type)),
    form,
    formKey,
    filled,
    reading: readForm(form, filled),
    address: (to: string): void => {
      setWanted(to);
      setTyped(null);
    },
    choose: (chosen: string): void => setTyped(chosen),
    fill: (next: FormState): void => setForms({ ...forms, [formKey]: next }),
  };
}
