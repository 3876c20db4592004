import type { OutsideEvent } from '../actors/journal.ts';
import type { RunWatcher } from '../inspector/line-source.ts';
import type { Attachment, RunPort, WatchedRun } from '../inspector/run-port.ts';
import type { RunRecord } from '../journal/record.ts';
import type { Recorder } from '../journal/recording.ts';
import type { RunEvent } from '../machines/run-events.ts';
import type { RunResult } from '../machines/run-result.ts';
import type { Move } from '../machines/transition-log.ts';
import type { Run } from './run.ts';

/** What the inspector may see of a run, and do with it. */
interface Watched {
  readonly head: RunRecord;
  readonly recording: Recorder;
  readonly run: Run;
  readonly send: (event: OutsideEvent, to?: string) => Promise<boolean>;
  readonly fork: WatchedRun['fork'] | undefined;
}

/** Tells the inspector what a run does. While nobody watches, each call is one comparison. */
export interface RunWatch {
  onMove(move: Move): void;
  onEvent(event: RunEvent): void;
  attach(inspector: RunPort | null, watched: Watched): void;
  ended(result: RunResult): void;
}

/** Makes what stands between a run and the inspector. Whoever watches cannot break the run. */
export function runWatch(): RunWatch {
  let watcher: RunWatcher | null = null;
  let attachment: Attachment | null = null;
  return {
    onMove: (move) => {
      if (watcher !== null) quietly(watcher.onMove, move);
    },
    onEvent: (event) => {
      if (watcher !== null) quietly(watcher.onEvent, event);
    },
    attach: (inspector, { head, recording, run, send, fork }) => {
      if (inspector === null) return;
      attachment = inspector.attach({
        head,
        reader: recording.reader,
        recording: recording.text,
        watch: (next) => {
          watcher = next;
          recording.watch(next === null ? null : next.onLine);
        },
        approve: (callId, how) => run.approve(callId, how),
        reject: (callId, reason) => run.reject(callId, reason),
        cancel: (reason) => run.cancel(reason),
        ...(fork === undefined ? {} : { fork }),
        send: (event, to) => (to === undefined ? send(event) : send(event, to)),
      });
    },
    ended: ({ status, reason }) => attachment?.ended({ status, reason }),
  };
}

function quietly<T>(listener: (told: T) => void, told: T): void {
  try {
    listener(told);
  } catch {
    // It is the inspector's to notice.
  }
}
