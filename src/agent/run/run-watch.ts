import type { OutsideEvent } from '../../actors/journal.ts';
import type { RunWatcher, Attachment, RunPort, Unrecorded } from '../../inspector/frames/run-port.ts';
import type { RunRecord } from '../../journal/format/record.ts';
import type { Recorder } from '../../journal/format/recorder.ts';
import type { RunEventBody } from '../../machines/events/run-events.ts';
import type { AnyResult } from '../../machines/contract/run-result.ts';
import type { Microstep } from '../../machines/events/transition-log.ts';
import type { Json } from '../../json/json.ts';
import type { AnyRun } from './run.ts';

/** A run, as far as the inspector may see it and do something with it. */
interface WatchedRun {
  readonly run: Pick<AnyRun, 'approve' | 'reject' | 'cancel' | 'pending'>;
  said(): readonly Unrecorded[];
  send(event: OutsideEvent, to?: string): Promise<boolean>;
}

interface Watched {
  readonly head: RunRecord;
  readonly recording: Recorder;
  readonly run: WatchedRun;
  readonly fork: ((recording: string, entry: number, outcome: Json | undefined) => Promise<string>) | undefined;
}

/** Reports to the inspector what a run does. A watcher cannot break the run; while no one watches, each call is one comparison. */
export class RunWatch {
  #watcher: RunWatcher | null = null;
  #attachment: Attachment | null = null;
  /** What the machine did when it was created, for those who watch as soon as the run is shown. */
  #first: Microstep[] | null = [];
  #waiting = 0;
  #isCounting = false;
  /** Released when the run is over: what still refers to the run must not keep all its events. */
  #run: WatchedRun | null = null;

  onMicrostep(microstep: Microstep): void {
    if (this.#watcher !== null) quietly(this.#watcher.onMicrostep, microstep, this.#watcher);
    else this.#first?.push(microstep);
  }

  /** A leaf has emitted a note, which is computed only while someone watches. */
  noted(remark: () => Unrecorded): void {
    if (this.#watcher !== null) quietly(this.#watcher.onUnrecorded, remark(), this.#watcher);
  }

  /** Something was reported that is not part of the run itself. */
  announced(event: RunEventBody): void {
    // A server may need a person to sign in.
    this.#countSoon();
    quietly(this.#watcher?.onUnrecorded, { event }, this.#watcher);
  }

  /** An effect was started. */
  started(name: string): void {
    if (name === 'askApproval') this.#countSoon();
  }

  /** The machine received an event: a call that waited may no longer wait. */
  moved(): void {
    if (this.#waiting > 0) this.#countSoon();
  }

  attach(inspector: RunPort | null, { head, recording, run, fork }: Watched): void {
    const made = this.#first ?? [];
    this.#first = null;
    if (inspector === null) return;
    let beginning = true;
    this.#run = run;
    const attach = (shown: Parameters<RunPort['attach']>[0]): void => {
      this.#attachment = inspector.attach(shown);
    };
    quietly(attach, {
      head,
      reader: () => recording.reader('no digests'),
      said: () => this.#run?.said() ?? [],
      recording: () => recording.text(),
      watch: (next) => {
        this.#watcher = next;
        recording.watch(next === null ? null : () => next.onLine());
        if (next !== null && beginning)
          for (const microstep of made.splice(0)) quietly(next.onMicrostep, microstep, next);
      },
      approve: async (callId, how) => this.#run?.run.approve(callId, how) ?? false,
      reject: async (callId, reason) => this.#run?.run.reject(callId, reason) ?? false,
      cancel: async (reason) => this.#run?.run.cancel(reason) ?? false,
      ...(fork === undefined ? {} : { fork: (entry, outcome) => fork(recording.text(), entry, outcome) }),
      send: async (event, to) => (to === undefined ? this.#run?.send(event) : this.#run?.send(event, to)) ?? false,
    });
    beginning = false;
    // A server may have waited for a person before the run began.
    this.#countSoon();
  }

  /** `null`: it has left its recording, and there is no result. */
  ended(result: AnyResult | null): void {
    const { status = 'waiting', reason = null } = result ?? {};
    const attachment = this.#attachment;
    this.#run = null;
    quietly(attachment?.ended, { status: status === 'waiting' ? 'interrupted' : status, reason }, attachment);
  }

  /** Deferred: the event comes before the actors have reached their next states. */
  #countSoon(): void {
    if (this.#attachment === null || this.#isCounting) return;
    this.#isCounting = true;
    queueMicrotask(() => {
      this.#isCounting = false;
      const calls = this.#run?.run.pending.length ?? 0;
      if (calls === this.#waiting) return;
      this.#waiting = calls;
      quietly(this.#attachment?.waiting, calls, this.#attachment);
    });
  }
}

/** A listener must not stop what it listens to. */
export function quietly<T>(listener: ((told: T) => void) | undefined, told: T, of?: unknown): void {
  try {
    listener?.call(of, told);
  } catch {
    // It is the listener's to notice.
  }
}
