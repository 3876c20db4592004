import { useEffect, useState } from 'preact/hooks';
import type { StepDetail, StepInfo } from '../../../frames/protocol.ts';
import { usePage } from '../../state/page-context.ts';

/** Waits this long before it asks for details: who scrubs passes many steps. */
const PATIENCE_MS = 90;

/** The details of a step: null while they are on their way, or when there are none. */
export function useDetail(session: string | undefined, step: StepInfo | undefined): StepDetail | null {
  const { desk } = usePage();
  const [known, setKnown] = useState<{ readonly session: string; readonly detail: StepDetail | null } | null>(null);
  const n = step?.n;
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
