import { describe, expect, test } from 'vitest';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { createMcpConnection } from '../../src/mcp/index.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { agentWith, modern, toldBy } from '../support/mcp/modern.ts';
import { realServer } from '../support/mcp/real-servers.ts';
import { calls } from '../support/replies.ts';
import { besideEachOther, onTestFinished, poll } from '../support/beside.ts';

besideEachOther();

const once = (tool: string, args: object = {}): AgentOptions => ({
  model: scriptedModel([calls([`lab_${tool}`, JSON.stringify(args), 'a']), 'Done.']),
});

describe.each(['stdio', 'HTTP'] as const)('a tool that requires tasks, over %s', (transport) => {
  // Alone: it counts the polls.
  test('is run as one: begun once, polled, and its result is what the model gets', async () => {
    const lab = await modern(transport);
    const { agent, events } = agentWith(lab.config, once('research', { polls: 3 }));
    const [told = ''] = await toldBy(agent);
    expect(told).toContain('report after 3 polls');
    expect(told).not.toContain('task-1');
    expect(lab.received('tools/call')).toEqual([expect.objectContaining({ task: { ttl: expect.any(Number) } })]);
    expect(lab.received('tasks/get')).toHaveLength(3);
    expect(lab.received('tasks/cancel')).toEqual([]);
    const said = events.flatMap((event) => (event.type === 'tool.progress' ? [event.message] : []));
    expect(said[0]).toBe('poll 0');
  });

  test.concurrent('is cancelled at the server when the run is', async () => {
    const lab = await modern(transport);
    const { agent } = agentWith(lab.config, once('research', { polls: 1e9 }));
    const run = agent.run('Go');
    await poll(() => lab.received('tasks/get').length).toBeGreaterThan(0);
    await run.cancel('enough');
    expect(await run).toMatchObject({ status: 'cancelled' });
    await poll(() => lab.received('tasks/cancel')).toEqual([{ taskId: 'task-1' }]);
  });

  test.concurrent('is cancelled at the server also when its id comes only after the run was cancelled', async () => {
    const lab = await modern(transport);
    const { agent } = agentWith(lab.config, once('research', { beginMs: 2000 }));
    const run = agent.run('Go');
    await poll(() => lab.received('tools/call').length).toBe(1);
    await run.cancel();
    await poll(() => lab.received('tasks/cancel')).toEqual([{ taskId: 'task-1' }]);
    expect(lab.received('tasks/get')).toEqual([]);
  });

  test.concurrent('is cancelled at the server when its time is up, however often it answers', async () => {
    const lab = await modern(transport, { timeoutMs: 1500, maxTotalMs: 3000 });
    const { agent } = agentWith(lab.config, once('research', { polls: 1e9 }));
    const [told = ''] = await toldBy(agent);
    expect(told).toContain('no answer within 3 s');
    await poll(() => lab.received('tasks/cancel')).toEqual([{ taskId: 'task-1' }]);
  });

  test.concurrent('that waits for an answer is at work as long as the server says so, whatever the silence of its result', async () => {
    const lab = await modern(transport, { timeoutMs: 1500, maxTotalMs: 60_000 });
    const { agent } = agentWith(lab.config, once('research', { polls: 20, waits: true }));
    expect((await toldBy(agent))[0]).toContain('report after 20 polls');
    expect(lab.received('tasks/result')).toHaveLength(1);
  });

  test.concurrent.each([
    ['failed', 'report after 2 polls'],
    ['cancelled', 'The server cancelled the task of this call: poll 2'],
  ])('whose task ends as %s is an error in the words of the server', async (end, words) => {
    const lab = await modern(transport);
    const { agent } = agentWith(lab.config, once('research', { end }));
    const [told = ''] = await toldBy(agent);
    expect(told).toContain('"status":"error"');
    expect(told).toContain(words);
  });
});

test.concurrent.each(['broken', 'again'])('a task whose result cannot be had (%s) is no success', async (way) => {
  const lab = await modern('HTTP');
  const { agent } = agentWith(lab.config, once('research', { [way]: true }));
  const [told = ''] = await toldBy(agent);
  expect(told).toContain('"status":"error"');
  expect(told).toContain('unknown whether');
  expect(lab.received('tools/call')).toHaveLength(1);
});

test.concurrent('a task that failed is an error whatever its result says', async () => {
  const lab = await modern('HTTP');
  const { agent } = agentWith(lab.config, once('research', { end: 'failed', unsaid: true }));
  const [told = ''] = await toldBy(agent);
  expect(told).toContain('"status":"error"');
  expect(told).toContain('report after 2 polls');
});

test.concurrent('a task tells how far it is long after the request that began it was answered', async () => {
  const lab = await modern('stdio');
  const connection = createMcpConnection('lab', lab.config);
  onTestFinished(() => connection.disconnect());
  const heard: unknown[] = [];
  const onProgress = (progress: unknown) => heard.push(progress);
  expect(await connection.callTool('research', { polls: 3, steps: true }, { onProgress })).toMatchObject({
    data: 'report after 3 polls',
  });
  expect(heard).toContainEqual({ progress: 2, total: 3 });
  expect(heard).toContainEqual({ progress: 2, total: 3, message: 'poll 2' });
});

test.concurrent('a task that failed and has no result is an error with what the server says of both', async () => {
  const lab = await modern('HTTP');
  const { agent } = agentWith(lab.config, once('research', { end: 'failed', broken: true }));
  const [told = ''] = await toldBy(agent);
  expect(told).toContain('The task of this call failed: poll 2; the result is gone');
});

test.concurrent('an answer that is a task without an id is no success', async () => {
  const lab = await modern('HTTP');
  const { agent } = agentWith(lab.config, once('research', { nameless: true }));
  const [told = ''] = await toldBy(agent);
  expect(told).toContain('"status":"error"');
});

test.concurrent('a tool that may run as a task is called the plain way', async () => {
  const lab = await modern('HTTP');
  const { agent } = agentWith(lab.config, once('either'));
  expect((await toldBy(agent))[0]).toContain('plainly');
  expect(lab.received('tools/call')[0]).not.toHaveProperty('task');
});

test.concurrent('a server that does not say that it runs tasks is not asked to', async () => {
  const lab = await modern('HTTP without tasks');
  const { agent } = agentWith(lab.config, once('research'));
  expect((await toldBy(agent))[0]).toContain('research runs as a task only');
  expect(lab.received('tools/call')[0]).not.toHaveProperty('task');
});

test.concurrent('a task that nobody asked for is waited for all the same', async () => {
  const lab = await modern('HTTP');
  const { agent } = agentWith(lab.config, once('unasked'));
  expect((await toldBy(agent))[0]).toContain('report after 2 polls');
});

describe.each(['stdio', 'HTTP'] as const)('a task whose connection is lost, over %s,', (transport) => {
  test.concurrent('is gone on with on the next one, as often as it takes, and begun once', async () => {
    const lab = await modern(transport);
    const { agent } = agentWith(lab.config, once('research', { polls: 6, dropAt: [1, 2, 4] }));
    const [told = ''] = await toldBy(agent);
    expect(told).toContain('report after 6 polls');
    expect(lab.received('initialize')).toHaveLength(4);
    expect(lab.received('tools/call')).toHaveLength(1);
  });

  test.concurrent('is cancelled on the next one when the run was given up meanwhile', async () => {
    const lab = await modern(transport);
    const { agent } = agentWith(lab.config, once('research', { polls: 1e9, dropAt: [1] }));
    await agent.ready();
    const run = agent.run('Go');
    agent.mcp.lab?.on('mcp.changed', ({ state }) => state === 'BACKING_OFF' && void run.cancel());
    expect(await run).toMatchObject({ status: 'cancelled' });
    await poll(() => lab.received('tasks/cancel')).toEqual([{ taskId: 'task-1' }]);
    expect(lab.received('initialize')).toHaveLength(2);
    expect(lab.received('tools/call')).toHaveLength(1);
  });
});

test.concurrent.each(['stdio', 'HTTP'] as const)(
  'a task whose beginning was lost is not begun again, over %s',
  async (transport) => {
    const lab = await modern(transport);
    const { agent } = agentWith(lab.config, once('research', { lose: true }));
    expect((await toldBy(agent))[0]).toContain('unknown whether');
    expect(lab.received('tools/call')).toHaveLength(1);
  },
);

test.concurrent('a task that the server has forgotten is of unknown outcome, and not begun anew', async () => {
  const lab = await modern('HTTP');
  const { agent } = agentWith(lab.config, once('research', { polls: 1e9 }));
  const run = agent.run('Go');
  await poll(() => lab.received('tasks/get').length).toBeGreaterThan(0);
  delete lab.memory().tasks['task-1'];
  const { messages } = await run;
  expect(String(messages.find(({ role }) => role === 'tool')?.content)).toContain('unknown whether');
  expect(lab.received('tools/call')).toHaveLength(1);
});

test.concurrent('a real server runs its research as a task, and has its question answered', async () => {
  const { agent, events } = agentWith(realServer('everything'), {
    ...once('simulate-research-query', { topic: 'python', ambiguous: true }),
    elicit: () => ({ action: 'accept', content: { interpretation: 'snake' } }),
  });
  const [told = ''] = await toldBy(agent);
  expect(told).toContain('Research Report: python (snake)');
  expect(events.filter(({ type }) => type.startsWith('question.'))).toMatchObject([
    { type: 'question.asked', tool: 'lab_simulate-research-query' },
    { type: 'question.answered', action: 'accept' },
  ]);
});
