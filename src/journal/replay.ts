import type { Recording } from './recording.ts';
import { readRecording } from './recording.ts';

/** What can play a recording back: an agent. */
export interface Replayable<TRun> {
  readonly [REPLAY]: (recording: Recording) => TRun;
}

/** The key under which an agent offers to play recordings back. */
export const REPLAY: unique symbol = Symbol.for('signalbox.replay');

/**
 * Plays a recorded run back on an agent, deterministically: nothing is called, nothing is waited for, and the list of
 * transitions is the recorded one. Instructions and local tools are the agent's, MCP tools and all outcomes the
 * recording's. Returns a Run at once; awaiting it rejects with a `ReplayDivergenceError` where the agent would have asked
 * for something else than was recorded.
 *
 * @example
 * const result = await replay(await readFile('run.jsonl', 'utf8'), agent);
 * expect(result.reason).toBe('answer');
 */
export function replay<TRun>(recording: string | readonly (string | object)[], agent: Replayable<TRun>): TRun {
  return agent[REPLAY](readRecording(recording));
}
