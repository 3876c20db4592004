import { abortable } from '../server/abortable.ts';
import { eventBytes } from '../frames/event-text.ts';
import { frameLog } from '../frames/frame-log.ts';
import type { Act, ActReply, Frame, SessionInfo, StepDetail } from '../frames/protocol.ts';
import type { Session } from './session.ts';

/** A session whose frames are kept as they are told, and how to tell it one. */
export interface LoggedSession {
  readonly session: Session;
  tell(frame: Frame, numbered: boolean): void;
  /** Keeps what makes the details of a step, which holds about that many bytes of its own, until there is no room for it. */
  keepStep(n: number, detail: () => StepDetail, bytes?: number): void;
}

interface LoggedOptions {
  readonly info: () => SessionInfo;
  /** Frames for who comes late: the actors that live, and how they are drawn. */
  readonly standing: () => readonly Frame[];
  /** Puts marks in the place of secrets. */
  readonly seal: <T>(value: T) => T;
  readonly act: (act: Act) => Promise<ActReply>;
}

/** How much is kept of what happened, as text that travels, in bytes. */
const KEPT_BYTES = 4_000_000;
const KEPT_STEPS = 4096;
/** How much the details of steps may hold; those of the oldest go first. */
const MOST_BYTES = 64_000_000;

/**
 * Makes a session of which nothing is recorded: the latest 4 MB of frames and 4096 steps are kept, what came before is
 * forgotten.
 */
export function loggedSession(id: string, { info, standing, seal, act }: LoggedOptions): LoggedSession {
  const log = frameLog(KEPT_BYTES);
  const steps = new Map<number, { readonly detail: () => StepDetail; readonly bytes: number }>();
  let bytesKept = 0;
  const late = (gap: Frame): Uint8Array => eventBytes([...standing(), gap]);

  const session: Session = {
    id,
    info,
    async *follow(from, signal) {
      const unlessLeft = abortable(signal);
      let place = log.placeAfter(from) ?? -1;
      let number = from;
      while (!signal.aborted && !log.closed) {
        const { start } = log;
        if (place < start.place) {
          yield late({ t: 'gap', session: id, dropped: start.number - number });
          place = start.place;
          number = start.number;
          continue;
        }
        const more = log.read(place);
        if (more === null) await unlessLeft(log.wait(place));
        else {
          ({ place, number } = more);
          yield more.bytes;
        }
      }
    },
    page: (from, limit) => {
      const { start, count } = log;
      const first = Math.max(from, start.number);
      const numbered = log.kept().filter(({ number }) => (number ?? 0) > first);
      const frames = numbered.slice(0, limit).map(({ frame }) => frame);
      const last = first + frames.length;
      return Promise.resolve({ from: first, frames, next: last < count && frames.length > 0 ? last : null });
    },
    detail: (n) => {
      const step = steps.get(n);
      return Promise.resolve(step === undefined ? null : seal(step.detail()));
    },
    recording: () => null,
    saved: () => {
      const details = [...steps.values()].map(({ detail }) => seal(detail()));
      return Promise.resolve({
        frames: [{ t: 'session', session: { ...info(), can: [] } }, ...log.kept().map(({ frame }) => frame)],
        details,
      });
    },
    act,
    close: log.close,
  };

  return {
    session,
    tell: (frame, numbered) => log.push(frame, numbered),
    keepStep: (n, detail, bytes = 0) => {
      steps.set(n, { detail, bytes });
      bytesKept += bytes;
      for (const [oldest, step] of steps) {
        if (steps.size <= KEPT_STEPS && bytesKept <= MOST_BYTES) return;
        steps.delete(oldest);
        bytesKept -= step.bytes;
      }
    },
  };
}
