import type { SnapshotFrom } from 'xstate';
import { type Json, isJsonObject } from '../../json/json.ts';
import { describeThrown } from '../../json/to-json.ts';
import type { agentMachine } from '../../machines/agent/agent.ts';
import { openCallsSettled, outputOf } from '../../machines/agent/endings.ts';
import { AGENT_STATES, type AgentOutput, type AgentPath, type AgentState } from '../../machines/contract/run-result.ts';
import { stateText } from '../../machines/events/transition-log.ts';
import type { RunState } from './run.ts';

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

/** The state of a run that was released: its calls stay open, since it has not ended. */
export function releasedOutput(
  { runId, task, reason }: { readonly runId: string; readonly task: string; readonly reason: 'released' | 'parked' },
  snapshot: AgentSnapshot | undefined,
): AgentOutput {
  const result = `The run was ${reason} and can be resumed by its id, ${runId}.`;
  if (snapshot !== undefined) return outputOf({ ...snapshot.context, ending: { reason, result, error: null } });
  const { error: _none, ...output } = failedOutput(task, snapshot);
  return { ...output, result, status: 'waiting', reason, errorHistory: [], states: ['PLANNING'] };
}

/** The output of a run that could not come to its end by itself: its journal failed, or Signalbox did. */
export function failedOutput(
  task: string,
  snapshot: AgentSnapshot | undefined,
  thrown: unknown = snapshot?.error,
): AgentOutput {
  const { message, code } = describeThrown(thrown ?? new Error('the machine stopped without an output'));
  const step = snapshot?.context.stepsTaken ?? 0;
  const error = { code: code ?? 'internal', message, step };
  const result = `Unable to complete task: ${message}`;
  if (snapshot === undefined) {
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
  const context = { ...snapshot.context, ...openCallsSettled(snapshot.context) };
  const { stats } = context;
  return outputOf({
    ...context,
    stats: { ...stats, states: [...stats.states, 'COMPLETION'], errorHistory: [...stats.errorHistory, error] },
    ending: { reason: 'thrown', result, error },
  });
}

/** The system prompt of a request to a model. */
export function promptOf(request: Json): string {
  const messages: Json = isJsonObject(request) ? (request.messages ?? null) : null;
  const first: unknown = Array.isArray(messages) ? messages[0] : undefined;
  return isJsonObject(first) && typeof first.content === 'string' ? first.content : '';
}
