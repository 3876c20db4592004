import type { Issue } from '../../json/errors.ts';
import { type JsonObject, isJsonObject, lazyMembers } from '../../json/json.ts';
import { copyOf, describeThrown } from '../../json/to-json.ts';
import type { Tool } from '../../tools/tool.ts';
import { type Deadline, withinLimit } from '../deadline.ts';
import { leaf } from '../leaf.ts';

/** Arguments that fit the JSON Schema, to be checked by the tool's own code. */
export interface CheckArgsInput {
  readonly callId: string;
  readonly tool: string;
  readonly args: JsonObject;
  /** How long the check may take. */
  readonly timeoutMs: number;
  /** The agent that asks, by its path in the tree; empty for the root. */
  readonly agent: string;
}

/**
 * The check's outcome: the arguments to use, or what is wrong. `approved`: a call with these arguments needs no person.
 * `own`: it comes from the author's `validateArgs`.
 */
export type CheckArgsOutput =
  | { readonly ok: true; readonly args: JsonObject; readonly approved?: true }
  | { readonly ok: false; readonly issues: readonly Issue[]; readonly own: boolean };

/** Runs a tool's own check of its arguments, where it has one. A check that takes too long has not accepted them. */
export const checkArgs = (ports: { readonly check: (tool: string, agent: string) => Tool['check'] }) =>
  leaf<CheckArgsInput, CheckArgsOutput>('checkArgs', OWN_PART, async (input, { signal, context }) => {
    const { callId, tool, args, agent, timeoutMs } = input;
    const check = ports.check(tool, agent);
    if (check === undefined) return { ok: true, args };
    let isLate = false;
    const late = () => {
      isLate = true;
      return new Error(`the check of the arguments did not finish within ${timeoutMs} ms`);
    };
    const run = (limit: Deadline) => check(copyOf(args), withLazySignal({ tool, callId, context }, limit));
    try {
      const checked = await withinLimit(timeoutMs, signal, late, run);
      if (!checked.ok) return checked;
      return isJsonObject(checked.args)
        ? { ...checked, args: checked.args }
        : refused('the check must return the arguments to use, as an object');
    } catch (error) {
      if (!isLate) throw error;
      return refused(describeThrown(error).message);
    }
  });

/** Few checks ask for it. */
const withLazySignal = lazyMembers<Deadline, Pick<Deadline, 'signal'>>({ signal: (limit) => limit.signal });

function refused(message: string): CheckArgsOutput {
  return { ok: false, issues: [{ path: '', message }], own: true };
}

const OWN_PART = {
  effects: 'none' as const,
  request: ({ callId, tool, args }: CheckArgsInput) => ({ callId, tool, args }),
};
