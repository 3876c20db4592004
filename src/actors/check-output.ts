import type { Issue } from '../json/errors.ts';
import type { Json } from '../json/json.ts';
import { withinLimit } from './deadline.ts';
import { leaf } from './leaf.ts';

/** An answer that fits its JSON Schema, to be checked by the author's own code. */
export interface CheckOutputInput {
  readonly value: Json;
  /** The run was given the schema, not the agent, so the check is the run's. */
  readonly ofRun: boolean;
  readonly timeoutMs: number;
  /** The agent that asks, by its path in the tree; empty for the root. */
  readonly agent: string;
}

/** The check's outcome: the value to return, or what is wrong with it. */
export type CheckOutputResult =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly issues: readonly Issue[] };

/** The check by code of an answer: its Standard Schema, then `checkOutput`. */
export type OutputCheck = (
  value: Json,
  io: { readonly context: unknown; readonly signal: AbortSignal },
) => Promise<CheckOutputResult>;

/** Runs an agent's own check of its answer, where it has one. */
export const checkOutput = (ports: { readonly check: (agent: string, ofRun: boolean) => OutputCheck | null }) =>
  leaf<CheckOutputInput, CheckOutputResult>(
    'checkOutput',
    { effects: 'none', request: ({ value }) => ({ value }) },
    async ({ value, ofRun, timeoutMs, agent }, { signal, context }) => {
      const check = ports.check(agent, ofRun);
      if (check === null) return { ok: true, value };
      const late = () =>
        Object.assign(new Error(`The check of the answer took longer than ${timeoutMs} ms.`), { code: 'timeout' });
      return withinLimit(timeoutMs, signal, late, (limit) =>
        check(structuredClone(value), { context, signal: limit.signal }),
      );
    },
  );
