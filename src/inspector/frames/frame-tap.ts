/**
 * Owns: the frames of one recorded session while somebody watches it.
 *
 * I1 Nothing is built while nobody watches: what was missed is made from the recording when somebody comes.
 * I2 Once the recording has been caught up with, a run's own moves are taken as they happen; nothing is played twice.
 *    A run that is watched from before its first move needs no playing at all.
 * I3 When the run is over and everything was told, the log is closed: a viewer that has it all need not stay connected.
 */
import type { RecordLine } from '../../journal/format/record.ts';
import { type FrameLog, frameLog } from './frame-log.ts';
import { frameMaker } from './frame-maker.ts';
import type { LineSource } from '../sessions/line-source.ts';
import { newborns } from './newborns.ts';
import { pacedWatcher } from '../sessions/paced-watcher.ts';
import { playback } from '../sessions/playback.ts';
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
  const born = newborns();
  const player = playback({ session, emit: log.push, bornAs: born.snapshotOf });
  const { maker } = player;
  const lines = lineReader(source);
  const live = pacedWatcher({
    maker,
    born,
    readLine: () => lines.tell(maker.record),
    done: () => lines.over && log.close(),
  });
  let stopped = false;
  let catchingUp = false;
  let caughtUpAt: number | null = null;
  let unwatch = (): void => undefined;

  const step = (): boolean => !stopped && lines.tell(player.feed);
  const catchUp = async (): Promise<void> => {
    if (catchingUp) return;
    catchingUp = true;
    await inSlices(step, () => stopped);
    // No line may come between the last look and the watching: from here on everything happens in one go.
    while (step());
    catchingUp = false;
    if (lines.over) log.close();
    if (stopped || caughtUpAt !== null) return;
    caughtUpAt = log.end;
    if (source.moves) maker.adopt();
    unwatch = source.watch(source.moves ? live : { ...live, onLine: () => void catchUp() });
  };
  void catchUp();

  return {
    log,
    problem: () => player.problem,
    caughtUpAt: () => caughtUpAt,
    stop: () => {
      stopped = true;
      unwatch();
      live.stop();
      log.close();
    },
  };
}

/** Makes frames of a run that has not begun to move, as it happens. */
export function tapFromStart(session: string, source: LineSource): FrameTap {
  const log = frameLog(KEPT_BYTES);
  const born = newborns();
  const maker = frameMaker({ session, emit: log.push, bornAs: born.snapshotOf });
  const lines = lineReader(source);
  const readLine = (): boolean => lines.tell(maker.record);
  const live = pacedWatcher({ maker, born, readLine, done: () => lines.over && log.close() });
  while (readLine());
  const unwatch = source.watch(live);
  return {
    log,
    problem: () => null,
    caughtUpAt: () => 0,
    stop: () => {
      unwatch();
      live.stop();
      log.close();
    },
  };
}

/** Reads the lines of a source one by one. After the last one of a run nothing more is to come. */
function lineReader(source: LineSource) {
  const next = source.reader();
  let over = false;
  return {
    get over() {
      return over;
    },
    /** Tells of the next line; false when there is none. */
    tell: (listener: (line: RecordLine) => void): boolean => {
      const line = next();
      if (line === null) return false;
      listener(line);
      over ||= line.t === 'end';
      return true;
    },
  };
}
