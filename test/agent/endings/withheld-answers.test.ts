import { describe, expect, test } from 'vitest';
import { ModelError } from '../../../src/actors/model.ts';
import { createAgent } from '../../../src/agent/create-agent.ts';
import { RunError } from '../../../src/agent/options/agent-errors.ts';
import type { AgentOptions } from '../../../src/agent/options/agent-options.ts';
import { replay } from '../../../src/journal/replay/replay.ts';
import { recover } from '../../../src/recovery/recover.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../../src/testing/scripted-model.ts';
import { calls, envelope } from '../../support/replies.ts';

/** Runs an agent with the tool `look`; the script has a reply left where a run that ended must not have asked again. */
async function runOf(replies: readonly ScriptedReply[], options: AgentOptions = {}) {
  const model = scriptedModel(replies);
  const look = fakeTool('look', [{ found: 'tea' }]);
  const retry = { backoff: recover.constant(0) };
  const agent = createAgent({ model, tools: [look], silent: true, retry, ...options });
  const run = agent.run('Go');
  return { result: await run, requests: model.requests.length, look, agent, run, model };
}

const said = (messages: readonly { readonly role: string; readonly content: unknown }[]) =>
  messages.flatMap(({ role, content }) => (role === 'assistant' ? [content] : []));

const json = { toolCalling: 'json' } as const;

describe('a reply that is withheld ends the run at once, and what came of it is the result', () => {
  test.each([
    ['refusal', 'refused', 'The model refused to answer.'],
    ['content_filter', 'content-filter', "A content filter stopped the model's reply."],
    ['content-filter', 'content-filter', "A content filter stopped the model's reply."],
  ])('%s is %s', async (finishReason, reason, message) => {
    const { result, requests } = await runOf([{ content: 'I will not say.', finishReason }, 'Never asked.']);
    expect(result).toMatchObject({
      status: 'failed',
      success: false,
      reason,
      result: 'I will not say.',
      error: { code: reason, message, step: 1 },
      stepsTaken: 1,
    });
    expect(said(result.messages)).toEqual(['I will not say.']);
    expect(requests).toBe(1);
  });

  test('an envelope around it is taken off', async () => {
    const content = envelope({ thought: 'not this', answer: 'I will not say.' });
    const { result } = await runOf([{ content, finishReason: 'refusal' }], json);
    expect(result).toMatchObject({ reason: 'refused', result: 'I will not say.' });
  });

  test.each([
    ['', 'refusal', 'The model refused to answer.'],
    [' \n', 'content_filter', "A content filter stopped the model's reply."],
    ['<think>They want me to', 'content_filter', "A content filter stopped the model's reply."],
  ])('where nothing was said (%j), the result is the sentence that says why', async (content, finishReason, text) => {
    expect((await runOf([{ content, finishReason }, 'Never asked.'])).result.result).toBe(text);
  });

  test('a blank before calls that are withheld is not what was said', async () => {
    const reply = { ...calls(['look']), content: ' \n', finishReason: 'content_filter' };
    expect((await runOf([reply])).result.result).toBe("A content filter stopped the model's reply.");
  });

  test('calls beside it do not run, and the conversation can go on', async () => {
    const reply = { ...calls(['look', { n: 1 }, 'a']), content: 'First,', finishReason: 'content_filter' };
    const { result, look, agent, model } = await runOf([reply, 'Tea.']);
    expect(result).toMatchObject({ reason: 'content-filter', result: 'First,', toolsUsed: [] });
    expect(look.calls).toEqual([]);
    expect(await agent.run('Something else')).toMatchObject({ status: 'answered', result: 'Tea.' });
    expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'user',
    ]);
  });

  test.each([
    ['a plan', envelope({ thought: 'hm', plan: [{ tool: 'look', tool_args: {} }] })],
    ['a call', envelope({ thought: 'hm', tool: 'look', tool_args: {} })],
  ])('%s in its text is not carried out, and is not lost', async (_what, content) => {
    const { result, look, requests } = await runOf([{ content, finishReason: 'refusal' }, 'Never asked.'], json);
    expect(result).toMatchObject({ reason: 'refused', result: content, planIterations: 0 });
    expect([look.calls, requests]).toEqual([[], 1]);
  });

  test('a filter that does not let the request through is asked once, and says so', async () => {
    const filtered = new ModelError('content-filter', 'Your server does not like this.');
    const { result, requests } = await runOf([filtered, 'Never asked.']);
    expect(result).toMatchObject({
      status: 'failed',
      reason: 'content-filter',
      result: 'Your server does not like this.',
      error: { code: 'content-filter', message: 'Your server does not like this.', step: 1 },
    });
    expect(requests).toBe(1);
  });

  test('orThrow throws what was said and why it is no answer', async () => {
    const { run } = await runOf([{ content: 'I will not say.', finishReason: 'refusal' }]);
    const thrown: unknown = await run.orThrow().catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(RunError);
    expect(thrown).toMatchObject({
      code: 'refused',
      message: 'I will not say. (refused: The model refused to answer.)',
      result: { result: 'I will not say.' },
    });
    const { run: silent } = await runOf([{ content: '', finishReason: 'refusal' }]);
    await expect(silent.orThrow()).rejects.toThrow(/^The model refused to answer\. \(refused\)$/);
  });

  test('a recording of it replays', async () => {
    const { run, agent } = await runOf([{ content: 'I will not say.', finishReason: 'refusal' }]);
    expect(await replay(run.recording(), agent)).toMatchObject({ reason: 'refused', result: 'I will not say.' });
  });
});

describe('what only looks like a refusal is an answer:', () => {
  test.each(['stop', 'end_turn', 'tool_calls', 'REFUSAL?', ''])(
    'a text that says so, ended by %j',
    async (finishReason) => {
      const { result } = await runOf([{ content: 'I cannot help with that: content_filter, refusal.', finishReason }]);
      expect(result).toMatchObject({ status: 'answered', reason: 'answer' });
    },
  );

  test('a text without any word of how it ended', async () => {
    expect((await runOf(['I refuse.'])).result).toMatchObject({ status: 'answered', result: 'I refuse.' });
  });
});

describe('an answer that is cut off', () => {
  test.each([
    ['a text', 'It is qui', 'It is qui', {}],
    ['an envelope', '{"thought": "hm", "answer": "It is qui', 'It is qui', json],
    ['an envelope in native mode', '{"thought": "hm", "answer": "It is qui', 'It is qui', {}],
    ['code', 'Here:\n```js\nconst tea = {', 'Here:\n```js\nconst tea = {', {}],
  ])(
    'as %s is the result of a run that was stopped, and is not asked for again',
    async (_what, content, text, options) => {
      const { result, requests } = await runOf([{ content, finishReason: 'length' }, 'Never asked.'], {
        ...options,
        maxTokens: 8,
      });
      expect(result).toMatchObject({
        status: 'stopped',
        success: false,
        reason: 'length',
        result: text,
        error: {
          code: 'length',
          message: 'The answer was cut off by the length limit: raise maxTokens, which is 8.',
          step: 1,
        },
        errorHistory: [],
      });
      expect(said(result.messages)).toEqual([content]);
      expect(requests).toBe(1);
    },
  );

  test('without maxTokens is told to set it', async () => {
    const { result } = await runOf([{ content: 'It is qui', finishReason: 'length' }]);
    expect(result.error?.message).toMatch(/: set maxTokens, which is left to the server\.$/);
  });

  test.each(['', '<think>Let me see. First I'])('and was only thought (%j) says so', async (content) => {
    const reply = { content, reasoning: 'Let me see. First I', finishReason: 'length' };
    const { result, requests } = await runOf([reply, 'Never asked.'], { maxTokens: 8 });
    const text = 'The model used up its tokens while it was thinking, before it answered: raise maxTokens, which is 8.';
    expect(result).toMatchObject({ status: 'stopped', reason: 'length', result: text, error: { message: text } });
    expect(requests).toBe(1);
  });

  test('after replies that could not be used is no third one', async () => {
    const { result } = await runOf(['', '', { content: 'It is qui', finishReason: 'length' }]);
    expect(result).toMatchObject({ reason: 'length', result: 'It is qui', stepsTaken: 3 });
  });
});

describe('what is cut off before it says what to do is asked for again, and the model is told the truth:', () => {
  const told = (model: Pick<ReturnType<typeof scriptedModel>, 'requests'>): string =>
    JSON.stringify(model.requests[1]?.messages.at(-1)?.content);
  const answer = envelope({ answer: 'Tea.' });

  test.each([
    ['a thought', '{"thought": "I wou', 'cut off by the length limit', 'JSON of your reply ended early'],
    ['an answer that had only begun', '{"thought": "x", "answer": "', 'cut off by the length', 'ended early'],
    ['a plan', '{"plan": [{"tool": "look", "tool_args": {}}, {"to', 'it was cut off', 'its JSON ended early'],
  ])('%s', async (_what, content, long, open) => {
    for (const [finishReason, text] of [
      ['length', long],
      ['stop', open],
    ] as const) {
      const { result, look, model } = await runOf([{ content, finishReason }, answer], json);
      expect(result).toMatchObject({ status: 'answered', errorHistory: [{ code: 'unusable-reply', step: 1 }] });
      expect(told(model)).toContain(text);
      if (finishReason === 'stop') expect(told(model)).not.toMatch(/length|cut off|shorter/);
      expect(look.calls).toEqual([]);
    }
  });

  test('an answer in an envelope that was left open, without a limit', async () => {
    const { result, model } = await runOf(['{"thought": "x", "answer": "It is qui', answer], json);
    expect(result.status).toBe('answered');
    expect(told(model)).toContain('The JSON of your reply ended early, before it was closed. Send it again, whole.');
  });

  test.each([
    ['native', calls(['look', '{"n": 1, "m": "te']), {}],
    ['text', { content: '{"thought": "x", "tool": "look", "tool_args": {"n": 1, "m": "te' }, json],
    ['a native plan', calls(['make_plan', '{"plan": [{"tool": "look"}, {"to']), {}],
  ])('a call (%s)', async (_how, reply, options) => {
    const cut = await runOf([{ ...reply, finishReason: 'length' }, answer], options);
    expect(cut.result).toMatchObject({ status: 'answered', stepsTaken: 2 });
    expect(JSON.stringify(cut.model.requests[1]?.messages)).toMatch(/(?:they were|it was) cut off/);
    const open = await runOf([{ ...reply, finishReason: 'stop' }, answer], options);
    expect(JSON.stringify(open.model.requests[1]?.messages)).toMatch(/JSON ended early, before it was closed/);
    expect(JSON.stringify(open.model.requests[1]?.messages)).not.toMatch(/cut off|shorter/);
    expect([cut.look.calls, open.look.calls]).toEqual([[], []]);
  });

  test('the third in a row ends the run as a failure of the model', async () => {
    const reply = { content: '{"thought": "I wou', finishReason: 'length' };
    const { result, requests } = await runOf([reply, reply, reply, 'Never asked.'], json);
    expect(result).toMatchObject({ status: 'failed', reason: 'llm-error', error: { code: 'unusable-reply' } });
    expect(requests).toBe(3);
  });
});
