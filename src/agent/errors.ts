import type { RunReason, RunResult } from '../machines/run-result.ts';

/** A second `run` was asked for while one is live: an agent does one at a time. Make one agent a user or session. */
export class AgentBusyError extends Error {
  override readonly name = 'AgentBusyError';
  readonly code = 'agent-busy';

  constructor(agent: string, runId: string) {
    super(
      `Agent '${agent}' is busy with run ${runId}. Await or cancel it first, or make another agent: they are cheap.`,
    );
  }
}

/** `run` was asked for after `close`. */
export class AgentClosedError extends Error {
  override readonly name = 'AgentClosedError';
  readonly code = 'agent-closed';

  constructor(agent: string) {
    super(`Agent '${agent}' was closed and runs no more. Make a new one.`);
  }
}

/** `run.orThrow()` of a run that did not end with an answer. `code` is the reason, `result` all there is to know. */
export class RunError extends Error {
  override readonly name: string = 'RunError';
  readonly code: RunReason;
  readonly result: RunResult;

  constructor(result: RunResult) {
    super(
      result.error === undefined ? result.result : `${result.result} (${result.error.code}: ${result.error.message})`,
    );
    this.code = result.reason;
    this.result = result;
  }
}

/** `run.orThrow()` of a run that was stopped hard by `throwException`. */
export class ToolExecutionError extends RunError {
  override readonly name = 'ToolExecutionError';
}
