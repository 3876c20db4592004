import type { AnyStateMachine } from 'xstate';
import { drive, recordedOutput } from '../../../journal/run/drive.ts';
import { recordedEntry } from '../../../journal/format/record.ts';
import { readRecording } from '../../../journal/format/recording.ts';
import { replayJournal } from '../../../journal/replay/replay-journal.ts';
import { ROOT_ID, inputOf } from '../../../journal/format/run-input.ts';
import { agentMachine } from '../../../machines/agent/agent.ts';
import type { Transition } from '../../../machines/events/run-events.ts';
import { moveReader, stateText } from '../../../machines/events/transition-log.ts';
import { endlessGuard } from './endless.ts';

/** What a machine did when a recording was played back on it. */
export interface PlayedBack {
  readonly transitions: readonly Transition[];
  /** The root machine's last state. */
  readonly state: string;
  readonly output: unknown;
}

/**
 * Plays a counterexample back on the machine that it was found on, which need not be one of ours nor one that ends. Throws
 * a `ReplayDivergenceError` where the machine goes another way, as it does once it was mended. For an agent use `replay`.
 *
 * @example
 * const [violation] = (await explorePaths(machine)).violations;
 * if (violation !== undefined) console.log(playBack(violation.counterexample, machine).state);
 */
export function playBack(recording: string, machine: AnyStateMachine): PlayedBack {
  const read = readRecording(recording);
  const isAgent = machine.config === agentMachine.config;
  const list: Transition[] = [];
  const guard = endlessGuard();
  const readMove = moveReader(
    () => true,
    ({ transition }) => {
      if (transition !== null) list.push(transition);
    },
  );
  const state = (): string => stateText(driven.actor.getSnapshot().value);
  const journal = replayJournal(read, state);
  const driven = drive({
    logic: machine,
    id: isAgent ? ROOT_ID : machine.id,
    input: isAgent ? inputOf(read.head) : read.head.metadata['input'],
    journal,
    recorder: null,
    context: undefined,
    onNote: () => undefined,
    inspect: (inspected) => {
      guard.inspect(inspected);
      readMove(inspected);
    },
  });
  driven.start();
  for (const line of read.lines) {
    if (recordedEntry(line) === null) continue;
    const entry = journal.nextNow();
    guard.reset();
    if (entry !== null) driven.deliver(entry);
  }
  const { output } = driven.actor.getSnapshot();
  if (driven.isActive()) driven.actor.stop();
  else journal.endNow(recordedOutput(output));
  return { transitions: list, state: state(), output };
}
