import { useId, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import {
  type FormKind,
  type FormReading,
  type FormState,
  showAsFields,
  showAsJson,
  beginForm,
  isRight,
  readForm,
} from '../../model/forms/form-state.ts';
import { escapedLine } from '../../model/escaped-text.ts';
import { FormFields } from './FormFields.tsx';
import type { JsonObject } from '../../../../json/json.ts';
import { argumentsForm } from '../../model/forms/known-forms.ts';
import { usePage } from '../../state/page-state.ts';

interface SchemaFormProps {
  readonly kind: FormKind;
  readonly state: FormState;
  readonly reading: FormReading;
  /** All errors are shown, including those of fields not visited yet. */
  readonly strict: boolean;
  /** What the object is called, and its JSON. */
  readonly title: string;
  readonly jsonLabel: string;
  readonly onState: (state: FormState) => void;
}

/** Asks for an object: by fields where they are known, or as JSON, and back without losing anything. */
export function SchemaForm({ kind, state, reading, strict, title, jsonLabel, onState }: SchemaFormProps) {
  const id = useId();
  const { fields } = kind;
  const { json, draft } = state;
  const general = strict || state.edited ? reading.general : [];
  return (
    <fieldset class="form" aria-describedby={general.length === 0 ? undefined : `${id}-problems`}>
      <legend class="sr">{title}</legend>
      {fields !== null && fields.length > 0 && (
        <div class="form-head">
          <span>{title}</span>
          <div class="form-switch">
            <button
              type="button"
              aria-pressed={json === null}
              disabled={json !== null && reading.value === null}
              onClick={() => onState(showAsFields(kind, state))}
            >
              Fields
            </button>
            <button
              type="button"
              aria-pressed={json !== null}
              onClick={() => {
                if (json === null) onState(showAsJson(kind, state));
              }}
            >
              JSON
            </button>
          </div>
        </div>
      )}
      {json === null && fields?.length === 0 && <p class="form-hint form-row">There are no fields.</p>}
      {json === null ? (
        <FormFields
          fields={fields ?? []}
          draft={draft}
          problems={reading.byField}
          strict={strict}
          onDraft={(next) => onState({ ...state, draft: next })}
        />
      ) : (
        <div class="form-row">
          <label class="form-label" for={`${id}-json`}>
            {jsonLabel}
          </label>
          <textarea
            id={`${id}-json`}
            class="field"
            rows={Math.min(14, Math.max(5, json.split('\n').length + 1))}
            spellcheck={false}
            value={json}
            aria-invalid={general.length > 0}
            aria-describedby={general.length === 0 ? undefined : `${id}-problems`}
            onInput={(event) => onState({ ...state, json: event.currentTarget.value, edited: true })}
          />
        </div>
      )}
      {general.length > 0 && (
        <ul id={`${id}-problems`}>
          {general.slice(0, MOST_PROBLEMS).map((problem) => (
            <li key={problem} class="problem">
              {escapedLine(problem, 300)}
            </li>
          ))}
        </ul>
      )}
    </fieldset>
  );
}

const MOST_PROBLEMS = 6;

interface ArgumentsEditorProps {
  readonly tool: string;
  /** What it begins with. */
  readonly args: JsonObject;
  /** It is one field of several, and does not take the focus. */
  readonly keepFocus?: boolean;
  /** Null: what stands there cannot be approved. */
  readonly onArgs: (args: JsonObject | null) => void;
}

/** Edits the arguments of a call that waits: by fields where its tool's schema is known, or as JSON. */
export function ArgumentsEditor({ tool, args, keepFocus = false, onArgs }: ArgumentsEditorProps) {
  const { state: page } = usePage();
  const kind = useMemo(() => argumentsForm(page.session.value?.records ?? [], tool, args), []);
  const [state, setState] = useState(() => beginForm(kind, args));
  // The button that brought it is gone, and with it the focus.
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const first = place.current?.querySelector('input, select, textarea');
    if (first instanceof HTMLElement && !keepFocus) first.focus();
    onArgs(isRight(readForm(kind, state)) ? args : null);
  }, []);
  return (
    <div ref={place}>
      <SchemaForm
        kind={kind}
        state={state}
        reading={readForm(kind, state)}
        strict
        title="Arguments"
        jsonLabel="Arguments as JSON"
        onState={(next) => {
          setState(next);
          const reading = readForm(kind, next);
          onArgs(isRight(reading) ? reading.value : null);
        }}
      />
    </div>
  );
}
