import { inertLine } from '../../model/inert-text.ts';
import type { EventDraft } from './use-event-draft.ts';

interface EventPickerProps {
  readonly draft: EventDraft;
  readonly strict: boolean;
  readonly onType: (type: string) => void;
}

/** Chooses the type of an event: those that the machine accepts now are one press away, any other can be written. */
export function EventPicker({ draft, strict, onType }: EventPickerProps) {
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
            {inertLine(name, 60)}
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
  if (patterns.length > 0) return `It also takes ${inertLine(patterns.join(', '), 120)}.`;
  return accepted.length === 0 ? 'It takes no event from outside now.' : '';
}
