import type { Severity } from '../parsing/errors.ts';
import type { RecoveryStep, RetryStep, Slot, SlotName } from './steps.ts';
import { type OnError, SLOTS } from './steps.ts';

/** A step as the machines know it: data, its function found by tool, slot and index. */
export type StepData =
  | { readonly kind: 'fix' }
  | { readonly kind: 'fix-agent'; readonly agent: string; readonly retries: number }
  | { readonly kind: 'sanitize' }
  | { readonly kind: 'substitute' }
  | RetryStep
  | { readonly kind: 'feedback' }
  | { readonly kind: 'escalate'; readonly reason: string | null; readonly severity: Severity }
  | { readonly kind: 'throw'; readonly reason: string | null };

/** A slot as the machines know it. `chosen-by-code`: a function of the error, which a leaf asks. */
export type SlotData =
  | { readonly kind: 'steps'; readonly steps: readonly StepData[] }
  | { readonly kind: 'chosen-by-code' };

/** What a tool does about its errors, by slot; a slot that is missing feeds the error back to the model. */
export type RecoveryData = { readonly [slot in SlotName]?: SlotData };

/** A slot after inheritance: its steps, or the function that chooses them. */
export type ResolvedSlot = readonly RecoveryStep[] | Extract<Slot, (...args: never) => unknown>;

/** All slots of one tool after inheritance. */
export type ResolvedOnError = { readonly [slot in SlotName]?: ResolvedSlot };

/**
 * Resolves inheritance, slot by slot: the first of the levels that has a slot decides; `inherit()` in a list stands for
 * what the next level would have done.
 */
export function resolveOnError(levels: readonly (OnError | undefined)[]): ResolvedOnError {
  return Object.fromEntries(
    SLOTS.flatMap((slot) => {
      const resolved = resolveSlot(levels.map((level) => level?.[slot]));
      return resolved === undefined ? [] : [[slot, resolved]];
    }),
  );
}

function resolveSlot(levels: readonly (Slot | undefined)[]): ResolvedSlot | undefined {
  const at = levels.findIndex((slot) => slot !== undefined);
  const slot = levels[at];
  if (slot === undefined) return undefined;
  if (typeof slot === 'function') return slot;
  return spliced(stepsOf(slot), levels.slice(at + 1));
}

function spliced(steps: readonly RecoveryStep[], below: readonly (Slot | undefined)[]): readonly RecoveryStep[] {
  return steps.flatMap((step) => {
    if (step.kind !== 'inherit') return [step];
    const inherited = resolveSlot(below);
    return inherited === undefined || typeof inherited === 'function' ? [] : inherited;
  });
}

/** A single step stands for a list of one. */
export function stepsOf(slot: RecoveryStep | readonly RecoveryStep[]): readonly RecoveryStep[] {
  return 'kind' in slot ? [slot] : slot;
}

/** What the machines are told of a tool's slots. */
export function recoveryData(resolved: ResolvedOnError): RecoveryData {
  return Object.fromEntries(
    Object.entries(resolved).map(([slot, steps]): [string, SlotData] => [
      slot,
      typeof steps === 'function' ? { kind: 'chosen-by-code' } : { kind: 'steps', steps: stepData(steps) },
    ]),
  );
}

/** Steps without their functions. A stray `inherit()` that a function chose stands for nothing. */
export function stepData(steps: readonly RecoveryStep[]): readonly StepData[] {
  return steps.flatMap((step): readonly StepData[] => {
    switch (step.kind) {
      case 'fix':
      case 'sanitize':
      case 'substitute':
        return [{ kind: step.kind }];
      case 'fix-agent':
        return [{ kind: 'fix-agent', agent: step.agent.name, retries: step.retries }];
      case 'inherit':
        return [];
      default:
        return [step];
    }
  });
}
