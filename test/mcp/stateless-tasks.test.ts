/** Calls that a server without sessions runs as tasks, through whole agents. */
import { expect, test } from 'vitest';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { besideEachOther, poll } from '../support/beside.ts';
import { agentWith, modern, toldBy } from '../support/mcp/modern.ts';
import { type TaskArgs, startTasksServer } from '../support/mcp/stateless-tasks.ts';
import { calls } from '../support/replies.ts';

besideEachOther();

const research = (args: TaskArgs) => calls(['lab_research', JSON.stringify(args), 'a']);

test.concurrent('a call that becomes a task is followed until it is over', async () => {
  const server = await startTasksServer();
  const { agent, events } = agentWith({ url: server.url }, { model: scriptedModel([research({ polls: 3 }), 'Done.']) });
  expect(await toldBy(agent)).toEqual([expect.stringContaining('"data":"done ')]);
  expect(events.filter(({ type }) => type === 'tool.progress')).toContainEqual(
    expect.objectContaining({ message: 'poll 1' }),
  );
  const polls = server.received('tasks/get');
  expect(polls).toHaveLength(3);
  for (const { name, params } of polls) expect([name, params.taskId]).toEqual(['task-1', 'task-1']);
  expect(server.received('tools/call')).toHaveLength(1);
  for (const method of ['tasks/result', 'tasks/cancel', 'tasks/update']) expect(server.received(method)).toEqual([]);
});

test.concurrent('what a task needs of a person is asked once, and the task goes on', async () => {
  const server = await startTasksServer();
  let asked = 0;
  const { agent } = agentWith(
    { url: server.url },
    {
      model: scriptedModel([research({ asks: true }), 'Done.']),
      elicit: () => {
        asked += 1;
        return { action: 'accept', content: { seat: '12A' } };
      },
    },
  );
  expect(await toldBy(agent)).toEqual([expect.stringContaining('12A')]);
  expect(asked).toBe(1);
  expect(server.received('tasks/update')).toHaveLength(1);
  expect(server.received('tasks/get').length).toBeGreaterThan(2);
});

test.concurrent('a task in which nobody can be asked is declined, and ends', async () => {
  const server = await startTasksServer();
  const { agent } = agentWith({ url: server.url }, { model: scriptedModel([research({ asks: true }), 'Done.']) });
  expect(await toldBy(agent)).toEqual([expect.stringContaining('decline')]);
});

test.concurrent.each([
  ['failed', /"status":"error".*the disk is full/],
  ['cancelled', /"status":"error".*cancelled the task/],
  ['silent', /"status":"error".*its task has no result/],
] as const)('a task that ends %s is an error of its call', async (end, said) => {
  const server = await startTasksServer();
  const { agent } = agentWith({ url: server.url }, { model: scriptedModel([research({ end }), 'Done.']) });
  expect(await toldBy(agent)).toEqual([expect.stringMatching(said)]);
  expect(agent.mcp.lab?.state).toBe('READY');
});

test.concurrent('a task outlives its connection: it is not begun again', async () => {
  const server = await startTasksServer();
  const { agent } = agentWith(
    { url: server.url },
    { model: scriptedModel([research({ polls: 4, dropAt: 2 }), 'Done.']) },
  );
  expect(await toldBy(agent)).toEqual([expect.stringContaining('"data":"done ')]);
  expect(server.received('tools/call')).toHaveLength(1);
});

test.concurrent('a run that is cancelled cancels the task at the server', async () => {
  const server = await startTasksServer();
  const { agent } = agentWith(
    { url: server.url },
    {
      model: scriptedModel([research({ polls: 1000 })]),
      onEvent: (event: RunEvent) => event.type === 'tool.progress' && void run.cancel('enough'),
    },
  );
  const run = agent.run('Go');
  expect(await run).toMatchObject({ status: 'cancelled' });
  await poll(() => server.received('tasks/cancel')).toMatchObject([{ params: { taskId: 'task-1' } }]);
});

test.concurrent('a server with sessions is told nothing of the extension', async () => {
  const lab = await modern('HTTP');
  const { agent } = agentWith(lab.config, { model: scriptedModel([]) });
  await agent.ready();
  expect(JSON.stringify(lab.received('initialize'))).not.toContain('extensions');
});
