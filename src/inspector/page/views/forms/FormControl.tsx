import type { Control } from '../../model/forms/form-control.ts';
import type { FormField } from '../../model/forms/form-fields.ts';
import { inertLine } from '../../model/inert-text.ts';

interface FormControlProps {
  readonly id: string;
  readonly field: FormField;
  readonly control: Control;
  /** Null: nothing stands in it. */
  readonly text: string | null;
  readonly invalid: boolean;
  /** The ids of what explains it. */
  readonly describedBy: string | undefined;
  readonly onText: (text: string) => void;
  readonly onLeave: () => void;
}

/** What one member of an object is filled in with. It is controlled: what it shows is what it is given. */
export function FormControl(props: FormControlProps) {
  const { id, field, control, text, invalid, describedBy, onText, onLeave } = props;
  const common = {
    id,
    'aria-invalid': invalid,
    'aria-required': field.required && field.empty === 'needed',
    'aria-describedby': describedBy,
    onBlur: onLeave,
  };
  switch (control) {
    case 'check':
      return (
        <input
          {...common}
          type="checkbox"
          checked={text === 'true'}
          indeterminate={text === null}
          onChange={(event) => onText(String(event.currentTarget.checked))}
        />
      );
    case 'choice':
      return (
        <select {...common} class="field" value={text ?? ''} onChange={(event) => onText(event.currentTarget.value)}>
          {(field.empty !== 'needed' || text === null) && <option value="">{NOTHING[field.empty]}</option>}
          {field.choices.map(({ key, label }) => (
            <option key={key} value={key}>
              {inertLine(label, 80)}
            </option>
          ))}
        </select>
      );
    case 'long':
    case 'json':
      return (
        <textarea
          {...common}
          class={control === 'json' ? 'field' : 'field prose'}
          rows={Math.min(12, Math.max(control === 'json' ? 2 : 3, (text ?? '').split('\n').length))}
          spellcheck={control === 'long'}
          placeholder={inertLine(field.example, 200)}
          value={text ?? ''}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      );
    case 'number':
      return (
        <input
          {...common}
          class="field"
          type="number"
          step={stepOf(field)}
          min={boundOf(field, 'minimum')}
          max={boundOf(field, 'maximum')}
          value={text === UNREADABLE ? undefined : (text ?? '')}
          onInput={({ currentTarget: { value, validity } }) => onText(validity.badInput ? UNREADABLE : value)}
        />
      );
    case 'date':
      return (
        <input
          {...common}
          class="field"
          type="date"
          value={text ?? ''}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      );
    case 'text':
      return (
        <input
          {...common}
          class="field"
          inputMode={keyboardFor(field)}
          autocomplete="off"
          value={text ?? ''}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      );
  }
}

/** What it says where nothing is chosen. */
const NOTHING: { readonly [empty in FormField['empty']]: string } = {
  needed: 'Choose…',
  'left-out': 'left out',
  null: 'null',
  text: 'empty',
};

/** What a browser does not tell of a field for numbers: it holds something that is none. */
const UNREADABLE = 'no number';

function stepOf({ schema }: FormField): number | 'any' {
  if (typeof schema.multipleOf === 'number') return schema.multipleOf;
  return schema.type === 'number' ? 'any' : 1;
}

function boundOf({ schema }: FormField, name: 'minimum' | 'maximum'): number | undefined {
  const bound = schema[name];
  return typeof bound === 'number' && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : undefined;
}

/** So that a phone shows the right keys. What is typed is checked by the schema, not by the browser. */
function keyboardFor({ schema }: FormField): 'text' | 'email' | 'url' {
  return schema.format === 'email' ? 'email' : schema.format === 'uri' ? 'url' : 'text';
}
