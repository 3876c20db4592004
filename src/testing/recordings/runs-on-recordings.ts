import { toJson } from '../../json/to-json.ts';
import type { Agent } from '../../agent/agent-types.ts';
import type { RunOptions } from '../../agent/run/run-options.ts';
import type { Run } from '../../agent/run/run.ts';
import { firstDifference, readableDiff } from '../../journal/replay/difference.ts';
import { type Divergence, ReplayDivergenceError } from '../../journal/replay/divergence.ts';
import type { Recording } from '../../journal/format/recording.ts';
import { replay } from '../../journal/replay/replay.ts';
import { permitLiveModels } from '../../models/live-guard.ts';
import type { Json } from '../../json/json.ts';
import { keepRecording } from './keep-recording.ts';
import { mixedJournal } from './mixed-journal.ts';
import type { Matching } from './recorded-answers.ts';
import { RecordingMissError } from './recording-errors.ts';
import { runThen } from './run-then.ts';

/** The recording's file, and from where in the test it is used. */
interface Place {
  readonly path: string;
  readonly calledFrom: string;
}

interface Asked {
  readonly input: string;
  readonly given: RunOptions;
}

/** Runs the agent as it is, and keeps the recording when the run is over. */
export function runAndKeep(path: string, agent: Agent, { input, given }: Asked): Run {
  const forbidAgain = permitLiveModels();
  try {
    const run = agent.run(input, given);
    return runThen(run, {
      onDone: (result) => {
        forbidAgain();
        keepRecording(path, run.recording(), result);
      },
      onError: (error) => {
        forbidAgain();
        return error;
      },
    });
  } catch (error) {
    forbidAgain();
    throw error;
  }
}

/** Plays the whole recording back; the agent's history is then what it would be after the run. */
export function runReplayed(
  place: Place,
  agent: Agent,
  { input, recording, text }: { readonly input: string; readonly recording: Recording; readonly text: string },
): Run {
  checkInput(place, recording, input);
  checkHistory(place, recording, agent);
  return runThen(replay(text, agent), {
    onDone: (result) => agent.setHistory([...recording.head.history, ...result.messages]),
    onError: (error) =>
      error instanceof ReplayDivergenceError ? new RecordingMissError(place.path, error, place.calledFrom) : error,
  });
}

interface Partly extends Asked {
  readonly recording: Recording;
  /** The names of the leaves that do their work. */
  readonly live: ReadonlySet<string>;
  readonly matching: Matching;
}

/** Runs the agent with the answers of a recording for all leaves but the live ones. */
export function runPartly(place: Place, agent: Agent, { input, given, recording, live, matching }: Partly): Run {
  checkInput(place, recording, input);
  let missed: RecordingMissError | null = null;
  const journal = mixedJournal({
    recording,
    matching,
    isReplayed: (leaf) => !live.has(leaf),
    miss: (divergence) => {
      missed = new RecordingMissError(place.path, { ...divergence, state: run.state.state }, place.calledFrom);
      return missed;
    },
  });
  const run = agent.run(input, { ...given, journal });
  return runThen(run, {
    onDone: () => {
      if (missed !== null) throw missed;
    },
    onError: (error) => error,
  });
}

function checkInput(place: Place, { head }: Recording, input: string): void {
  if (head.input !== input) throw miss(place, 'input', [{ input: head.input }, { input }]);
}

/** A replay goes on with the recorded conversation: it must be the one that the agent is in. One that begins goes anywhere. */
function checkHistory(place: Place, { head }: Recording, agent: Agent): void {
  if (head.history.length === 0) return;
  const { maxHistoryMessages: kept = 0 } = agent.options;
  const all = agent.history;
  // A run on a recording adds all of its messages; one that is live forgets those beyond the limit when it ends.
  const now = toJson(all.length > kept ? all.slice(Math.max(0, all.length - head.history.length)) : all);
  const recorded = toJson(head.history);
  if (!now.ok || !recorded.ok) return;
  const [before, after] = [{ history: recorded.value }, { history: now.value }];
  // Marks stand in a recording for secrets, which nobody knows when it is played.
  if (firstDifference(before, after) === '' || JSON.stringify(before).includes('«secret:')) return;
  throw miss(place, 'conversation', [before, after]);
}

function miss(
  { path, calledFrom }: Place,
  what: 'input' | 'conversation',
  [before, now]: readonly [Json, Json],
): Error {
  const divergence: Divergence = {
    entry: 1,
    state: 'PLANNING',
    expected: `the run of another ${what}`,
    actual: `a run of this ${what}`,
    difference: firstDifference(before, now),
    diff: readableDiff(before, now),
    cause: `${what}-changed`,
  };
  return new RecordingMissError(path, divergence, calledFrom);
}
