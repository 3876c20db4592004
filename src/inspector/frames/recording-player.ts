/**
 * Owns: playing a recording back line by line, for its frames. Does not own: reading it, or who sees the frames.
 *
 * I1 Nothing is performed; the machine receives what was recorded, in order, without the agent's code.
 * I2 Lines that come later continue where the earlier ones ended, so a run that is being written can be followed.
 * I3 A recording that this version would play differently still gives its records; `problem` says why there is no more.
 */
import { type Drive, drive, recordedOutput } from '../../journal/run/drive.ts';
import { type RecordLine, type RunRecord, recordedEntry } from '../../journal/format/record.ts';
import { type ReplayJournal, replayJournal } from '../../journal/replay/replay-journal.ts';
import { ROOT_ID, inputOf } from '../../journal/format/run-input.ts';
import { agentMachine } from '../../machines/agent/agent.ts';
import { runEventReader } from '../../machines/events/run-event-reader.ts';
import { microstepReader, stateText } from '../../machines/events/transition-log.ts';
import { FrameMaker, type FrameOptions } from './frame-maker.ts';

/** A recording on its way through the machines. */
export interface RecordingPlayer {
  /** Takes the next line. The first must be the run's. */
  feed(line: RecordLine): void;
  readonly problem: string | null;
  /** Makes the frames of what comes after the lines, when the run itself is watched from here on. */
  readonly maker: FrameMaker;
}

/** Begins to play a recording back. */
export function recordingPlayer(options: FrameOptions): RecordingPlayer {
  const maker = new FrameMaker(options);
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
      inspect: microstepReader(
        () => true,
        (microstep) => {
          maker.microstep(microstep);
          readEvents(microstep);
        },
      ),
    });
    driven.start();
  };

  const advance = (line: RecordLine): void => {
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
        else advance(line);
      } catch (error) {
        problem = error instanceof Error ? error.message : String(error);
      }
    },
  };
}
