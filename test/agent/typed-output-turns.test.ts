import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { ModelReply } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls, envelope, plan } from '../support/replies.ts';

const BOOK = z.object({ title: z.string(), year: z.int() });
const DUNE = { title: 'Dune', year: 1965 };
const OUT = ['final_answer', DUNE] as const;
const WRONG = ['final_answer', { title: 'Dune' }] as const;

const look = () => fakeTool('look', [(args) => args]);
const broken = () => fakeTool('broken', [new Error('no power')]);

function on(replies: readonly ScriptedReply[], options: AgentOptions = {}) {
  const model = scriptedModel(replies);
  return {
    model,
    agent: createAgent({ model, tools: [look(), broken()], outputSchema: BOOK, silent: true, ...options }),
  };
}

/** The ids of the calls in a conversation, and of the results. */
function ids(
  messages: readonly {
    readonly role: string;
    readonly toolCalls?: readonly { readonly id: string }[];
    readonly toolCallId?: string;
  }[],
) {
  const called = messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id));
  const answered = messages.flatMap(({ role, toolCallId }) => (role === 'tool' ? [toolCallId] : []));
  return { called, answered };
}

describe('calls beside the answer', () => {
  test('run first, then the held answer counts and the model is not asked again', async () => {
    const { model, agent } = on([calls(['look', { n: 1 }], OUT, ['look', { n: 2 }])]);
    const result = await agent.run('Go');
    expect(result).toMatchObject({ success: true, output: DUNE, toolsUsed: ['look'], stepsTaken: 1 });
    expect(model.requests).toHaveLength(1);
    const { called, answered } = ids(result.messages);
    expect(answered).toEqual(called);
    expect(called).toHaveLength(3);
  });

  test('one that fails has the model asked again, and the answer of that turn does not count', async () => {
    const { model, agent } = on([calls(OUT, ['broken'], ['look']), calls(['final_answer', { ...DUNE, year: 1966 }])]);
    const result = await agent.run('Go');
    expect(result).toMatchObject({ success: true, output: { title: 'Dune', year: 1966 } });
    expect(model.requests).toHaveLength(2);
    const { called, answered } = ids(result.messages);
    expect(answered).toEqual(called);
  });

  test('one that a person refuses has the model asked again', async () => {
    const danger = fakeTool('danger', ['done'], { policy: 'confirm' });
    const { agent } = on([calls(OUT, ['danger']), calls(['final_answer', { ...DUNE, year: 1 }])], {
      tools: [danger],
      confirm: () => 'deny',
    });
    expect(await agent.run('Go')).toMatchObject({ output: { year: 1 }, stepsTaken: 2 });
    expect(danger.calls).toEqual([]);
  });

  test('an answer that does not fit is corrected after the calls beside it ran once', async () => {
    const tool = look();
    const { agent } = on([calls(['look'], WRONG), calls(OUT)], { tools: [tool] });
    const result = await agent.run('Go');
    expect(result).toMatchObject({ success: true, output: DUNE, stepsTaken: 2 });
    expect(tool.calls).toHaveLength(1);
    const { called, answered } = ids(result.messages);
    expect(answered).toEqual(called);
  });

  test('of two answers in a turn the first counts, and each call id has one result', async () => {
    const { agent } = on([calls(OUT, ['final_answer', { ...DUNE, year: 2 }])]);
    const result = await agent.run('Go');
    expect(result.output).toEqual(DUNE);
    const { called, answered } = ids(result.messages);
    expect(called).toHaveLength(2);
    expect(answered).toEqual(called);
  });

  test('calls have numbers of their own, however many answers stand beside them', async () => {
    const { agent } = on([calls(WRONG, WRONG, ['look', { n: 1 }]), calls(['look', { n: 2 }]), calls(OUT)]);
    const run = agent.run('Go');
    const numbers: string[] = [];
    for await (const event of run) if (event.type === 'tool.started') numbers.push(event.callId);
    expect((await run).output).toEqual(DUNE);
    expect(numbers).toHaveLength(2);
    expect(new Set(numbers).size).toBe(2);
  });

  test('a plan beside it is carried out, and the model is asked again', async () => {
    const both: ModelReply = {
      content: '',
      toolCalls: [...(calls(OUT).toolCalls ?? []), ...(plan(['look'], ['look', { n: 2 }]).toolCalls ?? [])],
    };
    const { agent } = on([both, calls(['final_answer', { ...DUNE, year: 3 }])]);
    const result = await agent.run('Go');
    expect(result).toMatchObject({ success: true, output: { year: 3 }, planIterations: 1, toolsUsed: ['look'] });
    const { called, answered } = ids(result.messages);
    expect(answered).toHaveLength(called.length);
    expect(new Set(answered)).toEqual(new Set(called));
  });

  test('calls beside it in json mode run first as well', async () => {
    const text = `${envelope({ tool: 'look', tool_args: { n: 1 } })}\n${envelope({ tool: 'final_answer', tool_args: DUNE })}`;
    const { agent } = on([text, envelope({ answer: DUNE })], { toolCalling: 'json' });
    expect(await agent.run('Go')).toMatchObject({ success: true, output: DUNE });
  });

  test('after an answer that was given no tool runs, and the next run has a whole conversation', async () => {
    const { model, agent } = on([calls(OUT), calls(OUT)]);
    await agent.run('One');
    expect((await agent.run('Two')).output).toEqual(DUNE);
    const { called, answered } = ids(model.requests[1]?.messages ?? []);
    expect(answered).toEqual(called);
  });
});

describe('an answer that was cut off is never accepted', () => {
  const length = (reply: ModelReply): ModelReply => ({ ...reply, finishReason: 'length' });
  test.each<[string, ModelReply, AgentOptions]>([
    ['as a call', length(calls(['final_answer', '{"title": "Dune", "year": 196'])), {}],
    ['as a call whose JSON the server closed', length(calls(['final_answer', { title: 'Du', year: 1 }])), {}],
    ['as text', length({ content: '{"title": "Dune", "year": 19' }), { tools: [] }],
    ['as text whose JSON is whole', length({ content: '{"title": "Dune", "year": 19}' }), { tools: [] }],
    ['in the envelope', length({ content: '{"answer": {"title": "Dune", "year": 19' }), { toolCalling: 'json' }],
  ])('%s', async (_, reply, options) => {
    const { agent } = on([reply, reply, reply, reply], options);
    const result = await agent.run('Go');
    expect(result).toMatchObject({ success: false, output: null });
    expect(['output-invalid', 'length']).toContain(result.reason);
  });
});

describe('an answer in words', () => {
  test.each<[string, AgentOptions]>([
    ['beside tools', {}],
    ['without tools', { tools: [] }],
    ['in json mode', { toolCalling: 'json' }],
  ])('%s is corrected', async (_, options) => {
    const { agent } = on(['It is Dune, of 1965.', JSON.stringify(DUNE)], options);
    expect(await agent.run('Go')).toMatchObject({
      success: true,
      output: DUNE,
      errorHistory: [{ code: expect.stringMatching(/output-invalid|unusable-reply/) }],
    });
  });

  test('three times ends the run', async () => {
    const { agent } = on(['It is Dune.', 'Dune!', 'As I said: Dune.']);
    expect(await agent.run('Go')).toMatchObject({ status: 'failed', reason: 'output-invalid', output: null });
  });

  test('a model that refuses is not corrected', async () => {
    const { agent, model } = on([{ content: 'I will not.', finishReason: 'refusal' }]);
    expect(await agent.run('Go')).toMatchObject({ status: 'failed', reason: 'refused', output: null });
    expect(model.requests).toHaveLength(1);
  });
});

describe('the last turn', () => {
  test('is kept for the answer within maxSteps: no other tool is offered', async () => {
    const { model, agent } = on([calls(['look', { n: 1 }]), calls(['look', { n: 2 }]), calls(OUT)], { maxSteps: 3 });
    const result = await agent.run('Go');
    expect(result).toMatchObject({
      success: false,
      status: 'stopped',
      reason: 'max-steps',
      output: DUNE,
      stepsTaken: 3,
    });
    expect(model.requests.map(({ tools }) => tools?.length)).toEqual([4, 4, 1]);
    expect(model.requests[2]?.messages.at(-1)?.content).toMatch(/last turn.*'final_answer'/s);
    await expect(agent.run('Go').orThrow()).rejects.toThrow();
  });

  test('whose answer does not fit leaves none, and the status says the limit', async () => {
    const { agent } = on([calls(['look']), calls(WRONG)], { maxSteps: 2 });
    expect(await agent.run('Go')).toMatchObject({
      status: 'stopped',
      reason: 'max-steps',
      output: null,
      stepsTaken: 2,
    });
  });

  test('in which the model calls another tool runs none', async () => {
    const tool = look();
    const { agent } = on([calls(['look', { n: 1 }]), calls(['look', { n: 2 }])], { tools: [tool], maxSteps: 2 });
    const result = await agent.run('Go');
    expect(result).toMatchObject({ status: 'stopped', reason: 'max-steps', output: null });
    expect(tool.calls).toEqual([{ n: 1 }]);
    const { called, answered } = ids(result.messages);
    expect(answered).toEqual(called);
  });

  test('in which calls stand beside the answer takes the answer alone', async () => {
    const tool = look();
    const { agent } = on([calls(['look', { n: 1 }]), calls(['look', { n: 2 }], OUT)], { tools: [tool], maxSteps: 2 });
    const result = await agent.run('Go');
    expect(result).toMatchObject({ status: 'stopped', output: DUNE });
    expect(tool.calls).toEqual([{ n: 1 }]);
    const { called, answered } = ids(result.messages);
    expect(answered).toEqual(called);
  });

  test('is not kept with maxSteps 1', async () => {
    const { model, agent } = on([calls(OUT)], { maxSteps: 1 });
    expect(await agent.run('Go')).toMatchObject({ success: true, reason: 'answer', output: DUNE });
    expect(model.requests[0]?.messages.at(-1)?.content).toBe('Go');
    const other = on([calls(['look'])], { maxSteps: 1 });
    expect(await other.agent.run('Go')).toMatchObject({ reason: 'max-steps', output: null, toolsUsed: ['look'] });
  });

  test('is kept after the step of a plan', async () => {
    const tool = look();
    const steps = plan(['look', { n: 1 }], ['look', { n: 2 }], ['look', { n: 3 }]);
    const { model, agent } = on([steps, calls(OUT)], { tools: [tool], maxSteps: 4 });
    const result = await agent.run('Go');
    expect(result).toMatchObject({ status: 'stopped', reason: 'max-steps', output: DUNE, stepsTaken: 4 });
    expect(tool.calls).toEqual([{ n: 1 }, { n: 2 }]);
    expect(model.requests).toHaveLength(2);
    const { called, answered } = ids(result.messages);
    expect(answered).toEqual(called);
  });

  test('is kept when the tokens are spent', async () => {
    const usage = { inputTokens: 50, outputTokens: 50, totalTokens: 100 };
    const { model, agent } = on([{ ...calls(['look']), usage }, { ...calls(OUT), usage }, 'never'], {
      budget: { maxTokens: 100 },
    });
    expect(await agent.run('Go')).toMatchObject({ status: 'stopped', reason: 'budget', output: DUNE });
    expect(model.requests).toHaveLength(2);
  });

  test('is kept when the calls are spent, and an answer in time is a success', async () => {
    const tool = look();
    const options = { tools: [tool], budget: { maxToolCalls: 1 } };
    const { agent } = on([calls(['look', { n: 1 }]), calls(['look', { n: 2 }]), calls(OUT)], options);
    expect(await agent.run('Go')).toMatchObject({ status: 'stopped', reason: 'budget', output: DUNE });
    expect(tool.calls).toEqual([{ n: 1 }]);
    const inTime = on([calls(['look', { n: 1 }]), calls(OUT)], options);
    expect(await inTime.agent.run('Go')).toMatchObject({ success: true, reason: 'answer', output: DUNE });
  });

  test('is kept when a plan has spent the calls', async () => {
    const tool = look();
    const { agent } = on([plan(['look', { n: 1 }], ['look', { n: 2 }]), calls(OUT)], {
      tools: [tool],
      budget: { maxToolCalls: 1 },
    });
    expect(await agent.run('Go')).toMatchObject({ status: 'stopped', reason: 'budget', output: DUNE });
    expect(tool.calls).toEqual([{ n: 1 }]);
  });

  test('is not kept where the answer is text', async () => {
    const { model, agent } = on([calls(['look', { n: 1 }]), calls(['look', { n: 2 }])], {
      outputSchema: undefined,
      maxSteps: 2,
    });
    expect(await agent.run('Go')).toMatchObject({ reason: 'max-steps', output: null, toolsUsed: ['look'] });
    expect(model.requests[1]?.tools).toHaveLength(3);
  });

  test('that is the turn of a correction is still a success when the answer fits', async () => {
    const { agent } = on([calls(WRONG), calls(OUT)], { maxSteps: 2 });
    expect(await agent.run('Go')).toMatchObject({ success: true, status: 'answered', output: DUNE, stepsTaken: 2 });
  });

  test('in json mode says that no tool can be called', async () => {
    const { model, agent } = on([envelope({ tool: 'look', tool_args: {} }), envelope({ answer: DUNE })], {
      toolCalling: 'json',
      maxSteps: 2,
    });
    expect(await agent.run('Go')).toMatchObject({ status: 'stopped', output: DUNE });
    expect(model.requests[1]?.messages.at(-1)?.content).toMatch(/last turn/);
  });
});
