/**
 * Owns: the order in which a running machine receives entries, and that each is written before it is
 * delivered. Does not own: where it is written (sink), what the machine does with it (driver).
 *
 * I1 `open` launches nothing. `next` writes the starts of a macrostep in one go, then launches them.
 * I2 An entry is written before it is returned; one whose target is gone is neither.
 * I3 An effect that was opened and closed before `next` never runs.
 * I4 While an event from outside waits, nothing new is launched: a cancelled run starts no more work.
 * I5 What was sent is always settled: true once it is written, false if it can no longer be taken, and rejected with
 *    the cause if the journal cannot write.
 */
import { startTimer } from '../../actors/deadline.ts';
import type { Effect, Entry, OutsideEvent, Perform, PerformIo } from '../../actors/journal.ts';
import type { Json, JsonObject } from '../../json/json.ts';
import { deltaWriter } from '../format/deltas.ts';
import { type RecordLine, entryRecord, startRecord } from '../format/record.ts';
import { noteWritten } from './driven-runs.ts';
import { type CarriedEffect, type RunHead, type RunJournal, type Sink, giveBack, journalOver } from './run-journal.ts';

const NOTHING: readonly never[] = [];

interface Waiting {
  readonly entry: Entry;
  /** For what was sent from outside: false, it was not taken. */
  readonly asked?: PromiseWithResolvers<boolean>;
}

/** The journal of a run that happens now. Without a sink it orders, and remembers nothing. */
export function liveJournal(run: RunHead, sink: Sink | null): RunJournal {
  // Own properties: other journals are made from this one by spreading it.
  return journalOver(new LiveJournal(run, sink), {});
}

/** The journal of a run that happens now. Without a sink it orders, and remembers nothing. */
export class LiveJournal implements RunJournal {
  readonly #run: RunHead;
  readonly #sink: Sink | null;
  readonly #began: number;
  /** Set if there is a sink. */
  readonly #write: ((effect: Effect) => Json) | null;
  /** Opened since the last macrostep was written. */
  #fresh: readonly CarriedEffect[] = NOTHING;
  /** Written, and to be launched. */
  readonly #starts: CarriedEffect[];
  readonly #running = new Map<string, AbortController>();
  readonly #queue: Waiting[] = [];
  #wake: (() => void) | null = null;
  #begun = false;
  #ended = false;
  #released = false;
  /** Another process may have taken the run. */
  #isDoubted = false;

  constructor(run: RunHead, sink: Sink | null) {
    const { head, carried } = run;
    this.#run = run;
    this.#sink = sink;
    this.#began = performance.now() - (carried?.at ?? 0);
    this.#write = sink === null ? null : (carried?.write ?? deltaWriter(head));
    this.#starts = [...(carried?.open ?? [])];
    sink?.onDoubt?.(() => {
      this.#isDoubted = true;
      this.#wake?.();
    });
    for (const id of carried?.overdue ?? []) {
      this.#running.set(id, new AbortController());
      this.put({ t: 'timer', id });
    }
  }

  at(): number {
    return Math.round(performance.now() - this.#began);
  }

  open(effect: Effect, perform: Perform, fired?: Promise<unknown>): void {
    this.#fresh = [...this.#fresh, fired === undefined ? { effect, perform } : { effect, perform, fired }];
  }

  close(id: string): void {
    const fresh = this.#fresh.filter(({ effect }) => effect.id !== id);
    if (fresh.length < this.#fresh.length) {
      this.#fresh = fresh;
      return;
    }
    const index = this.#starts.findIndex(({ effect }) => effect.id === id);
    if (index !== -1) this.#starts.splice(index, 1);
    this.#running.get(id)?.abort(new Error('It is no longer needed: its state was left.'));
    this.#running.delete(id);
  }

  async next(): Promise<Entry | null> {
    try {
      // What would be written as started here never starts: it starts when the run is resumed.
      const written = this.#ended ? undefined : this.#writeStarts();
      if (written !== undefined) await written;
    } catch (error) {
      this.#refuse(error, this.#queue.splice(0));
    }
    for (;;) {
      if (this.#ended) return null;
      if (this.#isDoubted) await this.#lookWhoseItIs();
      const entry = await this.#takeOne();
      if (entry !== null) return entry;
      if (this.#ended) return null;
      for (const start of this.#starts.splice(0)) this.#launch(start);
      if (this.#queue.length > 0) continue;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  send(event: OutsideEvent, to?: string): Promise<boolean> {
    if (this.#ended) return Promise.resolve(false);
    const asked = Promise.withResolvers<boolean>();
    // The driver of the run gets the reason too: no need to wait for it here.
    asked.promise.catch(() => undefined);
    this.#put({ entry: to === undefined ? { t: 'event', event } : { t: 'event', event, to }, asked });
    return asked.promise;
  }

  async end(output: Json): Promise<void> {
    this.#ended = true;
    try {
      const written = this.#writeStarts();
      if (written !== undefined) await written;
      this.#stop();
      await this.#append([{ t: 'end', at: this.at(), output }]);
    } catch (error) {
      this.#refuse(error, this.#queue.splice(0));
    } finally {
      this.#stop();
    }
    try {
      await this.#sink?.close();
    } catch {
      // It is written to its end: that its place cannot be tidied up makes it no failure.
    }
  }

  isIdle(): boolean {
    return this.#queue.length === 0;
  }

  release(): void {
    this.#ended = true;
    this.#released = true;
    this.#stop();
    this.#wake?.();
  }

  async abandon(): Promise<void> {
    this.#ended = true;
    this.#stop();
    const first = this.#released ? this.#firstRecords() : [];
    try {
      if (this.#released)
        await this.#sink?.append([...first, { t: 'note', at: this.at(), note: { note: 'released' } }]);
    } catch (error) {
      if (first.length > 0) throw error;
    } finally {
      await (this.#sink && giveBack(this.#sink));
    }
  }

  /** What has happened, to be written and delivered in its turn. */
  put(entry: Entry): void {
    this.#put({ entry });
  }

  #put(waiting: Waiting): void {
    this.#queue.push(waiting);
    this.#wake?.();
    this.#wake = null;
  }

  #launch({ effect, perform, leftMs, fired }: CarriedEffect): void {
    const { id, ms } = effect;
    const controller = new AbortController();
    this.#running.set(id, controller);
    void fired?.then(() => {
      controller.abort();
      this.put({ t: 'timer', id });
    });
    if (ms !== undefined) return startTimer(leftMs ?? ms, controller.signal, () => this.put({ t: 'timer', id }));
    void perform(new LaunchedIo(controller.signal, effect, this)).then((out) => this.put({ t: 'outcome', id, out }));
  }

  keyOf({ key }: Effect): string {
    return `${this.#run.head.runId}:${key}`;
  }

  #writeStarts(): void | Promise<void> {
    if (this.#fresh.length === 0 && this.#begun) return undefined;
    const opened = this.#fresh;
    this.#fresh = NOTHING;
    this.#starts.push(...opened);
    const write = this.#write;
    if (write === null) return undefined;
    const records = opened.map(({ effect }) =>
      startRecord(effect, this.at(), effect.ms === undefined ? write(effect) : null),
    );
    return this.#append([...this.#firstRecords(), ...records]);
  }

  /** Writes records, and tells those in this process who follow the run. */
  #append(records: readonly RecordLine[]): void | Promise<void> {
    const written = this.#sink?.append(records);
    const tell = (): void => noteWritten(this.#run.head.runId);
    if (written === undefined) tell();
    else written.then(tell, () => undefined);
    return written;
  }

  #firstRecords(): readonly RecordLine[] {
    if (this.#begun) return [];
    this.#begun = true;
    return this.#run.carried?.records ?? [this.#run.head];
  }

  async #lookWhoseItIs(): Promise<void> {
    this.#isDoubted = false;
    try {
      await this.#sink?.append([]);
    } catch (error) {
      this.#refuse(error, this.#queue.splice(0));
    }
  }

  async #takeOne(): Promise<Entry | null> {
    for (let waiting = this.#queue.shift(); waiting !== undefined; waiting = this.#queue.shift()) {
      const { entry, asked } = waiting;
      if (!this.#isOpen(entry)) {
        asked?.resolve(false);
        continue;
      }
      if (entry.t === 'outcome' || entry.t === 'timer') this.#running.delete(entry.id);
      try {
        const written = this.#append([entryRecord(entry, this.at())]);
        if (written !== undefined) await written;
      } catch (error) {
        this.#refuse(error, [waiting, ...this.#queue.splice(0)]);
      }
      asked?.resolve(true);
      return entry;
    }
    return null;
  }

  #isOpen(entry: Entry): boolean {
    return entry.t === 'event' ? this.#run.accepts(entry.event, entry.to) : this.#running.has(entry.id);
  }

  /** When something cannot be written, all callers that wait for it get the reason, and so does the driver of the run. */
  #refuse(error: unknown, unwritten: readonly Waiting[]): never {
    for (const { asked } of unwritten) asked?.reject(error);
    throw error;
  }

  #stop(): void {
    for (const controller of this.#running.values()) controller.abort(new Error('The run is over.'));
    this.#running.clear();
    for (const { asked } of this.#queue.splice(0)) asked?.resolve(false);
  }
}

/** What the work of an effect gets. */
class LaunchedIo implements PerformIo {
  readonly signal: AbortSignal;
  readonly #effect: Effect;
  readonly #journal: LiveJournal;

  constructor(signal: AbortSignal, effect: Effect, journal: LiveJournal) {
    this.signal = signal;
    this.#effect = effect;
    this.#journal = journal;
  }

  get idempotencyKey(): string {
    return this.#journal.keyOf(this.#effect);
  }

  note(note: JsonObject): void {
    this.#journal.put({ t: 'note', id: this.#effect.id, note });
  }
}
