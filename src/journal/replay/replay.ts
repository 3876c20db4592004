import type { Model } from '../../actors/model.ts';
import type { AgentState } from '../../machines/agent/run-result.ts';
import { optionsOf } from '../../json/known-options.ts';
import type { Recording } from '../format/recording.ts';
import { readRecording } from '../format/recording.ts';
import type { AllowedDifference } from './tolerance.ts';

/** A place in a recording that is being played. */
export interface ReplayPoint {
  /** The number of the record that was played last: its line in a file. 1 is the head. */
  readonly entry: number;
  /** The machine's state behind it, as a dotted path such as `DIRECT_EXECUTION.RUNNING_CALLS`. */
  readonly state: string;
}

/** How a recording is played. Without options: strictly, to its end. */
export interface ReplayOptions {
  /**
   * Differences that are meant. `prompt`: the system prompt. `tools`: the tools that a request offers, and what the system
   * prompt says of them.
   */
  readonly allow?: readonly AllowedDifference[];
  /**
   * Where the recorded part ends: behind the record of this number, behind the first one that leads to this state, or
   * behind the first one for which the function says so. Default: at the last record. Needs `then`.
   */
  readonly until?: number | AgentState | ((point: ReplayPoint) => boolean);
  /**
   * Answers from there on, such as a scripted model. Local tools run live then; MCP tools do not, for nothing is connected.
   * What was in flight keeps its recorded outcome.
   */
  readonly then?: Model;
}

/** What can play a recording back: an agent. */
export interface Replayable<TRun> {
  readonly [REPLAY]: (recording: Recording, options: ReplayOptions) => TRun;
}

/** The key under which an agent offers to play recordings back. */
export const REPLAY: unique symbol = Symbol.for('signalbox.replay');

// oxlint-disable-next-line unicorn/no-thenable -- it is the name of an option, and this table is awaited by nobody
const checkOptions = optionsOf<ReplayOptions>('replay', 'docs/recording.md', { allow: true, until: true, then: true });

/**
 * Plays a recorded run back on an agent, deterministically: nothing is called, nothing is waited for, and the list of
 * transitions is the recorded one. Instructions and local tools are the agent's, MCP tools and all outcomes the
 * recording's. Returns a Run at once; awaiting it rejects with a `ReplayDivergenceError` where the agent would have asked
 * for something else than was recorded. With `then` the run goes on live behind the recorded part.
 *
 * @example
 * const result = await replay(await readFile('run.jsonl', 'utf8'), agent);
 * expect(result.reason).toBe('answer');
 */
export function replay<TRun>(
  recording: string | readonly (string | object)[],
  agent: Replayable<TRun>,
  options: ReplayOptions = {},
): TRun {
  checkOptions(options);
  if (options.until !== undefined && options.then === undefined)
    throw new TypeError("replay: option 'until' needs 'then', the model that answers behind the recorded part.");
  return agent[REPLAY](readRecording(recording), options);
}
