import type { ToolError } from '../parsing/errors.ts';
import type { SlotData, StepData, RecoveryData } from '../recovery/plan-data.ts';
import { type SlotName, slotOf } from '../recovery/steps.ts';
import type { Effects } from '../tools/spec.ts';

/** How far the recovery of one call has come. */
export interface RecoveryProgress {
  readonly slots: { readonly [slot in SlotName]?: SlotProgress };
  /** The slot of the latest error; null for one that nobody below mends. */
  readonly slot: SlotName | null;
  /** The step to take now; null before one was chosen. */
  readonly step: StepData | null;
  readonly taken: number;
  /** What was tried, oldest first. */
  readonly attempts: readonly Attempt[];
}

/** Arguments that failed, and how. */
export interface Attempt {
  readonly arguments: string;
  readonly error: string;
}

interface SlotProgress {
  /** null: a function is still to choose them. */
  readonly steps: readonly StepData[] | null;
  readonly index: number;
  /** How often the step at `index` was taken. */
  readonly used: number;
}

const MAX_STEPS = 8;
const MAX_ATTEMPTS_KEPT = 6;
const MAX_ATTEMPT_CHARS = 2000;
const FEEDBACK: StepData = { kind: 'feedback' };

/** The progress of a call that has not failed yet. */
export const NO_PROGRESS: RecoveryProgress = { slots: {}, slot: null, step: null, taken: 0, attempts: [] };

/** Takes up a failure: which slot it belongs to, and what was tried. */
export function failed(
  progress: RecoveryProgress,
  data: RecoveryData,
  error: ToolError,
  attempt: Attempt,
): RecoveryProgress {
  const slot = slotOf(error);
  const attempts = [...progress.attempts, shortened(attempt)].slice(-MAX_ATTEMPTS_KEPT);
  if (slot === null) return { ...progress, slot, step: null, attempts };
  const known = progress.slots[slot] ?? { steps: stepsOfSlot(data[slot]), index: 0, used: 0 };
  return { ...progress, slot, step: null, attempts, slots: { ...progress.slots, [slot]: known } };
}

function stepsOfSlot(slot: SlotData | undefined): readonly StepData[] | null {
  if (slot === undefined) return [];
  return slot.kind === 'steps' ? slot.steps : null;
}

function shortened({ arguments: text, error }: Attempt): Attempt {
  return { arguments: text.slice(0, MAX_ATTEMPT_CHARS), error: error.slice(0, MAX_ATTEMPT_CHARS) };
}

/** True while a function has still to say what to do about this kind of error. */
export function isToBeChosen({ slot, slots }: RecoveryProgress): boolean {
  return slot !== null && slots[slot]?.steps === null;
}

/** Takes the steps that a slot's function chose; null: it does not handle the error. */
export function chosen(progress: RecoveryProgress, steps: readonly StepData[] | null): RecoveryProgress {
  const { slot } = progress;
  return slot === null
    ? progress
    : { ...progress, slots: { ...progress.slots, [slot]: { steps: steps ?? [], index: 0, used: 0 } } };
}

/** Chooses the next step: the current one again while it may be repeated, else the first after it that makes sense. */
export function advanced(progress: RecoveryProgress, error: ToolError, effects: Effects): RecoveryProgress {
  const { slot, slots, taken } = progress;
  const state = slot === null ? undefined : slots[slot];
  if (slot === null || state === undefined || taken >= MAX_STEPS) return { ...progress, step: FEEDBACK };
  const steps = state.steps ?? [];
  let { index, used } = state;
  for (; index < steps.length; index++, used = 0) {
    const step = steps[index];
    if (step !== undefined && mayBeTaken(step, used, progress, isHopeless(error, effects))) {
      return { ...progress, step, taken: taken + 1, slots: { ...slots, [slot]: { steps, index, used: used + 1 } } };
    }
  }
  return { ...progress, step: FEEDBACK, slots: { ...slots, [slot]: { steps, index, used: 0 } } };
}

/** Position of the current step in its slot, by which a leaf finds its function. */
export function stepIndex({ slot, slots }: RecoveryProgress): number {
  return slot === null ? 0 : (slots[slot]?.index ?? 0);
}

/** How often the current step was taken. */
export function timesTaken({ slot, slots }: RecoveryProgress): number {
  return slot === null ? 0 : (slots[slot]?.used ?? 0);
}

function mayBeTaken(step: StepData, used: number, progress: RecoveryProgress, hopeless: Hopeless): boolean {
  switch (step.kind) {
    case 'retry':
      return (
        used < step.maxAttempts - 1 && hopeless !== 'no-tool' && (hopeless !== 'unknown-outcome' || step.whenUnknown)
      );
    case 'fix-agent':
      return used < step.retries && hopeless === null && !(used > 0 && isStuck(progress));
    case 'fix':
    case 'sanitize':
      return used < 1 && hopeless === null;
    case 'substitute':
      return used < 1;
    default:
      return true;
  }
}

type Hopeless = 'no-tool' | 'unknown-outcome' | null;

/** Why calling again is out of the question: there is no such tool, or it might take effect twice. */
function isHopeless(error: ToolError, effects: Effects): Hopeless {
  if (error.kind === 'unknown-tool') return 'no-tool';
  return error.kind === 'execution' && error.outcomeUnknown === true && effects === 'once' ? 'unknown-outcome' : null;
}

/** The same text failed in the same way twice: asking once more would not help. */
function isStuck({ attempts }: RecoveryProgress): boolean {
  const [last, before] = [attempts.at(-1), attempts.at(-2)];
  return last !== undefined && last.arguments === before?.arguments && last.error === before.error;
}
