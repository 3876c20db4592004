import type { Effect, Outcome, OutsideEvent, Perform } from '../../actors/journal.ts';
import { outcomesOf } from '../format/cut-recording.ts';
import type { EventRecord, RecordLine, StartRecord } from '../format/record.ts';
import { type Carried, type RunHead, type RunJournal, journalOver } from '../run/run-journal.ts';

interface Rest {
  readonly lines: readonly RecordLine[];
  /** What happens to effects for which the rest holds no outcome. */
  readonly missing: 'live' | 'refuse';
  readonly accepts: RunHead['accepts'];
  /** What was in flight at the cut. */
  readonly carried: Carried;
}

/**
 * Puts the rest of a recording in the place of the world: an effect gets the recorded outcome of the same name and
 * request, an event comes once its target takes it, and a timer that has fired there fires, all in recorded order. Other
 * timers run.
 */
export function recordedRest(opened: (carried: Carried) => RunJournal, rest: Rest): RunJournal {
  const recorded = new RecordedRest(rest);
  const open = rest.carried.open.map((one) => {
    const { effect, perform } = one;
    return { ...one, perform: recorded.performed(effect, perform, effect), fired: recorded.fired(effect, effect) };
  });
  const journal = opened({ ...rest.carried, open });
  return journalOver(journal, {
    open: (effect, perform) => {
      const start = recorded.startOf(effect);
      journal.open(effect, recorded.performed(effect, perform, start), recorded.fired(effect, start));
    },
    close: (id) => journal.close(recorded.forgotten(id)),
    next: async () => {
      recorded.letOneGo(journal);
      const entry = await journal.next();
      if (entry?.t === 'outcome' || entry?.t === 'timer') recorded.forgotten(entry.id);
      return entry;
    },
  });
}

type OwnEvent = EventRecord & { readonly order: number };

class RecordedRest {
  readonly #rest: Rest;
  readonly #starts: StartRecord[];
  readonly #events: OwnEvent[];
  readonly #outcomeOf: ReturnType<typeof outcomesOf>;
  /** When timers have fired in the rest, by their ids there. */
  readonly #firings: ReadonlyMap<string, number>;
  readonly #waiting = new Map<string, { readonly order: number; readonly release: () => void }>();
  /** Without an outcome; `isRecorded`: the recording has none either, but an event, or its end. */
  readonly #unmatched = new Map<string, { readonly effect: Effect; readonly isRecorded: boolean }>();
  /** The timers that run and have fired in the rest. */
  readonly #due = new Map<string, { readonly order: number; readonly fire: (fired: null) => void }>();
  /** On its way to the machine: nothing else is let go, or counts as missing, before it has come. */
  #coming: object | string | null = null;

  constructor(rest: Rest) {
    const { lines } = rest;
    this.#rest = rest;
    this.#starts = lines.flatMap((line) => (line.t === 'start' ? [line] : []));
    this.#events = lines.flatMap((line, order) => (line.t === 'event' ? [{ ...line, order }] : []));
    this.#outcomeOf = outcomesOf(lines);
    this.#firings = new Map(lines.flatMap((line, order) => (line.t === 'timer' ? [[line.id, order] as const] : [])));
  }

  /** Where the rest starts the same effect; each start is found once. */
  startOf(effect: Effect): StartRecord | undefined {
    const index = this.#starts.findIndex(({ name, digest }) => name === effect.name && digest === effect.digest);
    return index === -1 ? undefined : this.#starts.splice(index, 1)[0];
  }

  fired({ id }: Effect, start: Pick<Effect, 'id'> | undefined): Promise<null> | undefined {
    const order = start && this.#firings.get(start.id);
    if (order === undefined) return undefined;
    const { promise, resolve } = Promise.withResolvers<null>();
    this.#due.set(id, { order, fire: resolve });
    return promise;
  }

  performed(effect: Effect, perform: Perform, start: Pick<Effect, 'id'> | undefined): Perform {
    if (effect.ms !== undefined) return perform;
    const found = start && this.#outcomeOf(start);
    if (found === undefined) {
      this.#unmatched.set(effect.id, { effect, isRecorded: start !== undefined });
      return this.#rest.missing === 'refuse' ? () => new Promise(() => undefined) : perform;
    }
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    this.#waiting.set(effect.id, { order: found.order, release: () => resolve(found.out) });
    return () => promise;
  }

  forgotten(id: string): string {
    for (const held of [this.#waiting, this.#unmatched, this.#due]) held.delete(id);
    if (this.#coming === id) this.#coming = null;
    return id;
  }

  letOneGo(journal: RunJournal): void {
    if (this.#coming !== null) return;
    const { lines, missing, accepts } = this.#rest;
    const first = earliest(this.#waiting);
    const timer = earliest(this.#due);
    const before = Math.min(...[first, timer].map((one) => one?.[1].order ?? lines.length));
    // Events to the whole run, such as a cancel, and timers come when nothing is awaited that the recording does not have.
    const isNew = [...this.#unmatched.values()].some(({ isRecorded }) => !isRecorded);
    const mayCome = ({ order, event, to }: OwnEvent): boolean =>
      order < before && !(isNew && !to) && accepts(event, to);
    const index = this.#events.findIndex(mayCome);
    const [said] = index === -1 ? [] : this.#events.splice(index, 1);
    if (said !== undefined) return this.#send(journal, said.event, said.to);
    if (first !== undefined && first[1].order === before) {
      [this.#coming] = first;
      this.#waiting.delete(this.#coming);
      return first[1].release();
    }
    if (timer !== undefined && !isNew) {
      [this.#coming] = timer;
      return timer[1].fire(null);
    }
    const [lost] = this.#unmatched.values();
    if (lost === undefined || missing === 'live') return;
    this.#unmatched.clear();
    this.#events.length = 0;
    this.#send(journal, notRecorded(lost.effect));
  }

  #send(journal: RunJournal, event: OutsideEvent, to?: string): void {
    this.#coming = event;
    const sent = (isTaken: boolean): void => {
      this.#coming = null;
      if (!isTaken) this.letOneGo(journal);
    };
    void journal.send(event, to).then(sent, () => undefined);
  }
}

function earliest<T extends { readonly order: number }>(held: ReadonlyMap<string, T>): [string, T] | undefined {
  return [...held].toSorted(([, a], [, b]) => a.order - b.order)[0];
}

function notRecorded({ id, name }: Effect): OutsideEvent {
  const message = `The rest of the recording holds no outcome for ${id}: nothing of the name ${name} was asked the same. Fork with missing: 'live' to have it done.`;
  return { type: 'run.abandoned', code: 'not-recorded', message };
}
