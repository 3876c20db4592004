import { describe, expect, test } from 'vitest';
import { ModelError, type Model } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { EscalationError } from '../../src/json/errors.ts';
import type { JsonObject } from '../../src/json/json.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

const OPEN = { type: 'object' };
const SCHEMA = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };

/** One call with nonsense for arguments, mended by a repair agent with this model. */
async function mendedBy(
  model: Model,
  options: AgentOptions | AgentOptions<unknown, JsonObject> = {},
  inputSchema: JsonObject = SCHEMA,
) {
  const fixer = createAgent({ name: 'fixer', instructions: 'You know paths.', model, silent: true, ...options });
  const write = fakeTool('write', ['written'], {
    inputSchema,
    onError: { invalidArgs: [recover.fix(fixer), recover.substitute(() => 'stood in')] },
  });
  const agent = createAgent({
    model: scriptedModel([calls(['write', 'nonsense']), 'Done.']),
    tools: [write],
    silent: true,
  });
  return { result: await agent.run('Write'), calls: write.calls };
}

describe('a repair agent mends by its text', () => {
  test.each<[string, ScriptedReply]>([
    ['plain', '{"path": "/a"}'],
    ['in a fence', 'Here you are:\n```json\n{"path": "/a"}\n```'],
    ['after its reasoning', '<think>{"path": "/wrong"} no…</think>{"path": "/a"}'],
    ['before a special token', '{"path": "/a"}<|im_end|>'],
    ['with a trailing comma', "{'path': '/a',}"],
  ])('%s', async (_how, reply) => {
    expect((await mendedBy(scriptedModel([reply]))).calls).toEqual([{ path: '/a' }]);
  });

  test('and what looks like an envelope is not read as one', async () => {
    const { calls: made } = await mendedBy(scriptedModel(['{"tool": "write", "path": "/a", "answer": "no"}']));
    expect(made).toEqual([{ tool: 'write', path: '/a', answer: 'no' }]);
  });

  test.each(['native', 'json'] as const)(
    'and not where the arguments have its fields, in %s mode',
    async (toolCalling) => {
      for (const args of [
        { answer: '42' },
        { thought: 'deep', answer: '42' },
        { thought: 'deep' },
        { plan: ['a'] },
        {},
      ]) {
        const { calls: made } = await mendedBy(scriptedModel([JSON.stringify(args)]), { toolCalling }, OPEN);
        expect(made, JSON.stringify(args)).toEqual([args]);
      }
    },
  );

  test.each(['native', 'json'] as const)(
    'but an envelope counts if its answer holds them, in %s mode',
    async (toolCalling) => {
      for (const answer of ['{"path": "/a"}', "```json\n{'path': '/a',}\n```"]) {
        const reply = JSON.stringify({ thought: 'A path is missing.', answer });
        expect((await mendedBy(scriptedModel([reply]), { toolCalling })).calls, answer).toEqual([{ path: '/a' }]);
      }
    },
  );

  test.each<[string, ScriptedReply]>([
    ['is empty', ''],
    ['is cut off in its envelope', '{"thought": "A path is missing.", "answer": "{'],
    ['holds several', '{"thought": "this", "answer": "a"}\n\n{"thought": "that", "answer": "b"}'],
    ['the server could not read', { content: '{"path": "/a"}', finishReason: 'malformed-tool-call' }],
  ])('and a reply that %s is asked for again', async (_how, reply) => {
    const model = scriptedModel([reply, '{"path": "/b"}']);
    expect((await mendedBy(model, { toolCalling: 'json' })).calls).toEqual([{ path: '/b' }]);
    model.assertComplete();
  });

  test('an answer that has a schema stays what the schema says', async () => {
    const model = scriptedModel(['{"thought": "there", "answer": {"path": "/a"}}']);
    expect((await mendedBy(model, { toolCalling: 'json', outputSchema: SCHEMA })).calls).toEqual([{ path: '/a' }]);
  });
});

describe('a repair agent whose model calls tools by text alone', () => {
  const escalating = '{"tool": "escalate", "tool_args": {"reason": "not mine", "severity": "low"}}';

  test.each<[string, AgentOptions]>([
    ['is asked for it in JSON mode', { toolCalling: 'json' }],
    ['is understood in native mode as well', {}],
  ])('%s', async (_how, options) => {
    const model = scriptedModel([escalating]);
    const { result } = await mendedBy(model, options);
    expect(result.errorHistory).toMatchObject([{ code: 'escalation', message: expect.stringContaining('not mine') }]);
    const [request] = model.requests;
    expect(request?.tools?.map(({ name }) => name)).toEqual(
      options.toolCalling === 'json' ? undefined : ['escalate', 'throwException'],
    );
    expect(String(request?.messages[0]?.content)).toMatch(/^You know paths\./);
    expect(String(request?.messages[1]?.content)).toContain('call the tool "escalate"');
  });

  test('ends the run by the dialect of an open model', async () => {
    const text = '<tool_call>{"name": "throwException", "arguments": {"reason": "never"}}</tool_call>';
    expect((await mendedBy(scriptedModel([text]))).result).toMatchObject({
      reason: 'thrown',
      error: { message: 'never' },
    });
  });

  test('is asked again without tools when its server takes none', async () => {
    const model = scriptedModel([new ModelError('no-native-tools', 'no tools here'), '{"path": "/a"}']);
    expect((await mendedBy(model)).calls).toEqual([{ path: '/a' }]);
    expect(model.requests.map(({ toolCalling }) => toolCalling)).toEqual(['native', 'json']);
  });
});

test.each<[string, ScriptedReply]>([
  ['cannot be asked', new Error('the server is down')],
  ['escalates without a reason or with a severity of its own', calls(['escalate', { severity: 'apocalyptic' }])],
])('a repair agent that %s hands the matter up', async (_what, reply) => {
  const { result, calls: made } = await mendedBy(scriptedModel([reply]));
  expect(result.errorHistory).toMatchObject([{ code: 'escalation', message: expect.stringContaining('(high)') }]);
  expect(made).toEqual([]);
});

test('a repair agent that hands the error up is named as its source, beside the tool', async () => {
  const errors: EscalationError[] = [];
  const fixer = createAgent({
    name: 'fixer',
    model: scriptedModel([calls(['escalate', { reason: 'not mine' }])]),
    silent: true,
  });
  const write = fakeTool('write', [], { inputSchema: SCHEMA, onError: { invalidArgs: recover.fix(fixer) } });
  const run = createAgent({
    model: scriptedModel([calls(['write', 'nonsense']), 'Done.']),
    tools: [write],
    silent: true,
    onEscalation: (error, to) => {
      errors.push(error);
      return to.throwException();
    },
  }).run('Write');
  const sources: string[] = [];
  for await (const event of run)
    if (event.type === 'escalation.raised' && event.child === undefined) sources.push(event.source);
  expect(errors).toMatchObject([{ source: 'fixer', reason: 'not mine', originalError: { tool: 'write' } }]);
  expect(sources).toEqual(['fixer']);
  expect((await run).error).toMatchObject({ code: 'thrown', tool: 'write' });
});

test('a repair agent that says nothing leaves the next step to try', async () => {
  const { result } = await mendedBy(scriptedModel(Array.from({ length: 20 }, () => ({ content: ' ' }))));
  expect(JSON.stringify(result.messages)).toContain('stood in');
});

describe('a repair agent is paid from the budget of the run', () => {
  const costing = (totalTokens: number, reply: { readonly content: string }) => ({
    ...reply,
    usage: { inputTokens: totalTokens, outputTokens: 0, totalTokens },
  });

  /** A turn of 10 tokens with nonsense for arguments; the fixer's replies cost 10 each and never fit. */
  async function fixedWithin(maxTokens: number, retries = 3) {
    const model = scriptedModel(Array.from({ length: 3 }, (_, size) => costing(10, { content: `{"size": ${size}}` })));
    const fixer = createAgent({ name: 'fixer', model, silent: true });
    const steps = [recover.fix(fixer, { retries }), recover.substitute(() => 'stood in')];
    const write = fakeTool('write', ['written'], { inputSchema: SCHEMA, onError: { invalidArgs: steps } });
    const agent = createAgent({
      model: scriptedModel([costing(10, calls(['write', 'nonsense'])), 'Done.']),
      tools: [write],
      budget: { maxTokens },
      silent: true,
    });
    const result = await agent.run('Write');
    return { asked: model.requests.length, result };
  }

  test.each([
    ['is not asked where nothing is left', 10, 0],
    ['is not asked where more than all is spent', 5, 0],
    ['is asked while there is something left', 11, 1],
    ['is not asked again once it has used up what was left itself', 30, 2],
    ['is asked as often as its step says where enough is left', 1000, 3],
  ])('and %s', async (_when, maxTokens, times) => {
    const { asked, result } = await fixedWithin(maxTokens);
    expect(asked).toBe(times);
    expect(result.usage.totalTokens).toBe(10 + 10 * times);
    expect(JSON.stringify(result.messages)).toContain('stood in');
  });

  test.each([
    ['nothing is left', 5, 0],
    ['it has used up what was left', 20, 1],
  ])(
    'and leaves the next steps their turn when %s, however often it might have tried',
    async (_when, maxTokens, times) => {
      const { asked, result } = await fixedWithin(maxTokens, 100);
      expect(asked).toBe(times);
      expect(JSON.stringify(result.messages)).toContain('stood in');
    },
  );
});
