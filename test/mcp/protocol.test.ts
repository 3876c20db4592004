import { expect, onTestFinished, test, vi } from 'vitest';
import { createMcpConnection } from '../../src/mcp/index.ts';
import type { McpResourceUpdate } from '../../src/mcp/index.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { agentWith, modern } from '../support/mcp/modern.ts';
import { askingEntry } from '../support/mcp/hostile-entry.ts';
import { realServer } from '../support/mcp/real-servers.ts';
import { calls } from '../support/replies.ts';

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const ALL_ZERO = '00-00000000000000000000000000000000-b7ad6b7169203331-01';

test('a trace that the caller gives goes to MCP servers with each call, beside the progress token', async () => {
  const lab = await modern('HTTP');
  const model = scriptedModel([calls(['lab_either', {}, 'a'], ['lab_research', {}, 'b']), 'Done.']);
  const { agent } = agentWith(lab.config, { model });
  await agent.run('Go', { traceparent: TRACE });
  for (const method of ['tools/call', 'tasks/get', 'tasks/result'])
    for (const { _meta } of lab.received(method)) expect(_meta).toMatchObject({ traceparent: TRACE });
  for (const { _meta } of lab.received('tools/call')) expect(_meta).toMatchObject({ progressToken: expect.anything() });
});

test.each([undefined, '', 'abc', ALL_ZERO, TRACE.toUpperCase(), `ff${TRACE.slice(2)}`, `${TRACE}, x`])(
  'what is no trace of W3C is not sent: %s',
  async (traceparent) => {
    const lab = await modern('HTTP');
    const { agent } = agentWith(lab.config, { model: scriptedModel([calls(['lab_either']), 'Done.']) });
    expect(await agent.run('Go', traceparent === undefined ? {} : { traceparent })).toMatchObject({ success: true });
    expect(lab.received('tools/call')[0]?._meta).not.toHaveProperty('traceparent');
  },
);

test.each(['stdio', 'HTTP'] as const)('what a server logs is an event with its level, over %s', async (transport) => {
  const lab = await modern(transport, { logLevel: 'warning' });
  const model = scriptedModel([
    calls(['lab_log', { level: 'error', data: { disk: 'full', key: 'sk-secret-word-1' } }, 'a']),
    calls(['lab_log', { level: 'info', data: 'all is well' }, 'b']),
    'Done.',
  ]);
  const { agent, events } = agentWith(lab.config, { model, secrets: ['sk-secret-word-1'] });
  const run = agent.run('Go');
  await run;
  const logs = events.filter(({ type }) => type === 'mcp.log');
  expect(logs).toMatchObject([
    { server: 'lab', level: 'error', grave: true, message: expect.stringContaining('{"disk":"full","key":"«secret:') },
  ]);
  expect(lab.received('logging/setLevel')).toEqual([{ level: 'warning' }]);
  expect(run.recording()).not.toContain('mcp.log');
});

test('a server that is told nothing of a level decides itself, and all that it says is told', async () => {
  const lab = await modern('stdio');
  const model = scriptedModel([calls(['lab_log', { level: 'debug', data: 'x'.repeat(9000) }]), 'Done.']);
  const { agent, events } = agentWith(lab.config, { model });
  await agent.run('Go');
  expect(lab.received('logging/setLevel')).toEqual([]);
  const [log] = events.flatMap((event) => (event.type === 'mcp.log' ? [event] : []));
  expect(log).toMatchObject({ level: 'debug', grave: false });
  expect(log?.message.length).toBeLessThan(2100);
});

test('a text that FastMCP logs is told as a text, and any other object as its JSON', async () => {
  const lab = await modern('stdio');
  const logged = [
    { msg: 'indexed 3 files', extra: null },
    { msg: 'indexed', extra: { files: 3 } },
    { msg: 'indexed' },
    { msg: 'indexed', extra: null, files: 3 },
    { msg: 3, extra: null },
    ['indexed'],
  ];
  const model = scriptedModel([calls(...logged.map((data, at) => ['lab_log', { data }, `${at}`] as const)), 'Done.']);
  const { agent, events } = agentWith(lab.config, { model, parallelToolCalls: false });
  await agent.run('Go');
  const told = events.flatMap((event) => (event.type === 'mcp.log' ? [event.message] : []));
  expect(told).toEqual(['indexed 3 files', ...logged.slice(1).map((data) => JSON.stringify(data))]);
});

test('a flood of logs is cut, and how much of it is said', async () => {
  const lab = await modern('stdio');
  const connection = createMcpConnection('lab', lab.config);
  onTestFinished(() => connection.disconnect());
  const heard: number[] = [];
  connection.on('mcp.log', ({ leftOut }) => heard.push(leftOut));
  await connection.callTool('log', { times: 5000 });
  expect(heard.length).toBeGreaterThanOrEqual(20);
  expect(heard.length).toBeLessThan(500);
  let logged = 5000;
  await vi.waitUntil(
    async () => {
      logged += 1;
      await connection.callTool('log');
      return heard.reduce((sum, leftOut) => sum + leftOut, heard.length) === logged;
    },
    { timeout: 45_000, interval: 100 },
  );
});

test('completion asks the server for proposals', async () => {
  const lab = await modern('HTTP');
  const { agent } = agentWith(lab.config, { model: scriptedModel([]) });
  await agent.ready();
  const argument = { name: 'city', value: 'Au', given: { country: 'US' } };
  const proposed = await agent.mcp.lab?.complete({ prompt: 'travel' }, argument);
  expect(proposed).toEqual({ values: ['Austin'], total: 7, hasMore: true });
  await agent.mcp.lab?.complete({ resource: 'file:///{path}' }, { name: 'path', value: 'a' });
  expect(lab.received('completion/complete')).toMatchObject([
    {
      ref: { type: 'ref/prompt', name: 'travel' },
      argument: { name: 'city', value: 'Au' },
      context: { arguments: { country: 'US' } },
    },
    { ref: { type: 'ref/resource', uri: 'file:///{path}' } },
  ]);
});

test('a server without completion has no proposals, and one without subscription says so', async () => {
  const { agent } = agentWith(askingEntry(), { model: scriptedModel([]) });
  await agent.ready();
  const { lab } = agent.mcp;
  expect(await lab?.complete({ prompt: 'x' }, { name: 'y', value: '' })).toEqual({ values: [], hasMore: false });
  await expect(lab?.subscribeResource('file:///a', () => undefined)).rejects.toMatchObject({
    code: 'protocol-error',
    message: expect.stringContaining('offers no subscription'),
  });
});

test.each(['stdio', 'HTTP'] as const)('a resource is followed across reconnects, over %s', async (transport) => {
  const lab = await modern(transport);
  const connection = createMcpConnection('lab', lab.config);
  onTestFinished(() => connection.disconnect());
  const heard: McpResourceUpdate[] = [];
  const others: McpResourceUpdate[] = [];
  const failing = await connection.subscribeResource('file:///notes', () =>
    Promise.reject(new Error('a listener that fails')),
  );
  const leave = await connection.subscribeResource('file:///notes', (update) => heard.push(update));
  const leaveToo = await connection.subscribeResource('file:///notes', (update) => others.push(update));
  await connection.callTool('touch', { uri: 'file:///notes/today.txt' });
  await connection.callTool('touch', { uri: 'file:///notesbook' });
  await expect.poll(() => heard).toEqual([{ uri: 'file:///notes/today.txt', missed: false }]);

  await connection.callTool('research', { polls: 2, dropAt: [1] });
  await expect.poll(() => heard[1]).toEqual({ uri: 'file:///notes', missed: true });
  expect(lab.received('resources/subscribe')).toEqual([{ uri: 'file:///notes' }, { uri: 'file:///notes' }]);

  await leave();
  expect(lab.received('resources/unsubscribe')).toEqual([]);
  await connection.callTool('touch', { uri: 'file:///notes' });
  await expect.poll(() => others).toHaveLength(3);
  expect(heard).toHaveLength(2);
  await leaveToo();
  expect(lab.received('resources/unsubscribe')).toEqual([]);
  await failing();
  expect(lab.received('resources/unsubscribe')).toEqual([{ uri: 'file:///notes' }]);
});

test.each([
  ['pages', { mcp: { listPages: 3 } }, 3, 'more pages than limits.mcp.listPages allows'],
  ['bytes', { mcp: { messageBytes: 20_000 } }, 7, 'limits.mcp.messageBytes'],
])('a list without end is given up at the limit of its %s', async (_what, limits, pages, says) => {
  const lab = await modern('HTTP');
  const connection = createMcpConnection('lab', lab.config, { limits });
  onTestFinished(() => connection.disconnect());
  await expect(connection.listResources()).rejects.toThrow(says);
  expect(lab.received('resources/list')).toHaveLength(pages);
  expect(await connection.callTool('either')).toMatchObject({ data: 'plainly' });
});

test('a prompt is given with what it says of itself, and one that is none is an error', async () => {
  const lab = await modern('HTTP');
  const connection = createMcpConnection('lab', lab.config);
  onTestFinished(() => connection.disconnect());
  expect(await connection.getPrompt('talk')).toEqual({
    description: 'Talks.',
    messages: [
      { role: 'assistant', content: { type: 'text', text: 'Hello.' } },
      { role: 'user', content: null },
    ],
  });
  await expect(connection.getPrompt('broken')).rejects.toMatchObject({ code: 'protocol-error' });
});

test('a server that refuses a level or a subscription on a new link is used all the same, and that is said', async () => {
  const lab = await modern('stdio', { logLevel: 'critical' });
  const connection = createMcpConnection('lab', lab.config);
  onTestFinished(() => connection.disconnect());
  const warnings: string[] = [];
  connection.on('mcp.warning', ({ message }) => warnings.push(message));
  const heard: McpResourceUpdate[] = [];
  await connection.subscribeResource('file:///once', (update) => heard.push(update));
  await connection.subscribeResource('file:///notes', (update) => heard.push(update));
  await connection.callTool('research', { polls: 2, dropAt: [1] });
  await expect.poll(() => heard).toEqual([{ uri: 'file:///notes', missed: true }]);
  await expect.poll(() => warnings).toHaveLength(3);
  expect(warnings.filter((message) => message.includes('no such level'))).toHaveLength(2);
  expect(warnings).toContainEqual(expect.stringMatching(/subscription of 'file:\/\/\/once'.*once only/));
  expect(await connection.callTool('either')).toMatchObject({ data: 'plainly' });
});

test('a real server completes, logs, and tells of a resource', async () => {
  const every = createMcpConnection('every', { ...realServer('everything'), logLevel: 'debug' });
  onTestFinished(() => every.disconnect());
  const logs: string[] = [];
  every.on('mcp.log', ({ level }) => logs.push(level));
  const { values } = await every.complete({ prompt: 'completable-prompt' }, { name: 'department', value: 'E' });
  expect(values).toContain('Engineering');
  const [resource] = await every.listResources();
  const updates: McpResourceUpdate[] = [];
  await every.subscribeResource(String(resource?.uri), (update) => updates.push(update));
  await every.callTool('toggle-subscriber-updates');
  await every.callTool('toggle-simulated-logging');
  await expect.poll(() => [updates.length > 0, logs.length > 0]).toEqual([true, true]);
});
