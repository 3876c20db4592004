import { existsSync, readFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Agent } from '../../agent/agent-types.ts';
import { checkRunOptions } from '../../agent/check-options.ts';
import type { RunOptions } from '../../agent/run/run-options.ts';
import type { Run } from '../../agent/run/run.ts';
import { historiesIn } from '../../journal/stores/run-files.ts';
import { withHistory } from '../../journal/format/histories.ts';
import { readRecording } from '../../journal/format/recording.ts';
import { processEnvironment } from '../../models/endpoint/environment.ts';
import { optionsOf } from '../../json/known-options.ts';
import { type ActorModes, liveLeaves } from './actor-modes.ts';
import { framesAbove } from './frames-above.ts';
import { type RecordMode, recordMode } from './record-mode.ts';
import type { Matching } from './recorded-answers.ts';
import { UseRecordingError } from './recording-errors.ts';
import { runAndKeep, runPartly, runReplayed } from './runs-on-recordings.ts';

/** How a recording is used. */
export interface UseRecordingOptions extends ActorModes {
  /** When to record. Default `missing`; `SIGNALBOX_RECORD` goes before it, and in CI it is always `never`. */
  readonly record?: RecordMode;
  /**
   * How a request finds its answer where some actors are live: `request` (default), by being the recorded one; `order`, by
   * its turn, whatever it says.
   */
  readonly match?: Matching;
}

const checkOptions = optionsOf<UseRecordingOptions>('useRecording', 'docs/testing.md', {
  record: true,
  match: true,
  model: true,
  tools: true,
  checks: true,
  approvals: true,
  recovery: true,
  prompt: true,
});

/** A recording in use: it stands between a test and the runs of its agent. */
export interface UsedRecording {
  readonly path: string;
  /** Runs the agent on the recording: replayed when there is one, recorded when not. Like `agent.run`, a Run at once. */
  run(agent: Agent, input: string, options?: RunOptions): Run;
  /** The agent, with a `run` that uses the recording: for code under test that runs the agent itself. */
  wrap(agent: Agent): Agent;
}

/**
 * Keeps a run of a test in a file: recorded when the file is missing, replayed when it is there, never live in CI. What the
 * agent asks and the recording does not hold rejects with a `RecordingMissError` that shows the nearest recorded request and
 * the difference. A second run goes into a second file, `weather.2.jsonl`. Paths are relative to the working directory.
 *
 * @example
 * const run = useRecording('test/recordings/weather.jsonl').run(agent, 'What is the weather in Austin?');
 * await expect(run).toEndWith('answer', /°C/);
 */
export function useRecording(path: string | URL, options: UseRecordingOptions = {}): UsedRecording {
  checkOptions(options);
  const file = typeof path === 'string' ? path : relative('.', fileURLToPath(path));
  const live = liveLeaves(options);
  const matching = options.match ?? 'request';
  let count = 0;

  const start = (agent: Agent, input: string, given: RunOptions, calledFrom: string): Run => {
    checkRunOptions(given, 'A run of useRecording');
    count += 1;
    const own = count === 1 ? file : file.replace(/(\.[^./\\]*)?$/, `.${count}$1`);
    const { mode, because } = recordMode(options.record, processEnvironment());
    const isThere = existsSync(own);
    if (mode === 'all' || (mode === 'missing' && !isThere)) return runAndKeep(own, agent, { input, given });
    if (!isThere) throw new UseRecordingError('recording-missing', own, missingText(own, because));
    const text = withHistory(readFileSync(own, 'utf8'), historiesIn(dirname(own)));
    const recording = readRecording(text);
    if (live.size === 0) return runReplayed({ path: own, calledFrom }, agent, { input, recording, text });
    return runPartly({ path: own, calledFrom }, agent, { input, given, recording, live, matching });
  };

  const run = (agent: Agent, input: string, given: RunOptions = {}): Run =>
    start(agent, input, given, framesAbove(run));
  const wrap = (agent: Agent): Agent => {
    const ownRun = (input: string, given: RunOptions = {}): Run => start(agent, input, given, framesAbove(ownRun));
    const wrapped: Agent = Object.create(agent, { run: { value: ownRun, enumerable: true } });
    return wrapped;
  };
  return { path: file, run, wrap };
}

function missingText(path: string, because: string): string {
  return `There is no recording ${path}, and none is made here: ${because}. Run the test once where the model is, without that setting, and commit the file.`;
}
