import type { SomeRun } from '../agent/run/run.ts';
import type { RunReason, RunStatus } from '../machines/contract/run-result.ts';
import {
  type CallOptions,
  checkCalledTool,
  checkEnding,
  checkFinalOutput,
  checkTransitions,
  checkVisited,
  type Pending,
} from './judges/checks.ts';
import type { RecordingSource, Subject } from './judges/evidence.ts';
import type { ExpectedTransitions } from './judges/judge-path.ts';

/**
 * Matchers for vitest and jest. They take a result, a recording or a `Run`; with a `Run` the assertion is a promise to
 * await. For vitest, `import 'signalbox/testing/vitest'` extends `expect` and declares the types.
 *
 * @example
 * expect.extend(matchers);
 * await expect(agent.run('What is the weather?')).toEndWith('answer');
 * expect(recording).toHaveCalledTool('get_weather', { city: 'Austin' });
 */
export const matchers = {
  /**
   * The states were visited in this order, with any others in between: the agent's five, or any of its parts' (`BACKING_OFF`).
   */
  toHaveVisited: (received: Subject, ...states: readonly (string | readonly string[])[]): Pending =>
    checkVisited(received, states),

  /** The tool ran, with at least these arguments; `{ times, result }` also checks how often, and its result. */
  toHaveCalledTool: (received: Subject, tool: string, args?: object, options?: CallOptions): Pending =>
    checkCalledTool(received, tool, args, options),

  /** The run ended with this reason or status, and its text contains or matches this. */
  toEndWith: (received: Subject, how: RunReason | RunStatus, text?: string | RegExp): Pending =>
    checkEnding(received, how, text),

  /** The run gave a typed answer with at least these members; without `expected`, any. */
  toHaveOutput: (received: Subject, expected?: unknown): Pending => checkFinalOutput(received, expected),

  /** Exactly these transitions were taken: texts of the agent's own, or the transitions of another run or recording. */
  toMatchTransitions: (received: Subject, expected: ExpectedTransitions | SomeRun | RecordingSource): Pending =>
    checkTransitions(received, expected),
} as const;

/** The matchers as methods of `expect(…)`. On a `Run` they wait for it: await the assertion. */
export type RunMatchers<R, T> = {
  [TName in keyof typeof matchers]: (
    ...args: After<Parameters<(typeof matchers)[TName]>>
  ) => T extends PromiseLike<unknown> ? Promise<void> : R;
};

type After<TArgs extends readonly unknown[]> = TArgs extends readonly [unknown, ...infer TRest] ? TRest : never;
