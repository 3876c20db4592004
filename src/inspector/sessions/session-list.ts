import { abortable, inSlices } from '../frames/event-loop.ts';
import type { Act, ActReply, Frame, FramePage, SearchPage, SessionInfo, StepDetail } from '../frames/protocol.ts';
import { findInRecord, wantedText } from '../frames/record-search.ts';
import type { RecordLine } from '../../journal/format/record.ts';

/** One run, recording or actor system that the page can show. */
export interface Session {
  readonly id: string;
  info(): SessionInfo;
  /**
   * The lines of its recording from after the one with this number on, as server-sent events, as they come, until the
   * caller stops; the id of each event is the number of its last line. Of a machine without one: its frames.
   */
  follow(from: number, signal: AbortSignal): AsyncGenerator<Uint8Array, void>;
  /** Reads the records one after the other, null when there are no more yet; left out where nothing is recorded. */
  records?(): () => RecordLine | null;
  /** The lines so far, one after the other. */
  lines?(): AsyncGenerator<Uint8Array, void>;
  /** The recording as JSON lines; null where nothing is recorded. */
  recording(): string | null;
  /** What is kept of a machine without a recording; left out for all others. */
  readonly kept?: KeptFrames;
  act(act: Act): Promise<ActReply>;
  close(): void;
}

/** Frames of a machine that was watched, as far as they are kept. */
export interface KeptFrames {
  page(from: number, limit: number): FramePage;
  /** Null: there is no such step. */
  detail(n: number): StepDetail | null;
  /** Everything that a saved page shows of it: its frames, and the details of their steps in order. */
  all(): { readonly frames: readonly Frame[]; readonly details: readonly StepDetail[] };
}

/** One that follows the list: the ids of what is new for it, and how to wake it. */
interface Follower {
  readonly fresh: Set<string>;
  wake: () => void;
}

/** How long changes are collected after some were reported, in milliseconds: a short run changes three times. */
const PACE_MS = 50;

/** The sessions of one inspector, in the order in which they are added, and which of them are dropped when there are too many. */
export class SessionList {
  readonly #keep: number;
  readonly #sessions = new Map<string, Session>();
  readonly #followers = new Set<Follower>();
  /** Those that are over, in the order in which they ended. */
  readonly #over = new Set<string>();
  /** Those that may never end, in the order in which something last happened in them; what is called when one is dropped. */
  readonly #endless = new Map<string, () => void>();

  #wasFollowed = false;

  /** Keeps this many sessions that are over, and as many that may never end. */
  constructor(keep: number) {
    this.#keep = keep;
  }

  /** One that has the id of another takes its place: a run that was let go, or its recording, is there again as a live run. */
  add(session: Session): void {
    this.#over.delete(session.id);
    this.#sessions.get(session.id)?.close();
    this.#sessions.set(session.id, session);
    this.changed(session.id);
  }

  find(id: string): Session | undefined {
    return this.#sessions.get(id);
  }

  all(): readonly Session[] {
    return [...this.#sessions.values()];
  }

  /** An id that no session has: the wanted one, or that with a number behind it. */
  freeId(wanted: string): string {
    let id = wanted;
    for (let n = 2; this.#sessions.has(id); n++) id = `${wanted}~${n}`;
    return id;
  }

  /** Whether anyone has ever followed the list. */
  get wasFollowed(): boolean {
    return this.#wasFollowed;
  }

  /** How many follow the list. */
  get followers(): number {
    return this.#followers.size;
  }

  /** The description of a session has changed. */
  changed(id: string): void {
    for (const follower of this.#followers) {
      follower.fresh.add(id);
      follower.wake();
    }
  }

  /** Something happens in a session that may never end; `onGone` is called when it has to go for others. */
  touch(id: string, onGone: () => void = () => undefined): void {
    this.#endless.delete(id);
    this.#endless.set(id, onGone);
    for (const [silent, gone] of this.#endless) {
      if (this.#endless.size <= this.#keep) return;
      this.#endless.delete(silent);
      gone();
      this.remove(silent);
    }
  }

  /** A session is over: it stays to be looked at until too many ended after it. */
  retire(id: string): void {
    this.#endless.delete(id);
    this.#over.add(id);
    for (const oldest of this.#over) {
      if (this.#over.size <= this.#keep) return;
      this.#over.delete(oldest);
      this.remove(oldest);
    }
  }

  /** A session that was over continues. */
  revive(id: string): void {
    this.#over.delete(id);
  }

  /** Ids of sessions that are new, have changed or are gone, as they come; first all that there are. */
  async *follow(signal: AbortSignal): AsyncGenerator<readonly string[], void> {
    const follower: Follower = { fresh: new Set(this.#sessions.keys()), wake: () => undefined };
    this.#followers.add(follower);
    this.#wasFollowed = true;
    const unlessLeft = abortable(signal);
    try {
      while (!signal.aborted) {
        const ids = [...follower.fresh];
        follower.fresh.clear();
        yield ids;
        await unlessLeft(new Promise<void>((resolve) => void setTimeout(resolve, PACE_MS).unref()));
        if (follower.fresh.size > 0) continue;
        await unlessLeft(new Promise<void>((resolve) => (follower.wake = resolve)));
      }
    } finally {
      this.#followers.delete(follower);
    }
  }

  /** The session of an id, as soon as there is one; undefined: the caller stopped before. */
  async arrival(id: string, signal: AbortSignal): Promise<Session | undefined> {
    for await (const ids of this.follow(signal)) if (ids.includes(id) && this.#sessions.has(id)) break;
    return this.#sessions.get(id);
  }

  /** It is not shown any more. */
  remove(id: string): void {
    this.#sessions.get(id)?.close();
    this.#sessions.delete(id);
    this.changed(id);
  }
}

const MOST_HITS = 100;
/** One run does not take the room of all others. */
const MOST_OF_ONE = 5;
const MOST_CHARACTERS = 200;
const MOST_MS = 5000;

/**
 * Where a text occurs in the records of sessions, the newest first. Looks in slices, as agents may run in this process; ends
 * after 100 places or 5 seconds, and says so.
 */
export async function searchSessions(sessions: readonly Session[], query: string): Promise<SearchPage> {
  const wanted = wantedText(query.slice(0, MOST_CHARACTERS));
  const hits: SearchPage['hits'][number][] = [];
  if (wanted === '') return { hits, partial: false };
  const left = sessions.toSorted((one, other) => one.info().at.localeCompare(other.info().at));
  const until = performance.now() + MOST_MS;
  const isLate = (): boolean => performance.now() > until;
  let partial = false;
  let reading: ReturnType<typeof linesOf> | null = null;
  await inSlices(() => {
    if (reading === null) {
      const session = left.pop();
      if (session === undefined) return false;
      reading = linesOf(session);
    }
    if (hits.length >= MOST_HITS || isLate()) {
      partial = true;
      return false;
    }
    const record = reading.next();
    if (record === null || reading.found >= MOST_OF_ONE) {
      partial ||= record !== null;
      reading = null;
      return true;
    }
    reading.line += 1;
    const found = findInRecord(record, wanted);
    if (found === null) return true;
    reading.found += 1;
    hits.push({ session: reading.session, line: reading.line, ...found });
    return true;
  }, isLate);
  return { hits, partial: partial || left.length > 0 };
}

function linesOf(session: Session) {
  return { session: session.id, line: 0, found: 0, next: session.records?.() ?? (() => null) };
}
