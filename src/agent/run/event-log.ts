import type { RunEvent } from '../../machines/events/run-events.ts';

type Token = Extract<RunEvent, { readonly type: 'model.token' }>;

/** What a token says of its whole reply. */
type TextSoFar = Pick<Token, 'thought' | 'answer'>;

const KEPT = 10_000;

/** From so many characters on, the tokens that every reader has had let go of their own text so far. */
const MOST_TEXT = 500_000;

/** From here on the others do, too: a reader may be slow, or gone without a word. */
const MOST_AHEAD = 4_000_000;

interface Kept {
  /** Counts all events that ever came, so that a reader finds its place again after some were dropped. */
  readonly place: number;
  readonly event: RunEvent;
  /** For a token without a text of its own: what its reply says by now. */
  readonly newest?: Newest;
}

/** The newest text of one reply. */
interface Newest {
  readonly reply: string;
  text: TextSoFar;
}

/**
 * The events of one run, kept for late readers: up to 10 000 (a tenth more while the run lives); when there are more, old
 * tokens go first, then the oldest.
 *
 * I1 What it holds grows with a reply's length, not with its square, though each token has the whole text so far: a long
 *    reply's tokens have its newest text for a reader that comes late or stays far behind. Whoever reads along gets each as
 *    it was.
 */
export class EventLog {
  #kept: Kept[] = [];
  #count = 0;
  #closed = false;
  #failure: Error | undefined;
  readonly #waiting = new Set<() => void>();
  readonly #readers = new Set<{ place: number }>();
  /** Where the tokens begin that have a text of their own, and how many characters those are. */
  #own = { place: 0, characters: 0 };
  /** By agents. */
  readonly #newest = new Map<string, Newest>();

  push(event: RunEvent): void {
    this.#kept.push({ place: this.#count++, event });
    this.#own.characters += lengthOf(event);
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
      for (;;) {
        const found = this.#kept[indexFrom(this.#kept, reader.place)];
        if (found !== undefined) {
          const wasLast = reader.place <= this.#own.place;
          reader.place = found.place + 1;
          if (wasLast) this.#share();
          return { done: false, value: asNow(found) };
        }
        if (this.#failure !== undefined) throw this.#failure;
        if (this.#closed) return { done: true, value: undefined };
        await new Promise<void>((resolve) => this.#waiting.add(resolve));
      }
    };
    const leave = (): Promise<IteratorResult<RunEvent, undefined>> => {
      this.#readers.delete(reader);
      return Promise.resolve({ done: true, value: undefined });
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
    this.#own.characters = this.#kept.reduce((sum, { event }) => sum + lengthOf(event), 0);
  }

  /** Lets go of the texts of tokens that all readers have had, once they are many, and of all once they are too many. */
  #share(): void {
    const { characters } = this.#own;
    if (characters <= MOST_TEXT) return;
    const places = characters > MOST_AHEAD ? [] : [...this.#readers].map(({ place }) => place);
    const until = Math.min(this.#count, ...places);
    for (let at = indexFrom(this.#kept, this.#own.place); at < this.#kept.length; at += 1) {
      const { place, event } = this.#kept[at] ?? {};
      if (place === undefined || place >= until) break;
      if (event?.type !== 'model.token') continue;
      this.#own.characters -= lengthOf(event);
      this.#kept[at] = { place, event: { ...event, thought: '', answer: '' }, newest: this.#newestOf(event) };
    }
    this.#own.place = Math.max(until, this.#own.place);
  }

  #newestOf({ seq, attempt, child = '', thought, answer }: Token): Newest {
    const reply = `${seq}.${attempt}`;
    const known = this.#newest.get(child);
    const newest: Newest = known?.reply === reply ? known : { reply, text: { thought, answer } };
    newest.text = { thought, answer };
    this.#newest.set(child, newest);
    return newest;
  }
}

/** An event as a reader gets it now. */
function asNow({ event, newest }: Kept): RunEvent {
  return event.type === 'model.token' && newest !== undefined ? { ...event, ...newest.text } : event;
}

/** The characters of what an event says of its whole reply. */
function lengthOf(event: RunEvent): number {
  return event.type === 'model.token' ? event.thought.length + event.answer.length : 0;
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
