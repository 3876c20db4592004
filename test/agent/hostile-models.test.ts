import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { Model } from '../../src/actors/model.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

const fast: AgentOptions = { silent: true, retry: { backoff: { kind: 'constant', ms: 0 } } };
/** A model that gives these values as they are, whatever they are. */
const giving = (...replies: readonly unknown[]): Model => {
  let asked = 0;
  const model: Model = { complete: () => Promise.reject(new Error('not set')) };
  Reflect.set(model, 'complete', () => Promise.resolve(replies[Math.min(asked++, replies.length - 1)]));
  return model;
};

describe('a model that replies with nonsense ends the run as llm-error, never as a crash', () => {
  test.each([
    ['nothing', undefined],
    ['null', null],
    ['a number', 5],
    ['a bare text', 'tea'],
    ['an object without content', {}],
    ['content that is a number', { content: 5 }],
    ['calls that are no list', { content: '', toolCalls: 'look' }],
    ['a call that is null', { content: '', toolCalls: [null] }],
  ])('%s', async (_what, reply) => {
    const result = await createAgent({ model: giving(reply), ...fast }).run('Go');
    expect(result).toMatchObject({
      status: 'failed',
      reason: 'llm-error',
      stepsTaken: 1,
      states: ['PLANNING', 'COMPLETION'],
      error: { code: 'bad-response', step: 1 },
    });
    expect(result.result).toMatch(/^Unable to complete task due to LLM error: /);
  });

  test('and is asked again like after any failure', async () => {
    expect(await createAgent({ model: giving(null, { content: 'Tea.' }), ...fast }).run('Go')).toMatchObject({
      result: 'Tea.',
    });
  });
});

describe('oddities of a reply are handled', () => {
  test.each([
    ['content that is null beside calls', { content: null, toolCalls: [{ name: 'look' }] }],
    ['a call whose arguments are null', { content: '', toolCalls: [{ name: 'look', arguments: null }] }],
    ['a call whose id is empty', { content: '', toolCalls: [{ id: '', name: 'look', arguments: '{}' }] }],
    ['a call whose id is a number', { content: '', toolCalls: [{ id: 7, name: 'look', arguments: '{}' }] }],
    ['a call without a name beside it', { content: '', toolCalls: [{ name: '' }, { name: 'look' }] }],
  ])('%s', async (_what, reply) => {
    const look = fakeTool('look');
    const model = giving(reply, { content: 'Tea.' });
    const result = await createAgent({ model, tools: [look], ...fast }).run('Go');
    expect(result).toMatchObject({ status: 'answered', result: 'Tea.', errorHistory: [] });
    expect(look.calls).toEqual([{}]);
    const ids = result.messages[1]?.toolCalls?.map(({ id }) => id) ?? [];
    expect(ids).toHaveLength(1);
    expect(ids[0]).toMatch(/./);
    expect(result.messages[2]?.toolCallId).toBe(ids[0]);
  });

  test('a call without a name is no call: the model is corrected', async () => {
    const model = giving({ content: '', toolCalls: [{ name: '', arguments: '{}' }] }, { content: 'Tea.' });
    expect(await createAgent({ model, tools: [fakeTool('look')], ...fast }).run('Go')).toMatchObject({
      status: 'answered',
      states: ['PLANNING', 'COMPLETION'],
      stepsTaken: 2,
    });
  });

  test.each([
    ['that is null', null],
    ['that is empty', {}],
    ['with texts', { inputTokens: '5', outputTokens: null, totalTokens: NaN }],
  ])('usage %s counts as none', async (_what, usage) => {
    const result = await createAgent({ model: giving({ content: 'Tea.', usage }), ...fast }).run('Go');
    expect(result).toMatchObject({ status: 'answered', usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 } });
  });

  test('a tool call that nobody asked for, without any tool, is an unknown tool', async () => {
    const agent = createAgent({ model: scriptedModel([calls(['rm', { path: '/' }]), 'Fine.']), ...fast });
    expect(await agent.run('Go')).toMatchObject({
      status: 'answered',
      toolsUsed: [],
      errorHistory: [{ code: 'unknown-tool', message: "Tool 'rm' not found" }],
    });
  });

  test('usage of all turns adds up', async () => {
    const usage = { inputTokens: 10, outputTokens: 2, totalTokens: 12 };
    const model = scriptedModel([
      { ...calls(['look']), usage },
      { content: 'Tea.', usage },
    ]);
    const result = await createAgent({ model, tools: [fakeTool('look')], ...fast }).run('Go');
    const sum = { inputTokens: 20, outputTokens: 4, totalTokens: 24 };
    expect(result.usage).toEqual({ ...sum, byModel: { scripted: sum } });
  });

  test('a model that throws before it returns a promise has failed like any other', async () => {
    const model: Model = {
      complete: () => {
        throw new Error('not today');
      },
    };
    expect(await createAgent({ model, ...fast }).run('Go')).toMatchObject({
      result: 'Unable to complete task due to LLM error: not today',
      error: { code: 'model-error' },
    });
  });

  test.each([[null], [undefined], ['text'], [{ a: 1 }]])('a model that rejects with %j has failed', async (thrown) => {
    const model: Model = { complete: () => Promise.reject(thrown) };
    expect(await createAgent({ model, ...fast }).run('Go')).toMatchObject({ reason: 'llm-error' });
  });
});

test.each(['null', '{}', '[]', ' { } ', '""'])(
  'in the envelope mode a reply that is only %s says nothing: the model is told',
  async (text) => {
    const model = giving({ content: text }, { content: 'Tea.' });
    const result = await createAgent({ model, toolCalling: 'json', ...fast }).run('Go');
    expect(result).toMatchObject({ status: 'answered', result: 'Tea.', errorHistory: [{ code: 'unusable-reply' }] });
  },
);

test.each(['null', '{}', '[]', '""'])(
  'a reply that is only %s is an answer, where text is the answer',
  async (text) => {
    const result = await createAgent({ model: giving({ content: text }), ...fast }).run('Go');
    expect(result).toMatchObject({ status: 'answered', result: text, errorHistory: [] });
  },
);

describe('replies that cannot be used', () => {
  test('are counted only in a row', async () => {
    const replies = ['', '', calls(['look', { n: 1 }]), '', '', 'Tea.'];
    const result = await createAgent({ model: scriptedModel(replies), tools: [fakeTool('look')], ...fast }).run('Go');
    expect(result).toMatchObject({ status: 'answered', result: 'Tea.', stepsTaken: 6 });
  });

  test('each take a step', async () => {
    const result = await createAgent({ model: scriptedModel(['', '']), ...fast, maxSteps: 2 }).run('Go');
    expect(result).toMatchObject({ status: 'stopped', reason: 'max-steps', stepsTaken: 2 });
  });

  test.each([
    ['an empty plan', '{"plan": []}'],
    ['a plan that is a text', '{"plan": "look around"}'],
    ['a step without a tool', '{"plan": [{"tool": "look"}, {"tool_args": {}}]}'],
    ['an envelope with only a thought', '{"thought": "hm"}'],
    ['a null answer', '{"answer": null}'],
    ['an empty answer', '{"thought": "hm", "answer": ""}'],
  ])('%s is corrected', async (_what, reply) => {
    const look = fakeTool('look');
    const model = scriptedModel([reply, '{"answer": "Tea."}']);
    const result = await createAgent({ model, tools: [look], toolCalling: 'json', ...fast }).run('Go');
    expect(result).toMatchObject({ status: 'answered', result: 'Tea.', stepsTaken: 2, planIterations: 0 });
    expect(result.errorHistory).toEqual([expect.objectContaining({ code: 'unusable-reply', step: 1 })]);
    expect(look.calls).toEqual([]);
  });

  test.each([
    ['a number', '{"answer": 42}', '42'],
    ['zero', '{"answer": 0}', '0'],
    ['false', '{"answer": false}', 'false'],
    ['an object', '{"answer": {"tea": 3}}', '{"tea":3}'],
  ])('an answer that is %s becomes text', async (_what, reply, text) => {
    const result = await createAgent({ model: scriptedModel([reply]), toolCalling: 'json', ...fast }).run('Go');
    expect(result.status).toBe('answered');
    expect(result.result.replaceAll(/\s/g, '')).toBe(text);
  });
});
