import { expect, test } from 'vitest';
import type { RunEventBody } from '../../src/machines/events/run-events.ts';
import type { OutputHandler } from '../../src/output/output-handler.ts';
import { outputListener, type OutputListenerOptions } from '../../src/output/output-listener.ts';
import { callOf, eventsOf, repliedWith, resultOf, weatherRun } from './events.ts';
import { recordingHandler } from './recording-handler.ts';

function shownOf(bodies: readonly RunEventBody[], options?: OutputListenerOptions): readonly string[] {
  const { handler, calls } = recordingHandler();
  const listen = outputListener(handler, options);
  for (const event of eventsOf(bodies)) listen(event);
  return calls.map(([name, ...args]) => (args.length === 0 ? name : `${name} ${JSON.stringify(args)}`));
}

test('a run is shown with its query, steps, thoughts, calls, states and answer, in order', () => {
  const { handler, calls } = recordingHandler();
  const listen = outputListener(handler, { model: 'practice' });
  for (const event of weatherRun()) listen(event);
  expect(calls).toEqual([
    ['processingStart', 'How warm is it in Austin?', 20, 'practice'],
    ['stepHeader', 1, 20],
    ['startProgress', 'Thinking'],
    ['stopProgress'],
    ['thought', 'I need the weather.'],
    ['goal', 'Know the weather in Austin.'],
    ['stateInfo', 'model.replied: PLANNING → DIRECT_EXECUTION'],
    ['toolUsage', 'get_weather'],
    ['json', { city: 'Austin' }, 'Arguments'],
    ['startProgress', 'Running get_weather'],
    ['stopProgress'],
    ['toolComplete'],
    ['json', { status: 'success', data: '21 degrees' }, 'Result'],
    ['stateInfo', 'tool.succeeded: DIRECT_EXECUTION → PLANNING'],
    ['stepHeader', 2, 20],
    ['startProgress', 'Thinking'],
    ['stopProgress'],
    ['stateInfo', 'model.replied: PLANNING → COMPLETION'],
    ['finalAnswer', '21 degrees.'],
    ['completion', 2, 20],
  ]);
});

test('what is said to a run while it works is shown with what it is for', () => {
  expect(
    shownOf([
      { type: 'message.received', id: 'a', kind: 'steer', text: 'Without museums.' },
      { type: 'message.received', id: 'b', kind: 'queue', text: 'Now book it.' },
      { type: 'message.delivered', id: 'a', text: 'Without museums.', step: 2 },
    ]),
  ).toEqual([
    'info ["Message for the next step: Without museums."]',
    'info ["Message for the next run: Now book it."]',
  ]);
});

test('nothing of a replay is shown', () => {
  const { handler, calls } = recordingHandler();
  const listen = outputListener(handler);
  for (const event of weatherRun()) listen({ ...event, replayed: true });
  expect(calls).toEqual([]);
});

test('a run that goes on after a replayed beginning is shown from there, and waiting for it is over', () => {
  const { handler, calls } = recordingHandler();
  const listen = outputListener(handler);
  for (const event of weatherRun()) listen({ ...event, replayed: event.seq < 12 });
  expect(calls.map(([name]) => name)).toEqual(['stopProgress', 'stateInfo', 'finalAnswer', 'completion']);
});

test('the answer is streamed without its envelope and without a spinner, and the stream ends with the reply', () => {
  const token = { type: 'model.token', attempt: 1, index: 0, thought: '', answer: '' } as const;
  expect(
    shownOf([
      { type: 'step.started', step: 1, limit: 20, kind: 'model' },
      { ...token, kind: 'reasoning', text: 'hm' },
      { ...token, kind: 'text', text: '{"answer": "' },
      { ...token, kind: 'text', text: '21 ', answer: '21 ' },
      { ...token, kind: 'text', text: 'degrees.', answer: '21 degrees.' },
      repliedWith('21 degrees.'),
    ]),
  ).toEqual([
    'stepHeader [1,20]',
    'startProgress ["Thinking"]',
    'stopProgress',
    'startProgress ["Thinking"]',
    'stopProgress',
    'streamToken ["21 "]',
    'streamToken ["degrees."]',
    'streamEnd',
  ]);
});

test('a retry ends the stream of the failed attempt and says why', () => {
  expect(
    shownOf([
      { type: 'step.started', step: 1, limit: 20, kind: 'model' },
      { type: 'model.token', attempt: 1, index: 0, kind: 'text', text: '21 ', thought: '', answer: '21 ' },
      { type: 'model.retrying', attempt: 1, error: { code: 'server-error', message: 'HTTP 500.' } },
    ]).slice(2),
  ).toEqual([
    'stopProgress',
    'streamToken ["21 "]',
    'streamEnd',
    'warning ["Attempt 1 at the model failed, trying again: HTTP 500."]',
    'startProgress ["Trying the model again"]',
  ]);
});

test('each step of a plan is shown when its turn comes', () => {
  const steps = [
    { tool: 'a', args: {}, complete: true },
    { tool: 'b', args: {}, complete: true },
  ];
  const shown = shownOf([
    { type: 'plan.made', steps, iteration: 1 },
    { type: 'step.started', step: 2, limit: 20, kind: 'plan' },
    { type: 'step.started', step: 3, limit: 20, kind: 'plan' },
  ]);
  expect(shown.map((line) => line.replace(JSON.stringify(steps), 'steps'))).toEqual([
    'plan [steps,0]',
    'stepHeader [2,20]',
    'stepHeader [3,20]',
    'plan [steps,1]',
  ]);
});

test('results of calls that run at once say whose they are', () => {
  const [first, second] = [callOf('c1', 'Austin', 'warm'), callOf('c2', 'Oslo', 'cold')];
  const shown = shownOf([first.started, second.started, second.finished, first.finished]);
  expect(shown.filter((line) => line.includes('Result') || line.startsWith('startProgress'))).toEqual([
    'startProgress ["Running get_weather"]',
    'startProgress ["Running get_weather, get_weather"]',
    'json [{"status":"success","data":"cold"},"Result of get_weather(Oslo)"]',
    'startProgress ["Running get_weather"]',
    'json [{"status":"success","data":"warm"},"Result"]',
  ]);
});

test('no spinner runs while a person is asked, even beside a running call', () => {
  const { started } = callOf('c1', 'Austin', 'warm');
  const asked = { callId: 'c2', tool: 'delete_all', args: {} };
  const shown = shownOf([
    { type: 'approval.requested', ...asked, reason: 'Its policy is confirm.' },
    started,
    { type: 'tool.denied', ...asked, reason: 'denied by user' },
  ]);
  expect(shown).toEqual([
    'info ["delete_all waits for approval. Its policy is confirm."]',
    'toolUsage ["get_weather"]',
    'json [{"city":"Austin"},"Arguments"]',
    'warning ["delete_all was not run: denied by user"]',
    'startProgress ["Running get_weather"]',
  ]);
});

test('a denial that names its tool already is shown as it is', () => {
  const reason = "Tool 'delete_all' is denied by policy";
  expect(shownOf([{ type: 'tool.denied', callId: 'c1', tool: 'delete_all', args: {}, reason }])).toEqual([
    `warning ["${reason}"]`,
  ]);
});

test('a call that failed shows its error once, and one that never ran is named first', () => {
  const failed = { status: 'error', error: "Tool 'get_wether' not found" } as const;
  const shown = shownOf([
    { type: 'tool.finished', callId: 'c1', tool: 'get_wether', args: {}, result: failed, ok: false, durationMs: 0 },
  ]);
  expect(shown).toEqual([
    'toolUsage ["get_wether"]',
    'json [{},"Arguments"]',
    'toolComplete',
    `error ["Tool 'get_wether' not found"]`,
  ]);
});

test.each([
  ['failed', 'error'],
  ['stopped', 'warning'],
  ['cancelled', 'warning'],
] as const)('a run that is %s ends with its sentence as %s and shows no answer', (status, method) => {
  const result = resultOf({ status, success: false, result: 'It ended.' });
  expect(shownOf([{ type: 'run.finished', result }])).toEqual([`${method} ["It ended."]`, 'completion [2,20]']);
});

test('an answer that was cut off is shown with the sentence that says so, and one without a word as that alone', () => {
  const error = { code: 'length', message: 'It was cut off.', step: 1 };
  const cut = { status: 'stopped', reason: 'length', success: false, error } as const;
  const shownAs = (result: string) => shownOf([{ type: 'run.finished', result: resultOf({ ...cut, result }) }])[0];
  expect(shownAs('21 deg')).toBe('warning ["It was cut off.\\n21 deg"]');
  expect(shownAs('It was cut off.')).toBe('warning ["It was cut off."]');
  const other = resultOf({ ...cut, reason: 'max-steps', result: 'Reached the limit.' });
  expect(shownOf([{ type: 'run.finished', result: other }])[0]).toBe('warning ["Reached the limit."]');
});

test('figures are shown only where they are wanted', () => {
  const events = [repliedWith('21'), { type: 'run.finished', result: resultOf() }] as const;
  const scopes = (shown: readonly string[]) => shown.filter((line) => line.startsWith('stats')).length;
  expect(scopes(shownOf(events))).toBe(0);
  expect(scopes(shownOf(events, { showStats: true }))).toBe(2);
});

test('every other event has its own words', () => {
  expect(
    shownOf([
      { type: 'recovery.step', callId: 'c1', tool: 'fetch', step: 'retry', attempt: 2, error: 'busy' },
      { type: 'escalation.raised', source: 'fetch', reason: 'no access', severity: 'high' },
      { type: 'loop.suspected', callId: 'c1', tool: 'fetch', verdict: 'nudge' },
      { type: 'loop.suspected', callId: 'c1', tool: 'fetch', verdict: 'refuse' },
      { type: 'mcp.changed', server: 'files', state: 'CONNECTING', step: null, tools: 0 },
      { type: 'mcp.changed', server: 'files', state: 'READY', step: null, tools: 1 },
      { type: 'mcp.changed', server: 'files', state: 'FAILED', step: null, tools: 0 },
      { type: 'mcp.changed', server: 'desk', state: 'AUTHORIZING', step: 'DISCOVERING', tools: 0 },
      { type: 'mcp.changed', server: 'desk', state: 'AUTHORIZING', step: 'AWAITING_USER', tools: 0 },
      { type: 'warning', message: 'The context is small.' },
    ]),
  ).toEqual([
    'info ["Repairing the call of fetch: retry (attempt 2)."]',
    'warning ["fetch escalates (high): no access"]',
    'warning ["fetch is called repeatedly without progress. The model was warned."]',
    'warning ["fetch is called repeatedly without progress. The call is refused."]',
    'info ["MCP server files is ready: 1 tool."]',
    'warning ["MCP server files: FAILED."]',
    'warning ["MCP server desk needs a person to sign in: \'signalbox mcp login desk\'."]',
    'warning ["The context is small."]',
  ]);
});

test('an output whose every method throws or rejects disturbs nobody', async () => {
  const throws: OutputHandler = new Proxy(
    {},
    {
      get: () => () => {
        throw new Error('broken output');
      },
    },
  );
  const rejects: OutputHandler = new Proxy({}, { get: () => () => Promise.reject(new Error('broken later')) });
  const noMethods: OutputHandler = new Proxy({}, { get: () => 'not a function' });
  for (const handler of [throws, rejects, noMethods]) {
    const listen = outputListener(handler, { showStats: true, debug: true });
    for (const event of weatherRun()) expect(() => listen(event)).not.toThrow();
  }
  // Rejections that nobody takes are reported after the microtasks.
  await new Promise((resolve) => setImmediate(resolve));
});

test('a handler may be an object with a single method, which is called as a method of it', () => {
  class Log implements OutputHandler {
    readonly lines: string[] = [];
    finalAnswer(text: string): void {
      this.lines.push(text);
    }
  }
  const log = new Log();
  const listen = outputListener(log);
  for (const event of weatherRun()) listen(event);
  expect(log.lines).toEqual(['21 degrees.']);
});

test('a reply that is cut off by a cancel is ended before anything else is shown', () => {
  const shown = shownOf([
    { type: 'step.started', step: 1, limit: 20, kind: 'model' },
    { type: 'model.token', attempt: 1, index: 0, kind: 'text', text: '21 ', thought: '', answer: '21 ' },
    { type: 'state.changed', from: 'PLANNING', to: 'COMPLETION', event: 'run.cancelled' },
  ]);
  expect(shown.slice(-3)).toEqual([
    'streamToken ["21 "]',
    'streamEnd',
    'stateInfo ["run.cancelled: PLANNING → COMPLETION"]',
  ]);
});
