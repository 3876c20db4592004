/**
 * Owns: playing a recording back line by line, for its frames. Does not own: reading it, or who sees the frames.
 *
 * I1 Nothing is performed; the machine is told what was recorded, in order, without the agent's code.
 * I2 Lines that come later go on where the earlier ones ended, so a run that is being written can be followed.
 * I3 A recording that this version would play differently still gives its records; `problem` says why there is no more.
 */
import { type Drive, drive, recordedOutput } from '../../journal/run/drive.ts';
import { type RecordLine, type RunRecord, recordedEntry } from '../../journal/format/record.ts';
import { type ReplayJournal, replayJournal } from '../../journal/replay/replay-journal.ts';
import { ROOT_ID, inputOf } from '../../journal/format/run-input.ts';
import { agentMachine } from '../../machines/agent/agent.ts';
import { runEventReader } from '../../machines/events/run-event-reader.ts';
import { moveReader, stateText } from '../../machines/events/transition-log.ts';
import { type FrameMaker, type StepMatter, frameMaker } from '../frames/frame-maker.ts';
import type { Newborns } from '../frames/newborns.ts';
import type { Frame } from '../frames/protocol.ts';

/** A recording on its way through the machines. */
export interface Playback {
  /** Takes the next line. The first must be the run's. */
  feed(line: RecordLine): void;
  readonly problem: string | null;
  /** Makes the frames of what comes after the lines, when the run itself is watched from here on. */
  readonly maker: FrameMaker;
}

interface PlaybackOptions {
  readonly session: string;
  readonly emit: (frame: Frame, numbered: boolean) => void;
  readonly onStep?: (n: number, matter: StepMatter) => void;
  /** See the maker's option. */
  readonly bornAs?: Newborns['snapshotOf'];
}

/** Begins to play a recording back. */
export function playback(options: PlaybackOptions): Playback {
  const maker = frameMaker(options);
  const lines: RecordLine[] = [];
  let driven: Drive | null = null;
  let journal: ReplayJournal | null = null;
  let problem: string | null = null;
  let at = 0;

  const begin = (head: RunRecord): void => {
    const state = (): string => stateText(driven?.actor.getSnapshot().value ?? 'PLANNING');
    journal = replayJournal({ head, lines }, state);
    let seq = 0;
    const readEvents = runEventReader({
      runId: head.runId,
      now: () => at,
      emit: (body, child) => maker.event({ ...body, seq: ++seq, replayed: false, ...(child === '' ? {} : { child }) }),
    });
    driven = drive({
      logic: agentMachine,
      id: ROOT_ID,
      input: inputOf(head),
      journal,
      recorder: null,
      context: undefined,
      onNote: () => undefined,
      inspect: moveReader(
        () => true,
        (move) => {
          maker.move(move);
          readEvents(move);
        },
      ),
    });
    driven.start();
  };

  const goOn = (line: RecordLine): void => {
    if (line.t === 'run' || driven === null || journal === null) return;
    if (line.t === 'end') return journal.endNow(recordedOutput(driven.actor.getSnapshot().output));
    if (recordedEntry(line) === null || !driven.isActive()) return;
    const entry = journal.nextNow();
    if (entry !== null) driven.deliver(entry);
  };

  return {
    maker,
    get problem() {
      return problem;
    },
    feed: (line) => {
      if (line.t !== 'run') {
        lines.push(line);
        at = line.at;
      }
      maker.record(line);
      if (problem !== null) return;
      try {
        if (line.t === 'run') begin(line);
        else goOn(line);
      } catch (error) {
        problem = error instanceof Error ? error.message : String(error);
      }
    },
  };
}
