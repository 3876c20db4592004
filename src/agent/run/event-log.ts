import type { RunEvent } from '../../machines/events/run-events.ts';

/** An event that says what has come of a reply so far. */
type Snapshot = Extract<RunEvent, { readonly type: 'model.token' | 'output.partial' }>;

const KEPT = 10_000;

/** From this many characters on, snapshots that every reader has had share the text of their reply's newest. */
const MOST_TEXT = 500_000;

/** From here on the others do as well: a reader may be slow, or may have left without closing. */
const MOST_AHEAD = 4_000_000;

interface Kept {
  /** Counts all events that ever came, so that a reader finds its place again after some were dropped. */
  readonly place: number;
  readonly event: RunEvent;
  /** The characters of what it says of a whole reply. */
  readonly characters: number;
  /** For a snapshot that does not say it any more: the newest of its reply. */
  readonly newest?: Newest;
}

/** The newest snapshot of one reply. */
interface Newest {
  readonly reply: string;
  event: Snapshot;
}

/**
 * The events of one run, kept for late readers: up to 10 000 (a tenth more while the run lives); when there are more, old
 * tokens go first, then the oldest.
 *
 * I1 What it holds grows with a reply's length, not with its square, though each token has the whole text so far, and each
 *    `output.partial` the whole value: those of a long reply have its newest for a reader that comes late or stays far
 *    behind. Whoever reads along gets each as it was.
 */
export class EventLog {
  #kept: Kept[] = [];
  #count = 0;
  #closed = false;
  #failure: Error | undefined;
  readonly #waiting = new Set<() => void>();
  readonly #readers = new Set<{ place: number }>();
  /** Where the snapshots begin that say it themselves, and how many characters those are. */
  #own = { place: 0, characters: 0 };
  /** By their kind and agent. */
  readonly #newest = new Map<string, Newest>();

  push(event: RunEvent): void {
    const characters = lengthOf(event);
    this.#kept.push({ place: this.#count++, event, characters });
    this.#own.characters += characters;
    if (this.#kept.length > KEPT + KEPT / 10) this.#makeRoom();
    this.#share();
    this.#wake();
  }

  /** No more will come; `error` ends the iteration of every reader with it. */
  close(error?: Error): void {
    if (this.#kept.length > KEPT) this.#makeRoom();
    this.#closed = true;
    this.#failure = error;
    this.#wake();
  }

  /** All events from the first on, as they come. */
  read(): AsyncIterator<RunEvent, undefined> {
    const reader = { place: 0 };
    this.#readers.add(reader);
    const next = async (): Promise<IteratorResult<RunEvent, undefined>> => {
      while (this.#readers.has(reader)) {
        const found = this.#kept[indexFrom(this.#kept, reader.place)];
        if (found !== undefined) {
          const wasLast = reader.place <= this.#own.place;
          reader.place = found.place + 1;
          if (wasLast) this.#share();
          return { done: false, value: asNow(found) };
        }
        if (this.#failure !== undefined) throw this.#failure;
        if (this.#closed) break;
        await new Promise<void>((resolve) => this.#waiting.add(resolve));
      }
      return { done: true, value: undefined };
    };
    const leave = (): ReturnType<typeof next> => {
      this.#readers.delete(reader);
      this.#wake();
      return next();
    };
    return { next, return: leave };
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  #makeRoom(): void {
    let excess = this.#kept.length - KEPT;
    const left = this.#kept.filter(({ event }) => event.type !== 'model.token' || excess-- <= 0);
    this.#kept = left.slice(Math.max(0, left.length - KEPT));
    this.#own.characters = this.#kept.reduce((sum, { characters }) => sum + characters, 0);
  }

  /** Lets go of what snapshots say that all readers have had, once it is much, and of all once it is too much. */
  #share(): void {
    const { characters } = this.#own;
    if (characters <= MOST_TEXT) return;
    const places = characters > MOST_AHEAD ? [] : [...this.#readers].map(({ place }) => place);
    const until = Math.min(this.#count, ...places);
    for (let at = indexFrom(this.#kept, this.#own.place); at < this.#kept.length; at += 1) {
      const kept = this.#kept[at];
      if (kept === undefined || kept.place >= until) break;
      if (!(kept.event.type === 'model.token' || kept.event.type === 'output.partial')) continue;
      this.#own.characters -= kept.characters;
      const { event } = kept;
      const bare = event.type === 'model.token' ? { ...event, thought: '', answer: '' } : { ...event, output: null };
      this.#kept[at] = { place: kept.place, event: bare, characters: 0, newest: this.#newestOf(event) };
    }
    this.#own.place = Math.max(until, this.#own.place);
  }

  #newestOf(event: Snapshot): Newest {
    const { type, seq, attempt, child = '' } = event;
    const [by, reply] = [`${type} ${child}`, `${seq}.${attempt}`];
    const known = this.#newest.get(by);
    const newest: Newest = known?.reply === reply ? known : { reply, event };
    newest.event = event;
    this.#newest.set(by, newest);
    return newest;
  }
}

/** An event as a reader gets it now. */
function asNow({ event, newest }: Kept): RunEvent {
  if (event.type === 'model.token' && newest?.event.type === 'model.token')
    return { ...event, thought: newest.event.thought, answer: newest.event.answer };
  return event.type === 'output.partial' ? (newest?.event ?? event) : event;
}

/** The characters of what an event says of its whole reply. */
function lengthOf(event: RunEvent): number {
  if (event.type === 'model.token') return event.thought.length + event.answer.length;
  return event.type === 'output.partial' ? JSON.stringify(event.output).length : 0;
}

/** The first index whose event has this position or a later one. */
function indexFrom(kept: readonly Kept[], place: number): number {
  let low = 0;
  let high = kept.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((kept[middle]?.place ?? 0) < place) low = middle + 1;
    else high = middle;
  }
  return low;
}
