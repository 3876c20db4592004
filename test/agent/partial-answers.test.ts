import { expect, test } from 'vitest';
import type { Model, ModelRequest } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { memoryJournal, replay } from '../../src/journal/index.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { tool } from '../../src/tools/tool.ts';
import { calls } from '../support/replies.ts';

/** Streams these pieces and then nothing more, until it is stopped; when it is asked again, it answers. */
function hanging(pieces: readonly string[], more: Partial<Model> = {}) {
  const requests: ModelRequest[] = [];
  const said = Promise.withResolvers<undefined>();
  const model: Model = {
    ...more,
    complete: async (request, { onToken, signal }) => {
      requests.push(request);
      if (requests.length > 1) return { content: 'Well.' };
      for (const text of pieces) onToken?.({ kind: 'text', text });
      said.resolve(undefined);
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
    },
  };
  return { model, requests, said: said.promise };
}

const agentOf = (model: Model, options: Partial<AgentOptions> = {}) =>
  createAgent({ model, streaming: true, silent: true, ...options });

test('what a model has said when its run is cancelled stays in the conversation', async () => {
  const { model, requests, said } = hanging(['The sun ', 'is a star']);
  const agent = agentOf(model);
  const run = agent.run('What is the sun?');
  await said;
  expect(await run.cancel('enough')).toBe(true);
  const result = await run;
  expect(result).toMatchObject({ status: 'cancelled', result: '[Cancelled after 1 step(s)]', success: false });
  expect(result.partialAnswer).toBe('The sun is a star');
  const kept = { role: 'assistant', content: 'The sun is a star' };
  expect(result.messages.at(-1)).toEqual(kept);
  expect(agent.history.at(-1)).toEqual(kept);
  await agent.run('Go on');
  expect(requests[1]?.messages.slice(1).map(({ content }) => content)).toEqual([
    'What is the sun?',
    'The sun is a star',
    'Go on',
  ]);

  const replayed = replay(run.recording(), agentOf(scriptedModel([])));
  expect(await replayed).toMatchObject({ partialAnswer: 'The sun is a star', messages: result.messages });
  expect(replayed.transitions()).toEqual(run.transitions());
});

test('what stays is the text of the last turn, without its thoughts and calls', async () => {
  const said = Promise.withResolvers<undefined>();
  let asked = 0;
  const model: Model = {
    complete: (_, { onToken }) => {
      asked += 1;
      onToken?.({ kind: 'reasoning', text: 'Hm. ' });
      onToken?.({ kind: 'text', text: asked === 1 ? 'I look. ' : 'It is ' });
      if (asked === 1) return Promise.resolve({ ...calls(['look', {}]), content: 'I look. ' });
      onToken?.({ kind: 'text', text: 'a star' });
      onToken?.({ kind: 'arguments', text: '{"at"', callIndex: 0, tool: 'look' });
      said.resolve(undefined);
      return new Promise(() => undefined);
    },
  };
  const run = agentOf(model, { tools: [fakeTool('look')] }).run('What is the sun?');
  await said.promise;
  await run.cancel();
  expect((await run).partialAnswer).toBe('It is a star');
});

test('of an envelope the answer stays, as far as it was shown', async () => {
  const { model, said } = hanging(['{"thought": "Easy.", "answer": "A st'], { toolCalling: 'json' });
  const run = agentOf(model).run('What is the sun?');
  await said;
  await run.cancel();
  expect((await run).partialAnswer).toBe('A st');
});

test.each([
  ['only thoughts', ['{"thought": "Hm, the']],
  ['a call that is being written', ['{"tool": "look", "tool_args": {"at": "the su']],
  ['blanks', [' \n']],
])('of a reply that is %s nothing stays', async (_, pieces) => {
  const { model, said } = hanging(pieces, { toolCalling: 'json' });
  const run = agentOf(model, { tools: [fakeTool('look')] }).run('What is the sun?');
  await said;
  await run.cancel();
  const result = await run;
  expect(result).not.toHaveProperty('partialAnswer');
  expect(result.messages.map(({ role }) => role)).toEqual(['user']);
});

test('of a typed answer nothing stays: a part of it fits no schema', async () => {
  const { model, said } = hanging(['{"star": tr']);
  const outputSchema = { type: 'object', properties: { star: { type: 'boolean' } } };
  const run = createAgent({ model, streaming: true, silent: true, outputSchema }).run('Sun?');
  await said;
  await run.cancel();
  expect(await run).not.toHaveProperty('partialAnswer');
});

test('nothing stays of a reply without streaming, of one that is over, or of one that is asked for again', async () => {
  const whole = hanging(['The sun']);
  const quiet = agentOf(whole.model, { streaming: false }).run('What is the sun?');
  await whole.said;
  await quiet.cancel();
  expect(await quiet).not.toHaveProperty('partialAnswer');

  const asked = Promise.withResolvers<undefined>();
  const execute = () => (asked.resolve(undefined), new Promise<never>(() => undefined));
  const slow = tool({ name: 'look', description: 'Looks.', policy: 'allow', execute });
  const called = agentOf(scriptedModel([{ ...calls(['look', {}]), content: 'I look.' }]), { tools: [slow] }).run(
    'Sun?',
  );
  await asked.promise;
  await called.cancel();
  const { messages, ...result } = await called;
  expect(result).not.toHaveProperty('partialAnswer');
  expect(messages.filter(({ role, content }) => role === 'assistant' && content === 'I look.')).toHaveLength(1);
  // The reply came while the cancel was under way.
  const late = called.recording().replace('"type":"run.cancelled",', '$&"partialAnswer":"I loo",');
  expect(late).not.toBe(called.recording());
  const again = await replay(late, agentOf(scriptedModel([]), { tools: [slow] }));
  expect(again).not.toHaveProperty('partialAnswer');
  expect(again.messages).toEqual(messages);

  const failed = Promise.withResolvers<undefined>();
  const broken: Model = {
    complete: async (_, { onToken }) => {
      onToken?.({ kind: 'text', text: 'The s' });
      setTimeout(() => failed.resolve(undefined), 20);
      throw Object.assign(new Error('cut'), { status: 503 });
    },
  };
  const retried = agentOf(broken, { retry: { maxAttempts: 2, backoff: { kind: 'constant', ms: 60_000 } } }).run('Sun?');
  await failed.promise;
  await retried.cancel();
  expect(await retried).not.toHaveProperty('partialAnswer');
});

test('what a child agent is saying is not the answer of the run', async () => {
  const { model, said } = hanging(['The sun ']);
  const child = createAgent({ name: 'astronomer', description: 'Knows stars.', model, streaming: true, silent: true });
  const parent = agentOf(scriptedModel([calls(['astronomer', { task: 'the sun' }])]), { children: [child] });
  const run = parent.run('What is the sun?');
  await said;
  await run.cancel();
  expect(await run).not.toHaveProperty('partialAnswer');
  expect(run.recording()).not.toContain('The sun');
});

test('a secret in it is in no record, and in the result', async () => {
  const { model, said } = hanging(['The code is swordfish-', '99']);
  const journal = memoryJournal();
  const run = agentOf(model, { journal, secrets: ['swordfish-99'] }).run('What is the code?');
  await said;
  await run.cancel();
  expect((await run).partialAnswer).toBe('The code is swordfish-99');
  expect(run.recording()).not.toContain('swordfish-99');
  expect(run.recording()).toContain('The code is «secret:');
});

test('of eight nested agents only what the first says to the user stays, and two that stop it at once are one', async () => {
  const { model, said } = hanging(['It is ']);
  let agent = createAgent({ name: 'a8', description: 'The last.', model: scriptedModel(['Deep.']), silent: true });
  for (let depth = 7; depth > 1; depth -= 1)
    agent = createAgent({
      name: `a${depth}`,
      description: 'Asks the next.',
      model: scriptedModel([calls([`a${depth + 1}`, { task: 'go' }]), `From ${depth}.`]),
      streaming: true,
      silent: true,
      children: [agent],
    });
  const first: Model = {
    complete: (request, io) =>
      request.messages.some(({ role }) => role === 'tool')
        ? model.complete(request, io)
        : Promise.resolve(calls(['a2', { task: 'go' }])),
  };
  const run = agentOf(first, { children: [agent] }).run('Go');
  await said;
  const told = await Promise.all([run.cancel('one'), run.cancel('two')]);
  expect(told).toContain(true);
  const result = await run;
  expect(result).toMatchObject({ status: 'cancelled', partialAnswer: 'It is' });
  expect(result.messages.filter(({ content }) => content === 'It is')).toHaveLength(1);
  expect(await replay(run.recording(), agentOf(first, { children: [agent] }))).toMatchObject({
    messages: result.messages,
  });
});
