import type { Drawn } from './draws.ts';
import { type VirtualTime, settled } from './virtual-time.ts';

/** The process ends, or lets go of the run. */
const DIED = /^process|^journal\.(full|io|short|lock)|^outside\.(release|park)/;
/** A tool does not end its work, whatever the run does. */
const UNFINISHED = /^tool\.(slow|stall|late|lost)|^outside\./;
/** What puts itself off again and again is left. */
const MOST_ROUNDS = 10;

/** Whether a run was interrupted. */
export function hasDied(drawn: readonly Drawn[]): boolean {
  return drawn.some(({ kind }) => DIED.test(kind));
}

/** What a run has left behind, seen from before it. */
export class Leftovers {
  readonly #time: VirtualTime;
  readonly #before = outlasting();

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /**
   * What still keeps the process alive, or listens to it, when a run has ended for a reason; null for nothing. Where a tool
   * was stopped in its work, or a process ended, something is always left.
   */
  async left(reason: string, drawn: readonly Drawn[]): Promise<string | null> {
    await this.#finishTurn();
    if (hasDied(drawn) || reason === 'cancelled' || reason === 'timeout') return null;
    if (drawn.some(({ kind }) => UNFINISHED.test(kind))) return null;
    const timer = this.#time.pending.find(({ isRef }) => isRef);
    if (timer !== undefined) return `a timer of ${timer.ms} ms is still set when the run is over`;
    const now = outlasting();
    if (now.listeners > this.#before.listeners) return 'the process has more listeners than before the run';
    return now.processes > this.#before.processes
      ? 'a process that was started is still there when the run is over'
      : null;
  }

  /** What is put off to the next turn of the event loop comes yet. */
  async #finishTurn(): Promise<void> {
    for (let round = 0; round < MOST_ROUNDS && this.#time.pending.some(({ ms }) => ms === 0); round++) {
      this.#time.fireNext();
      await settled();
    }
  }
}

/** What the process has that outlasts a run. */
function outlasting(): { readonly listeners: number; readonly processes: number } {
  return {
    listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
    processes: process.getActiveResourcesInfo().filter((kind) => kind === 'ProcessWrap').length,
  };
}
