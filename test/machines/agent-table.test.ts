import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { ModelError, type ModelReply } from '../../src/actors/model.ts';
import type { SteerOptions } from '../../src/agent/options/run-options.ts';
import type { OutputSchema } from '../../src/agent/options/output-options.ts';
import type { AnyResult } from '../../src/machines/contract/run-result.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedModel, type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { calls, envelope, plan } from '../support/replies.ts';

interface Row {
  readonly from: string;
  readonly when: string;
  readonly to: string;
  readonly replies: readonly ScriptedReply[];
  readonly options?: AgentOptions<unknown, OutputSchema>;
  /** Somebody says this while the model is asked for the first time; it answers a moment later. */
  readonly steer?: SteerOptions;
  /** The moves of the agent that the row is about, as `from → to`; all must occur, in this order. */
  readonly moves: readonly string[];
  readonly result: Partial<AnyResult>;
  readonly check?: (seen: { readonly model: ScriptedModel; readonly tools: Tools; readonly result: AnyResult }) => void;
}

type Tools = ReturnType<typeof makeTools>;

const makeTools = () => ({
  look: fakeTool('look', [{ found: 'tea', price: 3 }]),
  buy: fakeTool('buy', [{ receipt: 7 }]),
  broken: fakeTool('broken', [new Error('out of order')]),
  forbidden: fakeTool('forbidden', [null], { policy: 'deny' }),
});

const fast = { retry: { backoff: recover.constant(0) } };
const offline = () => new ModelError('connect-failed', 'nobody is there');
const lastUserText = (model: ScriptedModel): string =>
  String(model.requests.at(-1)?.messages.findLast(({ role }) => role === 'user')?.content);

const PRICE = { type: 'object', properties: { price: { type: 'number' } }, required: ['price'] };
const notFour = (value: unknown): void => {
  if (JSON.stringify(value) === '{"price":4}') throw new Error('not four');
};

const ASK = 'PLANNING.ASKING → PLANNING.DECIDING';

const rows: readonly Row[] = [
  {
    from: 'PLANNING',
    when: 'the step limit is reached',
    to: 'COMPLETION (stopped)',
    options: { maxSteps: 2 },
    replies: [calls(['look', { n: 1 }]), calls(['look', { n: 2 }])],
    moves: ['PLANNING.CHECKING_BUDGET → COMPLETION'],
    result: {
      status: 'stopped',
      reason: 'max-steps',
      result: 'Reached maximum steps limit (2 steps).',
      stepsTaken: 2,
      success: false,
    },
  },
  {
    from: 'PLANNING',
    when: 'the total time is over',
    to: 'COMPLETION (stopped)',
    options: { timeouts: { totalMs: 20 } },
    replies: [() => new Promise<string>(() => undefined)],
    moves: ['PLANNING.ASKING → COMPLETION'],
    result: { status: 'stopped', reason: 'timeout' },
  },
  {
    from: 'PLANNING',
    when: 'the reply is an answer in the envelope',
    to: 'COMPLETION (answered)',
    replies: [envelope({ thought: 'easy', answer: 'Tea.' })],
    moves: [ASK, 'PLANNING.DECIDING → COMPLETION'],
    result: { status: 'answered', reason: 'answer', result: 'Tea.', success: true, stepsTaken: 1 },
  },
  {
    from: 'PLANNING',
    when: 'the reply is conversational text',
    to: 'COMPLETION (answered)',
    replies: ['Hello! How can I help?'],
    moves: ['PLANNING.DECIDING → COMPLETION'],
    result: { status: 'answered', result: 'Hello! How can I help?' },
  },
  {
    from: 'PLANNING',
    when: 'the reply has a valid plan, which wins over a call beside it',
    to: 'EXECUTING_PLAN at step 0',
    replies: [
      {
        content: '',
        toolCalls: [
          { id: 'p', name: 'make_plan', arguments: { plan: [{ tool: 'look' }] } },
          { id: 'b', name: 'buy', arguments: {} },
        ],
      },
      'Done.',
    ],
    moves: ['PLANNING.DECIDING → EXECUTING_PLAN.NEXT_STEP', 'EXECUTING_PLAN.NEXT_STEP → EXECUTING_PLAN.RUNNING_STEP'],
    result: { status: 'answered', planIterations: 1, toolsUsed: ['look'], stepsTaken: 3 },
    check: ({ tools, result }) => {
      expect(tools.buy.calls).toEqual([]);
      expect(result.messages.find(({ toolCallId }) => toolCallId === 'b')?.content).toBe('not run: a plan was given');
    },
  },
  {
    from: 'PLANNING',
    when: 'the reply has a call and a premature answer beside it',
    to: 'DIRECT_EXECUTION',
    options: { toolCalling: 'json' },
    replies: [envelope({ tool: 'look', tool_args: { n: 1 }, answer: 'I guess tea.' }), envelope({ answer: 'Tea.' })],
    moves: ['PLANNING.DECIDING → DIRECT_EXECUTION.RUNNING_CALLS'],
    result: { status: 'answered', result: 'Tea.', toolsUsed: ['look'] },
  },
  {
    from: 'PLANNING',
    when: 'the reply has a call whose arguments were cut off',
    to: 'DIRECT_EXECUTION, where it is InvalidArgs and does not run',
    replies: [
      { content: '', toolCalls: [{ name: 'look', arguments: '{"city": "Aus' }], finishReason: 'length' },
      'Sorry.',
    ],
    moves: [
      'PLANNING.DECIDING → DIRECT_EXECUTION.RUNNING_CALLS',
      'DIRECT_EXECUTION.RUNNING_CALLS → ERROR_RECOVERY.ASSESSING',
    ],
    result: { status: 'answered', errorHistory: [expect.objectContaining({ code: 'invalid-args', tool: 'look' })] },
    check: ({ tools }) => expect(tools.look.calls).toEqual([]),
  },
  {
    from: 'PLANNING',
    when: 'the reply is empty',
    to: 'PLANNING with a correction',
    replies: ['', 'Hello.'],
    moves: ['PLANNING.DECIDING → PLANNING.CHECKING_BUDGET', 'PLANNING.DECIDING → COMPLETION'],
    result: { status: 'answered', result: 'Hello.', stepsTaken: 2 },
    check: ({ model }) => expect(lastUserText(model)).toContain('empty'),
  },
  {
    from: 'PLANNING',
    when: 'the answer was cut off by the length limit',
    to: 'COMPLETION (length)',
    replies: [{ content: 'The answer is qui', finishReason: 'length' }],
    moves: [ASK, 'PLANNING.DECIDING → COMPLETION'],
    result: { status: 'stopped', reason: 'length', result: 'The answer is qui', success: false, stepsTaken: 1 },
  },
  {
    from: 'PLANNING',
    when: 'the model refuses to answer',
    to: 'COMPLETION (refused)',
    replies: [{ content: 'I cannot help with that.', finishReason: 'refusal' }],
    moves: [ASK, 'PLANNING.DECIDING → COMPLETION'],
    result: { status: 'failed', reason: 'refused', result: 'I cannot help with that.', success: false, stepsTaken: 1 },
  },
  {
    from: 'PLANNING',
    when: 'a content filter stopped the reply',
    to: 'COMPLETION (content-filter)',
    replies: [{ content: 'First, take', finishReason: 'content_filter' }],
    moves: [ASK, 'PLANNING.DECIDING → COMPLETION'],
    result: { status: 'failed', reason: 'content-filter', result: 'First, take', success: false, stepsTaken: 1 },
  },
  {
    from: 'PLANNING',
    when: 'the plan is malformed',
    to: 'PLANNING with a correction',
    options: { toolCalling: 'json' },
    replies: [envelope({ plan: [{ step: 1, tool_args: {} }] }), envelope({ answer: 'Without a plan, then.' })],
    moves: ['PLANNING.DECIDING → PLANNING.CHECKING_BUDGET'],
    result: { status: 'answered', planIterations: 0 },
    check: ({ model }) => expect(lastUserText(model)).toContain('"tool"'),
  },
  {
    from: 'PLANNING',
    when: 'the third reply in a row is unusable',
    to: 'COMPLETION (llm-error)',
    replies: ['', '', ''],
    moves: [
      'PLANNING.DECIDING → PLANNING.CHECKING_BUDGET',
      'PLANNING.DECIDING → PLANNING.CHECKING_BUDGET',
      'PLANNING.DECIDING → COMPLETION',
    ],
    result: {
      status: 'failed',
      reason: 'llm-error',
      result: 'Unable to complete task due to LLM error: no usable reply',
      stepsTaken: 3,
    },
  },
  {
    from: 'PLANNING',
    when: 'it is plan number maxPlanIterations + 1',
    to: 'PLANNING once with the demand to answer',
    options: { maxPlanIterations: 1 },
    replies: [plan(['look', { n: 1 }]), plan(['look', { n: 2 }]), 'All right: tea.'],
    moves: [
      'PLANNING.DECIDING → EXECUTING_PLAN.NEXT_STEP',
      'PLANNING.DECIDING → PLANNING.CHECKING_BUDGET',
      'PLANNING.DECIDING → COMPLETION',
    ],
    result: { status: 'answered', result: 'All right: tea.', planIterations: 1 },
    check: ({ tools, model }) => {
      expect(tools.look.calls).toEqual([{ n: 1 }]);
      expect(lastUserText(model)).toContain('answer the user now');
    },
  },
  {
    from: 'PLANNING',
    when: 'a plan follows the demand to answer',
    to: 'COMPLETION (plan-limit)',
    options: { maxPlanIterations: 1 },
    replies: [plan(['look', { n: 1 }]), plan(['look', { n: 2 }]), plan(['look', { n: 3 }])],
    moves: ['PLANNING.DECIDING → PLANNING.CHECKING_BUDGET', 'PLANNING.DECIDING → COMPLETION'],
    result: { status: 'stopped', reason: 'plan-limit' },
    check: ({ tools }) => expect(tools.look.calls).toEqual([{ n: 1 }]),
  },
  {
    from: 'EXECUTING_PLAN',
    when: 'a step is done, and after the last one',
    to: 'the next step; then PLANNING with all results',
    replies: [plan(['look', { n: 1 }], ['buy', { item: '$PREV.found', price: '$STEP_0.price' }]), 'Bought.'],
    moves: [
      'EXECUTING_PLAN.RUNNING_STEP → EXECUTING_PLAN.NEXT_STEP',
      'EXECUTING_PLAN.NEXT_STEP → EXECUTING_PLAN.RUNNING_STEP',
      'EXECUTING_PLAN.NEXT_STEP → PLANNING.CHECKING_BUDGET',
    ],
    result: { status: 'answered', stepsTaken: 4 },
    check: ({ tools, model }) => {
      expect(tools.buy.calls).toEqual([{ item: 'tea', price: 3 }]);
      expect(model.requests).toHaveLength(2);
      expect(String(model.requests[1]?.messages.at(-1)?.content)).toContain('"receipt":7');
    },
  },
  {
    from: 'EXECUTING_PLAN',
    when: 'the step limit is reached',
    to: 'COMPLETION (stopped)',
    options: { maxSteps: 2 },
    replies: [plan(['look', { n: 1 }], ['look', { n: 2 }])],
    moves: ['EXECUTING_PLAN.NEXT_STEP → COMPLETION'],
    result: { status: 'stopped', reason: 'max-steps', stepsTaken: 2 },
    check: ({ tools }) => expect(tools.look.calls).toEqual([{ n: 1 }]),
  },
  {
    from: 'EXECUTING_PLAN',
    when: 'a step fails',
    to: 'ERROR_RECOVERY, the plan is dropped, and the model gets everything to replan',
    replies: [plan(['look', { n: 1 }], ['broken', { x: 2 }], ['buy']), 'I could not buy it.'],
    moves: [
      'EXECUTING_PLAN.RUNNING_STEP → ERROR_RECOVERY.ASSESSING',
      'ERROR_RECOVERY.ASSESSING → PLANNING.CHECKING_BUDGET',
    ],
    result: {
      status: 'answered',
      errorHistory: [{ code: 'execution', message: 'Tool execution failed: out of order', step: 3, tool: 'broken' }],
    },
    check: ({ tools, model }) => {
      expect(tools.buy.calls).toEqual([]);
      const told = lastUserText(model);
      expect(told).toMatch(/^Tool execution failed\. Please try an alternative approach\./);
      for (const part of ['broken', '{"x":2}', 'out of order', 'Buy tea', 'look({"n":1})', 'buy'])
        expect(told).toContain(part);
    },
  },
  {
    from: 'EXECUTING_PLAN',
    when: 'a step is denied',
    to: 'PLANNING: denied is not failed, and the steps behind it do not run',
    replies: [plan(['look', { n: 1 }], ['forbidden'], ['buy']), 'I may not.'],
    moves: ['EXECUTING_PLAN.RUNNING_STEP → PLANNING.CHECKING_BUDGET'],
    result: { status: 'answered', errorHistory: [], toolsUsed: ['look'] },
    check: ({ tools, model }) => {
      expect(tools.buy.calls).toEqual([]);
      const told = String(model.requests[1]?.messages.at(-1)?.content);
      for (const part of ['a step of it was denied', "Tool 'forbidden' is denied by policy", '"not_run":["buy"]'])
        expect(told).toContain(part);
    },
  },
  {
    from: 'EXECUTING_PLAN',
    when: 'a placeholder names nothing',
    to: 'ERROR_RECOVERY; no literal is ever sent to a tool',
    replies: [plan(['look', { n: 1 }], ['buy', { item: '$PREV.nothing' }]), 'Sorry.'],
    moves: ['EXECUTING_PLAN.RUNNING_STEP → ERROR_RECOVERY.ASSESSING'],
    result: { status: 'answered' },
    check: ({ tools, model }) => {
      expect(tools.buy.calls).toEqual([]);
      expect(lastUserText(model)).toContain('$PREV.nothing names nothing');
    },
  },
  {
    from: 'DIRECT_EXECUTION',
    when: 'all calls have settled',
    to: 'PLANNING, one result for every call id, in call order',
    replies: [calls(['buy', {}, 'id-1'], ['look', {}, 'id-2']), 'Done.'],
    moves: ['DIRECT_EXECUTION.RUNNING_CALLS → PLANNING.CHECKING_BUDGET'],
    result: { status: 'answered', toolsUsed: ['buy', 'look'] },
    check: ({ result }) =>
      expect(result.messages.filter(({ role }) => role === 'tool').map(({ toolCallId }) => toolCallId)).toEqual([
        'id-1',
        'id-2',
      ]),
  },
  {
    from: 'DIRECT_EXECUTION',
    when: 'all calls have settled and one was not mended',
    to: 'ERROR_RECOVERY, one context that names all',
    replies: [calls(['look'], ['broken', { a: 1 }], ['missing']), 'Sorry.'],
    moves: [
      'DIRECT_EXECUTION.RUNNING_CALLS → ERROR_RECOVERY.ASSESSING',
      'ERROR_RECOVERY.ASSESSING → PLANNING.CHECKING_BUDGET',
    ],
    result: { status: 'answered' },
    check: ({ model }) => {
      const told = lastUserText(model);
      for (const part of ['broken', 'out of order', "Tool 'missing' not found", 'look({})'])
        expect(told).toContain(part);
    },
  },
  {
    from: 'DIRECT_EXECUTION',
    when: 'a call is denied',
    to: 'PLANNING: denied is not failed',
    replies: [calls(['forbidden']), 'I may not.'],
    moves: ['DIRECT_EXECUTION.RUNNING_CALLS → PLANNING.CHECKING_BUDGET'],
    result: { status: 'answered', errorHistory: [], toolsUsed: [] },
    check: ({ result, tools }) => {
      expect(tools.forbidden.calls).toEqual([]);
      expect(String(result.messages.find(({ role }) => role === 'tool')?.content)).toContain(
        "Tool 'forbidden' is denied by policy",
      );
    },
  },
  {
    from: 'DIRECT_EXECUTION',
    when: 'the loop detection refuses a call',
    to: 'COMPLETION (loop); one step earlier the model gets one nudge',
    replies: [
      calls(['look', { n: 1 }]),
      calls(['look', { n: 1 }]),
      calls(['look', { n: 1.0 }]),
      calls(['look', { n: 1 }]),
    ],
    moves: ['DIRECT_EXECUTION.RUNNING_CALLS → COMPLETION'],
    result: {
      status: 'stopped',
      reason: 'loop',
      result: 'Task stopped due to repeated tool call loop.',
      stepsTaken: 4,
    },
    check: ({ tools, result }) => {
      expect(tools.look.calls).toHaveLength(3);
      const nudges = result.messages.filter(({ content }) => String(content).includes('same call several times'));
      expect(nudges).toHaveLength(1);
    },
  },
  {
    from: 'EXECUTING_PLAN',
    when: 'the loop detection refuses a step',
    to: 'COMPLETION (loop)',
    replies: [plan(['look'], ['look'], ['look'], ['look'], ['buy'])],
    moves: ['EXECUTING_PLAN.RUNNING_STEP → COMPLETION'],
    result: { status: 'stopped', reason: 'loop' },
    check: ({ tools }) => {
      expect(tools.look.calls).toHaveLength(3);
      expect(tools.buy.calls).toEqual([]);
    },
  },
  {
    from: 'any',
    when: 'the model call failed after its retries',
    to: 'COMPLETION (llm-error)',
    options: fast,
    replies: [offline(), offline()],
    moves: ['PLANNING.ASKING → COMPLETION'],
    result: {
      status: 'failed',
      reason: 'llm-error',
      result: 'Unable to complete task due to LLM error: nobody is there',
      error: { code: 'connect-failed', message: 'nobody is there', step: 1 },
      stepsTaken: 1,
    },
  },
  {
    from: 'any',
    when: 'the model call fails once',
    to: 'the same state: it is asked again',
    options: fast,
    replies: [new Error('hiccup'), 'Hello.'],
    moves: ['PLANNING.DECIDING → COMPLETION'],
    result: { status: 'answered', result: 'Hello.', stepsTaken: 1 },
  },
  {
    from: 'PLANNING',
    when: 'the reply gives an answer that fits its schema',
    to: 'DELIVERING, then COMPLETION (answered)',
    options: { outputSchema: PRICE },
    replies: [calls(['final_answer', { price: '3' }])],
    moves: ['PLANNING.DECIDING → PLANNING.DELIVERING.FITTING', 'PLANNING.DELIVERING.FITTING → COMPLETION'],
    result: { status: 'answered', reason: 'answer', output: { price: 3 }, result: '{"price":3}', toolsUsed: [] },
  },
  {
    from: 'PLANNING.DELIVERING',
    when: 'the answer does not fit',
    to: 'PLANNING with a correction; the third time COMPLETION (output-invalid)',
    options: { outputSchema: PRICE },
    replies: [1, 2, 3].map(() => calls(['final_answer', { price: 'much' }])),
    moves: [
      'PLANNING.DELIVERING.CORRECTING → PLANNING.CHECKING_BUDGET',
      'PLANNING.DELIVERING.CORRECTING → PLANNING.CHECKING_BUDGET',
      'PLANNING.DELIVERING.CORRECTING → COMPLETION',
    ],
    result: { status: 'failed', reason: 'output-invalid', output: null, stepsTaken: 3 },
    check: ({ result }) => expect(result.errorHistory).toHaveLength(2),
  },
  {
    from: 'PLANNING.DELIVERING',
    when: 'the check by code rejects the answer, then accepts the next',
    to: 'PLANNING with a correction, then COMPLETION (answered)',
    options: { outputSchema: PRICE, checkOutput: notFour },
    replies: [calls(['final_answer', { price: 4 }]), calls(['final_answer', { price: 3 }])],
    moves: [
      'PLANNING.DELIVERING.FITTING → PLANNING.DELIVERING.CHECKING',
      'PLANNING.DELIVERING.CHECKING → PLANNING.DELIVERING.CORRECTING',
      'PLANNING.DELIVERING.CORRECTING → PLANNING.CHECKING_BUDGET',
      'PLANNING.DELIVERING.CHECKING → COMPLETION',
    ],
    result: { status: 'answered', output: { price: 3 }, stepsTaken: 2 },
  },
  {
    from: 'DIRECT_EXECUTION',
    when: 'all calls beside an answer have succeeded',
    to: 'DELIVERING: the model is not asked again',
    options: { outputSchema: PRICE },
    replies: [calls(['look'], ['final_answer', { price: 3 }])],
    moves: [
      'PLANNING.DECIDING → DIRECT_EXECUTION.RUNNING_CALLS',
      'DIRECT_EXECUTION.RUNNING_CALLS → PLANNING.CHECKING_BUDGET',
      'PLANNING.CHECKING_BUDGET → PLANNING.DELIVERING.FITTING',
    ],
    result: { status: 'answered', output: { price: 3 }, toolsUsed: ['look'], stepsTaken: 1 },
  },
  {
    from: 'DIRECT_EXECUTION',
    when: 'a call beside an answer has failed',
    to: 'ERROR_RECOVERY: the answer does not count',
    options: { outputSchema: PRICE },
    replies: [calls(['broken'], ['final_answer', { price: 3 }]), calls(['final_answer', { price: 4 }])],
    moves: ['DIRECT_EXECUTION.RUNNING_CALLS → ERROR_RECOVERY.ASSESSING', 'PLANNING.DELIVERING.FITTING → COMPLETION'],
    result: { status: 'answered', output: { price: 4 }, stepsTaken: 2 },
  },
  {
    from: 'PLANNING',
    when: 'one step is left and the answer has a schema',
    to: 'PLANNING without tools, then COMPLETION (stopped) with the output',
    options: { outputSchema: PRICE, maxSteps: 2 },
    replies: [calls(['look']), calls(['final_answer', { price: 3 }])],
    moves: [
      'DIRECT_EXECUTION.RUNNING_CALLS → PLANNING.CHECKING_BUDGET',
      'PLANNING.CHECKING_BUDGET → PLANNING.ASKING',
      'PLANNING.DELIVERING.FITTING → COMPLETION',
    ],
    result: { status: 'stopped', reason: 'max-steps', output: { price: 3 }, stepsTaken: 2, success: false },
    check: ({ model }) => expect(model.requests[1]?.tools?.map(({ name }) => name)).toEqual(['final_answer']),
  },
  {
    from: 'EXECUTING_PLAN',
    when: 'one step is left and the answer has a schema',
    to: 'PLANNING: the plan is closed, and the last turn is for the answer',
    options: { outputSchema: PRICE, maxSteps: 3 },
    replies: [plan(['look', { n: 1 }], ['look', { n: 2 }]), calls(['final_answer', { price: 3 }])],
    moves: ['EXECUTING_PLAN.NEXT_STEP → PLANNING.CHECKING_BUDGET', 'PLANNING.DELIVERING.FITTING → COMPLETION'],
    result: { status: 'stopped', reason: 'max-steps', output: { price: 3 }, stepsTaken: 3 },
    check: ({ tools }) => expect(tools.look.calls).toEqual([{ n: 1 }]),
  },
  {
    from: 'PLANNING',
    when: 'somebody says something beside the answer',
    to: 'PLANNING',
    steer: {},
    replies: ['Tea it is.', 'Coffee it is.'],
    moves: ['PLANNING.DECIDING → PLANNING.CHECKING_BUDGET', ASK, 'PLANNING.DECIDING → COMPLETION'],
    result: { status: 'answered', result: 'Coffee it is.', stepsTaken: 2 },
    check: ({ model, result }) => {
      expect(lastUserText(model)).toBe('No, coffee.');
      expect(result.undelivered).toBeUndefined();
    },
  },
  {
    from: 'PLANNING',
    when: 'somebody says something beside the answer of the last step',
    to: 'COMPLETION (answered)',
    steer: {},
    options: { maxSteps: 1 },
    replies: ['Tea it is.'],
    moves: [ASK, 'PLANNING.DECIDING → COMPLETION'],
    result: { status: 'answered', undelivered: [{ id: 'm', text: 'No, coffee.', kind: 'steer' }] },
  },
  {
    from: 'PLANNING',
    when: 'somebody interrupts the model',
    to: 'PLANNING',
    steer: { interrupt: true },
    replies: ['Tea it is.', 'Coffee it is.'],
    moves: ['PLANNING.ASKING → PLANNING.CHECKING_BUDGET', ASK, 'PLANNING.DECIDING → COMPLETION'],
    result: { status: 'answered', result: 'Coffee it is.' },
    check: ({ result }) => expect(JSON.stringify(result.messages)).not.toContain('Tea'),
  },
  {
    from: 'PLANNING',
    when: 'somebody says something beside a call',
    to: 'DIRECT_EXECUTION',
    steer: {},
    replies: [calls(['look', { n: 1 }]), 'Coffee it is.'],
    moves: ['PLANNING.DECIDING → DIRECT_EXECUTION.RUNNING_CALLS', ASK],
    result: { status: 'answered', result: 'Coffee it is.' },
    check: ({ model, tools }) => {
      expect(tools.look.calls).toHaveLength(1);
      expect(lastUserText(model)).toBe('No, coffee.');
    },
  },
];

describe('the transition table of the agent', () => {
  test.each(rows)(
    '$from, when $when → $to',
    async ({ replies: [first, ...more], options, steer, moves, result, check }) => {
      const held = async (): Promise<string | ModelReply | Error> => {
        void run.steer('No, coffee.', { id: 'm', ...steer });
        await new Promise((resolve) => setTimeout(resolve, 5));
        return typeof first === 'function' ? '' : (first ?? '');
      };
      const model = scriptedModel(first === undefined ? [] : [steer === undefined ? first : held, ...more]);
      const tools = makeTools();
      const agent = createAgent({ model, tools: Object.values(tools), silent: true, ...options });
      const run = agent.run('Buy tea');
      const ended = await run;
      expect(ended).toMatchObject(result);
      const made = run
        .transitions()
        .filter(({ actor }) => actor === 'agent')
        .map(({ from, to }) => `${from} → ${to}`);
      let at = 0;
      for (const move of made) if (move === moves[at]) at++;
      expect(moves.slice(at), `moves that did not occur in this order, of:\n${made.join('\n')}`).toEqual([]);
      expect(ended.states[0]).toBe('PLANNING');
      expect(ended.states.at(-1)).toBe('COMPLETION');
      check?.({ model, tools, result: ended });
    },
  );

  test('any, when cancelled → COMPLETION (cancelled): every signal aborts and nothing is orphaned', async () => {
    const signals: AbortSignal[] = [];
    const slow = fakeTool('slow', [() => new Promise(() => undefined)]);
    const watching: Tool = {
      ...slow,
      execute: (_args, { signal }) => {
        signals.push(signal);
        return new Promise(() => undefined);
      },
    };
    const agent = createAgent({
      model: scriptedModel([calls(['slow', { n: 1 }, 'a'], ['slow', { n: 2 }, 'b'])]),
      tools: [watching],
      silent: true,
    });
    const run = agent.run('Wait');
    for await (const event of run) if (event.type === 'tool.started' && event.callId === 'c2') break;
    await new Promise((resolve) => setImmediate(resolve));
    expect(await run.cancel('user left')).toBe(true);
    const result = await run;
    expect(result).toMatchObject({
      status: 'cancelled',
      reason: 'cancelled',
      result: '[Cancelled after 1 step(s)]',
      error: { code: 'cancelled', message: 'user left' },
    });
    expect(signals).toHaveLength(2);
    expect(signals.every((signal) => signal.aborted)).toBe(true);
    expect(result.messages.filter(({ role }) => role === 'tool').map(({ toolCallId }) => toolCallId)).toEqual([
      'a',
      'b',
    ]);
    expect(await run.cancel()).toBe(false);
  });
});
