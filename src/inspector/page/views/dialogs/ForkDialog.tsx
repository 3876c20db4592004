import { useState } from 'preact/hooks';
import type { Json } from '../../../../json/json.ts';
import { order } from '../../state/order.ts';
import { usePage } from '../../state/page-context.ts';
import { DialogFrame } from './DialogFrame.tsx';

/** Forks the run after an entry of its recording, with what that entry brought, or with something else. */
export function ForkDialog({ entry, outcome }: { readonly entry: number; readonly outcome: string }) {
  const page = usePage();
  const [text, setText] = useState(outcome);
  const changed = text !== outcome;
  const read = readJson(text);
  const fork = (): void => {
    page.state.dialog.value = null;
    void order(page, changed && read.ok ? { kind: 'fork', entry, outcome: read.value } : { kind: 'fork', entry });
  };
  return (
    <DialogFrame title={`Fork after entry ${entry}`}>
      <p>
        A new run begins with all that is recorded up to here, and goes on live from there.
        {outcome === '' ? '' : ' What came back at this entry may be changed first.'}
      </p>
      {outcome !== '' && (
        <label>
          Outcome (JSON)
          <textarea
            class="field"
            rows={12}
            spellcheck={false}
            value={text}
            aria-invalid={changed && !read.ok}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
      )}
      {changed && !read.ok && <p class="problem">{read.problem}</p>}
      <button type="button" class="button yes" disabled={changed && !read.ok} onClick={fork}>
        {changed ? 'Fork with this outcome' : 'Fork'}
      </button>
    </DialogFrame>
  );
}

function readJson(
  text: string,
): { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly problem: string } {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : 'This is no JSON.' };
  }
}
