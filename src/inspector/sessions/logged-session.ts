import { abortable } from '../frames/event-loop.ts';
import type { DisplayCache } from '../frames/display-json.ts';
import { eventBytes, FrameLog } from '../frames/frame-log.ts';
import type { Act, ActReply, Frame, FramePage, SessionEnding, SessionInfo, StepDetail } from '../frames/protocol.ts';
import type { KeptFrames, Session } from './session-list.ts';

/** What is known of an actor system, and what may be done with it. */
export interface LoggedOptions {
  readonly title: string;
  readonly agent: string;
  /** What may be done with it while it runs. */
  readonly can: SessionInfo['can'];
  /** Puts marks in the place of secrets. */
  readonly redact: <T>(value: T) => T;
  readonly act: (act: Act) => Promise<ActReply>;
  readonly onChange: () => void;
  readonly onClose?: () => void;
}

/** Makes the details of a step; what `known` holds is not made again. */
type DetailMaker = (known?: DisplayCache) => StepDetail;

/** How much of what happened is kept, as transmitted text, in bytes. */
const KEPT_BYTES = 4_000_000;
const KEPT_STEPS = 4096;
/** How much the details of steps may hold; the oldest are dropped first. */
const MOST_BYTES = 64_000_000;
const RUNNING: SessionEnding = { status: 'running', reason: null };

/** How a system ends, by the status of its root. */
export const ENDINGS: ReadonlyMap<unknown, SessionEnding['status']> = new Map([
  ['done', 'answered'],
  ['error', 'failed'],
] as const);

/** The session of an actor system, which is not recorded: the latest 4 MB of frames and 4096 steps are kept. */
export class LoggedSession implements Session, KeptFrames {
  readonly id: string;
  readonly kept: KeptFrames = this;
  readonly #options: LoggedOptions;
  readonly #at = new Date().toISOString();
  readonly #log = new FrameLog(KEPT_BYTES);
  /** For a viewer that comes late: how actors are drawn, by hash, and those that live, by path. */
  readonly #drawings = new Map<string, Frame>();
  readonly #actors = new Map<string, Frame>();
  readonly #steps = new Map<number, { readonly detail: DetailMaker; readonly bytes: number }>();
  #bytesKept = 0;
  #ending = RUNNING;

  constructor(id: string, options: LoggedOptions) {
    this.id = id;
    this.#options = options;
  }

  info(): SessionInfo {
    const { title, agent, can } = this.#options;
    const about = { id: this.id, kind: 'system', title, agent, at: this.#at } as const;
    return { ...about, ...this.#ending, problem: null, parent: null, can: this.isRunning ? can : [] };
  }

  get isRunning(): boolean {
    return this.#ending.status === 'running';
  }

  /** Nothing more is to come, unless it continues. What has ended already ended as it did. */
  end(ending: SessionEnding): void {
    if (!this.isRunning) return;
    this.#ending = ending;
    this.#options.onChange();
  }

  /** It continues after all. */
  resume(): void {
    this.#ending = RUNNING;
    this.#options.onChange();
  }

  add(frame: Frame): void {
    if (frame.t === 'drawing') this.#drawings.set(frame.drawing.hash, frame);
    if (frame.t === 'actor') this.#actors.set(frame.actor.path, frame);
    if (frame.t === 'actor-gone') this.#actors.delete(frame.path);
    this.#log.push(frame);
  }

  /** Keeps what makes the details of a step, which takes about that many bytes, until there is no room for it. */
  keepStep(n: number, detail: DetailMaker, bytes = 0): void {
    this.#steps.set(n, { detail, bytes });
    this.#bytesKept += bytes;
    for (const [oldest, step] of this.#steps) {
      if (this.#steps.size <= KEPT_STEPS && this.#bytesKept <= MOST_BYTES) return;
      this.#steps.delete(oldest);
      this.#bytesKept -= step.bytes;
    }
  }

  async *follow(from: number, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
    const log = this.#log;
    const unlessLeft = abortable(signal);
    let number = Math.min(from, log.count);
    while (!signal.aborted && !log.closed) {
      const { forgotten } = log;
      if (number < forgotten) {
        const gap: Frame = { t: 'gap', session: this.id, dropped: forgotten - number };
        yield eventBytes([...this.#drawings.values(), ...this.#actors.values(), gap], forgotten);
        number = forgotten;
        continue;
      }
      const more = log.read(number);
      if (more === null) await unlessLeft(log.wait(number));
      else {
        ({ number } = more);
        yield more.bytes;
      }
    }
  }

  page(from: number, limit: number): FramePage {
    const { forgotten, count } = this.#log;
    const first = Math.max(from, forgotten);
    const frames = this.#log.kept().slice(first - forgotten, first - forgotten + limit);
    const last = first + frames.length;
    return { from: first, frames, next: last < count && frames.length > 0 ? last : null };
  }

  detail(n: number): StepDetail | null {
    const step = this.#steps.get(n);
    return step === undefined ? null : this.#options.redact(step.detail());
  }

  recording(): null {
    return null;
  }

  all(): ReturnType<KeptFrames['all']> {
    // What one step leaves is what the next finds: made once, it is written once.
    const known: DisplayCache = new WeakMap();
    const details = [...this.#steps.values()].map(({ detail }) => this.#options.redact(detail(known)));
    return { frames: this.#log.kept(), details };
  }

  act(act: Act): Promise<ActReply> {
    return this.#options.act(act);
  }

  close(): void {
    this.#options.onClose?.();
    this.#log.close();
  }
}
