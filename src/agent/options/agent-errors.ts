import type { RunReason, AnyResult } from '../../machines/contract/run-result.ts';

/** A second `run` was asked for while one is live: a conversation has one at a time. */
export class AgentBusyError extends Error {
  override readonly name = 'AgentBusyError';
  readonly code = 'agent-busy';

  constructor(agent: string, runId: string) {
    super(
      `Agent '${agent}' is busy with run ${runId}. Await or cancel it first, say what to do with the option whenBusy, or use another conversation, agent.conversation(id): one for each user or session.`,
    );
  }
}

/** `run` was asked for after `close`. */
export class AgentClosedError extends Error {
  override readonly name = 'AgentClosedError';
  readonly code = 'agent-closed';

  constructor(agent: string) {
    super(`Agent '${agent}' is closed and cannot run again. Create a new one.`);
  }
}

/** Thrown by `run.orThrow()` when a run ended without an answer. `code` is the reason, `result` the whole result. */
export class RunError extends Error {
  override readonly name: string = 'RunError';
  readonly code: RunReason;
  readonly result: AnyResult;

  constructor(result: AnyResult) {
    super(textOf(result));
    this.code = result.reason;
    this.result = result;
  }
}

function textOf({ result, error }: AnyResult): string {
  if (error === undefined) return result;
  return result.includes(error.message) ? `${result} (${error.code})` : `${result} (${error.code}: ${error.message})`;
}

/** Thrown by `run.orThrow()` when `throwException` ended the run. */
export class ToolExecutionError extends RunError {
  override readonly name = 'ToolExecutionError';
}

/** Why a run cannot be resumed. */
export type ResumeErrorCode = 'run-unknown' | 'journal-cannot-resume' | 'machine-changed' | 'upgrade-refused';

/** A run could not be resumed. Nothing was written and nothing was done. */
export class ResumeError extends Error {
  override readonly name = 'ResumeError';
  readonly code: ResumeErrorCode;
  /** Null: no run, as the journal can resume none. */
  readonly runId: string | null;
  /** With `upgrade-refused`: what is different about the agent since the run began, each as a sentence without its full stop. */
  readonly differences: readonly string[];

  constructor(code: ResumeErrorCode, runId: string | null, why: ResumeProblem = {}) {
    const { cause, differences = [] } = why;
    super(resumeText(code, runId, differences), cause === undefined ? undefined : { cause });
    this.code = code;
    this.runId = runId;
    this.differences = differences;
  }
}

interface ResumeProblem {
  readonly cause?: unknown;
  readonly differences?: readonly string[];
}

function resumeText(code: ResumeErrorCode, runId: string | null, differences: readonly string[]): string {
  switch (code) {
    case 'upgrade-refused':
      return `Run ${runId} was started by a different version of this agent's code and cannot continue with this one: ${differences.join('; ')}. Let the old version finish it, end it with agent.cancel, or decide how it continues with the option 'onUpgrade'.`;
    case 'run-unknown':
      return `This agent's journal has no run ${runId}. Check the id, and give the agent the journal in which the run is stored.`;
    case 'journal-cannot-resume':
      return `The agent's journal can start runs, but not resume them. Give the option 'journal': fileJournal, sqliteJournal, postgresJournal or memoryJournal, or a store with a method 'take'.`;
    case 'machine-changed':
      return `Run ${runId} was recorded by another version of the machines, and this one would have taken another path (see 'cause'). Resume it with the version that made it, or give the option 'migrate'.`;
  }
}

/** Why a conversation cannot continue now. */
export type ConversationErrorCode = 'conversation-busy' | 'conversation-waiting';

/**
 * A run of a conversation could not begin: another process is using it (`conversation-busy`), or its last run waits for a person
 * (`conversation-waiting`). The run's result has this as its error; nothing was recorded.
 */
export class ConversationError extends Error {
  override readonly name = 'ConversationError';
  readonly code: ConversationErrorCode;
  readonly conversation: string;
  /** The last run of the conversation; null before there is one. */
  readonly runId: string | null;

  constructor(code: ConversationErrorCode, conversation: string, runId: string | null) {
    const last = runId === null ? '' : `${code === 'conversation-busy' ? '; its last run is' : ', in run'} ${runId}`;
    super(
      code === 'conversation-busy'
        ? `The conversation '${conversation}' is in use by another process${last}. Wait until that process is done.`
        : `The conversation '${conversation}' is waiting${last}. Answer the calls that wait for a person, with approve or reject, then resume it.`,
    );
    this.code = code;
    this.conversation = conversation;
    this.runId = runId;
  }
}
