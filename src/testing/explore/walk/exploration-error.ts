import type { InspectionEvent } from 'xstate';

/** An exploration cannot be made, or cannot say what was asked. */
export class ExplorationError extends Error {
  override readonly name = 'ExplorationError';
  /** `not-a-leaf`: an actor of the machine is beyond control. `not-exhaustive`: the bounds came first. `endless`: the machine makes transitions without end. */
  readonly code: 'not-a-leaf' | 'not-exhaustive' | 'endless';

  constructor(code: ExplorationError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

const MOST_MICROSTEPS = 2000;

/** Watches for a machine that makes transitions for ever without waiting for anything, which nothing else would end. */
interface EndlessGuard {
  readonly inspect: (event: InspectionEvent) => void;
  /** Restarts the count. */
  reset(): void;
  readonly tripped: boolean;
}

/** Ends an endless chain of transitions by an error in the machine that makes it. */
export function endlessGuard(): EndlessGuard {
  let count = 0;
  const guard = {
    inspect: ({ type }: InspectionEvent) => {
      if (type !== '@xstate.microstep' || ++count <= MOST_MICROSTEPS) return;
      guard.tripped = true;
      throw new ExplorationError(
        'endless',
        `The machine made ${MOST_MICROSTEPS} transitions without waiting for anything.`,
      );
    },
    reset: () => {
      count = 0;
    },
    tripped: false,
  };
  return guard;
}
