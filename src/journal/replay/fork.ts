import type { Outcome } from '../../actors/journal.ts';
import type { JsonObject } from '../../json/json.ts';
import { oneOf, optionsOf } from '../../json/known-options.ts';
import { checkRunId } from '../format/record.ts';
import { type Recording, readRecording } from '../format/recording.ts';
import { checkAgent } from './replay.ts';

/** Where a fork leaves its recording, and how it continues. Prompt, model and tools are those of the agent. */
export interface ForkOptions {
  /**
   * The number of the last record that both share: its line in a file, the head being 1. Default: 1, with a changed
   * `input`; otherwise required.
   */
  readonly at?: number | undefined;
  /** The new outcome of the record `at`, which is an outcome or the start of a leaf. */
  readonly outcome?: Outcome | undefined;
  /** The task instead of the recorded one. */
  readonly input?: string | undefined;
  /**
   * `live` (default): what starts after the cut runs live. `recorded`: it gets the outcome that the rest of the recording
   * has for the same request, and timers that fired there fire in their turn, without the time being waited for.
   */
  readonly then?: 'live' | 'recorded' | undefined;
  /** With `then: 'recorded'`, for requests without an outcome in the rest: run live (`live`, default), or end the run. */
  readonly missing?: 'live' | 'refuse' | undefined;
  /** As for `agent.run`. */
  readonly runId?: string | undefined;
  readonly context?: unknown;
  readonly metadata?: JsonObject | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What can fork a recording: an agent. */
export interface Forkable<TRun> {
  readonly [FORK]: (recording: Recording, options: ForkOptions) => TRun;
}

/** The key under which an agent can fork recordings. */
export const FORK: unique symbol = Symbol.for('signalbox.fork');

const checkOptions = optionsOf<ForkOptions>('fork', 'docs/recording.md', {
  at: true,
  outcome: true,
  input: true,
  // oxlint-disable-next-line unicorn/no-thenable -- it is the name of an option, and this table is awaited by nobody
  then: true,
  missing: true,
  runId: true,
  context: true,
  metadata: true,
  signal: true,
});

/**
 * Continues differently from a point of a recorded run: replays it up to the record `at`, then continues as a separate
 * run, kept in the agent's journal under a new id; its head names its parent. What was in flight at the cut keeps the
 * recorded outcome. Returns a Run at once. Throws a `TypeError` for an impossible cut, a `RecordingError` as `replay` does.
 *
 * @example
 * const run = fork(recording, agent, { at: 7, outcome: { ok: true, value: { status: 'error', error: 'offline' } } });
 */
export function fork<TRun>(
  recording: string | readonly (string | object)[],
  agent: Forkable<TRun>,
  options: ForkOptions,
): TRun {
  checkOptions(options ?? null);
  checkRunId('fork', options.runId);
  const { then = 'live', missing = 'live' } = options;
  oneOf("fork: option 'then'", then, ['live', 'recorded']);
  oneOf("fork: option 'missing'", missing, ['live', 'refuse']);
  checkAgent('fork', agent, FORK);
  return agent[FORK](readRecording(recording), options);
}
