import { describe, expect, test } from 'vitest';
import { type Message, ModelError } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls, envelope, plan } from '../support/replies.ts';
import { eventsOf } from './agent-on-server.ts';

/** Runs an agent with the tool `look`, whose results are long; gives the messages of each request. */
async function requestsOf(replies: readonly ScriptedReply[], options: AgentOptions = {}) {
  const model = scriptedModel(replies);
  const look = fakeTool('look', ['x'.repeat(3000)]);
  const result = await createAgent({ model, tools: [look], silent: true, ...options }).run('Go');
  model.assertComplete();
  return { requests: model.requests.map(({ messages }) => messages), result };
}

function withLook(replies: readonly ScriptedReply[]) {
  const model = scriptedModel(replies);
  return { model, agent: createAgent({ model, tools: [fakeTool('look', ['x'.repeat(3000)])], silent: true }) };
}

const warningsOf = async (run: AsyncIterable<RunEvent>) =>
  (await eventsOf(run)).flatMap((event) => (event.type === 'warning' ? [event.message] : []));

const look = (n: number) => calls(['look', { n }]);
/** For each result of a call in there, whether it was shortened. */
const shortened = (messages: readonly Message[] = []) =>
  messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content).length < 600);

describe('what one request made of the conversation holds for the next:', () => {
  test('a conversation that had become too long stays shortened', async () => {
    const overflow = new ModelError('context-overflow', 'too long');
    const { requests } = await requestsOf([look(1), look(2), overflow, look(3), 'ok']);
    expect(requests.map(shortened)).toEqual([[], [false], [false, false], [true, false], [true, false, false]]);
  });

  test('a conversation in which nothing can be shortened is not sent again as it was, and no warning says otherwise', async () => {
    for (const before of [[], [look(1)]]) {
      const { agent, model } = withLook([...before, new ModelError('context-overflow', 'too long'), 'never']);
      const run = agent.run('Go');
      expect(await warningsOf(run)).toEqual([]);
      expect(await run).toMatchObject({ reason: 'llm-error', error: { code: 'context-overflow' } });
      expect(model.requests).toHaveLength(before.length + 1);
    }
  });

  test('that something was shortened is a warning, told once, also where it did not help', async () => {
    const overflow = new ModelError('context-overflow', 'too long');
    const helped = withLook([look(1), look(2), overflow, 'ok']);
    const inVain = withLook([look(1), look(2), overflow, overflow, 'never']);
    const text = expect.stringContaining('older tool results were shortened');
    expect(await warningsOf(helped.agent.run('Go'))).toEqual([text]);
    expect(await warningsOf(inVain.agent.run('Go'))).toEqual([text]);
    expect(inVain.model.requests).toHaveLength(4);
  });

  test('native calls stay text once the server has refused tools', async () => {
    const refusal = new ModelError('no-native-tools', 'no tools here');
    const again = envelope({ tool: 'look', tool_args: { n: 2 } });
    const { requests, result } = await requestsOf([look(1), refusal, again, envelope({ answer: 'ok' })]);
    expect(requests.map((messages) => messages.some(({ role }) => role === 'tool'))).toEqual([
      false,
      true,
      false,
      false,
    ]);
    expect(requests.at(-1)?.[2]).toMatchObject({
      role: 'assistant',
      content: '{"tool": "look", "tool_args": {"n":1}}',
    });
    expect(result.messages.some(({ role, toolCalls }) => role === 'tool' || toolCalls !== undefined)).toBe(false);
  });
});

describe('a native plan that is not carried out has a result before the model is asked again:', () => {
  const resultOf = (messages: readonly Message[] = [], id = '') =>
    messages.find(({ role, toolCallId }) => role === 'tool' && toolCallId === id)?.content;

  test('one that cannot be read', async () => {
    const { requests } = await requestsOf([calls(['make_plan', { plan: 7 }, 'p1']), 'ok']);
    expect(resultOf(requests[1], 'p1')).toContain('cannot be run');
  });

  test('one beyond the limit', async () => {
    const second = calls(['make_plan', { plan: [{ tool: 'look', tool_args: { n: 2 } }] }, 'p2']);
    const { requests } = await requestsOf([plan(['look', { n: 1 }]), second, 'ok'], { maxPlanIterations: 1 });
    expect(resultOf(requests[2], 'p2')).toContain('which is the limit');
  });
});

test('a plan that cannot be read is told to the model, and ignored beside an answer', async () => {
  const alone = await requestsOf([envelope({ plan: 'look around' }), 'ok'], { toolCalling: 'json' });
  expect(alone.result).toMatchObject({ status: 'answered', result: 'ok' });
  expect(String(alone.requests[1]?.at(-1)?.content)).toContain('Your plan cannot be run');
  const answered = await requestsOf([envelope({ answer: 'done', plan: 'look around' })], { toolCalling: 'json' });
  expect(answered.result).toMatchObject({ status: 'answered', result: 'done', stepsTaken: 1 });
});
