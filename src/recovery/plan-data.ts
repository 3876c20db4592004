import type { Severity } from '../json/errors.ts';
import { hint, OptionError, wrongOption } from '../json/known-options.ts';
import { type OnError, type RecoveryStep, type RetryStep, type Slot, type SlotName, SLOTS } from './steps.ts';

/** A step for the machines: data, its function found by tool, slot and index. */
export type StepData =
  | { readonly kind: 'fix' }
  | { readonly kind: 'fix-agent'; readonly agent: string; readonly retries: number }
  | { readonly kind: 'sanitize' }
  | { readonly kind: 'substitute' }
  | RetryStep
  | { readonly kind: 'feedback' }
  | { readonly kind: 'escalate'; readonly reason: string | null; readonly severity: Severity }
  | { readonly kind: 'throw'; readonly reason: string | null };

/** A slot for the machines. `chosen-by-code`: a function of the error, which a leaf calls. */
export type SlotData =
  | { readonly kind: 'steps'; readonly steps: readonly StepData[] }
  | { readonly kind: 'chosen-by-code' };

/** What a tool does about its errors, by slot; a slot that is missing feeds the error back to the model. */
export type RecoveryData = { readonly [slot in SlotName]?: SlotData };

/** A slot after inheritance: its steps, or the function that chooses them. */
export type ResolvedSlot = readonly RecoveryStep[] | SlotFunction;

type SlotFunction = Extract<Slot, (...args: never) => unknown>;

/** All slots of one tool after inheritance. */
export type ResolvedOnError = { readonly [slot in SlotName]?: ResolvedSlot };

/**
 * Resolves inheritance, slot by slot: the first of the levels that has a slot decides; `inherit()` in a list means what
 * the next level would have done.
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
  const below = levels.slice(at + 1);
  return typeof slot === 'function' ? choosing(slot, below) : spliced(stepsOf(slot), below);
}

/** Puts inherited steps in the place of `inherit()`; where a function chooses those, a function chooses the whole. */
function spliced(steps: readonly RecoveryStep[], below: readonly (Slot | undefined)[]): ResolvedSlot {
  const inherited = steps.some(({ kind }) => kind === 'inherit') ? resolveSlot(below) : undefined;
  const whole = (inner: readonly RecoveryStep[]) => steps.flatMap((step) => (step.kind === 'inherit' ? inner : [step]));
  if (typeof inherited !== 'function') return whole(inherited ?? []);
  return async (error) => whole(stepsOf((await inherited(error)) ?? []));
}

/** A function whose choice may hold `inherit()` too. */
function choosing(choose: SlotFunction, below: readonly (Slot | undefined)[]): SlotFunction {
  return async (error) => {
    const steps = await choose(error);
    if (steps === null || steps === undefined) return null;
    const whole = spliced(stepsOf(steps), below);
    return typeof whole === 'function' ? whole(error) : whole;
  };
}

/** A single step means a list of one. */
export function stepsOf(slot: RecoveryStep | readonly RecoveryStep[]): readonly RecoveryStep[] {
  return 'kind' in slot ? [slot] : slot;
}

/** What the machines know of a tool's slots. */
export function recoveryData(resolved: ResolvedOnError): RecoveryData {
  return Object.fromEntries(
    Object.entries(resolved).map(([slot, steps]): [string, SlotData] => [
      slot,
      typeof steps === 'function' ? { kind: 'chosen-by-code' } : { kind: 'steps', steps: stepData(steps) },
    ]),
  );
}

/** Steps without their functions; inheritance is resolved by now. */
export function stepData(steps: readonly RecoveryStep[]): readonly StepData[] {
  return steps.flatMap((step): readonly StepData[] => {
    const { kind } = step;
    if (kind === 'inherit') return [];
    if (kind === 'fix-agent') return [{ kind, agent: step.agent.name, retries: step.retries }];
    return kind === 'fix' || kind === 'sanitize' || kind === 'substitute' ? [{ kind }] : [step];
  });
}

const TERMINAL: ReadonlySet<string> = new Set(['feedback', 'escalate', 'throw']);
const KINDS = new Set<unknown>('fix fix-agent sanitize substitute retry inherit feedback escalate throw'.split(' '));

/**
 * Rejects an invalid `onError`: an unknown slot, something that is not a step, a step after one that ends recovery,
 * `whenUnknown` where no outcome can be unknown. Throws a `TypeError` that names `owner` and the slot.
 */
export function checkOnError(owner: string, onError: unknown): asserts onError is OnError | undefined {
  if (onError === undefined) return;
  if (typeof onError !== 'object' || onError === null)
    throw wrongOption(`${owner}: onError must be an object with the slots ${SLOTS.join(', ')}.`);
  for (const [name, slot] of Object.entries(onError)) {
    if (!isSlotName(name))
      throw new OptionError(
        'unknown-option',
        `${owner}: onError has no slot '${name}'.${hint(name, SLOTS)} See docs/recovery.md.`,
      );
    if (slot !== undefined && typeof slot !== 'function') checkSteps(`${owner}: onError.${name}`, name, slot);
  }
}

function checkSteps(where: string, slot: SlotName, value: unknown): void {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  const steps = list.map((step, index) => {
    if (!isStep(step))
      throw wrongOption(
        `${where}: entry ${index} is not a step. Make steps with recover.fix, recover.retry and so on.`,
      );
    return step;
  });
  stepsOf(steps).forEach((step, index) => {
    const before = steps[index - 1];
    if (before !== undefined && TERMINAL.has(before.kind)) {
      throw wrongOption(
        `${where}: entry ${index} (${step.kind}) comes after ${before.kind}, which ends recovery, so it would never run.`,
      );
    }
    if (step.kind === 'retry' && step.whenUnknown && slot !== 'executionError') {
      throw wrongOption(
        `${where}: whenUnknown makes sense only in executionError: only a call that was started can have an unknown outcome.`,
      );
    }
  });
}

function isSlotName(name: string): name is SlotName {
  return SLOTS.some((slot) => slot === name);
}

function isStep(value: unknown): value is RecoveryStep {
  return typeof value === 'object' && value !== null && KINDS.has(Reflect.get(value, 'kind'));
}
