import type { StepInfo } from '../../frames/protocol.ts';
import { withAncestors } from './actor-state.ts';
import type { SessionModel } from './session-model.ts';

/** What an actor has used of its drawing so far, over all its lives. */
export interface Wear {
  /** How often each state was entered. */
  readonly visits: ReadonlyMap<string, number>;
  /** The transitions that were ever taken. */
  readonly taken: ReadonlySet<string>;
}

/** Of an actor that has not moved. */
export const NO_WEAR: Wear = { visits: new Map(), taken: new Set() };

interface Counted extends Wear {
  readonly visits: Map<string, number>;
  readonly taken: Set<string>;
  /** How many of the actor's steps are counted, and up to which position. */
  counted: number;
  position: number;
}

const kept = new WeakMap<readonly number[], Counted>();

/** The wear of an actor up to `position`. Counting goes on where it ended, so a live run costs what is new in it. */
export function wearAt(session: SessionModel, path: string, position: number): Wear {
  const steps = session.actors.get(path)?.steps ?? [];
  let wear = kept.get(steps);
  if (wear === undefined || wear.position > position) {
    wear = { visits: new Map(), taken: new Set(), counted: 0, position: -1 };
    kept.set(steps, wear);
  }
  for (let at = steps[wear.counted]; at !== undefined && at <= position; at = steps[++wear.counted])
    count(wear, session.steps[at]);
  wear.position = position;
  return wear;
}

function count({ visits, taken }: Counted, step: StepInfo | undefined): void {
  if (step === undefined) return;
  const before = withAncestors(step.from);
  for (const state of withAncestors(step.to)) if (!before.has(state)) visits.set(state, (visits.get(state) ?? 0) + 1);
  for (const transition of step.transitions) taken.add(transition);
}
