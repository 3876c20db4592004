/**
 * Owns: the lines of a run or a recording, sent as they are written. Does not own: what they mean; the page plays them.
 *
 * I1 Nothing is read and nothing is kept for a viewer before it comes; each reads at its own pace, so that a slow one
 *    costs no memory.
 * I2 Lines are sent in the order in which they were written, each once, and what was reported in between, such as tokens,
 *    between the same lines. Of what a viewer missed of it, only the words of a reply that is under way are sent later, all of them.
 * I3 Lines are collected for a moment, and the event loop is not held for longer than a slice: an agent may run in it.
 * I4 After the line that ends the run the stream ends. Closed before that, it breaks: its viewer comes back for what follows.
 */
import type { RecordLine, RunRecord } from '../../journal/format/record.ts';
import { abortable, SLICE_MS } from '../frames/event-loop.ts';
import type { Act, ActReply, SessionEnding, SessionInfo } from '../frames/protocol.ts';
import type { LineSource, Unrecorded } from '../frames/run-port.ts';
import { isJsonObject } from '../../json/json.ts';
import type { Session } from './session-list.ts';

interface JournalOptions {
  readonly kind: 'run' | 'recording';
  readonly head: RunRecord;
  readonly source: LineSource;
  /** Why it is not all there; left out where it is. */
  readonly problem?: string | null;
  readonly ending: () => SessionEnding;
  /** How many of its calls wait for a person. */
  readonly waiting: () => number;
  readonly text: () => string;
  readonly can: () => SessionInfo['can'];
  readonly act: (act: Act) => Promise<ActReply>;
}

/** How long a user who watches the list may take to open a session that has just begun, in milliseconds. */
const EXPECTED_MS = 2000;
/** How long lines are collected, in milliseconds: faster is not visible. */
const PACE_MS = 50;

/** The session of a recording, or of a run that is being recorded. */
export class JournalSession implements Session {
  readonly id: string;
  readonly #options: JournalOptions;
  readonly #viewers = new Set<LineReader>();
  /** Reads ahead for a likely viewer. */
  #expected: LineReader | null = null;
  #unwatch: (() => void) | null = null;
  #closed = false;

  constructor(id: string, options: JournalOptions) {
    this.id = id;
    this.#options = options;
  }

  info(): SessionInfo {
    const { head, kind, can, ending, waiting, problem = null } = this.#options;
    const calls = waiting();
    const more = calls === 0 ? {} : { waiting: calls };
    return sessionInfo(head, ending(), { id: this.id, kind, problem, can: can(), ...more });
  }

  /** This run has only begun and is likely to be viewed: what is reported for a while from now on is kept. */
  expect(): void {
    const reader = this.#enter();
    this.#expected = reader;
    setTimeout(() => {
      if (this.#expected === reader) this.#leave(reader);
    }, EXPECTED_MS).unref();
  }

  async *follow(from: number, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
    const reader = this.#arrive(from);
    const unlessLeft = abortable(signal);
    try {
      while (!signal.aborted) {
        const more = reader.read();
        const { number, texts, isAll } = more;
        if (texts.length > 0) yield encoder.encode(`id: ${number}\ndata: ${texts.join('\ndata: ')}\n\n`);
        else if (reader.isOver) return;
        else if (this.#closed) throw new Error('The session is gone.');
        else if (isAll) await unlessLeft(reader.news());
        if (!reader.isOver || !isAll) await unlessLeft(pause(isAll ? PACE_MS : 0));
      }
    } finally {
      this.#leave(reader);
    }
  }

  async *lines(): AsyncGenerator<Uint8Array, void> {
    const reader = new LineReader(this.#options.source, 0);
    for (let isAll = false; !isAll;) {
      const more = reader.read();
      ({ isAll } = more);
      if (more.texts.length > 0) yield encoder.encode(`${more.texts.join('\n')}\n`);
      if (!isAll) await pause(0);
    }
  }

  records(): () => RecordLine | null {
    return this.#options.source.reader();
  }

  recording(): string {
    return this.#options.text();
  }

  act(act: Act): Promise<ActReply> {
    return this.#options.act(act);
  }

  close(): void {
    this.#closed = true;
    for (const reader of this.#viewers) reader.wake();
  }

  #arrive(from: number): LineReader {
    const expected = this.#expected;
    if (expected === null || from > 0) return this.#enter(from);
    this.#expected = null;
    return expected;
  }

  #enter(from = 0): LineReader {
    const { source } = this.#options;
    const reader = new LineReader(source, from);
    this.#viewers.add(reader);
    this.#unwatch ??= source.watch({
      onLine: () => {
        for (const viewer of this.#viewers) viewer.wake();
      },
      onUnrecorded: (what) => {
        for (const viewer of this.#viewers) viewer.say(what);
      },
    });
    return reader;
  }

  #leave(reader: LineReader): void {
    if (this.#expected === reader) this.#expected = null;
    this.#viewers.delete(reader);
    if (this.#viewers.size > 0) return;
    this.#unwatch?.();
    this.#unwatch = null;
  }
}

const encoder = new TextEncoder();

/** About how much is sent at once, in UTF-16 units. */
const BATCH_UNITS = 500_000;
/** Tokens and the like that wait for a viewer that does not read; of more, the later ones are left out. */
const MOST_SAID = 5000;

/** Reads the lines of one session for one viewer, from after line `from` on. */
class LineReader {
  readonly #from: number;
  readonly #source: LineSource;
  readonly #next: () => RecordLine | null;
  /** What was reported has not all been read: it had not come yet, was behind, or is back. */
  #hasMissed = true;
  #texts: string[] = [];
  #units = 0;
  #number = 0;
  #said = 0;
  #isAll = false;
  #hasNews = false;
  #wake = (): void => undefined;
  /** The line that ends the run was read. */
  isOver = false;

  constructor(source: LineSource, from: number) {
    this.#from = from;
    this.#source = source;
    this.#next = source.reader();
  }

  /** What there is to be sent, or as much of it as may be read at a time; the number of its last line; whether that is all. */
  read() {
    this.#hasNews = false;
    this.#take();
    const batch = { texts: this.#texts, number: this.#number, isAll: this.#isAll };
    this.#texts = [];
    this.#units = 0;
    this.#said = 0;
    return batch;
  }

  /** Keeps its place between the lines. A viewer that has not caught up misses it, and does not wait for it. */
  say(what: Unrecorded): void {
    const isFull = this.#said >= MOST_SAID;
    if (!isFull && (this.#isAll || this.#number === 0)) this.#take();
    this.#hasMissed = isFull || !this.#isAll;
    if (this.#hasMissed) return;
    this.#said += 1;
    this.#texts.push(JSON.stringify({ t: 'said', ...what }));
    this.wake();
  }

  /** Where the lines end, a reply may be under way of which something was missed. */
  #meet(): void {
    const said = this.#hasMissed ? (this.#source.said?.() ?? []) : [];
    this.#hasMissed = false;
    for (const what of said) this.#texts.push(JSON.stringify({ t: 'said', ...what }));
  }

  wake(): void {
    this.#hasNews = true;
    this.#wake();
  }

  /** Resolves when there is more to be read. */
  news(): Promise<void> {
    if (this.#hasNews) return Promise.resolve();
    return new Promise((resolve) => void (this.#wake = resolve));
  }

  #take(): void {
    const until = performance.now() + SLICE_MS;
    this.#isAll = false;
    while (this.#units < BATCH_UNITS && performance.now() < until) {
      const line = this.#next();
      this.#isAll = line === null;
      if (line === null) return this.#meet();
      this.#number += 1;
      this.isOver ||= line.t === 'end';
      if (this.#number <= this.#from) continue;
      const text = JSON.stringify(line);
      this.#texts.push(text);
      this.#units += text.length;
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void (ms === 0 ? setImmediate(resolve) : setTimeout(resolve, ms)));
}

/** A session of a run or a recording as the page lists it. */
export function sessionInfo(
  head: RunRecord,
  ending: SessionEnding,
  more: Pick<SessionInfo, 'id' | 'kind' | 'problem' | 'can' | 'waiting'>,
): SessionInfo {
  return { ...more, title: head.input, agent: head.agent, at: head.at, ...ending, parent: parentOf(head) };
}

/** The run that this one was forked from, where its first line says so. */
function parentOf(head: RunRecord): SessionInfo['parent'] {
  const parent: unknown = Reflect.get(head, 'parent');
  if (!isJsonObject(parent)) return null;
  const { runId, entry } = parent;
  return typeof runId === 'string' && typeof entry === 'number' ? { runId, entry } : null;
}
