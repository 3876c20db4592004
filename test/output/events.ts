import type { RunEvent, RunEventBody } from '../../src/machines/events/run-events.ts';
import type { RunResult } from '../../src/machines/contract/run-result.ts';

/** Numbers events as a run does. */
export function eventsOf(bodies: readonly RunEventBody[], replayed = false): readonly RunEvent[] {
  return bodies.map((body, index) => ({ ...body, seq: index + 1, replayed }));
}

/** A result as a run ends with; answered unless told otherwise. */
export function resultOf(changes: Partial<RunResult> = {}): RunResult {
  const answered: RunResult = {
    runId: 'run-1',
    result: '21 degrees.',
    success: true,
    status: 'answered',
    reason: 'answer',
    stepsTaken: 2,
    stepsLimit: 20,
    toolsUsed: ['get_weather'],
    planIterations: 0,
    usage: { inputTokens: 30, outputTokens: 12, totalTokens: 42 },
    errorHistory: [],
    states: ['PLANNING', 'DIRECT_EXECUTION', 'PLANNING', 'COMPLETION'],
    messages: [],
    durationMs: 1200,
    output: null,
  };
  return Object.assign(answered, changes);
}

/** A model's reply without calls. */
export function repliedWith(text: string): RunEventBody {
  return {
    type: 'model.replied',
    text,
    toolCalls: [],
    usage: { inputTokens: 30, outputTokens: 12, totalTokens: 42 },
    stats: { tokensPerSecond: 41.25, timeToFirstTokenMs: 350 },
    attempts: 1,
    strategy: 'native',
    repairs: [],
  };
}

/** A call of a tool that ran and gave this data. */
export function callOf(
  callId: string,
  city: string,
  data: string,
): { readonly started: RunEventBody; readonly finished: RunEventBody } {
  const call = { callId, tool: 'get_weather', args: { city } };
  return {
    started: { type: 'tool.started', ...call },
    finished: { type: 'tool.finished', ...call, result: { status: 'success', data }, ok: true, durationMs: 3 },
  };
}

/** A whole run of two turns and one call. */
export function weatherRun(): readonly RunEvent[] {
  const call = callOf('c1', 'Austin', '21 degrees');
  return eventsOf([
    { type: 'run.started', runId: 'run-1', agent: 'assistant', task: 'How warm is it in Austin?', maxSteps: 20 },
    { type: 'step.started', step: 1, limit: 20, kind: 'model' },
    repliedWith(''),
    { type: 'thought', text: 'I need the weather.' },
    { type: 'goal', text: 'Know the weather in Austin.' },
    { type: 'state.changed', from: 'PLANNING', to: 'DIRECT_EXECUTION', event: 'model.replied' },
    call.started,
    call.finished,
    { type: 'state.changed', from: 'DIRECT_EXECUTION', to: 'PLANNING', event: 'tool.succeeded' },
    { type: 'step.started', step: 2, limit: 20, kind: 'model' },
    repliedWith('21 degrees.'),
    { type: 'state.changed', from: 'PLANNING', to: 'COMPLETION', event: 'model.replied' },
    { type: 'answer', text: '21 degrees.' },
    { type: 'run.finished', result: resultOf() },
  ]);
}
