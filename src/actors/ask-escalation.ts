import type { EscalationError } from '../json/errors.ts';
import type { Verdict } from '../recovery/verdicts.ts';
import { deadline } from './deadline.ts';
import { leaf } from './leaf.ts';

/** An escalation that an agent is to decide about. `agent` says which: empty for the root. */
export interface AskEscalationInput {
  readonly agent: string;
  readonly error: EscalationError;
  readonly timeoutMs: number;
}

/** What was decided; null: not handled here. */
export interface AskEscalationOutput {
  readonly verdict: Verdict | null;
}

/** Asks the author's `onEscalation`. Whatever it throws counts as "not handled". */
export const askEscalation = (ports: {
  readonly decide: (agent: string, error: EscalationError) => Verdict | null | Promise<Verdict | null>;
}) =>
  leaf<AskEscalationInput, AskEscalationOutput>(
    'askEscalation',
    { effects: 'none', request: ({ error }) => error },
    async ({ agent, error, timeoutMs }, { signal }) => {
      const late = () => new Error(`onEscalation did not decide within ${timeoutMs} ms`);
      const limit = deadline(timeoutMs, signal, late);
      try {
        return { verdict: await Promise.race([ports.decide(agent, error), limit.passed]) };
      } finally {
        limit.clear();
      }
    },
  );
