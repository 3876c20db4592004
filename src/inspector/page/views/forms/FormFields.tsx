import { useId, useState } from 'preact/hooks';
import { type FormDraft, retyped } from '../../model/forms/form-state.ts';
import type { SchemaField, Control } from '../../model/forms/schema-fields.ts';
import { escapedLine } from '../../model/escaped-text.ts';
import { EscapedText } from '../parts/Values.tsx';

interface FormFieldsProps {
  readonly fields: readonly SchemaField[];
  readonly draft: FormDraft;
  /** What is wrong, by name. It is shown of fields that were left once, and of all when `strict`. */
  readonly problems: ReadonlyMap<string, string>;
  readonly strict: boolean;
  readonly onDraft: (draft: FormDraft) => void;
}

/** A labelled control for each member of an object, with its help and what is wrong with it. */
export function FormFields({ fields, draft, problems, strict, onDraft }: FormFieldsProps) {
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const extras = Object.keys(draft.rest);
  return (
    <>
      {fields.map((field) => (
        <Row
          key={field.name}
          field={field}
          draft={draft}
          problem={strict || left.has(field.name) ? problems.get(field.name) : undefined}
          onDraft={onDraft}
          onLeave={() => setLeft(new Set([...left, field.name]))}
        />
      ))}
      {extras.length > 0 && (
        <p class="form-hint">
          Also, as JSON alone: <span class="mono">{escapedLine(extras.join(', '), 120)}</span>
        </p>
      )}
    </>
  );
}

interface RowProps {
  readonly field: SchemaField;
  readonly draft: FormDraft;
  readonly problem: string | undefined;
  readonly onDraft: (draft: FormDraft) => void;
  readonly onLeave: () => void;
}

function Row({ field, draft, problem, onDraft, onLeave }: RowProps) {
  const id = useId();
  const { control, text } = draft.entries.get(field.name) ?? { control: field.control, text: null };
  const leftOut = text === null && control === 'check';
  const described = [
    ...(leftOut ? [`${id}-left`] : []),
    ...(field.hint === '' ? [] : [`${id}-hint`]),
    ...(field.help === '' ? [] : [`${id}-help`]),
    ...(problem === undefined ? [] : [`${id}-problem`]),
  ];
  return (
    <div class="form-row" data-control={control}>
      <div class="form-label">
        <label for={id} class={field.label === field.name ? 'mono' : undefined}>
          {escapedLine(field.label, 80)}
        </label>
        {field.label !== field.name && <code class="dim">{escapedLine(field.name, 60)}</code>}
        {field.required && field.empty === 'needed' && control !== 'check' && <span class="form-need">required</span>}
        {field.hint !== '' && (
          <span id={`${id}-hint`} class="form-hint">
            {escapedLine(field.hint, 120)}
          </span>
        )}
        {leftOut && (
          <span id={`${id}-left`} class="form-hint">
            left out
          </span>
        )}
      </div>
      <FormControl
        id={id}
        field={field}
        control={control}
        text={text}
        invalid={problem !== undefined}
        describedBy={described.length === 0 ? undefined : described.join(' ')}
        onText={(typed) => onDraft(retyped(draft, field, typed))}
        onLeave={onLeave}
      />
      {field.help !== '' && (
        <p id={`${id}-help`} class="form-help">
          <EscapedText text={field.help} most={300} />
        </p>
      )}
      {problem !== undefined && (
        <p id={`${id}-problem`} class="problem">
          {escapedLine(problem, 300)}
        </p>
      )}
    </div>
  );
}

interface FormControlProps {
  readonly id: string;
  readonly field: SchemaField;
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
function FormControl(props: FormControlProps) {
  const { id, field, control, text, invalid, describedBy, onText, onLeave } = props;
  const common = {
    id,
    'aria-invalid': invalid,
    'aria-required': field.required && field.empty === 'needed',
    'aria-describedby': describedBy,
    onBlur: onLeave,
  };
  const typed = {
    ...common,
    class: 'field',
    value: text ?? '',
    onInput: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) => onText(currentTarget.value),
  };
  const read = ({ currentTarget: { value, validity } }: { readonly currentTarget: HTMLInputElement }): void =>
    onText(validity.badInput ? UNREADABLE : value);
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
              {escapedLine(label, 300)}
            </option>
          ))}
        </select>
      );
    case 'long':
    case 'json':
      return (
        <textarea
          {...typed}
          class={control === 'json' ? 'field' : 'field prose'}
          rows={Math.min(12, Math.max(control === 'json' ? 2 : 3, (text ?? '').split('\n').length))}
          spellcheck={control === 'long'}
          placeholder={escapedLine(field.example, 200)}
        />
      );
    case 'number':
    case 'date':
      return (
        <input
          {...common}
          class="field"
          type={control}
          step={stepOf(field)}
          min={boundOf(field, 'minimum')}
          max={boundOf(field, 'maximum')}
          value={text === UNREADABLE ? undefined : (text ?? '')}
          onInput={read}
          // A part of a date is no input.
          onKeyUp={read}
        />
      );
    case 'text':
      return <input {...typed} inputMode={keyboardFor(field)} autocomplete="off" />;
  }
}

/** What it says where nothing is chosen. */
const NOTHING: { readonly [empty in SchemaField['empty']]: string } = {
  needed: 'Choose…',
  'left-out': 'left out',
  null: 'null',
  text: 'empty',
};

/** What a browser does not report: a field holds something that is no number or no date. */
const UNREADABLE = 'no number';

function stepOf({ schema }: SchemaField): number | 'any' {
  if (typeof schema.multipleOf === 'number') return schema.multipleOf;
  return schema.type === 'number' ? 'any' : 1;
}

function boundOf({ schema }: SchemaField, name: 'minimum' | 'maximum'): number | undefined {
  const bound = schema[name];
  return typeof bound === 'number' && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : undefined;
}

/** So that a phone shows the right keys. What is typed is checked by the schema, not by the browser. */
function keyboardFor({ schema }: SchemaField): 'text' | 'email' | 'url' {
  return schema.format === 'email' ? 'email' : schema.format === 'uri' ? 'url' : 'text';
}
