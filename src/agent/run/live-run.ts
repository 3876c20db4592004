import { type Drive, recordedOutput } from '../../journal/run/drive.ts';
import type { Recorder } from '../../journal/format/recorder.ts';
import type { RunJournal } from '../../journal/run/run-journal.ts';
import type { Messages } from './messages.ts';
import type { RunPlan } from './run-plan.ts';
import type { RunReaders } from './run-reader.ts';
import { type Stopped, stoppedAt } from './run-state.ts';
import type { RunWatch } from './run-watch.ts';

type Begun = Pick<LiveRun, 'driven' | 'journal' | 'recording'>;

/** Who is told of each step. */
interface Followers {
  readonly readers: RunReaders;
  readonly watch: RunWatch;
  readonly messages: Messages;
}

/** What there is of a run as soon as it has begun. Owns: driving its machine, entry by entry, until it is over or let go. */
export class LiveRun {
  readonly driven: Drive;
  readonly journal: RunJournal;
  readonly recording: Recorder;
  /** Set if the machine was stopped before its end. */
  stopped: Stopped | undefined;
  /** Why it does not go on here, though it is not over. */
  letGo: 'released' | 'parked' | null = null;
  readonly #plan: RunPlan;

  constructor(plan: RunPlan, { driven, journal, recording }: Begun) {
    this.#plan = plan;
    this.driven = driven;
    this.journal = journal;
    this.recording = recording;
  }

  /** Drives the machine; returns how long the run took, in milliseconds, or null if it was let go before its end. */
  async drive({ readers, watch, messages }: Followers): Promise<number | null> {
    const { driven, journal, recording } = this;
    readers.started();
    driven.start();
    try {
      while (driven.isActive()) {
        this.#rests();
        const next = journal.next();
        this.park();
        const entry = await next;
        if (entry === null) break;
        readers.tell(entry, driven);
        watch.moved();
        messages.settle();
      }
      this.#rests();
    } catch (error) {
      await this.#stop();
      throw error;
    }
    if (driven.isActive()) {
      await this.#stop();
      return null;
    }
    const { elapsed } = recording;
    const output = recordedOutput(driven.actor.getSnapshot().output);
    recording.end(output);
    await journal.end(output);
    return elapsed;
  }

  /** Lets the run go when all that it waits for takes long; what it has started is written by then. */
  park(): void {
    const { driven, journal } = this;
    const { parksOn } = this.#plan;
    if (parksOn === undefined || this.letGo !== null || journal.isIdle?.() !== true) return;
    const open = driven.openEffects();
    if (open.length === 0 || !driven.isActive() || !open.every(parksOn)) return;
    this.release('parked');
  }

  /** False if its journal cannot resume it. */
  release(why: 'released' | 'parked'): boolean {
    if (this.journal.release === undefined) return false;
    this.letGo ??= why;
    this.journal.release();
    return true;
  }

  #rests(): void {
    if (!this.#plan.replayed()) this.#plan.run.onStable?.();
  }

  async #stop(): Promise<void> {
    this.stopped = stoppedAt(this.#plan.run.runId, this.driven.actor);
    this.driven.actor.stop();
    await this.journal.abandon?.();
  }
}
