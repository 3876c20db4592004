import type { Json } from '../../../../json/json.ts';
import { escapedLine } from '../../model/escaped-text.ts';
import type { Difference } from '../../model/compare/json-diff.ts';
import { JsonTree } from './Values.tsx';
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { StepDetail, StepInfo } from '../../../frames/protocol.ts';
import { usePage, type PageState } from '../../state/page-state.ts';

const SIGNS = { added: '+', removed: '−', changed: '±' } as const;

/** What a step changed in the memory of its actor. */
export function Changes({ differences }: { readonly differences: readonly Difference[] }) {
  if (differences.length === 0) return <p class="dim">Nothing in its context.</p>;
  return (
    <ul class="diff" data-testid="changes">
      {differences.map((one) => (
        <li key={one.path}>
          <span class={one.kind === 'added' ? 'done' : one.kind === 'removed' ? 'danger' : 'caution'} title={one.kind}>
            {SIGNS[one.kind]}
          </span>
          <div>
            <b>{escapedLine(one.path, 160)}</b>{' '}
            {one.kind !== 'added' && isShort(one.before) && (
              <span class="was">{escapedLine(JSON.stringify(one.before), 80)}</span>
            )}{' '}
            {one.kind !== 'removed' && <JsonTree value={one.after} open={0} />}
          </div>
        </li>
      ))}
    </ul>
  );
}

/** A part of what is shown of a step, with its title. */
export function Section({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section class="section" data-testid={`section-${title.split(' ')[0]?.toLowerCase() ?? ''}`}>
      <h3 class="small-title">{title}</h3>
      {children}
    </section>
  );
}

function isShort(value: Json): boolean {
  return typeof value !== 'object' || value === null;
}

/** Shows that a context is unknown, and why: nothing is shown that may be untrue. */
export function NotKnown() {
  return (
    <p class="refusal" data-testid="not-known">
      Not known. This actor left its initial state at once, and starting it again gives another result.
    </p>
  );
}

/** Waits this long before it asks for details: a reader that scrubs passes many steps. */
const PATIENCE_MS = 90;

/** The details of a step: null while they are on their way, or when there are none. */
export function useDetail(session: string | undefined, step: StepInfo | undefined): StepDetail | null {
  const { desk, state } = usePage();
  const [known, setKnown] = useState<{ readonly session: string; readonly detail: StepDetail | null } | null>(null);
  // The latest step of a run that is being read is far behind what was played: to ask for it would have all played again.
  const isPassing = state.cursor.value === null && (state.model.sessions.get(session ?? '')?.read ?? 1) < 1;
  const n = isPassing ? undefined : step?.n;
  useEffect(() => {
    if (session === undefined || n === undefined) return;
    let wanted = true;
    const timer = setTimeout(() => {
      void desk.detail(session, n).then((detail) => {
        if (wanted) setKnown({ session, detail });
      });
    }, PATIENCE_MS);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [session, n]);
  return known !== null && known.session === session && known.detail?.step.n === n ? known.detail : null;
}

/** Stands where nothing is shown, and says `why`, unless what belongs there has not been read yet or cannot be. */
export function Empty({ why }: { readonly why: string }) {
  return <p class="empty">{whyOf(usePage().state, why)}</p>;
}

function whyOf(state: PageState, why: string): string {
  void state.revision.value;
  const session = state.session.value;
  if (session === null) return state.model.server === null ? LOADING : why;
  if (session.actors.size > 0) return why;
  // A banner says what is wrong.
  if ((session.problem ?? session.info.problem ?? null) !== null) return '';
  return state.model.isGone(session.info.id) ? 'The inspector no longer has this run.' : LOADING;
}

const LOADING = 'Loading…';
