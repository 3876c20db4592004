import type { AgentContext, Ending } from './agent-context.ts';
import { accounted, outcomesInOrder, planMessages } from './execution.ts';
import { closeOpenCalls } from './conversation.ts';
import { toolMessage, withMessages } from './conversation-updates.ts';
import type { AgentOutput, RunReason, RunStatus } from './run-result.ts';

const STATUS: { readonly [reason in RunReason]: RunStatus } = {
  answer: 'answered',
  'max-steps': 'stopped',
  loop: 'stopped',
  'plan-limit': 'stopped',
  timeout: 'stopped',
  budget: 'stopped',
  'llm-error': 'failed',
  'tool-error': 'failed',
  thrown: 'failed',
  cancelled: 'cancelled',
};

/** The endings that need no more than the run's memory. */
export function endingFor(
  context: AgentContext,
  reason: 'answer' | 'max-steps' | 'loop' | 'plan-limit' | 'timeout' | 'budget',
): Ending {
  return { reason, result: endingText(context, reason), error: null };
}

function endingText(
  context: AgentContext,
  reason: 'answer' | 'max-steps' | 'loop' | 'plan-limit' | 'timeout' | 'budget',
): string {
  switch (reason) {
    case 'answer':
      return context.reply?.answer ?? '';
    case 'max-steps':
      return `Reached maximum steps limit (${context.settings.maxSteps} steps).`;
    case 'loop':
      return 'Task stopped due to repeated tool call loop.';
    case 'plan-limit':
      return `Reached maximum plan iterations limit (${context.settings.maxPlanIterations} plans).`;
    case 'timeout':
      return `Reached the time limit of the run (${context.settings.totalMs ?? 0} ms).`;
    case 'budget':
      return 'Reached the budget of the run.';
  }
}

/** The books, closed: results that came in are kept and counted, and every call that has none gets one. */
export function conversationClosed(context: AgentContext): Partial<AgentContext> & Pick<AgentContext, 'messages'> {
  const { batch, plan } = context;
  const planned = plan === null ? [] : planMessages(context, plan, 'The run ended before the plan was done.');
  const settled = outcomesInOrder(batch).flatMap((outcome) => {
    const call = batch?.calls.find(({ request }) => request.callId === outcome.callId);
    return call === undefined ? [] : [toolMessage(context, call.request, outcome.tool, outcome.result)];
  });
  const inFlight = batch !== null || context.step !== null;
  const text = inFlight
    ? 'cancelled: if this call had started, nobody knows whether it took effect'
    : 'cancelled: the run ended before this call had a result';
  return {
    ...(batch === null
      ? {}
      : accounted(
          context,
          batch.calls.map(({ request }) => request),
          outcomesInOrder(batch),
        )),
    messages: closeOpenCalls(withMessages(context.messages, ...planned, ...settled), text),
  };
}

/** What the machine ends with. */
export function outputOf(context: AgentContext): AgentOutput {
  const ending = context.ending ?? {
    reason: 'llm-error' as const,
    result: 'The run ended without a reason.',
    error: null,
  };
  const status = STATUS[ending.reason];
  const error = ending.error ?? (status === 'answered' ? null : context.lastTrouble);
  return {
    result: ending.result,
    success: status === 'answered',
    status,
    reason: ending.reason,
    ...(error === null ? {} : { error }),
    stepsTaken: context.stepsTaken,
    stepsLimit: context.settings.maxSteps,
    toolsUsed: context.toolsUsed,
    planIterations: context.planIterations,
    usage: context.usage,
    errorHistory: context.errorHistory,
    states: context.states,
    messages: context.messages.slice(context.historyLength),
  };
}
