import type { ActorRefFrom, SnapshotFrom } from 'xstate';
import { type Json, isJsonObject } from '../../json/json.ts';
import { describeThrown } from '../../json/to-json.ts';
import type { agentMachine } from '../../machines/agent/agent.ts';
import type { AgentContext } from '../../machines/agent/agent-context.ts';
import { openCallsSettled, outputOf } from '../../machines/agent/endings.ts';
import { stoppedCounted } from '../../machines/agent/escalating.ts';
import {
  AGENT_STATES,
  type AgentOutput,
  type AgentPath,
  type AgentState,
  type AnyResult,
  runResultOf,
} from '../../machines/contract/run-result.ts';
import { stateText } from '../../machines/events/transition-log.ts';
import { pendingApprovals } from './pending-approvals.ts';
import type { PendingApproval, RunState } from './run.ts';

type AgentSnapshot = SnapshotFrom<typeof agentMachine>;

const NOT_STARTED: RunState = {
  state: 'PLANNING',
  path: 'PLANNING',
  plan: null,
  currentStep: 0,
  totalPlanSteps: 0,
  planIterations: 0,
  stepsTaken: 0,
  lastResult: null,
  errorHistory: [],
};

/** What a run's handle shows of its machine at this moment. */
export function stateOf(snapshot: AgentSnapshot | undefined): RunState {
  if (snapshot === undefined) return NOT_STARTED;
  const { plan, stepsTaken, stats } = snapshot.context;
  const { planIterations, lastResult, errorHistory } = stats;
  return {
    state: topState(snapshot),
    path: pathOf(snapshot),
    plan: plan?.steps ?? null,
    currentStep: plan?.index ?? 0,
    totalPlanSteps: plan?.steps.length ?? 0,
    planIterations,
    stepsTaken,
    lastResult,
    errorHistory,
  };
}

function topState({ value }: AgentSnapshot): AgentState {
  return AGENT_STATES.find((state) => (typeof value === 'string' ? value === state : state in value)) ?? 'PLANNING';
}

function pathOf(snapshot: AgentSnapshot): AgentPath {
  const state = topState(snapshot);
  const inner = stateText(snapshot.value).slice(state.length + 1);
  return inner === '' ? state : `${state}.${inner}`;
}

/** What there was of a run when its machine was stopped before the end. */
export interface Stopped {
  readonly context: AgentContext;
  /** The same with nothing left at work. */
  readonly settled: AgentContext;
  readonly pending: readonly PendingApproval[];
}

/** Read before the machine is stopped: a stopped actor has no children any more. */
export function stoppedAt(runId: string, actor: ActorRefFrom<typeof agentMachine>): Stopped {
  const snapshot = actor.getSnapshot();
  return { context: snapshot.context, settled: settledNow(snapshot), pending: pendingApprovals(runId, actor) };
}

/** The result of a run that was released: its calls stay open, since it has not ended. */
export function releasedResult(
  run: Pick<AnyResult, 'runId' | 'durationMs'> & { readonly task: string; readonly reason: 'released' | 'parked' },
  stopped: Stopped | undefined,
): AnyResult {
  const { runId, durationMs, task, reason } = run;
  const result = `The run was ${reason} and can be resumed by its id, ${runId}.`;
  if (stopped === undefined) {
    const { error: _none, ...nothing } = failedOutput(task, undefined, undefined);
    const waiting = { result, status: 'waiting', reason, errorHistory: [], states: ['PLANNING'] } as const;
    return runResultOf({ ...nothing, ...waiting }, { runId, durationMs, pending: [] });
  }
  const { context, settled, pending } = stopped;
  const output = outputOf({ ...context, stats: settled.stats, ending: { reason, result, error: null } });
  return runResultOf(output, { runId, durationMs, pending });
}

/** The output of a run that could not come to its end by itself: its journal failed, or Signalbox did. */
export function failedOutput(task: string, settled: AgentContext | undefined, thrown: unknown): AgentOutput {
  const { message, code } = describeThrown(thrown ?? new Error('the machine stopped without an output'));
  const step = settled?.stepsTaken ?? 0;
  const error = { code: code ?? 'internal', message, step };
  const result = `Unable to complete task: ${message}`;
  if (settled === undefined) {
    const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
    const nothing = {
      stepsTaken: 0,
      stepsLimit: 0,
      toolsUsed: [],
      planIterations: 0,
      usage,
      errorHistory: [error],
      states: ['PLANNING', 'COMPLETION'] as const,
      messages: [{ role: 'user', content: task }] as const,
    };
    return { result, success: false, status: 'failed', reason: 'thrown', error, ...nothing };
  }
  const { stats } = settled;
  return outputOf({
    ...settled,
    stats: { ...stats, states: [...stats.states, 'COMPLETION'], errorHistory: [...stats.errorHistory, error] },
    ending: { reason: 'thrown', result, error },
  });
}

/** The run as if everything at work were stopped now: what that has used counts, and each open call has a result. */
export function settledNow(snapshot: AgentSnapshot): AgentContext {
  const self = { getSnapshot: () => snapshot };
  const context = { ...snapshot.context, ...stoppedCounted(snapshot.context, self) };
  return { ...context, ...openCallsSettled(context, self) };
}

/** The system prompt of a request to a model. */
export function promptOf(request: Json): string {
  const messages: Json = isJsonObject(request) ? (request.messages ?? null) : null;
  const first: unknown = Array.isArray(messages) ? messages[0] : undefined;
  return isJsonObject(first) && typeof first.content === 'string' ? first.content : '';
}
