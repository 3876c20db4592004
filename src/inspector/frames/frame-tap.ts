/**
 * Owns: the frames of one recorded session while somebody watches it.
 *
 * I1 Nothing is built while nobody watches: what was missed is made from the recording when somebody comes.
 * I2 Once the recording has been caught up with, a run's own microsteps are taken as they happen; nothing is played twice.
 *    A run that is watched from before its first microstep needs no playing at all.
 * I3 When the run is over and everything was emitted, the log is closed: a viewer that has it all need not stay connected.
 * I4 The run pays for noting what it did, no more. Frames are made of it in one go, twenty times a second: a batch costs
 *    less than its frames one by one, and nobody sees faster.
 * I5 An actor is shown as it was when it was made, however far it has got until its frames are.
 */
import type { RecordLine } from '../../journal/format/record.ts';
import { FirstSnapshots } from './actors.ts';
import { inSlices } from './event-loop.ts';
import { FrameLog } from './frame-log.ts';
import { FrameMaker, type FrameOptions } from './frame-maker.ts';
import { framePlayer } from './frame-player.ts';
import type { LineSource, RunWatcher } from './run-port.ts';

/** The frames of a session that is being watched. */
export interface FrameTap {
  readonly log: FrameLog;
  readonly problem: () => string | null;
  /** The place in the log at which everything that had been recorded before was emitted; null before that. */
  readonly caughtUpAt: () => number | null;
  stop(): void;
}

/** How much is kept for a viewer that is a little late, in bytes; one that is later is given a gap. */
const KEPT_BYTES = 4_000_000;

/** Makes frames: first of what was recorded so far, then of what happens. */
export function frameTap(session: string, source: LineSource): FrameTap {
  const { log, first, options } = parts(session);
  const player = framePlayer(options);
  const { maker } = player;
  const lines = new LineReader(source);
  const live = pacedWatcher({ log, first, maker, lines });
  let stopped = false;
  let catchingUp = false;
  let caughtUpAt: number | null = null;
  let unwatch = (): void => undefined;

  const step = (): boolean => !stopped && lines.next(player.feed);
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
    if (source.hasMicrosteps) maker.adopt();
    unwatch = source.watch(source.hasMicrosteps ? live : { ...live, onLine: () => void catchUp() });
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

/** Makes frames of a run before its first transition, as it happens. */
export function tapFromStart(session: string, source: LineSource): FrameTap {
  const { log, first, options } = parts(session);
  const maker = new FrameMaker(options);
  const lines = new LineReader(source);
  const live = pacedWatcher({ log, first, maker, lines });
  while (lines.next((line) => maker.record(line)));
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

function parts(session: string) {
  const log = new FrameLog(KEPT_BYTES);
  const first = new FirstSnapshots();
  const options: FrameOptions = {
    session,
    emit: (frame, numbered) => log.push(frame, numbered),
    firstSnapshot: (actor) => first.of(actor),
  };
  return { log, first, options };
}

/** Reads the lines of a source one by one. After the last one of a run nothing more is to come. */
class LineReader {
  readonly #read: ReturnType<LineSource['reader']>;
  over = false;

  constructor(source: LineSource) {
    this.#read = source.reader();
  }

  /** Hands on the next line; false when there is none. */
  next(listener: (line: RecordLine) => void): boolean {
    const line = this.#read();
    if (line === null) return false;
    listener(line);
    this.over ||= line.t === 'end';
    return true;
  }
}

/** A watcher that makes frames at its own pace. */
interface PacedWatcher extends RunWatcher {
  /** Forgets what no frames were made of yet. */
  stop(): void;
}

interface PacedOptions {
  readonly log: FrameLog;
  readonly first: FirstSnapshots;
  readonly maker: FrameMaker;
  readonly lines: LineReader;
}

/** How long notes are collected, in milliseconds. */
const PACE_MS = 50;

/** Notes what a run does from now on, and makes frames of it. */
function pacedWatcher({ log, first, maker, lines }: PacedOptions): PacedWatcher {
  let notes: (() => void)[] = [];
  let timer: ReturnType<typeof setTimeout> | null = null;

  const flush = (): void => {
    timer = null;
    const noted = notes;
    notes = [];
    for (const makeFrames of noted) quietly(makeFrames);
    if (lines.over) log.close();
  };
  const note = (makeFrames: () => void): void => {
    notes.push(makeFrames);
    timer ??= setTimeout(flush, PACE_MS);
  };
  const readLine = (): void => void lines.next((line) => maker.record(line));

  return {
    onLine: () => note(readLine),
    onMicrostep: (microstep) => {
      first.note(microstep.snapshot.children);
      note(() => maker.microstep(microstep));
    },
    onEvent: (event) => note(() => maker.event(event)),
    stop: () => {
      if (timer !== null) clearTimeout(timer);
      notes = [];
    },
  };
}

/** What watches must not break what it watches, nor the process that both are in. */
function quietly(work: () => void): void {
  try {
    work();
  } catch {
    // Some frames are missing.
  }
}
