import { wrongOption } from '../../json/known-options.ts';
import { stepsOf } from '../../recovery/plan-data.ts';
import type { OnError, Repairer } from '../../recovery/steps.ts';

/** An `onError` and who has it, as its error text names it: `Tool 'x'`. */
export interface OwnedOnError {
  readonly owner: string;
  readonly onError: OnError | undefined;
}

/** A member of the agent itself: what a WeakMap leads to, V8 keeps until all memory is collected. */
const SLOTS = Symbol('slots');

/** An agent's or registry's tools, and what they do about errors. */
interface Slots {
  onErrors(): readonly OwnedOnError[];
}

/** Registers what an agent does about its own errors, so that cycles through it are found. */
export function declareOnErrors(agent: Repairer, slots: Slots): void {
  Object.defineProperty(agent, SLOTS, { value: slots });
}

/**
 * Rejects a repair agent that would repair its own mistakes, directly or through others, with a `TypeError` that names
 * the cycle. Slots that are functions cannot be checked.
 */
export function refuseRepairCircle(agent: Repairer, onErrors: readonly OwnedOnError[]): void {
  for (const { owner, onError } of onErrors) {
    const way = wayTo(agent, [{ owner, onError }], new Set());
    if (way === null) continue;
    throw wrongOption(
      `${owner}: onError lets an agent repair its own mistakes (${[agent.name, ...way].join(' → ')}). Use another agent with recover.fix().`,
    );
  }
}

/** The names on the way from these slots to the agent, or null. */
function wayTo(agent: Repairer, onErrors: readonly OwnedOnError[], seen: Set<Repairer>): readonly string[] | null {
  for (const fixer of onErrors.flatMap(({ onError }) => fixersOf(onError))) {
    if (fixer === agent) return [fixer.name];
    if (seen.has(fixer)) continue;
    seen.add(fixer);
    const way = wayTo(agent, slotsOf(fixer), seen);
    if (way !== null) return [fixer.name, ...way];
  }
  return null;
}

function slotsOf(agent: Repairer & { readonly [SLOTS]?: Slots }): readonly OwnedOnError[] {
  return agent[SLOTS]?.onErrors() ?? [];
}

/** The agents among the steps of an `onError`; slots that are functions cannot be looked into. */
export function fixersOf(onError: OnError | undefined): readonly Repairer[] {
  return Object.values(onError ?? {}).flatMap((slot) =>
    slot === undefined || typeof slot === 'function'
      ? []
      : stepsOf(slot).flatMap((step) => (step.kind === 'fix-agent' ? [step.agent] : [])),
  );
}
