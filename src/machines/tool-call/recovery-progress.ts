import type { ToolError } from '../../json/errors.ts';
import type { SlotData, StepData, RecoveryData } from '../../recovery/plan-data.ts';
import { type SlotName, slotOf } from '../../recovery/steps.ts';
import type { Effects } from '../../tools/spec.ts';
import type { ChildSetup } from '../contract/agent-setup.ts';

/** Whether a repair agent may be asked about some error: by a step, or by code that chooses the steps. */
export function mayAskAgent(recovery: RecoveryData): boolean {
  return Object.values(recovery).some(
    (slot) => slot.kind === 'chosen-by-code' || slot.steps.some(({ kind }) => kind === 'fix-agent'),
  );
}

/** How far the recovery of one call has come. */
export interface RecoveryProgress {
  readonly slots: { readonly [slot in SlotName]?: SlotProgress };
  /** The slot of the latest error; null for one that is not repaired below. */
  readonly slot: SlotName | null;
  /** The step to take now; null before one was chosen. */
  readonly step: StepData | null;
  readonly taken: number;
  /** What was tried, oldest first. */
  readonly attempts: readonly Attempt[];
  /** The repair agent that runs now, by the name that it has in places; left out before the first. */
  readonly repairer?: ChildSetup;
}

/** Arguments that failed, and how. */
export interface Attempt {
  readonly arguments: string;
  readonly error: string;
}

interface SlotProgress {
  /** A function has still to choose the steps, for this very failure. */
  readonly asks: boolean;
  readonly steps: readonly StepData[];
  readonly index: number;
  /** How often the step at `index` was taken. */
  readonly used: number;
}

const MAX_STEPS = 8;
const MAX_ATTEMPTS_KEPT = 20;
/** An error that asks for a longer wait is not retried. */
const LONGEST_WAIT_MS = 60_000;
const MAX_ATTEMPT_CHARS = 2000;
const MENDS: ReadonlySet<string> = new Set(['fix', 'sanitize', 'fix-agent']);
const FEEDBACK: StepData = { kind: 'feedback' };

/** The progress of a call that has not failed yet. */
export const NO_PROGRESS: RecoveryProgress = { slots: {}, slot: null, step: null, taken: 0, attempts: [] };

/** Takes up a failure: which slot repairs it, and what was tried. */
export function failed(
  progress: RecoveryProgress,
  data: RecoveryData,
  error: ToolError,
  attempt: Attempt,
): RecoveryProgress {
  const slot = slotToAsk(progress, data, slotOf(error));
  const attempts = [...progress.attempts, shortened(attempt)].slice(-MAX_ATTEMPTS_KEPT);
  if (slot === null) return { ...progress, slot, step: null, attempts };
  const known = progress.slots[slot] ?? { asks: false, steps: stepsOfSlot(data[slot]), index: 0, used: 0 };
  const asks = data[slot]?.kind === 'chosen-by-code';
  return { ...progress, slot, step: null, attempts, slots: { ...progress.slots, [slot]: { ...known, asks } } };
}

/** Repaired arguments that are wrong in a way without its own slot leave the rest of the list to try. */
function slotToAsk(
  { slot: before, step }: RecoveryProgress,
  data: RecoveryData,
  slot: SlotName | null,
): SlotName | null {
  const ofArguments = slot === 'invalidArgs' || slot === 'deserializationError';
  return ofArguments && data[slot] === undefined && step !== null && MENDS.has(step.kind) ? before : slot;
}

function stepsOfSlot(slot: SlotData | undefined): readonly StepData[] {
  return slot?.kind === 'steps' ? slot.steps : [];
}

function shortened({ arguments: text, error }: Attempt): Attempt {
  return { arguments: text.slice(0, MAX_ATTEMPT_CHARS), error: error.slice(0, MAX_ATTEMPT_CHARS) };
}

/** True while a function has still to say what to do about this kind of error. */
export function isToBeChosen({ slot, slots }: RecoveryProgress): boolean {
  return slot !== null && slots[slot]?.asks === true;
}

/**
 * Takes the steps that a slot's function chose for this failure; null: it does not handle the error. The same steps as
 * for the previous failure continue where they were, so that retries keep counting.
 */
export function chosen(progress: RecoveryProgress, steps: readonly StepData[] | null): RecoveryProgress {
  const { slot, slots } = progress;
  const before = slot === null ? undefined : slots[slot];
  if (slot === null || before === undefined) return progress;
  const same = JSON.stringify(before.steps) === JSON.stringify(steps ?? []);
  const now = same ? { ...before, asks: false } : { asks: false, steps: steps ?? [], index: 0, used: 0 };
  return { ...progress, slots: { ...slots, [slot]: now } };
}

/**
 * Chooses the next step: the current one again while it may be repeated, else the first after it that makes sense. Once
 * the maximum of steps was taken, nothing more is repaired, and the step that ends the list is carried out.
 */
export function advanced(progress: RecoveryProgress, failure: Failure): RecoveryProgress {
  const { slot, slots, taken } = progress;
  const state = slot === null ? undefined : slots[slot];
  if (slot === null || state === undefined) return { ...progress, step: FEEDBACK };
  const { asks, steps } = state;
  let { index, used } = state;
  for (; index < steps.length; index++, used = 0) {
    const step = steps[index];
    if (step !== undefined && mayBeTaken(step, { ...failure, used, progress })) {
      const now = { asks, steps, index, used: used + 1 };
      return { ...progress, step, taken: taken + 1, slots: { ...slots, [slot]: now } };
    }
  }
  return { ...progress, step: FEEDBACK, slots: { ...slots, [slot]: { asks, steps, index, used: 0 } } };
}

/** Position of the current step in its slot, with which a leaf finds its function. */
export function stepIndex({ slot, slots }: RecoveryProgress): number {
  return slot === null ? 0 : (slots[slot]?.index ?? 0);
}

/** How often the current step was taken. */
export function timesTaken({ slot, slots }: RecoveryProgress): number {
  return slot === null ? 0 : (slots[slot]?.used ?? 0);
}

/** What must be repaired. `tokensSpent`: there is no token budget left for a repair agent. */
interface Failure {
  readonly error: ToolError;
  readonly effects: Effects;
  readonly tokensSpent: boolean;
}

interface Situation extends Failure {
  readonly used: number;
  readonly progress: RecoveryProgress;
}

function mayBeTaken(step: StepData, { used, progress, error, effects, tokensSpent }: Situation): boolean {
  const hopeless = isHopeless(error, effects);
  const mayRepair = progress.taken < MAX_STEPS;
  switch (step.kind) {
    case 'retry':
      return (
        mayRepair &&
        used < step.maxAttempts - 1 &&
        hopeless !== 'no-tool' &&
        (hopeless !== 'unknown-outcome' || step.whenUnknown) &&
        !asksForTooLong(error)
      );
    case 'fix-agent':
      return mayRepair && used < step.retries && hopeless === null && !(used > 0 && (tokensSpent || isStuck(progress)));
    case 'fix':
    case 'sanitize':
      return mayRepair && used < 1 && hopeless === null;
    case 'substitute':
      return mayRepair && used < 1;
    case 'feedback':
    case 'escalate':
    case 'throw':
      return true;
  }
}

function asksForTooLong(error: ToolError): boolean {
  return error.kind === 'execution' && (error.retryAfterMs ?? 0) > LONGEST_WAIT_MS;
}

/** Why it must not be called again: there is no such tool, or it might take effect twice. */
function isHopeless(error: ToolError, effects: Effects): 'no-tool' | 'unknown-outcome' | null {
  if (error.kind === 'unknown-tool') return 'no-tool';
  return error.kind === 'execution' && error.outcomeUnknown === true && effects === 'once' ? 'unknown-outcome' : null;
}

/** The same text failed in the same way twice: asking again would not help. */
function isStuck({ attempts }: RecoveryProgress): boolean {
  const [last, before] = [attempts.at(-1), attempts.at(-2)];
  return last !== undefined && last.arguments === before?.arguments && last.error === before.error;
}
