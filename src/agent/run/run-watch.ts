import type { OutsideEvent } from '../../actors/journal.ts';
import type { RunWatcher, Attachment, RunPort } from '../../inspector/frames/run-port.ts';
import type { RunRecord } from '../../journal/format/record.ts';
import type { Recorder } from '../../journal/format/recorder.ts';
import type { RunEvent } from '../../machines/events/run-events.ts';
import type { AnyResult } from '../../machines/contract/run-result.ts';
import type { Microstep } from '../../machines/events/transition-log.ts';
import type { Json } from '../../json/json.ts';
import type { Run } from './run.ts';

/** What the inspector may see of a run, and do with it. */
interface Watched {
  readonly head: RunRecord;
  readonly recording: Recorder;
  readonly run: Run;
  readonly send: (event: OutsideEvent, to?: string) => Promise<boolean>;
  readonly fork: ((recording: string, entry: number, outcome: Json | undefined) => Promise<string>) | undefined;
}

/** Tells the inspector what a run does. While nobody watches, each call is one comparison. */
export interface RunWatch {
  onMicrostep(microstep: Microstep): void;
  onEvent(event: RunEvent): void;
  attach(inspector: RunPort | null, watched: Watched): void;
  ended(result: AnyResult): void;
}

/** Makes what stands between a run and the inspector. Whoever watches cannot break the run. */
export function runWatch(): RunWatch {
  let watcher: RunWatcher | null = null;
  let attachment: Attachment | null = null;
  /** What the machine did when it was made, for who watches as soon as the run is shown. */
  let first: ((watching: RunWatcher) => void)[] | null = [];
  let waiting = 0;
  /** Asked for in a moment: an event comes before the actors have arrived where it says. */
  let isCounting = false;
  const count = (): void => {
    isCounting = false;
    const calls = live?.run.pending.length ?? 0;
    if (calls === waiting) return;
    waiting = calls;
    attachment?.waiting?.(calls);
  };
  /** Let go of when the run is over: whoever can look at it still must not keep all its events. */
  let live: Pick<Watched, 'run' | 'send'> | null = null;
  return {
    onMicrostep: (microstep) => {
      if (watcher !== null) quietly(watcher.onMicrostep, microstep);
      else first?.push(({ onMicrostep }) => quietly(onMicrostep, microstep));
    },
    onEvent: (event) => {
      if (attachment !== null && !isCounting && (waiting > 0 || event.type === 'approval.requested')) {
        isCounting = true;
        queueMicrotask(count);
      }
      if (watcher !== null) quietly(watcher.onEvent, event);
      else first?.push(({ onEvent }) => quietly(onEvent, event));
    },
    attach: (inspector, { head, recording, run, send, fork }) => {
      const made = first ?? [];
      first = null;
      if (inspector === null) return;
      let beginning = true;
      live = { run, send };
      attachment = inspector.attach({
        head,
        reader: recording.reader,
        recording: recording.text,
        watch: (next) => {
          watcher = next;
          recording.watch(next === null ? null : next.onLine);
          if (next !== null && beginning) for (const tell of made.splice(0)) tell(next);
        },
        approve: async (callId, how) => live?.run.approve(callId, how) ?? false,
        reject: async (callId, reason) => live?.run.reject(callId, reason) ?? false,
        cancel: async (reason) => live?.run.cancel(reason) ?? false,
        ...(fork === undefined ? {} : { fork: (entry, outcome) => fork(recording.text(), entry, outcome) }),
        send: async (event, to) => (to === undefined ? live?.send(event) : live?.send(event, to)) ?? false,
      });
      beginning = false;
    },
    ended: ({ status, reason }) => {
      live = null;
      attachment?.ended({ status: status === 'waiting' ? 'interrupted' : status, reason });
    },
  };
}

function quietly<T>(listener: (told: T) => void, told: T): void {
  try {
    listener(told);
  } catch {
    // It is the inspector's to notice.
  }
}
