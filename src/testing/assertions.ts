import { AssertionError } from 'node:assert';
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
  const error = new AssertionError({ message: message() });
  error.stack = `${error.name}: ${error.message}\n${frames}`;
  throw error;
}
