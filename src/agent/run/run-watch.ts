import type { OutsideEvent } from '../../actors/journal.ts';
import type { RunWatcher, Attachment, RunPort, Unrecorded } from '../../inspector/frames/run-port.ts';
import type { RunRecord } from '../../journal/format/record.ts';
import type { Recorder } from '../../journal/format/recorder.ts';
import type { RunEventBody } from '../../machines/events/run-events.ts';
import type { AnyResult } from '../../machines/contract/run-result.ts';
import type { Microstep } from '../../machines/events/transition-log.ts';
import type { Json } from '../../json/json.ts';
import type { Run } from './run.ts';

/** What the inspector may see of a run, and do with it. */
interface Watched {
  readonly head: RunRecord;
  readonly recording: Recorder;
  readonly run: Run;
  readonly said: () => readonly Unrecorded[];
  readonly send: (event: OutsideEvent, to?: string) => Promise<boolean>;
  readonly fork: ((recording: string, entry: number, outcome: Json | undefined) => Promise<string>) | undefined;
}

/** Reports to the inspector what a run does. A watcher cannot break the run; while no one watches, each call is one comparison. */
export function runWatch() {
  let watcher: RunWatcher | null = null;
  let attachment: Attachment | null = null;
  /** What the machine did when it was created, for those who watch as soon as the run is shown. */
  let first: Microstep[] | null = [];
  let waiting = 0;
  let isCounting = false;
  const count = (): void => {
    isCounting = false;
    const calls = live?.run.pending.length ?? 0;
    if (calls === waiting) return;
    waiting = calls;
    attachment?.waiting?.(calls);
  };
  /** Deferred: the event comes before the actors have reached their next states. */
  const countSoon = (): void => {
    if (attachment === null || isCounting) return;
    isCounting = true;
    queueMicrotask(count);
  };
  /** Released when the run is over: what still refers to the run must not keep all its events. */
  let live: Pick<Watched, 'run' | 'said' | 'send'> | null = null;
  return {
    onMicrostep: (microstep: Microstep): void => {
      if (watcher !== null) quietly(watcher.onMicrostep, microstep);
      else first?.push(microstep);
    },
    /** A leaf has emitted a note, which is computed only while someone watches. */
    noted: (remark: () => Unrecorded): void => {
      if (watcher !== null) quietly(watcher.onUnrecorded, remark());
    },
    /** Something was reported that is not part of the run itself. */
    announced: (event: RunEventBody): void => {
      // A server may need a person to sign in.
      countSoon();
      quietly(watcher?.onUnrecorded, { event });
    },
    /** An effect was started. */
    started: (name: string): void => {
      if (name === 'askApproval') countSoon();
    },
    /** The machine received an event: a call that waited may no longer wait. */
    moved: (): void => {
      if (waiting > 0) countSoon();
    },
    attach: (inspector: RunPort | null, { head, recording, run, said, send, fork }: Watched): void => {
      const made = first ?? [];
      first = null;
      if (inspector === null) return;
      let beginning = true;
      live = { run, said, send };
      attachment = inspector.attach({
        head,
        reader: () => recording.reader('no digests'),
        said: () => live?.said() ?? [],
        recording: () => recording.text(),
        watch: (next) => {
          watcher = next;
          recording.watch(next === null ? null : next.onLine);
          if (next !== null && beginning) for (const microstep of made.splice(0)) quietly(next.onMicrostep, microstep);
        },
        approve: async (callId, how) => live?.run.approve(callId, how) ?? false,
        reject: async (callId, reason) => live?.run.reject(callId, reason) ?? false,
        cancel: async (reason) => live?.run.cancel(reason) ?? false,
        ...(fork === undefined ? {} : { fork: (entry, outcome) => fork(recording.text(), entry, outcome) }),
        send: async (event, to) => (to === undefined ? live?.send(event) : live?.send(event, to)) ?? false,
      });
      beginning = false;
      // A server may have waited for a person before the run began.
      countSoon();
    },
    ended: ({ status, reason }: AnyResult): void => {
      live = null;
      attachment?.ended({ status: status === 'waiting' ? 'interrupted' : status, reason });
    },
  };
}

/** A listener must not stop what it listens to. */
export function quietly<T>(listener: ((told: T) => void) | undefined, told: T): void {
  try {
    listener?.(told);
  } catch {
    // It is the listener's to notice.
  }
}
