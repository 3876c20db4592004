import { useId, useState } from 'preact/hooks';
import { type FormDraft, retyped } from '../../model/forms/form-draft.ts';
import type { FormField } from '../../model/forms/form-fields.ts';
import { inertLine } from '../../model/inert-text.ts';
import { FormControl } from './FormControl.tsx';
import { InertText } from '../InertText.tsx';

interface FormFieldsProps {
  readonly fields: readonly FormField[];
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
          Also, as JSON alone: <span class="mono">{inertLine(extras.join(', '), 120)}</span>
        </p>
      )}
    </>
  );
}

interface RowProps {
  readonly field: FormField;
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
          {inertLine(field.label, 80)}
        </label>
        {field.label !== field.name && <code class="dim">{inertLine(field.name, 60)}</code>}
        {field.required && field.empty === 'needed' && control !== 'check' && <span class="form-need">required</span>}
        {field.hint !== '' && (
          <span id={`${id}-hint`} class="form-hint">
            {inertLine(field.hint, 120)}
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
          <InertText text={field.help} most={300} />
        </p>
      )}
      {problem !== undefined && (
        <p id={`${id}-problem`} class="problem">
          {inertLine(problem, 300)}
        </p>
      )}
    </div>
  );
}
