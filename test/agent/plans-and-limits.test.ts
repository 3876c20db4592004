import { describe, expect, test } from 'vitest';
import type { Agent } from '../../src/agent/agent-types.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { explorePaths } from '../../src/testing/explore/explore-paths.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { tool as makeTool } from '../../src/tools/tool.ts';
import type { Json, JsonObject } from '../../src/json/json.ts';
import { recover } from '../../src/recovery/recover.ts';
import { calls, envelope, plan } from '../support/replies.ts';

const forever = () => new Promise<never>(() => undefined);

async function play(replies: readonly ScriptedReply[], options: AgentOptions = {}) {
  const tools = {
    look: fakeTool('look', [{ found: 'tea', price: 3, own: { deep: [1] }, text: '$PREV.found' }]),
    bare: fakeTool('bare', [7]),
    told: fakeTool('told', [{ status: 'success', message: 'well done', data: { message: 'from data' } }]),
    take: fakeTool('take', ['taken']),
    broken: fakeTool('broken', [new Error('offline')]),
    denied: fakeTool('denied', [1], { policy: 'deny' }),
  };
  const model = scriptedModel(replies);
  const run = createAgent({ model, tools: Object.values(tools), silent: true, ...options }).run('Buy tea');
  const result = await run;
  const lastTold = String(model.requests.at(-1)?.messages.at(-1)?.content);
  return { result, tools, model, run, lastTold };
}

describe('plans: false', () => {
  const planned = [{ tool: 'look', tool_args: {} }];
  const told = 'Plans are switched off, and yours was not run.';

  test('the model is not offered to plan, natively or in JSON mode', async () => {
    const native = await play(['Done.'], { plans: false });
    expect(native.model.requests[0]?.tools?.map(({ name }) => name)).not.toContain('make_plan');
    const json = await play(['{"answer": "Done."}'], { plans: false, toolCalling: 'json' });
    expect(JSON.stringify(json.model.requests[0])).not.toMatch(/plan|PREV|STEP_0/);
    const without = await play(['{"answer": "Done."}'], { toolCalling: 'json' });
    expect(JSON.stringify(without.model.requests[0])).toMatch(/\\"plan\\".*PREV.*STEP_0/);
    const byCode = { plans: false, toolCalling: 'json', instructions: () => 'Be brief.' } as const;
    expect(JSON.stringify((await play(['{"answer": "Done."}'], byCode)).model.requests[0])).not.toMatch(/plan|PREV/);
  });

  test.each<[string, ScriptedReply, AgentOptions]>([
    ['by the tool that was not offered', plan(['look']), {}],
    ['in the envelope', JSON.stringify({ plan: planned }), { toolCalling: 'json' }],
    ['in a text of native mode', JSON.stringify({ plan: planned }), {}],
    ['that cannot be read', calls(['make_plan', '{"plan": 7}']), {}],
  ])('a plan that it makes all the same, %s, is not run, and the model is told', async (_how, reply, options) => {
    const answer = options.toolCalling === 'json' ? '{"answer": "Done."}' : 'Done.';
    const { result, tools, lastTold } = await play([reply, answer], { plans: false, ...options });
    expect(tools.look.calls).toEqual([]);
    expect(lastTold).toContain(told);
    expect(result).toMatchObject({ status: 'answered', planIterations: 0 });
    expect(result.states).not.toContain('EXECUTING_PLAN');
  });

  test('holds after tools have changed, and beside calls', async () => {
    const both = calls(['make_plan', { plan: planned }], ['take']);
    const { tools, result, model } = await play([both, 'Done.'], { plans: false });
    expect([tools.look.calls, tools.take.calls]).toEqual([[], [{}]]);
    expect(result.status).toBe('answered');
    expect(JSON.stringify(model.requests[1]?.messages)).toContain('plans are switched off');
    const agent: Agent = createAgent({
      model: scriptedModel([calls(['grow']), 'Done.']),
      silent: true,
      plans: false,
      tools: [fakeTool('grow', [() => agent.tools.register(fakeTool('new', [1]))])],
    });
    const late = scriptedModel([calls(['grow']), 'Done.']);
    agent.configure({ model: late });
    await agent.run('Grow');
    expect(late.requests[1]?.tools?.map(({ name }) => name)).toEqual(['grow', 'new']);
  });

  test('no path of the agent leads to a plan', async () => {
    const agent = createAgent({ model: scriptedModel([]), silent: true, plans: false, tools: [fakeTool('look', [1])] });
    const found = await explorePaths(agent, { maxSteps: 2 });
    expect(found).toMatchObject({ ok: true, exhaustive: true });
    expect(found.states.filter((state) => state.includes('PLAN.') || state.includes('EXECUTING_PLAN'))).toEqual([]);
  });
});

describe('placeholders in a plan', () => {
  test.each<[string, string, unknown]>([
    ['a text', '$PREV.found', 'tea'],
    ['a number keeps its type', '$PREV.price', 3],
    ['an object', '$PREV.own', { deep: [1] }],
    ['the first step by number', '$STEP_0.price', 3],
    ['a member of the result itself', '$PREV.status', 'success'],
    ['what was put in is not scanned again', '$PREV.text', '$PREV.found'],
    ['more text than a placeholder stays text', 'buy $PREV.found', 'buy $PREV.found'],
    ['blanks around it make it text', ' $PREV.found', ' $PREV.found'],
    ['another word is text', '$PREVIOUS.found', '$PREVIOUS.found'],
    ['no field is text', '$PREV', '$PREV'],
    ['a price is text', '$5.00', '$5.00'],
  ])('%s: %s', async (_what, given, value) => {
    const { tools, result } = await play([
      plan(['look'], ['take', { what: given, list: [{ inner: given }] }]),
      'Done.',
    ]);
    expect(tools.take.calls).toEqual([{ what: value, list: [{ inner: value }] }]);
    expect(result).toMatchObject({ status: 'answered', errorHistory: [] });
  });

  test('look in data first, then in the result', async () => {
    const { tools } = await play([plan(['told'], ['take', { a: '$PREV.message', b: '$PREV.status' }]), 'Done.']);
    expect(tools.take.calls).toEqual([{ a: 'from data', b: 'success' }]);
  });

  test('$PREV is the step before, $STEP_n counts from 0', async () => {
    const { tools } = await play([
      plan(['look'], ['bare'], ['take', { a: '$PREV.data', b: '$STEP_0.found', c: '$STEP_1.data' }]),
      'Done.',
    ]);
    expect(tools.take.calls).toEqual([{ a: 7, b: 'tea', c: 7 }]);
  });

  test.each([
    ['$PREV.nothing'],
    ['$STEP_1.found'],
    ['$STEP_9.found'],
    ['$PREV.own.deep'],
    ['$PREV.__proto__'],
    ['$PREV.toString'],
  ])('%s names nothing: an error that the model is told, and no literal reaches a tool', async (given) => {
    const { tools, result, lastTold } = await play([plan(['look'], ['take', { what: given }]), 'Sorry.']);
    expect(tools.take.calls).toEqual([]);
    expect(result.states).toContain('ERROR_RECOVERY');
    expect(result.errorHistory).toEqual([expect.objectContaining({ tool: 'take', step: 3 })]);
    expect(lastTold).toContain(given);
  });

  test('in the first step name nothing', async () => {
    const { tools } = await play([plan(['take', { what: '$PREV.found' }]), 'Sorry.']);
    expect(tools.take.calls).toEqual([]);
  });

  test('of an earlier plan are not reached', async () => {
    const { tools } = await play([plan(['look']), plan(['take', { what: '$STEP_0.found' }]), 'Sorry.']);
    expect(tools.take.calls).toEqual([]);
  });
});

describe('a plan', () => {
  test('runs step by step, each a step, without a model turn between; then the model gets all results', async () => {
    const { result, model, lastTold } = await play([plan(['look', { n: 1 }], ['bare'], ['take']), 'Done.']);
    expect(result).toMatchObject({
      stepsTaken: 5,
      planIterations: 1,
      toolsUsed: ['look', 'bare', 'take'],
      states: ['PLANNING', 'EXECUTING_PLAN', 'PLANNING', 'COMPLETION'],
    });
    expect(model.requests).toHaveLength(2);
    for (const part of ['"found":"tea"', '7', '"taken"']) expect(lastTold).toContain(part);
  });

  test.each(['tool_args', 'arguments', 'args', 'parameters'])(
    'takes arguments under %s, as an object or as text',
    async (key) => {
      const steps = [
        { tool: 'take', [key]: { n: 1 } },
        { tool: 'take', [key]: '{"n": 2}' },
        { tool: 'take', [key]: null },
        { tool: 'take' },
      ];
      const { tools, result } = await play([JSON.stringify({ plan: steps }), '{"answer": "Done."}'], {
        toolCalling: 'json',
      });
      expect(result.errorHistory).toEqual([]);
      expect(tools.take.calls).toEqual([{ n: 1 }, { n: 2 }, {}, {}]);
    },
  );

  test('whose step fails is dropped, and the model is told everything that it needs', async () => {
    const { result, tools, lastTold } = await play([
      plan(['look', { n: 1 }], ['broken', { x: 2 }], ['take', { n: 5 }]),
      'Sorry.',
    ]);
    expect(tools.take.calls).toEqual([]);
    expect(lastTold).toMatch(/^Tool execution failed\. Please try an alternative approach\./);
    for (const part of ['broken', '{"x":2}', 'offline', 'Buy tea', 'look', 'take']) expect(lastTold).toContain(part);
    expect(result.states).toEqual(['PLANNING', 'EXECUTING_PLAN', 'ERROR_RECOVERY', 'PLANNING', 'COMPLETION']);
  });

  test('obeys the policies: a denied step does not run and is no error', async () => {
    const { result, tools } = await play([plan(['denied'], ['take']), 'I may not.']);
    expect(tools.denied.calls).toEqual([]);
    expect(result).toMatchObject({ status: 'answered', errorHistory: [] });
  });

  test('beyond the limit is not run: one demand to answer, then the end', async () => {
    const four = [1, 2, 3, 4, 5].map((n) => plan(['look', { n }]));
    const { result, tools, model } = await play(four);
    expect(result).toMatchObject({ status: 'stopped', reason: 'plan-limit', success: false, planIterations: 3 });
    expect(tools.look.calls).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect(model.requests).toHaveLength(5);
  });

  test('has no limit with maxPlanIterations 0', async () => {
    const many = Array.from({ length: 7 }, (_, n) => plan(['look', { n }]));
    const { result } = await play([...many, 'Done.'], { maxPlanIterations: 0, maxSteps: 50 });
    expect(result).toMatchObject({ status: 'answered', planIterations: 7 });
  });

  test('may follow a plan that was refused once calls came between, and is refused for good', async () => {
    const replies = [
      plan(['look', { n: 1 }]),
      plan(['look', { n: 2 }]),
      calls(['look', { n: 3 }]),
      plan(['look', { n: 4 }]),
    ];
    const { result, tools } = await play(replies, { maxPlanIterations: 1 });
    expect(result).toMatchObject({ reason: 'plan-limit' });
    expect(tools.look.calls).toEqual([{ n: 1 }, { n: 3 }]);
  });
});

test.each(['native', 'json'] as const)(
  'a plan that is cancelled tells what ran, what nobody knows, and what did not run (%s)',
  async (toolCalling) => {
    const steps = ['look', 'stuck', 'take'].map((name) => ({ tool: name, tool_args: {} }));
    const reply =
      toolCalling === 'native' ? calls(['make_plan', { plan: steps }, 'p']) : JSON.stringify({ plan: steps });
    const tools = [fakeTool('look', [{ tea: 3 }]), fakeTool('stuck', [forever]), fakeTool('take')];
    const run = createAgent({ model: scriptedModel([reply]), tools, toolCalling, silent: true }).run('Go');
    for await (const event of run) if (event.type === 'tool.started' && event.tool === 'stuck') break;
    await run.cancel();
    const told = (await run).messages
      .slice(2)
      .map(({ content }) => String(content))
      .join('\n');
    expect(told).toContain('"tea":3');
    expect(told).toMatch(/stuck.*nobody knows/s);
    if (toolCalling === 'native') expect(told).toContain('"not_run":["take"]');
  },
);

describe('limits', () => {
  test('maxSteps counts model turns and plan steps, and no step beyond it begins', async () => {
    const { result, tools, model } = await play([plan(['look', { n: 1 }], ['look', { n: 2 }], ['look', { n: 3 }])], {
      maxSteps: 3,
    });
    expect(result).toMatchObject({
      status: 'stopped',
      reason: 'max-steps',
      success: false,
      result: 'Reached maximum steps limit (3 steps).',
      stepsTaken: 3,
      stepsLimit: 3,
    });
    expect(tools.look.calls).toHaveLength(2);
    expect(model.requests).toHaveLength(1);
  });

  test('an answer in the last step is an answer', async () => {
    expect((await play([calls(['look']), 'Tea.'], { maxSteps: 2 })).result).toMatchObject({
      status: 'answered',
      stepsTaken: 2,
    });
  });

  test('a run may have a limit of its own', async () => {
    const agent = createAgent({
      model: scriptedModel([calls(['look']), 'Tea.']),
      tools: [fakeTool('look')],
      silent: true,
    });
    expect(await agent.run('Go', { maxSteps: 1 })).toMatchObject({ reason: 'max-steps', stepsLimit: 1 });
    expect(await agent.run('Go')).toMatchObject({ status: 'answered', stepsLimit: 20 });
  });

  test.each<[string, ScriptedReply]>([
    ['a model that is silent', forever],
    ['a tool that is stuck', calls(['stuck'])],
    ['a plan step that is stuck', plan(['stuck'])],
    ['a call that waits for a person', calls(['asks'])],
  ])('timeouts.totalMs ends the run in the middle of %s', async (_what, reply) => {
    let signal: AbortSignal | undefined;
    const stuck = {
      ...fakeTool('stuck'),
      execute: (_args: object, io: { signal: AbortSignal }) => ((signal = io.signal), forever()),
    };
    const { result } = await play([reply], {
      tools: [stuck, fakeTool('asks', [1], { policy: 'confirm' })],
      confirm: 'wait',
      permissions: { isAlwaysAllowed: () => false, add: () => undefined },
      timeouts: { totalMs: 60 },
    });
    expect(result).toMatchObject({ status: 'stopped', reason: 'timeout', success: false });
    expect(result.states.at(-1)).toBe('COMPLETION');
    if (signal !== undefined) expect(signal.aborted).toBe(true);
    const open = result.messages.flatMap(({ toolCalls = [] }) => toolCalls);
    expect(result.messages.filter(({ role }) => role === 'tool')).toHaveLength(open.length);
  });

  test('budget.maxToolCalls: the calls that it allows run, then the run ends, partial results kept', async () => {
    const { result, tools } = await play([calls(['look', { n: 1 }], ['look', { n: 2 }], ['look', { n: 3 }])], {
      budget: { maxToolCalls: 2 },
    });
    expect(result).toMatchObject({ status: 'stopped', reason: 'budget', success: false });
    expect(tools.look.calls).toEqual([{ n: 1 }, { n: 2 }]);
    const results = result.messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content));
    expect(results).toHaveLength(3);
    expect(results[1]).toContain('tea');
    expect(results[2]).toContain('not run');
  });

  test.each([
    ['is not there', 'nowhere'],
    ['is denied', 'denied'],
    ['is switched off', 'off'],
  ])('budget.maxToolCalls: a call of a tool that %s costs nothing, so the one beside it runs', async (_what, name) => {
    const look = fakeTool('look');
    const off = fakeTool('off', [1], { enabled: false });
    const { result } = await play([calls([name], ['look', { n: 1 }]), 'Done.'], {
      tools: [look, off, fakeTool('denied', [1], { policy: 'deny' })],
      budget: { maxToolCalls: 1 },
    });
    expect(result).toMatchObject({ status: 'answered' });
    expect(look.calls).toEqual([{ n: 1 }]);
  });

  test.each([
    [2, ['late 1'], 'budget'],
    [3, ['late 1', 'late 2'], 'answer'],
    [null, ['late 1', 'late 2'], 'answer'],
  ])(
    'budget.maxToolCalls of %s holds for calls whose tool comes while the calls before them run',
    async (maxToolCalls, expected, reason) => {
      const ran: string[] = [];
      const late = makeTool({
        name: 'late',
        description: 'Comes late.',
        inputSchema: { type: 'object' },
        execute: ({ n }) => void ran.push(`late ${String(n)}`),
      });
      const agent: Agent = createAgent({
        model: scriptedModel([calls(['open'], ['late', { n: 1 }], ['late', { n: 2 }]), 'Done.']),
        tools: [makeTool({ name: 'open', description: 'Opens.', execute: () => agent.tools.register(late) })],
        parallelToolCalls: false,
        silent: true,
        ...(maxToolCalls === null ? {} : { budget: { maxToolCalls } }),
      });
      const result = await agent.run('Open it');
      expect([ran, result.reason]).toEqual([expected, reason]);
    },
  );

  test('budget.maxToolCalls holds for plan steps too', async () => {
    const { result, tools } = await play([plan(['look', { n: 1 }], ['look', { n: 2 }])], {
      budget: { maxToolCalls: 1 },
    });
    expect(result).toMatchObject({ reason: 'budget' });
    expect(tools.look.calls).toHaveLength(1);
  });

  test('budget.maxTokens ends the run before the next request', async () => {
    const usage = { inputTokens: 90, outputTokens: 10, totalTokens: 100 };
    const { result, model } = await play([{ ...calls(['look']), usage }, 'Tea.'], { budget: { maxTokens: 100 } });
    expect(result).toMatchObject({ status: 'stopped', reason: 'budget', usage });
    expect(model.requests).toHaveLength(1);
  });

  test('limits.resultBytes and limits.argumentBytes make errors of the tool', async () => {
    const big = fakeTool('big', ['x'.repeat(2000)]);
    const { result } = await play([calls(['big']), calls(['big', { text: 'y'.repeat(3000) }]), 'Hm.'], {
      tools: [big],
      limits: { resultBytes: 1000, argumentBytes: 2000 },
    });
    expect(result.errorHistory.map(({ tool, code }) => [tool, code])).toEqual([
      ['big', 'execution'],
      ['big', 'invalid-args'],
    ]);
    expect(big.calls).toEqual([{}]);
  });

  test.each<[string, Json]>([
    ['nulls', Array.from({ length: 400 }, () => null)],
    ['holes', { cells: Array(400) }],
    ['empty lists', Array.from({ length: 400 }, () => [])],
    ['empty objects', Array.from({ length: 400 }, () => ({}))],
  ])('limits.resultBytes counts %s', async (_what, result) => {
    const big = fakeTool('big', [result]);
    const limits = { resultBytes: 1000 };
    const { result: ended } = await play([calls(['big']), 'Hm.'], { tools: [big], limits });
    expect(ended.errorHistory.map(({ code }) => code)).toEqual(['execution']);
    const within = await play([calls(['big']), 'Hm.'], { tools: [big], limits: { resultBytes: 2500 } });
    expect(within.result.errorHistory).toEqual([]);
  });

  test.each<[string, JsonObject]>([
    ['it names them itself', { text: 'y'.repeat(300) }],
    ['a placeholder brings them', { text: '$PREV.text' }],
  ])('limits.argumentBytes holds for a step of a plan: %s', async (_, args) => {
    const save = fakeTool('save', ['saved', 'saved']);
    const load = fakeTool('load', [{ text: 'y'.repeat(300) }, { text: 'short' }]);
    const reply = plan(['load'], ['save', args], ['load']);
    const { result } = await play([reply, plan(['load'], ['save', { text: '$PREV.text' }]), 'Saved.'], {
      tools: [save, load],
      limits: { argumentBytes: 200 },
    });
    expect(result.errorHistory).toMatchObject([{ tool: 'save', code: 'invalid-args', step: 3 }]);
    expect(result.errorHistory[0]?.message).toContain('larger than the limit of 200 bytes');
    expect(save.calls).toEqual([{ text: 'short' }]);
    expect(load.calls).toHaveLength(2);
  });

  test('limits.argumentBytes holds for repaired arguments, which the next step may shorten', async () => {
    const save = fakeTool('save', ['saved']);
    const lengths: number[] = [];
    const shorter = (text: string) => ({ text: 'y'.repeat(lengths.push(text.length) === 1 ? 3000 : 100) });
    const tool = { ...save, onError: { invalidArgs: [recover.fix(shorter), recover.fix(shorter)] } };
    const replies = [calls(['save', '{"text"']), 'Saved.'];
    const { result } = await play(replies, { tools: [tool], limits: { argumentBytes: 200 } });
    expect(save.calls).toEqual([{ text: 'y'.repeat(100) }]);
    expect([lengths, result.errorHistory]).toEqual([[7, 1000], []]);
  });

  test('arguments that were cut off are said to be that, even beyond the limit', async () => {
    const cut = { ...calls(['look', `{"text": "${'y'.repeat(300)}`]), finishReason: 'length' };
    const { result } = await play([cut, 'Hm.'], { limits: { argumentBytes: 200 } });
    expect(result.errorHistory.map(({ message }) => message)).toEqual([
      "Invalid arguments for 'look': they were cut off",
    ]);
  });

  test.each([
    ['é', 95, 96],
    ['漢', 63, 64],
    ['🙂', 47, 48],
    ['y', 190, 191],
  ])('limits are in bytes of UTF-8: %s', async (letter, most, more) => {
    const text = (length: number) => letter.repeat(length);
    const save = fakeTool('save', ['saved']);
    const tell = fakeTool('tell', [{ t: text(most) }, { t: text(more) }, { [text(most)]: 't' }, { [text(more)]: 't' }]);
    const replies = [calls(['save', { t: text(most) }]), calls(['save', { t: text(more) }])];
    const { result } = await play([...replies, ...[1, 2, 3, 4].map((n) => calls(['tell', { n }])), 'Hm.'], {
      tools: [save, tell],
      limits: { argumentBytes: 198, resultBytes: 198 },
    });
    expect(result.errorHistory.map(({ step, code }) => [step, code])).toEqual([
      [2, 'invalid-args'],
      [4, 'execution'],
      [6, 'execution'],
    ]);
    expect(save.calls).toEqual([{ t: text(most) }]);
  });

  test.each(['native', 'json'] as const)('limits.argumentBytes may be above a megabyte: %s', async (toolCalling) => {
    const save = fakeTool('save', ['saved']);
    const reply = (length: number) => {
      const args = { text: 'y'.repeat(length) };
      return toolCalling === 'native'
        ? calls(['save', JSON.stringify(args)])
        : envelope({ tool: 'save', tool_args: args });
    };
    const done = toolCalling === 'native' ? 'Saved.' : envelope({ answer: 'Saved.' });
    const { result } = await play([reply(2_000_000), reply(2_000_100), done], {
      tools: [save],
      toolCalling,
      limits: { argumentBytes: 2_000_050 },
    });
    expect(save.calls.map((args) => String(args.text).length)).toEqual([2_000_000]);
    expect(result.errorHistory.map(({ code }) => code)).toEqual(['invalid-args']);
    expect(result.errorHistory[0]?.message).toContain('2000050');
  });
});
