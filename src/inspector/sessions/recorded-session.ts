import type { RecordLine, RunRecord } from '../../journal/format/record.ts';
import { abortable, inSlices } from '../frames/event-loop.ts';
import { eventBytes, eventText, type NumberedFrame } from '../frames/frame-log.ts';
import { type FrameTap, frameTap, tapFromStart } from '../frames/frame-tap.ts';
import type { Act, ActReply, Frame, FramePage, SessionEnding, SessionInfo, StepDetail } from '../frames/protocol.ts';
import { framePlayer } from '../frames/frame-player.ts';
import type { LineSource } from '../frames/run-port.ts';
import { StepDetails } from '../frames/step-details.ts';
import { type Session, sessionInfo } from './session.ts';

interface RecordedOptions {
  readonly kind: 'run' | 'recording';
  readonly head: RunRecord;
  readonly source: LineSource;
  readonly ending: () => SessionEnding;
  /** How many of its calls wait for a person. */
  readonly waiting: () => number;
  readonly text: () => string;
  readonly can: () => SessionInfo['can'];
  readonly act: (act: Act) => Promise<ActReply>;
  /** Its information has changed: a problem was found. */
  readonly onChange: () => void;
}

/** How many frames that are played back travel at once. */
const BATCH = 1000;
const encoder = new TextEncoder();

/** How long somebody who watches the list may take to open a session that has just begun, in milliseconds. */
const EXPECTED_MS = 2000;

/** The session of a recording, or of a run that is being recorded: its frames come from records. */
export class RecordedSession implements Session {
  readonly id: string;
  readonly #options: RecordedOptions;
  readonly #details: StepDetails;
  #tap: FrameTap | null = null;
  #viewers = 0;
  /** Whoever was expected is here, or will not come. */
  #arrive = (): void => undefined;
  #problem: string | null = null;

  constructor(id: string, options: RecordedOptions) {
    this.id = id;
    this.#options = options;
    this.#details = new StepDetails(id, options.source);
  }

  info(): SessionInfo {
    const { kind, can } = this.#options;
    return this.#infoWith(kind, can());
  }

  /**
   * Somebody is likely to look at this run, which has taken no transition yet: its frames are made from now on, for a while, so
   * that nothing has to be played back.
   */
  expect(): void {
    this.#tap ??= tapFromStart(this.id, this.#options.source);
    this.#viewers += 1;
    const timer = setTimeout(() => this.#arrive(), EXPECTED_MS).unref();
    this.#arrive = () => {
      this.#arrive = () => undefined;
      clearTimeout(timer);
      this.#leave();
    };
  }

  async *follow(from: number, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
    const { log, ...watched } = this.#enter();
    const unlessLeft = abortable(signal);
    let number = from;
    let place = 0;
    let joined = false;
    try {
      while (!signal.aborted) {
        const live = watched.caughtUpAt();
        joined ||= live !== null && place >= live;
        const { start } = log;
        if (start.place > place) {
          if (joined) yield eventBytes([{ t: 'gap', session: this.id, dropped: start.number - number }]);
          // A viewer that never came up to what happens is still on the way there, and misses nothing.
          else for await (const batch of this.#missed(number, start.number, signal)) yield batch;
          number = Math.max(number, start.number);
          place = log.placeAfter(number) ?? -1;
          continue;
        }
        // A viewer that reconnects has seen some of it.
        place = Math.max(place, log.placeAfter(number) ?? 0);
        this.#noteProblem(watched.problem());
        const more = log.read(place);
        if (more === null) {
          if (log.closed) return;
          await unlessLeft(log.wait(place));
        } else {
          ({ place } = more);
          number = Math.max(number, more.number);
          yield more.bytes;
        }
      }
    } finally {
      this.#leave();
    }
  }

  async page(from: number, limit: number): Promise<FramePage> {
    const read = this.#played(from);
    const found: Frame[] = [];
    const never = new AbortController().signal;
    for (let batch = await read(never); batch.length > 0 && found.length < limit; batch = await read(never))
      found.push(...batch.map(({ frame }) => frame));
    const frames = found.slice(0, limit);
    return { from, frames, next: found.length > limit ? from + frames.length : null };
  }

  async detail(n: number): Promise<StepDetail | null> {
    const detail = await this.#details.of(n);
    if (this.#viewers === 0) this.#details.forget();
    return detail;
  }

  records(): () => RecordLine | null {
    return this.#options.source.reader();
  }

  recording(): string {
    return this.#options.text();
  }

  async saved(): ReturnType<Session['saved']> {
    const { frames, details } = await this.#details.all();
    if (this.#viewers === 0) this.#details.forget();
    return { frames: [{ t: 'session', session: this.#infoWith('recording', []) }, ...frames], details };
  }

  act(act: Act): Promise<ActReply> {
    return this.#options.act(act);
  }

  close(): void {
    this.#tap?.stop();
  }

  #infoWith(kind: SessionInfo['kind'], can: SessionInfo['can']): SessionInfo {
    const { head, ending, waiting } = this.#options;
    const calls = waiting();
    const more = calls === 0 ? {} : { waiting: calls };
    return sessionInfo(head, ending(), { id: this.id, kind, problem: this.#problem, can, ...more });
  }

  #noteProblem(found: string | null): void {
    if (found === null || found === this.#problem) return;
    this.#problem = found;
    this.#options.onChange();
  }

  #enter(): FrameTap {
    this.#viewers += 1;
    this.#arrive();
    this.#tap ??= frameTap(this.id, this.#options.source);
    return this.#tap;
  }

  #leave(): void {
    this.#viewers -= 1;
    if (this.#viewers > 0) return;
    this.#tap?.stop();
    this.#tap = null;
    this.#details.forget();
  }

  /** Frames up to `until` that the log has forgotten already, for a viewer that begins at the beginning. */
  async *#missed(from: number, until: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const read = this.#played(from);
    for (let number = from; number < until && !signal.aborted;) {
      const batch = (await read(signal)).filter((one) => (one.number ?? 0) <= until);
      if (batch.length === 0) return;
      number = batch.at(-1)?.number ?? until;
      yield encoder.encode(batch.map(({ number: at, frame }) => eventText(at, JSON.stringify(frame))).join(''));
    }
  }

  /** Plays the recording back for one viewer, from frame `from` on: each call gives the next frames, none at the end. */
  #played(from: number): (signal: AbortSignal) => Promise<readonly NumberedFrame[]> {
    const ready: NumberedFrame[] = [];
    const next = this.#options.source.reader();
    let count = 0;
    const player = framePlayer({
      session: this.id,
      emit: (frame, numbered) => {
        if (!numbered) return;
        count += 1;
        if (count > from) ready.push({ number: count, frame });
      },
    });
    const step = (): boolean => {
      const line = next();
      if (line !== null) player.feed(line);
      return line !== null && ready.length < BATCH;
    };
    return async (signal) => {
      await inSlices(step, () => signal.aborted);
      this.#noteProblem(player.problem);
      return ready.splice(0);
    };
  }
}
