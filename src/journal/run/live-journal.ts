/**
 * Owns: the order in which a running machine is told things, and that it is written before it is told.
 * Does not own: where it is written (the sink's), what the machine does with it (the driver's).
 *
 * I1 `open` launches nothing. `next` writes the starts of a macrostep in one go, then launches them.
 * I2 An entry is written before it is returned; one whose target is gone is neither.
 * I3 An effect that was opened and closed before `next` never runs.
 * I4 While an event from outside waits, nothing new is launched: a cancelled run starts no more work.
 * I5 What was sent is always settled: true once it is written, false when nobody takes it any more, and with the cause where
 *    the journal cannot write.
 */
import type { Effect, Entry, OutsideEvent, Perform } from '../../actors/journal.ts';
import type { Json } from '../../json/json.ts';
import { deltaWriter } from '../format/deltas.ts';
import { type RecordLine, entryRecord, startRecord } from '../format/record.ts';
import type { CarriedEffect, RunHead, RunJournal, Sink } from './run-journal.ts';

interface Waiting {
  readonly entry: Entry;
  /** Of what was sent from outside: false, nobody took it. */
  readonly asked?: PromiseWithResolvers<boolean>;
}

const LONGEST_TIMEOUT = 2 ** 31 - 1;

/** The journal of a run that happens now. Without a sink it orders and remembers nothing. */
export function liveJournal({ head, accepts, carried }: RunHead, sink: Sink | null): RunJournal {
  const began = performance.now() - (carried?.at ?? 0);
  const write = carried?.write ?? deltaWriter(head);
  const at = (): number => Math.round(performance.now() - began);
  const fresh = new Map<string, { readonly effect: Effect; readonly perform: Perform }>();
  const running = new Map<string, AbortController>();
  const queue: Waiting[] = [];
  let wake: (() => void) | null = null;
  let ended = false;
  let begun = false;
  let released = false;

  const put = (waiting: Waiting): void => {
    queue.push(waiting);
    wake?.();
    wake = null;
  };

  const launch = ({ effect, perform, leftMs }: CarriedEffect): void => {
    const controller = new AbortController();
    running.set(effect.id, controller);
    if (effect.ms !== undefined) return startTimer(effect.id, leftMs ?? effect.ms, controller.signal, put);
    const io = {
      signal: controller.signal,
      get idempotencyKey() {
        return `${head.runId}:${effect.key}`;
      },
      note: () => undefined,
    };
    void perform(io).then((out) => put({ entry: { t: 'outcome', id: effect.id, out } }));
  };

  const isOpen = (entry: Entry): boolean =>
    entry.t === 'event' ? accepts(entry.event, entry.to) : running.has(entry.id);

  const starts: CarriedEffect[] = [...(carried?.open ?? [])];
  for (const id of carried?.overdue ?? []) {
    running.set(id, new AbortController());
    put({ entry: { t: 'timer', id } });
  }
  const writeStarts = (): void | Promise<void> => {
    if (fresh.size === 0 && begun) return undefined;
    const opened = [...fresh.values()];
    fresh.clear();
    starts.push(...opened);
    if (sink === null) return undefined;
    const records = opened.map(({ effect }) =>
      startRecord(effect, at(), effect.ms === undefined ? write(effect) : null),
    );
    return sink.append([...firstRecords(), ...records]);
  };
  const firstRecords = (): readonly RecordLine[] => {
    if (begun) return [];
    begun = true;
    return carried?.records ?? [head];
  };

  /** Where something cannot be written, whoever waits for that is told why; so is the one who drives the run. */
  const refuse = (error: unknown, unwritten: readonly Waiting[]): never => {
    for (const { asked } of unwritten) asked?.reject(error);
    throw error;
  };

  const takeOne = async (): Promise<Entry | null> => {
    for (let waiting = queue.shift(); waiting !== undefined; waiting = queue.shift()) {
      const { entry, asked } = waiting;
      if (!isOpen(entry)) {
        asked?.resolve(false);
        continue;
      }
      if (entry.t !== 'event') running.delete(entry.id);
      try {
        const written = sink?.append([entryRecord(entry, at())]);
        if (written !== undefined) await written;
      } catch (error) {
        refuse(error, [waiting, ...queue.splice(0)]);
      }
      asked?.resolve(true);
      return entry;
    }
    return null;
  };

  const stop = (): void => {
    for (const controller of running.values()) controller.abort(new Error('The run is over.'));
    running.clear();
    for (const { asked } of queue.splice(0)) asked?.resolve(false);
  };

  return {
    open: (effect, perform) => {
      fresh.set(effect.id, { effect, perform });
    },
    close: (id) => {
      if (fresh.delete(id)) return;
      const index = starts.findIndex(({ effect }) => effect.id === id);
      if (index !== -1) starts.splice(index, 1);
      running.get(id)?.abort(new Error('It is no longer needed: its state was left.'));
      running.delete(id);
    },
    next: async () => {
      try {
        // What would be written here as started never is: it starts when the run is taken up again.
        const written = ended ? undefined : writeStarts();
        if (written !== undefined) await written;
      } catch (error) {
        refuse(error, queue.splice(0));
      }
      for (;;) {
        if (ended) return null;
        const entry = await takeOne();
        if (entry !== null) return entry;
        if (ended) return null;
        for (const start of starts.splice(0)) launch(start);
        if (queue.length > 0) continue;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    send: (event: OutsideEvent, to?: string) => {
      if (ended) return Promise.resolve(false);
      const asked = Promise.withResolvers<boolean>();
      // Why it could not be written is told to whoever drives the run: nobody needs to wait for it here.
      asked.promise.catch(() => undefined);
      put({ entry: to === undefined ? { t: 'event', event } : { t: 'event', event, to }, asked });
      return asked.promise;
    },
    end: async (output: Json) => {
      ended = true;
      try {
        const written = writeStarts();
        if (written !== undefined) await written;
        stop();
        await sink?.append([{ t: 'end', at: at(), output }]);
        await sink?.close();
      } catch (error) {
        refuse(error, queue.splice(0));
      } finally {
        stop();
      }
    },
    at,
    release: () => {
      ended = true;
      released = true;
      stop();
      wake?.();
    },
    abandon: async () => {
      ended = true;
      stop();
      try {
        const first = released ? firstRecords() : [];
        if (first.length > 0) await sink?.append(first);
      } finally {
        await sink?.close();
      }
    },
  };
}

/** Node fires longer delays at once, so they are chained. */
function startTimer(id: string, ms: number, signal: AbortSignal, put: (waiting: Waiting) => void): void {
  let left = ms;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const arm = (): void => {
    const part = Math.min(left, LONGEST_TIMEOUT);
    left -= part;
    timer = setTimeout(() => (left > 0 ? arm() : put({ entry: { t: 'timer', id } })), part);
  };
  arm();
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
}
