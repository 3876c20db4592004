import { abortable } from '../server/abortable.ts';
import type { RunRecord } from '../../journal/format/record.ts';
import { eventBytes, eventText } from '../frames/event-text.ts';
import type { NumberedFrame } from '../frames/frame-log.ts';
import { type FrameTap, frameTap, tapFromStart } from '../frames/frame-tap.ts';
import { frameText } from '../frames/frame-text.ts';
import type { LineSource } from './line-source.ts';
import { playback } from './playback.ts';
import type { Act, ActReply, Frame, SessionInfo } from '../frames/protocol.ts';
import type { Session } from './session.ts';
import { type Ending, sessionInfo } from './session-info.ts';
import { inSlices } from '../frames/slices.ts';
import { stepDetails } from '../frames/step-details.ts';

interface RecordedOptions {
  readonly id: string;
  readonly kind: 'run' | 'recording';
  readonly head: RunRecord;
  readonly source: LineSource;
  readonly ending: () => Ending;
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

/** A session whose frames come from records. */
export interface RecordedSession extends Session {
  /**
   * Somebody is likely to look at this run, which has not begun to move: its frames are made from now on, for a while, so
   * that nothing has to be played back.
   */
  expect(): void;
}

/** Makes the session of a recording, or of a run that is being recorded. */
export function recordedSession(options: RecordedOptions): RecordedSession {
  const { id, kind, head, source } = options;
  let tap: FrameTap | null = null;
  let viewers = 0;
  /** Whoever was expected is here, or will not come. */
  let arrive = (): void => undefined;
  let problem: string | null = null;
  const details = stepDetails(id, source);

  const noteProblem = (found: string | null): void => {
    if (found === null || found === problem) return;
    problem = found;
    options.onChange();
  };
  const expect = (): void => {
    tap ??= tapFromStart(id, source);
    viewers += 1;
    const timer = setTimeout(() => arrive(), EXPECTED_MS).unref();
    arrive = () => {
      arrive = () => undefined;
      clearTimeout(timer);
      leave();
    };
  };
  const enter = (): FrameTap => {
    viewers += 1;
    arrive();
    tap ??= frameTap(id, source);
    return tap;
  };
  const leave = (): void => {
    viewers -= 1;
    if (viewers > 0) return;
    tap?.stop();
    tap = null;
    details.forget();
  };

  /** Plays the recording back for one viewer, from frame `from` on, until `enough`. */
  const played = (from: number) => {
    const ready: NumberedFrame[] = [];
    const next = source.reader();
    let count = 0;
    const player = playback({
      session: id,
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
    return async (signal: AbortSignal): Promise<readonly NumberedFrame[]> => {
      await inSlices(step, () => signal.aborted);
      noteProblem(player.problem);
      return ready.splice(0);
    };
  };

  async function* follow(from: number, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
    const { log, ...watched } = enter();
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
          if (joined) yield eventBytes([{ t: 'gap', session: id, dropped: start.number - number }]);
          // Who never came up to what happens is still on the way there, and misses nothing.
          else for await (const batch of missed(number, start.number, signal)) yield batch;
          number = Math.max(number, start.number);
          place = log.placeAfter(number) ?? -1;
          continue;
        }
        // Who reconnects has seen some of it.
        place = Math.max(place, log.placeAfter(number) ?? 0);
        noteProblem(watched.problem());
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
      leave();
    }
  }

  /** Frames up to `until` that the log has forgotten already, for a viewer who begins at the beginning. */
  async function* missed(from: number, until: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const read = played(from);
    for (let number = from; number < until && !signal.aborted;) {
      const batch = (await read(signal)).filter((one) => (one.number ?? 0) <= until);
      if (batch.length === 0) return;
      number = batch.at(-1)?.number ?? until;
      yield encoder.encode(batch.map(({ number: at, frame }) => eventText(at, frameText(frame))).join(''));
    }
  }

  return {
    id,
    info: () => sessionInfo(head, options.ending(), { id, kind, problem, can: options.can() }),
    follow,
    page: async (from, limit) => {
      const read = played(from);
      const found: Frame[] = [];
      const never = new AbortController().signal;
      for (let batch = await read(never); batch.length > 0 && found.length < limit; batch = await read(never))
        found.push(...batch.map(({ frame }) => frame));
      const frames = found.slice(0, limit);
      return { from, frames, next: found.length > limit ? from + frames.length : null };
    },
    detail: async (n) => {
      const detail = await details.of(n);
      if (viewers === 0) details.forget();
      return detail;
    },
    recording: options.text,
    saved: async () => {
      const { frames, details: all } = await details.all();
      if (viewers === 0) details.forget();
      const session = sessionInfo(head, options.ending(), { id, kind: 'recording', problem, can: [] });
      return { frames: [{ t: 'session', session }, ...frames], details: all };
    },
    act: options.act,
    expect,
    close: () => tap?.stop(),
  };
}
