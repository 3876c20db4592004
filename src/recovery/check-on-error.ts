import { OptionError, hint } from '../json/known-options.ts';
import { type OnError, type RecoveryStep, SLOTS, type SlotName } from './steps.ts';
import { stepsOf } from './plan-data.ts';

const TERMINAL: ReadonlySet<string> = new Set(['feedback', 'escalate', 'throw']);
const KINDS: ReadonlySet<unknown> = new Set([
  'fix',
  'fix-agent',
  'sanitize',
  'substitute',
  'retry',
  'inherit',
  ...TERMINAL,
]);

/**
 * Refuses an `onError` that cannot mean what it says: an unknown slot, something that is no step, a step after one that
 * ends recovery, `whenUnknown` where no outcome can be unknown. Throws a `TypeError` that names `owner` and the slot.
 */
export function checkOnError(owner: string, onError: unknown): asserts onError is OnError | undefined {
  if (onError === undefined) return;
  if (typeof onError !== 'object' || onError === null)
    throw new TypeError(`${owner}: onError must be an object with the slots ${SLOTS.join(', ')}.`);
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
      throw new TypeError(`${where}: entry ${index} is no step. Make steps with recover.fix, recover.retry and so on.`);
    return step;
  });
  stepsOf(steps).forEach((step, index) => {
    const before = steps[index - 1];
    if (before !== undefined && TERMINAL.has(before.kind)) {
      throw new TypeError(
        `${where}: entry ${index} (${step.kind}) comes after ${before.kind}, which ends recovery, so it would never run.`,
      );
    }
    if (step.kind === 'retry' && step.whenUnknown && slot !== 'executionError') {
      throw new TypeError(
        `${where}: whenUnknown makes sense in executionError alone: only a call that was started can have an unknown outcome.`,
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
