import { agentMachine } from '../machines/agent.ts';
import type { Transition } from '../machines/run-events.ts';
import { moveReader, stateText } from '../machines/transition-log.ts';
import { type Drive, drive, recordedOutput } from './drive.ts';
import { readRecording } from './recording.ts';
import { replayJournal } from './replay-journal.ts';
import { ROOT_ID, inputOf } from './run-input.ts';

/**
 * Every move that the machines of a recorded run made, in order, found by playing the recording back without the agent's
 * code. Throws a `ReplayDivergenceError` when this version of Signalbox would have gone another way.
 *
 * @example transitions(readFileSync('run.jsonl', 'utf8')).map(({ from, to }) => `${from} → ${to}`);
 */
export function transitions(recording: string | readonly (string | object)[]): readonly Transition[] {
  const read = readRecording(recording);
  const list: Transition[] = [];
  const state = (): string => (driven === null ? 'PLANNING' : stateText(driven.actor.getSnapshot().value));
  const journal = replayJournal(read, state);
  const driven: Drive | null = drive({
    logic: agentMachine,
    id: ROOT_ID,
    input: inputOf(read.head),
    journal,
    recorder: null,
    context: undefined,
    onNote: () => undefined,
    inspect: moveReader(
      () => true,
      ({ transition }) => {
        if (transition !== null) list.push(transition);
      },
    ),
  });
  driven.start();
  while (driven.isActive()) {
    const entry = journal.nextNow();
    if (entry !== null) driven.deliver(entry);
  }
  journal.endNow(recordedOutput(driven.actor.getSnapshot().output));
  return list;
}
