import { describe, expect, test } from 'vitest';
import type { Agent } from '../../src/agent/agent-types.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { Message } from '../../src/actors/model.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { workedMs } from '../support/steady-time.ts';

const user = (content: string): Message => ({ role: 'user', content });
const call = (id: string): Message => ({
  role: 'assistant',
  content: '',
  toolCalls: [{ id, name: 'look', arguments: '{}' }],
});
const result = (toolCallId: string): Message => ({ role: 'tool', toolCallId, name: 'look', content: '{}' });
const shape = (messages: readonly Message[]) =>
  messages.map(({ role, content, toolCalls, toolCallId }) =>
    role === 'tool'
      ? `= ${toolCallId}`
      : toolCalls === undefined
        ? `${role}: ${String(content)}`
        : `call ${toolCalls.map(({ id }) => id).join(' ')}`,
  );

function agentWith(replies: readonly ScriptedReply[], options: AgentOptions = {}) {
  const model = scriptedModel(replies);
  const tools = [fakeTool('look', [{ tea: 3 }]), fakeTool('broken', [new Error('offline')])];
  return { model, agent: createAgent({ model, tools, silent: true, ...options }) };
}

/** Every call has exactly one result, after it and before the next turn; no result is without its call. */
function expectPaired(messages: readonly Message[]): void {
  let open: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      expect(open).toContain(message.toolCallId);
      open = open.filter((id) => id !== message.toolCallId);
      continue;
    }
    expect(open).toEqual([]);
    open = (message.toolCalls ?? []).map(({ id }) => id);
  }
  expect(open).toEqual([]);
}

describe('the conversation of an agent', () => {
  test('goes on from run to run, without the system prompt; result.messages is what a run added', async () => {
    const { agent, model } = agentWith(['Hi.', calls(['look', {}, 'a']), 'Tea.'], { instructions: 'Be kind.' });
    const first = await agent.run('Hello');
    const second = await agent.run('What is there?');
    expect(first.messages).toEqual([user('Hello'), { role: 'assistant', content: 'Hi.' }]);
    expect(shape(second.messages)).toEqual(['user: What is there?', 'call a', '= a', 'assistant: Tea.']);
    expect(agent.history).toEqual([...first.messages, ...second.messages]);
    expect(model.requests[1]?.messages.slice(1, 4)).toEqual([...first.messages, user('What is there?')]);
    expect(model.requests.every(({ messages }) => messages.filter(({ role }) => role === 'system').length === 1)).toBe(
      true,
    );
  });

  test('can be cleared', async () => {
    const { agent, model } = agentWith(['Hi.', 'Hi again.']);
    await agent.run('Hello');
    agent.clearHistory();
    expect(agent.history).toEqual([]);
    await agent.run('Hello');
    expect(model.requests[1]?.messages).toHaveLength(2);
  });

  test.each<[string, readonly Message[]]>([
    ['cleared', []],
    ['replaced', [user('Only this.')]],
  ])('%s during a run, it stays so, and the run is added to it', async (how, now) => {
    const change = () => (how === 'cleared' ? agent.clearHistory() : agent.setHistory(now));
    const { agent, model } = agentWith(['My secret.', () => (change(), 'Hi.'), 'Hi again.']);
    await agent.run('Tell me');
    const { messages } = await agent.run('Hello');
    expect(shape(messages)).toEqual(['user: Hello', 'assistant: Hi.']);
    expect(agent.history).toEqual([...now, ...messages]);
    await agent.run('Hello again');
    expect(JSON.stringify(model.requests[2])).not.toContain('secret');
  });

  test('can be taken from elsewhere when the agent is made', async () => {
    const before: readonly Message[] = [
      { role: 'system', content: 'old' },
      user('a'),
      { role: 'assistant', content: 'b' },
    ];
    const { agent, model } = agentWith(['c'], { history: before });
    expect(agent.history).toEqual(before.slice(1));
    await agent.run('d');
    expect(shape(model.requests[0]?.messages.slice(1) ?? [])).toEqual(['user: a', 'assistant: b', 'user: d']);
  });

  test.each([
    ['a call without a result gets one', [user('x'), call('a'), user('y')], ['user: x', 'call a', '= a', 'user: y']],
    ['at its end too', [user('x'), call('a')], ['user: x', 'call a', '= a']],
    ['a result without its call goes', [user('x'), result('a'), user('y')], ['user: x', 'user: y']],
    ['a result before its call goes', [result('a'), call('a')], ['call a', '= a']],
    [
      'an id that was used twice needs two results',
      [user('x'), call('a'), result('a'), call('a'), user('y')],
      ['user: x', 'call a', '= a', 'call a', '= a', 'user: y'],
    ],
    ['a second result for one call goes', [call('a'), result('a'), result('a')], ['call a', '= a']],
  ])('setHistory mends pairs: %s', (_what, given, expected) => {
    const { agent } = agentWith([]);
    agent.setHistory(given);
    expect(shape(agent.history)).toEqual(expected);
    expectPaired(agent.history);
  });

  test.each<[string, unknown]>([
    ['history', 'x'],
    ['history', undefined],
    ['history.0', [null]],
    ['history.0.content', [{ role: 'user' }]],
    ['history.1.role', [user('x'), { role: 'bogus', content: 'x' }]],
  ])('setHistory refuses what createAgent refuses, and keeps what there was: %s', async (option, given) => {
    const { agent, model } = agentWith(['Hi.'], { history: [user('My name is Ada.')] });
    const refused = expect.objectContaining({
      name: 'TypeError',
      code: 'wrong-option',
      message: expect.stringContaining(`agent.setHistory: option '${option}': `),
    });
    expect(() => Reflect.apply(agent.setHistory, agent, [given])).toThrow(refused);
    expect(shape(agent.history)).toEqual(['user: My name is Ada.']);
    expect((await agent.run('Hello')).result).toBe('Hi.');
    expect(model.requests[0]?.messages).toContainEqual(user('My name is Ada.'));
  });

  test('setHistory takes what an agent had, with parts, system prompts and members of its own', async () => {
    const { agent, model } = agentWith(['Hi.', 'Ho.'], {
      history: [{ role: 'user', content: [{ type: 'text', text: 'My name is Ada.' }] }],
    });
    expect((await agent.run('Hello')).result).toBe('Hi.');
    const before = agent.history;
    agent.setHistory([{ role: 'system', content: 'Be kind.' }, ...before.map((message) => ({ ...message, at: 5 }))]);
    expect(agent.history).toEqual(before.map((message) => ({ ...message, at: 5 })));
    expect((await agent.run('And?')).result).toBe('Ho.');
    expect(JSON.stringify(model.requests[1]?.messages)).toMatch(/My name is Ada\..*Hello.*Hi\..*And\?/);
    expect(JSON.stringify(model.requests[1]?.messages)).not.toContain('Be kind.');
    agent.setHistory([]);
    expect(agent.history).toEqual([]);
  });

  test('does not change with an array that was given', async () => {
    const given = [user('a')];
    const { agent } = agentWith([], { history: given });
    given.push(user('b'));
    expect(agent.history).toHaveLength(1);
  });
});

describe('the history is pruned when a run ends', () => {
  test('to maxHistoryMessages, at whole exchanges', async () => {
    const replies = [1, 2, 3].flatMap((n) => [calls(['look', { n }]), `answer ${n}`]);
    const { agent } = agentWith(replies, { maxHistoryMessages: 9 });
    for (const n of [1, 2, 3]) await agent.run(`question ${n}`);
    expect(agent.history).toHaveLength(8);
    expect(agent.history[0]).toEqual(user('question 2'));
    expectPaired(agent.history);
  });

  test('an exchange that holds corrections and errors is still one exchange', async () => {
    const { agent } = agentWith([calls(['broken']), '', 'Sorry.', 'Fine.', 'Good.'], { maxHistoryMessages: 5 });
    await agent.run('one');
    expect(shape(agent.history)).toEqual(['user: one', 'assistant: Sorry.']);
    await agent.run('two');
    await agent.run('three');
    expect(shape(agent.history)).toEqual(['user: two', 'assistant: Fine.', 'user: three', 'assistant: Good.']);
  });

  test('also in json mode, where results and corrections are user messages', async () => {
    const reply = (n: number) => JSON.stringify({ tool: 'look', tool_args: { n } });
    const { agent } = agentWith([reply(1), '{"answer":"A"}', reply(2), '{"answer":"B"}'], {
      toolCalling: 'json',
      maxHistoryMessages: 7,
    });
    await agent.run('one');
    await agent.run('two');
    expect(agent.history).toHaveLength(4);
    expect(agent.history[0]).toEqual(user('two'));
  });

  const looks = (ids: readonly string[]) => ids.map((id) => calls(['look', { id }, id]));

  test.each([
    [6, ['user: Go', 'call c', '= c', 'call d', '= d', 'assistant: Done.']],
    [5, ['user: Go', 'call d', '= d', 'assistant: Done.']],
    [2, ['user: Go', 'assistant: Done.']],
    [1, []],
  ])('of one that is longer the question is kept, and the latest turns, %i in all', async (limit, kept) => {
    const talks = [
      (agent: Agent) => agent,
      // Each conversation is read from the journal again.
      (agent: Agent) => agent.conversation('c'),
    ];
    for (const talkTo of talks) {
      const replies = [...looks(['a', 'b', 'c', 'd']), 'Done.', 'Fine.'];
      const { agent, model } = agentWith(replies, { maxHistoryMessages: limit, journal: memoryJournal() });
      await talkTo(agent).run('Go');
      await talkTo(agent).run('And now?');
      // Servers refuse a conversation that a call begins, and the model has to know what it was asked.
      expect(shape(model.requests.at(-1)?.messages.slice(1) ?? [])).toEqual([...kept, 'user: And now?']);
    }
  });

  test('the question that is kept is that of the run, not what was said to it while it worked', async () => {
    const { agent } = agentWith(['Hi.', ...looks(['a', 'b']), 'Done.'], { maxHistoryMessages: 4 });
    await agent.run('Hello');
    const run = agent.run('Go');
    await run.steer('Quickly!');
    await run;
    expect(shape(agent.history)).toEqual(['user: Go', 'call b', '= b', 'assistant: Done.']);
  });

  test('of a long one in json mode, too, where results are messages of the user', async () => {
    const look = (n: number) => JSON.stringify({ tool: 'look', tool_args: { n } });
    const { agent } = agentWith([look(1), look(2), look(3), '{"answer":"Done."}'], {
      toolCalling: 'json',
      maxHistoryMessages: 4,
    });
    await agent.run('Go');
    expect(shape(agent.history).map((line) => line.slice(0, 19))).toEqual([
      'user: Go',
      'assistant: {"tool":',
      'user: [Result from ',
      'assistant: {"answer',
    ]);
  });

  test('never within a run', async () => {
    const { agent, model } = agentWith([...[1, 2, 3, 4].map((n) => calls(['look', { n }])), 'Done.'], {
      maxHistoryMessages: 2,
    });
    await agent.run('Go');
    expect(model.requests.at(-1)?.messages).toHaveLength(10);
    expect(agent.history.length).toBeLessThanOrEqual(2);
    expectPaired(agent.history);
  });

  test('0 means unlimited', async () => {
    const { agent } = agentWith(
      Array.from({ length: 30 }, (_, n) => `answer ${n}`),
      { maxHistoryMessages: 0 },
    );
    for (let n = 0; n < 30; n++) await agent.run(`question ${n}`);
    expect(agent.history).toHaveLength(60);
  });

  test('keeps 40 messages by default', async () => {
    const { agent } = agentWith(Array.from({ length: 30 }, (_, n) => `answer ${n}`));
    for (let n = 0; n < 30; n++) await agent.run(`question ${n}`);
    expect(agent.history).toHaveLength(40);
  });
});

describe('a run that does not end with an answer', () => {
  test.each([
    ['a failing model', [calls(['look', {}, 'a']), new Error('gone'), new Error('gone')], {}],
    ['the step limit', [calls(['look', {}, 'a'])], { maxSteps: 1 }],
    ['three unusable replies', [calls(['look', {}, 'a']), '', '', ''], {}],
  ])('by %s keeps its messages', async (_what, replies, options) => {
    const { agent } = agentWith(replies, { ...options, retry: { backoff: { kind: 'constant', ms: 0 } } });
    const { messages, success } = await agent.run('Go');
    expect(success).toBe(false);
    expect(shape(messages).slice(0, 3)).toEqual(['user: Go', 'call a', '= a']);
    expect(agent.history).toEqual(messages);
    expectPaired(messages);
  });

  test('by a journal that fails keeps them as well, and its states begin with PLANNING and end with COMPLETION', async () => {
    const journal = {
      open: () => {
        throw new Error('no disk');
      },
    };
    const { agent } = agentWith([], { journal });
    const ended = await agent.run('Go');
    expect(ended).toMatchObject({ status: 'failed', success: false, states: ['PLANNING', 'COMPLETION'] });
    expect(ended.result).toContain('no disk');
    expect(agent.history).toEqual([user('Go')]);
  });
});

describe('a plan by native call', () => {
  test('is answered with the results of its steps, calls beside it as not run, in call order', async () => {
    const steps = { plan: [{ tool: 'look', tool_args: { n: 1 } }] };
    const reply = calls(['make_plan', steps, 'p'], ['look', { n: 2 }, 'q'], ['look', { n: 3 }, 'r']);
    const { agent, model } = agentWith([reply, 'Tea.', 'Fine.']);
    await agent.run('Go');
    const sent = model.requests[1]?.messages ?? [];
    expect(shape(sent.slice(2))).toEqual(['call p q r', '= p', '= q', '= r']);
    expect(String(sent[3]?.content)).toContain('"tea":3');
    expect(sent.slice(4).map(({ content }) => content)).toEqual(Array(2).fill('not run: a plan was given'));
    await agent.run('Again');
    expectPaired(agent.history);
  });

  test('is the first of several that can be read, and no other is taken for a call', async () => {
    const steps = { plan: [{ tool: 'look', tool_args: { n: 1 } }] };
    const wrong = { plan: [{ tool: '' }] };
    const two = agentWith([calls(['make_plan', wrong, 'p'], ['make_plan', steps, 'q']), 'Tea.']);
    expect(await two.agent.run('Go')).toMatchObject({ planIterations: 1, errorHistory: [], toolsUsed: ['look'] });
    const beside = agentWith([
      calls(['make_plan', wrong, 'p'], ['look', { n: 2 }, 'q'], ['make_plan', wrong, 'r']),
      '!',
    ]);
    expect(await beside.agent.run('Go')).toMatchObject({ planIterations: 0, errorHistory: [], toolsUsed: ['look'] });
    const [, , , p, q, r] = (beside.model.requests[1]?.messages ?? []).map(({ content }) => content);
    expect(p).toMatch(/^This plan cannot be run: Step 0/);
    expect(q).toContain('"tea":3');
    expect(r).toBe('not run: a reply can hold only one plan');
    expectPaired(beside.agent.history);
  });
});

test('in json mode neither a native history nor native calls that nobody asked for are sent back as such', async () => {
  const history = [user('a'), call('x'), result('x'), { role: 'assistant' as const, content: 'b' }];
  const { agent, model } = agentWith([calls(['look', { n: 1 }, 'y']), '{"answer": "Tea."}'], {
    toolCalling: 'json',
    history,
  });
  const { messages, toolsUsed } = await agent.run('Go');
  expect(toolsUsed).toEqual(['look']);
  const sent = model.requests[1]?.messages ?? [];
  expect(sent.map(({ role }) => role)).toEqual([
    'system',
    'user',
    'assistant',
    'user',
    'assistant',
    'user',
    'assistant',
    'user',
  ]);
  expect(sent.some((message) => 'toolCalls' in message)).toBe(false);
  expect(messages.some((message) => 'toolCalls' in message)).toBe(false);
  expect(sent.slice(-2).map(({ content }) => content)).toEqual([
    '{"tool": "look", "tool_args": {"n":1}}',
    expect.stringMatching(/^\[Result from look\]: /),
  ]);
});

test('our call ids are unique in a run, whatever kinds of replies follow each other', async () => {
  const both = calls(['make_plan', { plan: [] }, 'p'], ['look', { n: 2 }, 'q']);
  const text = '{"tool": "look", "tool_args": {"n": 3}}';
  const { agent } = agentWith([both, text, both, 'Tea.'], { textCalls: 'lenient' });
  const ids: string[] = [];
  for await (const event of agent.run('Go')) if (event.type === 'tool.started') ids.push(event.callId);
  expect(ids).toEqual(['c1', 'c2', 'c3']);
});

test('a plan that cannot be read, beside a call, has its result before the model is asked again', async () => {
  const reply = calls(['look', { n: 2 }, 'q'], ['make_plan', { plan: [] }, 'p'], ['look', { n: 3 }, 'r']);
  const { agent, model } = agentWith([reply, 'Tea.']);
  expect(await agent.run('Go')).toMatchObject({ status: 'answered', planIterations: 0 });
  expect(shape(model.requests[1]?.messages.slice(2) ?? [])).toEqual(['call q p r', '= q', '= p', '= r']);
});

describe('reasoning', () => {
  test('of the server is the thought and is not sent back', async () => {
    const { agent, model } = agentWith([{ ...calls(['look']), reasoning: 'I should look.' }, 'Tea.']);
    const thoughts: string[] = [];
    for await (const event of agent.run('Go')) if (event.type === 'thought') thoughts.push(event.text);
    expect(thoughts[0]).toBe('I should look.');
    expect(JSON.stringify(model.requests[1]?.messages)).not.toContain('I should look');
  });

  test('in <think> tags is neither answer nor sent back', async () => {
    const { agent } = agentWith(['<think>They want tea.</think>Tea.']);
    const { result: text, messages } = await agent.run('Go');
    expect(text).toBe('Tea.');
    expect(JSON.stringify(messages)).not.toContain('They want tea');
  });
});

test('in a long conversation a call without an id of its own costs about what another does', async () => {
  const ids = Array.from({ length: 3000 }, (_, n) => (n === 0 ? 'call_1' : `call_1_${n + 1}`));
  const history = ids.flatMap((id) => [user('Look.'), call(id), result(id)]);
  const worked = async (id: object): Promise<number> => {
    const model = scriptedModel([{ content: '', toolCalls: [{ name: 'look', arguments: {}, ...id }] }, 'Tea.']);
    const agent = createAgent({ model, history, maxHistoryMessages: 0, silent: true, tools: [fakeTool('look', [1])] });
    const before = workedMs();
    const { messages } = await agent.run('Look again.');
    const spent = workedMs() - before;
    expect(shape(messages)[1]).toBe('id' in id ? 'call own' : 'call call_1_3001');
    return spent;
  };
  const least = { own: Infinity, none: Infinity };
  for (let time = 0; time < 5; time += 1) {
    least.own = Math.min(least.own, await worked({ id: 'own' }));
    least.none = Math.min(least.none, await worked({}));
  }
  expect(least.none).toBeLessThan(8 * least.own);
});
