import '../platform.ts';
import { expect } from 'vitest';
import type { SomeRun } from '../agent/run/run.ts';
import type { RunReason, RunStatus } from '../machines/contract/run-result.ts';
import type { CallOptions } from './judges/checks.ts';
import type { RecordingSource } from './judges/evidence.ts';
import type { ExpectedTransitions } from './judges/judge-path.ts';
import { matchers } from './matchers.ts';

// What a setup file of vitest imports: it extends `expect`, and declares the matchers' types for every test file.
expect.extend(matchers);

/** A matcher on a `Run` waits for it: await the assertion. */
type Checked<R, T> = T extends PromiseLike<unknown> ? Promise<void> : R;

declare module 'vitest' {
  interface Matchers<R extends void | Promise<void> = void | Promise<void>, T = unknown> {
    /** The states were visited in this order: the agent's five, or any of its parts' (`BACKING_OFF`). */
    toHaveVisited(...states: readonly (string | readonly string[])[]): Checked<R, T>;
    /** The tool ran, with at least these arguments; `{ times, result }` also checks how often, and its result. */
    toHaveCalledTool(tool: string, args?: object, options?: CallOptions): Checked<R, T>;
    /** The run ended with this reason or status, and its text holds or matches this. */
    toEndWith(how: RunReason | RunStatus, text?: string | RegExp): Checked<R, T>;
    /** The run gave an answer that has a schema, holding at least this; without `expected`, any. */
    toHaveOutput(expected?: unknown): Checked<R, T>;
    /** Exactly these transitions were taken: texts, or the transitions of another run or recording. */
    toMatchTransitions(expected: ExpectedTransitions | SomeRun | RecordingSource): Checked<R, T>;
  }
}
