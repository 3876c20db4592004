import type { OutsideEvent } from '../../../actors/journal.ts';
import { drive, recordedOutput } from '../../../journal/run/drive.ts';
import { readRecording } from '../../../journal/format/recording.ts';
import { recorder } from '../../../journal/format/recorder.ts';
import { ROOT_ID, inputOf } from '../../../journal/format/run-input.ts';
import { isJsonObject } from '../../../json/json.ts';
import { endlessGuard } from './exploration.ts';
import type { PathChoice } from './explored-run.ts';
import { type ExploredMachine, IDLE_JOURNAL, jsonInput } from './explored-machine.ts';
import type { AnyStateMachine } from 'xstate';
import { recordedEntry } from '../../../journal/format/record.ts';
import { replayJournal } from '../../../journal/replay/replay-journal.ts';
import { agentMachine } from '../../../machines/agent/agent.ts';
import type { Transition } from '../../../machines/events/run-events.ts';
import { microstepReader, stateText } from '../../../machines/events/transition-log.ts';

/**
 * A path as a recording: the same lines as of a run that happened. A path that stops on the way is ended by a cancel that
 * names the reason, so that it is the recording of a whole run and every tool takes it.
 */
export function pathRecording(
  explored: ExploredMachine,
  path: readonly PathChoice[],
  why: { readonly law: string; readonly message: string },
): string {
  const recording = recorder({
    ...explored.head,
    runId: `explored-${why.law}`,
    metadata: { exploration: why, input: explored.id === ROOT_ID ? null : jsonInput(explored.input) },
  });
  const guard = endlessGuard();
  const driven = drive({
    logic: explored.machine,
    id: explored.id,
    input: explored.input,
    work: explored.work,
    recorder: recording,
    context: undefined,
    onNote: () => undefined,
    inspect: guard.inspect,
    journal: IDLE_JOURNAL,
  });
  driven.start();
  for (const { entry } of path) {
    guard.reset();
    driven.deliver(entry);
  }
  const before = linesOf(recording.text()).length;
  const cancel: OutsideEvent = { type: 'run.cancelled', reason: `${why.law}: ${why.message}` };
  if (driven.isActive() && driven.accepts(cancel, undefined)) driven.deliver({ t: 'event', event: cancel });
  if (!driven.isActive()) recording.end(recordedOutput(driven.actor.getSnapshot().output));
  const lines = linesOf(recording.text()).map(untimed);
  const note = JSON.stringify({ t: 'note', at: 0, note: { ...why } });
  return `${lines.toSpliced(before, 0, note).join('\n')}\n`;
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '');
}

/** No time passes in an exploration, and the same one gives the same lines. */
function untimed(line: string, index: number): string {
  const record: unknown = JSON.parse(line);
  return index > 0 && isJsonObject(record) && typeof record.at === 'number'
    ? JSON.stringify({ ...record, at: 0 })
    : line;
}

/** What a machine did when a recording was played back on it. */
export interface PlayedBack {
  readonly transitions: readonly Transition[];
  /** The root machine's last state. */
  readonly state: string;
  readonly output: unknown;
}

/**
 * Plays a counterexample back on the machine that it was found on, which need not be one of ours, or one that ends. Throws
 * a `ReplayDivergenceError` if the machine behaves differently, as it does once it was fixed. For an agent use `replay`.
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
  const readMicrostep = microstepReader(
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
      readMicrostep(inspected);
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
