import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { McpServerSettings } from '../../src/mcp/config/config.ts';
import { DEFAULT_MCP_LIMITS } from '../../src/mcp/config/server-limits.ts';
import { createMcpConnection } from '../../src/mcp/index.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { hostileEntry } from '../support/mcp/hostile-entry.ts';
import { type WireForm, misbehaving } from '../support/mcp/misbehaving.ts';
import { calls } from '../support/replies.ts';
import { eachForm } from '../support/soak.ts';

const FORMS = ['stdio', 'json', 'sse'] as const;
const HTTP = ['json', 'sse'] as const;

interface Given {
  readonly mode?: string;
  readonly settings?: McpServerSettings & { readonly headers?: Readonly<Record<string, string>> };
  readonly options?: AgentOptions;
}

/** The server that behaves: one process for all tests that do not configure it. */
const good = createMcpConnection('good', hostileEntry());
beforeAll(() => good.connect());
afterAll(() => good.disconnect());

/** An agent with a server that misbehaves and one that does not; its model does as it is told. */
async function agentWith(form: WireForm, replies: readonly ScriptedReply[], given: Given = {}) {
  const { config, end } = await misbehaving(form, given.mode, given.settings);
  const model = scriptedModel([...replies, calls(['good_echo', { text: 'all well' }]), 'Done.']);
  const agent = createAgent({
    model,
    // Limits hold for the servers that an agent starts itself.
    mcpServers: { bad: config, good: given.options?.limits === undefined ? good : hostileEntry() },
    silent: true,
    ...given.options,
  });
  onTestFinished(async () => {
    await agent.close();
    end();
  });
  return { agent, model };
}

/** Calls one tool of the server that misbehaves, then one of the other. */
async function callOf(form: WireForm, tool: string, given: Given = {}) {
  const { agent } = await agentWith(form, [calls([`bad_${tool}`, {}])], given);
  const { status, messages } = await agent.run('Use both.');
  const [first = '', second = ''] = messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
  expect(status).toBe('answered');
  expect(second).toContain('all well');
  return { agent, first: String(first) };
}

const everywhere = [
  ['null_result', 'protocol-error', 'it answered with `result: null`, which is not an object'],
  ['list_result', 'protocol-error', 'it answered with `result: []`, which is not an object'],
  ['no_result', 'protocol-error', 'it answered without a result'],
  ['both', 'protocol-error', 'its answer has both a result and an error'],
  ['foreign_id', 'protocol-error', 'it answered under the id 4711, which no request has'],
  ['unreadable', 'protocol-error', 'it answered under the id null, which no request has: Parse error'],
] as const;

test.each(eachForm(FORMS, everywhere))(
  'over %s, %s is an error at once (%s) that says so, and the other server works',
  async (form, tool, code, words) => {
    const { first, agent } = await callOf(form, tool);
    expect(first).toContain(words);
    expect(agent.mcp.bad?.state).toBe('READY');
    expect(await agent.mcp.bad?.callTool('echo')).toMatchObject({ data: 'echo' });
    expect(await agent.mcp.bad?.callTool(tool)).toMatchObject({ status: 'error', code });
  },
);

test('an answer that comes too late is not taken for one under a foreign id', async () => {
  const { agent } = await agentWith('stdio', []);
  await agent.ready();
  const slow = agent.mcp.bad?.callTool('slow');
  const controller = new AbortController();
  const late = agent.mcp.bad?.callTool('late', {}, { signal: controller.signal });
  await agent.mcp.bad?.callTool('echo');
  controller.abort();
  expect(await late).toMatchObject({ code: 'cancelled' });
  expect(await slow).toMatchObject({ status: 'success', data: 'slow' });
});

test.each(eachForm(FORMS, [['bytes'], ['bom'], ['echo'], ['text_alone'], ['part_alone']] as const))(
  'over %s, an odd but right answer (%s) is read',
  async (form, tool) => {
    const { first } = await callOf(form, tool);
    expect(first).toContain(`"data":"${tool}"`);
  },
);

test('over HTTP, an answer of another type of JSON is read', async () => {
  const { first } = await callOf('json', 'json_rpc');
  expect(first).toContain('"data":"json_rpc"');
});

test.each(FORMS)('over %s, null in place of what is not there is as good as nothing', async (form) => {
  const { agent, first } = await callOf(form, 'nulls', { mode: 'nulls' });
  expect(first).toContain('"data":"nulls"');
  expect(agent.mcp.bad?.info).toMatchObject({ title: 'misbehaving', capabilities: { tools: {} } });
  expect(agent.mcp.bad?.info).not.toHaveProperty('capabilities.prompts');
  const notes: unknown[] = [];
  agent.mcp.bad?.on('mcp.log', ({ message }) => notes.push(message));
  await agent.mcp.bad?.callTool('nulls');
  expect(notes).toEqual(form === 'json' ? [] : ['a note']);
  expect(await agent.mcp.bad?.callTool('refusal_beside_null')).toMatchObject({
    code: 'protocol-error',
    error: expect.stringContaining('not today'),
  });
});

test.each(FORMS)('over %s, a greeting that is nested without end costs its server at most', async (form) => {
  const { agent } = await agentWith(form, [], { mode: 'deep-greeting' });
  await agent.ready();
  expect(agent.mcp.good?.state).toBe('READY');
  expect(['READY', 'FAILED', 'BACKING_OFF']).toContain(agent.mcp.bad?.state);
  expect((await agent.run('Use the other.')).status).toBe('answered');
});

test.each([
  ['http_202', 'HTTP 202, which promises no answer'],
  ['http_204', 'HTTP 204 and an empty body'],
  ['empty_body', 'HTTP 200 and an empty body'],
  ['not_json', 'HTTP 200 and a body that is not JSON'],
  ['plain', 'HTTP 200 and text/plain in place of JSON'],
])('over HTTP, %s in place of an answer is an error at once', async (tool, words) => {
  const { first, agent } = await callOf('json', tool);
  expect(first).toContain(words);
  expect(await agent.mcp.bad?.callTool(tool)).toMatchObject({ status: 'error', code: 'protocol-error' });
  expect(agent.mcp.bad?.state).toBe('READY');
});

test.each(HTTP)('over %s, one 403 costs its call, says what was asked for, and hides our token', async (form) => {
  const settings = { headers: { Authorization: 'Bearer hush-hush-7' } };
  const { first, agent } = await callOf(form, 'http_403', { settings });
  expect(first).toContain('HTTP 403, Bearer error=\\"insufficient_scope\\", scope=\\"admin\\"');
  expect(agent.mcp.bad?.state).toBe('READY');
  await expect(agent.mcp.bad?.call('http_403', {})).rejects.toMatchObject({
    code: 'forbidden',
    message: expect.not.stringContaining('hush-hush-7'),
    data: {
      status: 403,
      wwwAuthenticate: expect.stringContaining('token="***"'),
      body: expect.not.stringContaining('hush-hush-7'),
    },
  });
});

test('a server that is busy is asked again when it says, and not when that is too late', async () => {
  const since = performance.now();
  const busy = await callOf('json', 'busy');
  expect(busy.first).toContain('"data":"busy"');
  expect(performance.now() - since).toBeGreaterThan(900);
  const late = await callOf('json', 'busy_long');
  expect(late.first).toContain('HTTP 429, again in 3600 s');
  expect(late.agent.mcp.bad?.state).toBe('READY');
});

test.each(FORMS)('over %s, a greeting that is no answer is an error at once', async (form) => {
  const { agent } = await agentWith(form, [], { mode: 'null-greeting' });
  await agent.ready();
  expect(agent.mcp.bad?.state).toBe('FAILED');
  expect(agent.mcp.bad?.error).toMatchObject({
    code: 'protocol-error',
    message: expect.stringContaining('result: null'),
  });
});

test('a server that is busy when it is connected is left alone for as long as it says', async () => {
  const { agent } = await agentWith('json', [], { mode: 'busy-start' });
  const since = performance.now();
  await agent.ready();
  await expect.poll(() => agent.mcp.bad?.state).toBe('READY');
  // Without its word the first wait is half a second at most.
  expect(performance.now() - since).toBeGreaterThan(900);
});

test('the password in an address reaches its server and nobody else', async () => {
  const { config, end } = await misbehaving('json');
  const url = 'url' in config ? config.url.replace('//', '//me:hush-hush-7@') : '';
  const shown: unknown[] = [];
  const model = scriptedModel([calls(['bad_who', {}]), calls(['bad_http_403', {}]), 'Done.']);
  const agent = createAgent({
    model,
    mcpServers: { bad: { url } },
    silent: true,
    onEvent: (event) => shown.push(event),
  });
  const basic = Buffer.from('me:hush-hush-7').toString('base64');
  const run = agent.run('Who am I?');
  const { errorHistory, toolsUsed } = await run;
  expect(toolsUsed).toEqual(['bad_who', 'bad_http_403']);
  expect(await agent.mcp.bad?.callTool('who')).toMatchObject({ data: `Basic ${basic}` });
  const refused = await agent.mcp.bad?.callTool('http_403');
  end();
  await expect.poll(async () => (await agent.mcp.bad?.callTool('echo'))?.code).toBe('not-connected');
  const told = [shown, errorHistory, refused, model.requests, run.recording(), agent.mcp.bad?.error?.message];
  expect(JSON.stringify(told)).toContain('***');
  for (const secret of ['hush-hush-7', basic]) expect(JSON.stringify(told)).not.toContain(secret);
  await agent.close();
  for (const wrong of ['ftp://me:hush-hush-7@host', 'http//me:hush-hush-7@host']) {
    const make = () => createAgent({ mcpServers: { bad: { url: wrong } } });
    expect(make).toThrow(/must be an http or https address/);
    expect(make).not.toThrow(/hush-hush-7/);
  }
});

/** Limits as a program has them that reads them from where nothing is set. */
const UNSET = { limits: { mcp: Object.fromEntries(Object.keys(DEFAULT_MCP_LIMITS).map((name) => [name, undefined])) } };

test.each(FORMS.flatMap((form) => [[form, 'default', {}] as const, [form, 'undefined', UNSET] as const]))(
  'over %s, with %s limits, long texts are cut with a mark and a warning, and what is too large is left out',
  async (form, _limits, more) => {
    const options = { toolCalling: 'json', ...more } as const;
    const { agent } = await agentWith(form, [], { mode: 'long-texts', options });
    await agent.ready();
    const tools = agent.listTools({ verbose: true });
    const wordy = tools.find(({ name }) => name === 'bad_wordy')?.description ?? '';
    expect(wordy).toMatch(/^Begins well\. é+ \[…\d+ bytes cut off\]$/);
    expect(Buffer.byteLength(wordy)).toBeLessThan(16_384 + 40);
    expect(tools.map(({ name }) => name)).not.toContain('bad_huge');
    const warnings: string[] = [];
    for await (const event of agent.run('Hello')) if (event.type === 'warning') warnings.push(event.message);
    expect(warnings.join('\n')).toContain('limits.mcp.descriptionBytes');
    expect(warnings.join('\n')).toContain('limits.mcp.instructionsBytes');
    expect(warnings.join('\n')).toContain("the schema of its tool 'huge' is larger than limits.mcp.schemaBytes");
    // Every line of the server's stands behind the bar, however it ends.
    expect(agent.systemPrompt).toContain('| Be careful.\n| Obey.\n| iii');
  },
);

test.each(FORMS)('over %s, limits can be set, and each server gets its share of the tools', async (form) => {
  const limits = { mcp: { toolsSent: 20, messageBytes: 100_000 } };
  const { agent, model } = await agentWith(form, [], { mode: 'some-tools', options: { limits } });
  await agent.run('Hello');
  const names = (model.requests[0]?.tools ?? []).map(({ name }) => name).filter((name) => name !== 'make_plan');
  expect(names).toHaveLength(20);
  expect(names.filter((name) => name.startsWith('good_'))).toHaveLength(10);
  const small = await agentWith(form, [], { mode: 'some-tools', options: { limits: { mcp: { messageBytes: 2000 } } } });
  await small.agent.ready();
  expect(small.agent.mcp.bad?.error?.code).toBe('limit-exceeded');
  const few = await agentWith(form, [], {
    mode: 'some-tools',
    settings: { tools: ['tool_7'] },
    options: { limits: { mcp: { tools: 1 } } },
  });
  await few.agent.ready();
  expect(few.agent.mcp.bad?.state).toBe('READY');
  expect(few.agent.mcp.good?.error?.message).toContain('limits.mcp.tools allows (1)');
});

test('of a server with very many tools, so many are sent that OpenAI takes them with those of the agent', async () => {
  const { agent, model } = await agentWith('json', [], {
    mode: 'some-tools',
    options: { tools: [fakeTool('own', [1])] },
  });
  await agent.run('Hello');
  const names = (model.requests[0]?.tools ?? []).map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['own', 'make_plan', 'bad_tool_0']));
  expect(names.length).toBeLessThanOrEqual(128);
});

test('a list that a server does not know although it has its kind is empty; any other error stays one', async () => {
  const { agent } = await agentWith('json', [], { mode: 'no-lists' });
  await agent.ready();
  const { bad } = agent.mcp;
  expect(await Promise.all([bad?.listResources(), bad?.listResourceTemplates()])).toEqual([[], []]);
  await expect(bad?.listPrompts()).rejects.toMatchObject({ code: 'protocol-error' });
  await expect(bad?.readResource('a:b')).rejects.toMatchObject({ code: 'protocol-error' });
});

test('a server that cannot list its tools is said to have refused that', async () => {
  const { agent } = await agentWith('json', [], { mode: 'offline-list' });
  await agent.ready();
  expect(agent.mcp.bad?.error).toMatchObject({
    code: 'protocol-error',
    message: "MCP server 'bad': it refused `tools/list`: fetch failed.",
  });
});

test.each([
  [
    'its stack',
    ['Error: no database', ...Array.from({ length: 20 }, (_, at) => `    at run (main.js:${at})`), '', 'v24'],
  ],
  ['its usage', ['Error: no database', 'Usage:', ...Array.from({ length: 20 }, (_, at) => `  --option-${at}`)]],
])('why a program ended is told where it stands above %s', async (_what, lines) => {
  const script = `console.error(${JSON.stringify(lines.join('\n'))}); process.exit(1)`;
  const bad = createMcpConnection(
    'bad',
    { command: process.execPath, args: ['-e', script] },
    { limits: { maxFailures: 1 } },
  );
  expect(await bad.connect()).toBe(false);
  const { message = '' } = bad.error ?? {};
  expect(message).toMatch(/ended with code 1\. It last wrote to stderr:\nError: no database\n/);
  expect(message).toMatch(new RegExp(`${lines.at(-1)}$`));
  expect(message).not.toMatch(/main\.js|option-10/);
  await bad.disconnect();
});
