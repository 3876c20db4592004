import { inertLine } from '../model/inert-text.ts';

interface EventPickerProps {
  readonly type: string;
  readonly accepted: readonly string[];
  /** The wildcards among what it accepts. */
  readonly patterns: readonly string[];
  /** The machine has a transition for the type as it is now. */
  readonly isAccepted: boolean;
  readonly strict: boolean;
  readonly onType: (type: string) => void;
}

/** Chooses the type of an event: those that the machine accepts now are one press away, any other can be written. */
export function EventPicker(props: EventPickerProps) {
  const { type, accepted, strict, onType } = props;
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
        {missing ? 'which event is it?' : noteOf(props)}
      </p>
    </div>
  );
}

function noteOf({ type, accepted, patterns, isAccepted }: EventPickerProps): string {
  if (type !== '' && !isAccepted) return 'The machine has no transition for it now.';
  if (patterns.length > 0) return `It also takes ${inertLine(patterns.join(', '), 120)}.`;
  return accepted.length === 0 ? 'It takes no event from outside now.' : '';
}
