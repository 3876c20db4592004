import type { RecordLine } from '../../journal/format/record.ts';
import { RecordingPlayer } from '../../journal/replay/recording-player.ts';
import { FrameMaker, type FrameOptions } from './frame-maker.ts';

/** A recording on its way through the machines, with its frames. */
export interface FramePlayer {
  /** Takes the next line. The first must be the run's. */
  feed(line: RecordLine): void;
  /** Why there are records without moves from some line on: this version would play them differently. */
  readonly problem: string | null;
  /** Makes the frames of what comes after the lines, when the run itself is watched from here on. */
  readonly maker: FrameMaker;
}

/** Begins to play a recording back for its frames. */
export function framePlayer(options: FrameOptions): FramePlayer {
  const maker = new FrameMaker(options);
  const player = new RecordingPlayer({
    onMicrostep: (microstep) => maker.microstep(microstep),
    onEvent: (event) => maker.event(event),
  });
  return {
    maker,
    get problem() {
      return player.problem;
    },
    feed: (line) => {
      maker.record(line);
      player.feed(line);
    },
  };
}
