import { expect, onTestFinished, test, vi } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';

test('methods can be taken out of an agent and its tools, and belong to no other', async () => {
  const [first, second] = ['First.', 'Second.'].map((text) =>
    createAgent({ model: scriptedModel([text, text]), tools: [fakeTool(text.slice(0, -1), [1])], silent: true }),
  );
  if (first === undefined || second === undefined) throw new Error('There are two.');
  const { run, listTools, clearHistory, close } = first;
  const { has, list } = first.tools;
  expect(await second.run('Go')).toMatchObject({ result: 'Second.' });
  expect(await run('Go')).toMatchObject({ result: 'First.' });
  expect(first.run).toBe(run);
  expect(second.run).not.toBe(run);
  expect(first.history).toHaveLength(2);
  clearHistory();
  expect([first.history, second.history].map(({ length }) => length)).toEqual([0, 2]);
  expect(listTools().map(({ name }) => name)).toEqual(['First']);
  expect([has('First'), has('Second'), list().length]).toEqual([true, false, 1]);
  await close();
  await second.close();
});

test('a method can be replaced in one agent, and watched by a spy', async () => {
  const agents = [1, 2].map(() => createAgent({ model: scriptedModel(['Hi.', 'Hi.']), silent: true }));
  const [watched, other] = agents;
  if (watched === undefined || other === undefined) throw new Error('There are two.');
  const spy = vi.spyOn(watched, 'run');
  onTestFinished(() => spy.mockRestore());
  expect(await watched.run('Go')).toMatchObject({ result: 'Hi.' });
  expect(await other.run('Go')).toMatchObject({ result: 'Hi.' });
  expect(spy.mock.calls).toEqual([['Go']]);
  Object.assign(other, { close: () => Promise.resolve('replaced') });
  expect(await other.close()).toBe('replaced');
  expect(await watched.close()).toBeUndefined();
});
