/**
 * Owns: the frames of one recorded session while somebody watches it.
 *
 * I1 Nothing is built while nobody watches: what was missed is made from the recording when somebody comes.
 * I2 Once the recording has been caught up with, a run's own moves are taken as they happen; nothing is played twice.
 *    A run that is watched from before its first move needs no playing at all.
 */
import { type FrameLog, frameLog } from './frame-log.ts';
import { frameMaker } from './frame-maker.ts';
import type { LineSource } from './line-source.ts';
import { playback } from './playback.ts';
import { inSlices } from './slices.ts';

/** The frames of a session that is being watched. */
export interface FrameTap {
  readonly log: FrameLog;
  readonly problem: () => string | null;
  /** The place in the log at which everything that had been recorded before was told; null before that. */
  readonly caughtUpAt: () => number | null;
  stop(): void;
}

/** How much is kept for who is a little late, in bytes; who is later is given a gap. */
const KEPT_BYTES = 4_000_000;

/** Makes frames: first of what was recorded so far, then of what happens. */
export function frameTap(session: string, source: LineSource): FrameTap {
  const log = frameLog(KEPT_BYTES);
  const next = source.reader();
  const player = playback({ session, emit: log.push });
  let stopped = false;
  let catchingUp = false;
  let caughtUpAt: number | null = null;
  let unwatch = (): void => undefined;

  const step = (): boolean => {
    const line = stopped ? null : next();
    if (line !== null) player.feed(line);
    return line !== null;
  };
  const { maker } = player;
  const onLine = (): void => {
    if (!source.moves) return void catchUp();
    for (let line = next(); line !== null; line = next()) maker.record(line);
  };
  const catchUp = async (): Promise<void> => {
    if (catchingUp) return;
    catchingUp = true;
    await inSlices(step, () => stopped);
    // No line may come between the last look and the watching: from here on everything happens in one go.
    while (step());
    catchingUp = false;
    if (stopped || caughtUpAt !== null) return;
    caughtUpAt = log.end;
    if (source.moves) maker.adopt();
    unwatch = source.watch({ onLine, onMove: maker.move, onEvent: maker.event });
  };
  void catchUp();

  return {
    log,
    problem: () => player.problem,
    caughtUpAt: () => caughtUpAt,
    stop: () => {
      stopped = true;
      unwatch();
      log.close();
    },
  };
}

/** Makes frames of a run that has not begun to move, as it happens. */
export function tapFromStart(session: string, source: LineSource): FrameTap {
  const log = frameLog(KEPT_BYTES);
  const next = source.reader();
  const maker = frameMaker({ session, emit: log.push });
  const onLine = (): void => {
    for (let line = next(); line !== null; line = next()) maker.record(line);
  };
  onLine();
  const unwatch = source.watch({ onLine, onMove: maker.move, onEvent: maker.event });
  return {
    log,
    problem: () => null,
    caughtUpAt: () => 0,
    stop: () => {
      unwatch();
      log.close();
    },
  };
}
