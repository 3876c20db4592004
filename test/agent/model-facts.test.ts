import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { Model } from '../../src/actors/model.ts';
import { chatModel } from '../../src/models/chat/chat-model.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { startModelServer } from '../support/model-server.ts';
import { calls } from '../support/replies.ts';
import { agentOn, eventsOf } from './agent-on-server.ts';

const warningsOf = async (run: Parameters<typeof eventsOf>[0]) =>
  (await eventsOf(run)).flatMap((event) => (event.type === 'warning' ? [event.message] : []));

test('what is found out about a server is asked beside the first request, once, and told in the next run', async () => {
  const list = { data: [{ id: 'scripted', max_model_len: 512 }] };
  const { agent, server } = await agentOn(['Hi.', 'Hi again.'], {}, { pages: { '/v1/models': list } });
  await agent.run('Hello');
  await server.askedElsewhere(1);
  expect(await warningsOf(agent.run('Again'))).toEqual([expect.stringContaining('512 tokens')]);
  expect(server.otherPaths).toEqual(['/v1/models']);
});

test('what is found out while the model answers is told with its reply, and at the start of later runs', async () => {
  const script = scriptedModel([calls(['look']), 'Hi.', calls(['look']), 'Hi again.']);
  let asked = 0;
  const model: Model = {
    complete: async (request, io) => {
      asked += 1;
      await nextTurn();
      return script.complete(request, io);
    },
    check: async () => [`small, looked at behind request ${String(asked)}`],
  };
  const agent = createAgent({ model, tools: [fakeTool('look')], silent: true });
  for (const [input, before] of [
    ['Hello', 'model.replied'],
    ['Again', 'run.started'],
  ] as const) {
    const events = await eventsOf(agent.run(input));
    const at = events.findIndex(({ type }) => type === 'warning');
    expect(events[at]).toMatchObject({ message: 'small, looked at behind request 1' });
    expect(events[at - 1]?.type).toBe(before);
    expect(events.filter(({ type }) => type === 'warning')).toHaveLength(1);
  }
});

test('what is found out between two runs is told once in the second', async () => {
  const script = scriptedModel(['Hi.', 'Hi again.']);
  const found = Promise.withResolvers<readonly string[]>();
  const model: Model = { complete: (request, io) => script.complete(request, io), check: () => found.promise };
  const agent = createAgent({ model, silent: true });
  expect(await warningsOf(agent.run('Hello'))).toEqual([]);
  found.resolve(['small']);
  await nextTurn();
  expect(await warningsOf(agent.run('Again'))).toEqual(['small']);
});

const look = calls(['look']);

test.each([
  ['in its first run', [look, 'A cat.'], 1],
  ['in the next one', ['Hi.', look, 'A cat.'], 2],
])('a model that its server had yet to load is looked up again, and told of %s', async (_when, replies, runs) => {
  const script = scriptedModel(replies);
  const size: { contextSize?: number } = {};
  let looks = 0;
  const model: Model = {
    get contextSize() {
      return size.contextSize;
    },
    complete: async (request, io) => {
      await nextTurn();
      return script.complete(request, io);
    },
    check: async () => {
      looks += 1;
      if (looks === 1) return [];
      size.contextSize = 4096;
      return ['small'];
    },
  };
  const agent = createAgent({ model, tools: [fakeTool('look')], silent: true });
  const warnings: string[] = [];
  for (let run = 0; run < runs; run += 1) warnings.push(...(await warningsOf(agent.run('Look.'))));
  expect({ warnings, looks }).toEqual({ warnings: ['small'], looks: 2 });
});

test.each([
  ['known', 9000, 1],
  ['never told', undefined, 2],
])('a context that is %s is not asked for with every request', async (_what, contextSize, expected) => {
  const script = scriptedModel([look, look, 'Hi.', 'Hi again.']);
  let looks = 0;
  const model: Model = {
    ...(contextSize === undefined ? {} : { contextSize }),
    complete: async (request, io) => {
      await nextTurn();
      return script.complete(request, io);
    },
    check: async () => {
      looks += 1;
      return [];
    },
  };
  const agent = createAgent({ model, tools: [fakeTool('look')], silent: true });
  expect(await warningsOf(agent.run('Look.'))).toEqual([]);
  expect(await warningsOf(agent.run('Again'))).toEqual([]);
  expect(looks).toBe(expected);
});

test('a model that is not named is looked up once, for the request and for what is found out', async () => {
  const server = await startModelServer(['Hi.'], { models: ['m'] });
  onTestFinished(server.close);
  const model = chatModel({ preset: 'llamacpp', baseURL: server.baseURL });
  await createAgent({ model, silent: true }).run('Hello');
  await server.askedElsewhere(2);
  expect(server.otherPaths).toEqual(['/v1/models', '/props']);
});

test('a check that never ends holds up neither the run nor its end', async () => {
  const script = scriptedModel(['Hi.', 'Bye.']);
  let looks = 0;
  const model: Model = {
    complete: (request, io) => script.complete(request, io),
    check: () => {
      looks += 1;
      return new Promise(() => undefined);
    },
  };
  const agent = createAgent({ model, silent: true });
  expect(await agent.run('Hello')).toMatchObject({ status: 'answered' });
  expect(await agent.run('Bye')).toMatchObject({ status: 'answered' });
  expect(looks).toBe(1);
});

test('a check that fails says nothing, and with minContextSize 0 there is none', async () => {
  const script = scriptedModel(['Hi.', 'Hi.']);
  let looks = 0;
  const model: Model = {
    complete: (request, io) => script.complete(request, io),
    check: () => {
      looks += 1;
      throw new Error('no idea');
    },
  };
  expect(await warningsOf(createAgent({ model, silent: true }).run('Hello'))).toEqual([]);
  expect(await warningsOf(createAgent({ model, silent: true, minContextSize: 0 }).run('Hello'))).toEqual([]);
  expect(looks).toBe(1);
});

test('what is found out about a model that an agent is given later is told, and no more what was of the one before', async () => {
  const model = (found: string, reply: string): Model => {
    const { complete } = scriptedModel([reply, reply]);
    return { complete, check: async () => [found] };
  };
  const agent = createAgent({ model: model('the first is small', 'Hi.'), silent: true });
  await agent.run('Hello');
  expect(await warningsOf(agent.run('Again'))).toEqual(['the first is small']);
  agent.configure({ model: model('the second is small', 'Ho.') });
  await agent.run('Hello');
  expect(await warningsOf(agent.run('Again'))).toEqual(['the second is small']);
});
