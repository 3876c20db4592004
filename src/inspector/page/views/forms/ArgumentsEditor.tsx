import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { JsonObject } from '../../../../json/json.ts';
import { beginForm, isRight, readForm } from '../../model/forms/form-state.ts';
import { argumentsForm } from '../../model/forms/known-forms.ts';
import { usePage } from '../../state/page-context.ts';
import { SchemaForm } from './SchemaForm.tsx';

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
