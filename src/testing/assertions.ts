import { AssertionError } from 'node:assert'; // Undefined in a page.
import type { SomeRun } from '../agent/run/run.ts';
import type { RunReason, AnyResult, RunStatus } from '../machines/contract/run-result.ts';
import {
  type CallOptions,
  checkCalledTool,
  checkEnding,
  checkFinalOutput,
  checkTransitions,
  checkVisited,
  type Pending,
} from './judges/checks.ts';
import type { RecordingSource, Subject, Judgement } from './judges/evidence.ts';
import { framesAbove } from './recordings/runs-on-recordings.ts';
import type { ExpectedTransitions } from './judges/judge-path.ts';

type AtOnce = AnyResult | RecordingSource;

/**
 * Throws an `AssertionError` unless the states were visited in this order; a promise for a `Run`. For node:test and every
 * other runner without `expect`.
 *
 * @example await assertVisited(agent.run('Book it'), 'ERROR_RECOVERY', 'COMPLETION');
 */
export function assertVisited(run: SomeRun, ...states: readonly string[]): Promise<void>;
export function assertVisited(done: AtOnce, ...states: readonly string[]): void;
export function assertVisited(subject: Subject, ...states: readonly string[]): void | Promise<void> {
  return enforced(checkVisited(subject, states), assertVisited);
}

/**
 * Throws an `AssertionError` unless the tool ran, with at least these arguments; a promise for a `Run`.
 *
 * @example assertCalledTool(recording, 'get_weather', { city: 'Austin' }, { times: 1 });
 */
export function assertCalledTool(run: SomeRun, tool: string, args?: object, options?: CallOptions): Promise<void>;
export function assertCalledTool(done: AtOnce, tool: string, args?: object, options?: CallOptions): void;
export function assertCalledTool(
  subject: Subject,
  tool: string,
  ...rest: readonly [args?: object, options?: CallOptions]
): void | Promise<void> {
  return enforced(checkCalledTool(subject, tool, ...rest), assertCalledTool);
}

/**
 * Throws an `AssertionError` unless the run ended with this reason or status, and this text; a promise for a `Run`.
 *
 * @example await assertEndsWith(agent.run('What is the weather?'), 'answer', /21 °C/);
 */
export function assertEndsWith(run: SomeRun, how: RunReason | RunStatus, text?: string | RegExp): Promise<void>;
export function assertEndsWith(done: AtOnce, how: RunReason | RunStatus, text?: string | RegExp): void;
export function assertEndsWith(
  subject: Subject,
  how: RunReason | RunStatus,
  text?: string | RegExp,
): void | Promise<void> {
  return enforced(checkEnding(subject, how, text), assertEndsWith);
}

/**
 * Throws an `AssertionError` unless the run gave a typed answer with at least these members; a promise for a `Run`.
 *
 * @example await assertOutput(agent.run('Who wrote it?'), { name: 'Ann' });
 */
export function assertOutput(run: SomeRun, expected?: unknown): Promise<void>;
export function assertOutput(done: AtOnce, expected?: unknown): void;
export function assertOutput(subject: Subject, expected?: unknown): void | Promise<void> {
  return enforced(checkFinalOutput(subject, expected), assertOutput);
}

/**
 * Throws an `AssertionError` unless exactly these transitions were taken; a promise where a `Run` is involved.
 *
 * @example assertTransitions(result, ['PLANNING → DIRECT_EXECUTION', 'DIRECT_EXECUTION → PLANNING', 'PLANNING → COMPLETION']);
 */
export function assertTransitions(
  run: SomeRun,
  expected: ExpectedTransitions | SomeRun | RecordingSource,
): Promise<void>;
export function assertTransitions(done: AtOnce, expected: SomeRun): Promise<void>;
export function assertTransitions(done: AtOnce, expected: ExpectedTransitions | RecordingSource): void;
export function assertTransitions(
  subject: Subject,
  expected: ExpectedTransitions | SomeRun | RecordingSource,
): void | Promise<void> {
  return enforced(checkTransitions(subject, expected), assertTransitions);
}

/** The stack of a failure begins with the caller of the assertion, even if a run is awaited. */
function enforced(pending: Pending, assertion: (...args: never) => unknown): void | Promise<void> {
  if (!(pending instanceof Promise)) return enforce(pending, framesAbove(assertion));
  const frames = framesAbove(assertion);
  return pending.then((judgement) => enforce(judgement, frames));
}

function enforce({ pass, message }: Judgement, frames: string): void {
  if (pass) return;
  const error =
    typeof AssertionError === 'function'
      ? new AssertionError({ message: message(), operator: 'fail' })
      : new Error(message());
  error.stack = `${error.name}: ${error.message}\n${frames}`;
  throw error;
}

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
