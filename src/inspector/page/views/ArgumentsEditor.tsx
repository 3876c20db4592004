import { useMemo, useState } from 'preact/hooks';
import type { Json, JsonObject } from '../../../parsing/json.ts';
import { isJsonObject } from '../../../parsing/json.ts';
import { argumentsForm } from '../model/arguments-form.ts';
import { beginForm, isRight, readForm } from '../model/form-state.ts';
import { usePage } from '../state/page-context.ts';
import { SchemaForm } from './SchemaForm.tsx';

interface ArgumentsEditorProps {
  readonly tool: string;
  /** Those that the model gave. */
  readonly args: Json;
  /** Null: what stands there cannot be approved. */
  readonly onArgs: (args: JsonObject | null) => void;
}

/** Edits the arguments of a call that waits: by fields where its tool's schema is known, or as JSON. */
export function ArgumentsEditor({ tool, args, onArgs }: ArgumentsEditorProps) {
  const { state: page } = usePage();
  const kind = useMemo(() => argumentsForm(page.session.value?.records ?? [], tool, args), []);
  const [state, setState] = useState(() => beginForm(kind, isJsonObject(args) ? args : {}));
  return (
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
  );
}
