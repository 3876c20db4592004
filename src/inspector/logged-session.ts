import { type NumberedFrame, frameLog } from './frame-log.ts';
import type { Act, ActReply, Frame, SessionInfo, StepDetail } from './protocol.ts';
import type { Session } from './session.ts';

/** A session whose frames are kept as they are told, and how to tell it one. */
export interface LoggedSession {
  readonly session: Session;
  tell(frame: Frame, numbered: boolean): void;
  /** Keeps what makes the details of a step, until that many others have come. */
  keepStep(n: number, detail: () => StepDetail): void;
}

interface LoggedOptions {
  readonly info: () => SessionInfo;
  /** Frames for who comes late: the actors that live, and how they are drawn. */
  readonly standing: () => readonly Frame[];
  /** Puts marks in the place of secrets. */
  readonly seal: <T>(value: T) => T;
  readonly act: (act: Act) => Promise<ActReply>;
}

const KEPT = 4096;
const BATCH = 200;

/** Makes a session of which nothing is recorded: the latest 4096 frames and steps are kept, what came before is forgotten. */
export function loggedSession(id: string, { info, standing, seal, act }: LoggedOptions): LoggedSession {
  const log = frameLog(KEPT);
  const steps = new Map<number, () => StepDetail>();
  const late = (gap: Frame): readonly NumberedFrame[] =>
    [...standing(), gap].map((frame): NumberedFrame => ({ number: null, frame }));

  const session: Session = {
    id,
    info,
    async *follow(from, signal) {
      const left = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
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
        const batch = log.read(place, BATCH);
        place += batch.length;
        number = batch.findLast((one) => one.number !== null)?.number ?? number;
        if (batch.length > 0) yield batch;
        else await Promise.race([log.wait(place), left]);
      }
    },
    page: (from, limit) => {
      const place = log.placeAfter(from) ?? log.start.place;
      const batch = log.read(place, limit).filter(({ number }) => number !== null);
      const last = batch.at(-1)?.number ?? from;
      return Promise.resolve({
        from: Math.max(from, log.start.number),
        frames: batch.map(({ frame }) => frame),
        next: last < log.count && batch.length > 0 ? last : null,
      });
    },
    detail: (n) => {
      const detail = steps.get(n);
      return Promise.resolve(detail === undefined ? null : seal(detail()));
    },
    recording: () => null,
    saved: () => {
      const details = [...steps.values()].map((detail) => seal(detail()));
      const frames = log.read(log.start.place, KEPT).map(({ frame }) => frame);
      return Promise.resolve({ frames: [{ t: 'session', session: { ...info(), can: [] } }, ...frames], details });
    },
    act,
    close: log.close,
  };

  return {
    session,
    tell: (frame, numbered) => log.push(frame, numbered),
    keepStep: (n, detail) => {
      steps.set(n, detail);
      steps.delete(n - KEPT);
    },
  };
}
