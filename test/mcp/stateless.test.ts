/** Servers of MCP 2026-07-28, which have no sessions, over real HTTP and stdio. */
import { describe, expect, test, vi } from 'vitest';
import type { Agent } from '../../src/agent/agent-types.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { JsonObject } from '../../src/json/json.ts';
import { replay } from '../../src/journal/index.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import { type McpConnection, type McpServerConfig, createMcpConnection } from '../../src/mcp/index.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { agentWith, modern, toldBy } from '../support/mcp/modern.ts';
import { askingEntry } from '../support/mcp/hostile-entry.ts';
import { type StatelessHttp, startStatelessHttp, statelessEntry } from '../support/mcp/stateless-server.ts';
import { besideEachOther, onTestFinished, poll } from '../support/beside.ts';
import { calls } from '../support/replies.ts';

besideEachOther();

const booking = calls(['lab_book', {}, 'a']);

function reachedBy(server: StatelessHttp, method: string): number {
  return server.reached.filter((one) => one.method === method).length;
}

/** What is odd about the server, from now on. */
function oddOf(connection: Pick<McpConnection, 'on'> | undefined): unknown[] {
  const odd: unknown[] = [];
  connection?.on('mcp.warning', ({ kind, message }) => odd.push(`${kind}: ${message}`));
  return odd;
}

function connectionTo(config: McpServerConfig): McpConnection {
  const connection = createMcpConnection('lab', config);
  onTestFinished(() => connection.disconnect());
  return connection;
}

describe.concurrent.each(['stdio', 'HTTP'] as const)('over %s', (transport) => {
  const config = async (): Promise<McpServerConfig> =>
    transport === 'stdio' ? statelessEntry() : { url: (await startStatelessHttp()).url };

  test.concurrent('a server that refuses sessions serves an agent without one', async () => {
    const wants = calls(['lab_add', { a: 1, b: 2 }, 'a'], ['lab_list', {}, 'b'], ['lab_bare', {}, 'c']);
    const model = scriptedModel([wants, 'Done.']);
    const { agent } = agentWith(await config(), { model });
    const odd = oddOf(agent.mcp.lab);
    const [sum, list, bare] = await toldBy(agent);
    expect(sum).toContain('"data":"3"');
    expect(list).toContain('"data":{"all":[1,2]}');
    expect(bare).toContain('"status":"success","data":[1,2]');
    const info = { title: 'stateless', protocolVersion: '2026-07-28', instructions: 'Be kind.' };
    expect(agent.mcp.lab?.info).toMatchObject(info);
    expect(odd).toEqual([]);
  });

  test.concurrent('what it needs of a person is asked by elicit, and goes back with its state', async () => {
    const model = scriptedModel([booking, 'Done.']);
    const { agent, events } = agentWith(await config(), {
      model,
      elicit: ({ server, message }) => ({ action: 'accept', content: { seat: `${server}: ${message} 12A` } }),
    });
    expect(await toldBy(agent)).toEqual([expect.stringContaining('first: lab: Which seat? 12A')]);
    const asked = events.filter(({ type }) => type.startsWith('question.'));
    expect(asked).toMatchObject([
      { type: 'question.asked', tool: 'lab_book', message: 'Which seat?' },
      { type: 'question.answered', action: 'accept' },
    ]);
    expect(events.filter(({ type }) => type === 'tool.started')).toHaveLength(1);
  });

  test.concurrent('a call that is given up is given up at the server', async () => {
    const model = scriptedModel([calls(['lab_slow', {}, 'a'])]);
    const begun = Promise.withResolvers<RunEvent>();
    const { agent } = agentWith(await config(), {
      model,
      onEvent: (event: RunEvent) => event.type === 'tool.progress' && begun.resolve(event),
    });
    const odd = oddOf(agent.mcp.lab);
    const run = agent.run('Go');
    expect(await begun.promise).toMatchObject({ message: 'begun' });
    void run.cancel('enough');
    expect(await run).toMatchObject({ status: 'cancelled' });
    // The call was taken back, and nothing else is broken.
    expect(await agent.mcp.lab?.callTool('add', { a: 2, b: 2 })).toMatchObject({ data: '4' });
    expect(odd).toEqual([]);
  });

  test.concurrent('resources are read and followed, prompts are got, and an error of the server is its answer', async () => {
    const connection = connectionTo(await config());
    const odd = oddOf(connection);
    await connection.connect();
    expect(await connection.readResource('note:///one')).toMatchObject([{ text: 'a note' }]);
    expect(await connection.getPrompt('greet', { name: 'Ada' })).toMatchObject({ messages: [{ role: 'user' }] });
    await expect(connection.readResource('note:///none')).rejects.toMatchObject({ code: 'protocol-error' });
    const leave = await connection.subscribeResource('note:///one', () => undefined);
    await leave();
    expect(connection.state).toBe('READY');
    expect(odd).toEqual([]);
  });

  test.concurrent('logs come with a level that was asked for, and only from it on', async () => {
    const logs: unknown[] = [];
    const connection = connectionTo({ ...(await config()), logLevel: 'warning' });
    connection.on('mcp.log', ({ level, message }) => logs.push([level, message]));
    await connection.connect();
    await connection.callTool('log');
    await poll(() => logs).toEqual([['warning', 'the disk is full']]);
    await connection.listTools({ refresh: true });
    expect(logs).toHaveLength(1);
  });
});

test.concurrent('a program that dies in a call is started again, and so is the call', async () => {
  const model = scriptedModel([calls(['lab_die', {}, 'a']), 'Done.']);
  const { agent } = agentWith(statelessEntry(), { model });
  expect(await toldBy(agent)).toEqual([expect.stringContaining('still here')]);
});

test.concurrent('a stream that breaks in a call costs the call its connection, not its result', async () => {
  const server = await startStatelessHttp();
  const connection = connectionTo({ url: server.url });
  await connection.connect();
  const call = connection.callTool('once', {}, { onProgress: () => server.breakStreams() });
  expect(await call).toMatchObject({ data: 'the second time' });
  expect(reachedBy(server, 'tools/call')).toBe(2);
});

test.concurrent.each<[answer: string, result: JsonObject, says: string]>([
  ['of an unknown type', { resultType: 'poem' }, 'it answered with a result of type "poem", which cannot be used'],
  ['that needs input and does not say which', { resultType: 'input_required' }, 'and does not say which'],
  [
    'that needs input by no method',
    { resultType: 'input_required', inputRequests: { a: {} } },
    'a request for input without a method',
  ],
  [
    'that needs what nobody knows',
    { resultType: 'input_required', inputRequests: { a: { method: 'songs/sing' } } },
    'it needs an answer to songs/sing, and there is none',
  ],
])('an answer %s fails its call, and the connection stays', async (_answer, result, says) => {
  const server = await startStatelessHttp();
  const connection = connectionTo({ url: server.url });
  await connection.connect();
  server.refuse('tools/call', result);
  expect(await connection.callTool('add', { a: 1, b: 1 })).toMatchObject({
    status: 'error',
    code: 'protocol-error',
    error: expect.stringContaining(says),
  });
  expect(reachedBy(server, 'tools/call')).toBe(1);
  expect(await connection.readResource('note:///one')).toMatchObject([{ text: 'a note' }]);
});

test.concurrent('a call that is given up over HTTP is given up by closing its stream', async () => {
  const server = await startStatelessHttp();
  const connection = connectionTo({ url: server.url });
  await connection.connect();
  const leave = new AbortController();
  const call = connection.callTool('slow', {}, { signal: leave.signal, onProgress: () => leave.abort() });
  expect(await call).toMatchObject({ code: 'cancelled' });
  await poll(() => server.givenUp).toHaveLength(1);
  expect(reachedBy(server, 'notifications/cancelled')).toBe(0);
});

test.concurrent('each request says what it is in its headers, and nothing of a session', async () => {
  const server = await startStatelessHttp();
  const connection = connectionTo({ url: server.url });
  await connection.callTool('add', { a: 1, b: 1 });
  const [first, ...others] = server.reached;
  expect(first).toMatchObject({ method: 'initialize' });
  expect(others.map(({ method }) => method)).toEqual([
    'server/discover',
    'subscriptions/listen',
    'tools/list',
    'tools/call',
  ]);
  for (const { method, headers } of others) {
    expect(headers.get('mcp-method')).toBe(method);
    expect(headers.get('mcp-protocol-version')).toBe('2026-07-28');
    expect(headers.has('mcp-session-id')).toBe(false);
  }
  expect(others.at(-1)?.headers.get('mcp-name')).toBe('add');
});

test.concurrent('a server that supports both, but opens no session, can ask a person', async () => {
  const server = await startStatelessHttp('stateless');
  const { agent } = agentWith(
    { url: server.url },
    {
      model: scriptedModel([booking, 'Done.']),
      elicit: () => ({ action: 'accept', content: { seat: '12A' } }),
    },
  );
  expect(await toldBy(agent)).toEqual([expect.stringContaining('first: 12A')]);
  expect(agent.mcp.lab?.info?.protocolVersion).toBe('2026-07-28');
  expect(reachedBy(server, 'initialize')).toBe(1);
});

test.concurrent('a program that supports both has a session, and none where the configuration says so', async () => {
  const usual = connectionTo(statelessEntry('serve'));
  const chosen = connectionTo(statelessEntry('serve', { protocolVersion: '2026-07-28' }));
  await Promise.all([usual.connect(), chosen.connect()]);
  expect(usual.info?.protocolVersion).toBe('2025-11-25');
  expect(chosen.info?.protocolVersion).toBe('2026-07-28');
});

test.concurrent('where no session is wanted, none is asked for', async () => {
  const server = await startStatelessHttp('stateless');
  const connection = connectionTo({ url: server.url, protocolVersion: '2026-07-28' });
  expect(await connection.callTool('add', { a: 1, b: 1 })).toMatchObject({ data: '2' });
  expect(reachedBy(server, 'initialize')).toBe(0);
});

test.concurrent.each([404, 500, 'silence'] as const)(
  'a server that opens no session and knows nothing newer is used as it is: %s',
  async (answer) => {
    const server = await startStatelessHttp('stateless');
    server.refuse('server/discover', answer);
    const connection = connectionTo({ url: server.url });
    const odd = oddOf(connection);
    const states: string[] = [];
    connection.on('mcp.changed', ({ state }) => states.push(state));
    expect(await connection.callTool('add', { a: 1, b: 1 })).toMatchObject({ data: '2' });
    expect(connection.info?.protocolVersion).toBe('2025-11-25');
    expect(reachedBy(server, 'server/discover')).toBe(1);
    expect(states).toEqual(['CONNECTING', 'DISCOVERING', 'READY']);
    expect(odd).toEqual([]);
  },
);

test.concurrent('a server with sessions is never asked for anything newer', async () => {
  const lab = await modern('HTTP');
  const { agent } = agentWith(lab.config, { model: scriptedModel([calls(['lab_gallery']), 'Done.']) });
  await agent.run('Go');
  const methods = lab.memory().received.map(({ method }) => method);
  expect(methods).not.toContain('server/discover');
  expect(methods).not.toContain('subscriptions/listen');
});

test.concurrent('a server that has sessions only is an error where none was wanted', async () => {
  const connection = connectionTo(askingEntry({ protocolVersion: '2026-07-28' }));
  expect(await connection.connect()).toBe(false);
  expect(connection.error).toMatchObject({
    code: 'protocol-error',
    message: expect.stringContaining('it did not answer `server/discover` as an MCP server does'),
  });
  expect(connection.state).toBe('FAILED');
});

test.concurrent.each([
  { protocolVersion: '2025-11-25', url: 'http://127.0.0.1:1/mcp' },
  { protocolVersion: '2026-07-28', type: 'sse' as const, url: 'http://127.0.0.1:1/mcp' },
])('a version that cannot be chosen is an error of the configuration: %j', (config) => {
  const wrong = (): unknown => Reflect.apply(createMcpConnection, undefined, ['lab', config]);
  expect(wrong).toThrow(expect.objectContaining({ code: 'mcp-config', key: 'protocolVersion' }));
});

test.concurrent('without the session that was refused, a missing token is still what is missing', async () => {
  const server = await startStatelessHttp();
  server.refuse('server/discover', 401);
  const connection = connectionTo({ url: server.url, protocolVersion: '2026-07-28' });
  expect(await connection.connect()).toBe(false);
  expect(connection.state).toBe('AUTH_REQUIRED');
});

test.concurrent('where a session was refused, a missing token is what is missing', async () => {
  const server = await startStatelessHttp();
  server.refuse('server/discover', 401);
  const connection = connectionTo({ url: server.url });
  expect(await connection.connect()).toBe(false);
  expect(connection.state).toBe('AUTH_REQUIRED');
});

test.concurrent('a model replies to what the server wants to have from it, if that is allowed', async () => {
  const { url } = await startStatelessHttp();
  const model = scriptedModel([calls(['lab_poem', {}, 'a']), 'Roses.', 'Done.']);
  const { agent } = agentWith({ url, sampling: true }, { model });
  expect(await toldBy(agent)).toEqual([expect.stringContaining('Roses.')]);
});

test.concurrent('a server that wants what was not offered gets nothing: its call is an error, and the run continues', async () => {
  const { url } = await startStatelessHttp();
  const wants = calls(['lab_poem', {}, 'a'], ['lab_where', {}, 'b']);
  const { agent, events } = agentWith({ url }, { model: scriptedModel([wants, 'Roses.', 'Done.']) });
  const told = await toldBy(agent);
  for (const one of told) expect(one).toContain('"status":"error"');
  expect(events.filter(({ type }) => type === 'question.asked')).toEqual([]);
  expect(agent.mcp.lab?.state).toBe('READY');
});

test.concurrent('what it needs in a call of the eighth agent down is asked, and the run is replayed without it', async () => {
  const server = await startStatelessHttp();
  const family = (lab: McpServerConfig | null): Agent => {
    let agent = createAgent({
      name: 'a8',
      model: scriptedModel([booking, 'deep']),
      silent: true,
      ...(lab === null ? {} : { mcpServers: { lab } }),
      elicit: () => ({ action: 'accept', content: { seat: '12A' } }),
    });
    for (let n = 7; n >= 1; n--) {
      const model = scriptedModel([calls([`a${n + 1}`, { task: 'Go' }, `c${n}`]), 'up']);
      agent = createAgent({ name: `a${n}`, model, children: [agent], silent: true });
    }
    onTestFinished(() => agent.close());
    return agent;
  };
  const run = family({ url: server.url }).run('Go');
  const asked: unknown[] = [];
  for await (const event of run) if (event.type === 'question.asked') asked.push(event.child);
  expect(await run).toMatchObject({ status: 'answered', result: 'up' });
  expect(asked).toEqual(['a2/a3/a4/a5/a6/a7/a8']);
  const reached = server.reached.length;
  const again = await replay(run.recording(), family({ url: server.url }));
  expect(again).toMatchObject({ status: 'answered', result: 'up' });
  expect(server.reached).toHaveLength(reached);
});

test.concurrent('where nobody can be asked, the question is declined', async () => {
  const { url } = await startStatelessHttp();
  const { agent } = agentWith({ url }, { model: scriptedModel([booking, 'Done.']) });
  expect(await toldBy(agent)).toEqual([expect.stringMatching(/decline|elicitation/)]);
});

test.concurrent('folders are told where they are given', async () => {
  const { url } = await startStatelessHttp();
  const { agent } = agentWith({ url, roots: ['/tmp'] }, { model: scriptedModel([calls(['lab_where']), 'Done.']) });
  expect(await toldBy(agent)).toEqual([expect.stringContaining('file:///tmp')]);
});

test.concurrent('a server that only wants to be asked again is asked again, after a moment each time', async () => {
  const { url } = await startStatelessHttp();
  const begun = performance.now();
  const { agent } = agentWith({ url }, { model: scriptedModel([calls(['lab_later']), 'Done.']) });
  expect(await toldBy(agent)).toEqual([expect.stringContaining('after 2 rounds')]);
  expect(performance.now() - begun).toBeGreaterThan(450);
});

test.concurrent('a server that always wants more comes to an end', async () => {
  const server = await startStatelessHttp();
  let asked = 0;
  const { agent } = agentWith(
    { url: server.url },
    {
      model: scriptedModel([calls(['lab_never']), 'Done.']),
      elicit: () => {
        asked += 1;
        return { action: 'accept', content: { seat: '1' } };
      },
    },
  );
  expect(await toldBy(agent)).toEqual([expect.stringContaining('it asked for more 32 times')]);
  expect(asked).toBe(8);
  expect(reachedBy(server, 'tools/call')).toBe(32);
});

test.concurrent('a run that is cancelled while a person is asked does not ask the server again', async () => {
  const server = await startStatelessHttp();
  const { agent } = agentWith(
    { url: server.url },
    {
      model: scriptedModel([booking]),
      elicit: () => {
        void run.cancel('enough');
        return new Promise<never>(() => undefined);
      },
    },
  );
  const run = agent.run('Go');
  expect(await run).toMatchObject({ status: 'cancelled' });
  await agent.mcp.lab?.callTool('add', { a: 1, b: 1 });
  expect(reachedBy(server, 'tools/call')).toBe(2);
});

test.concurrent.each([
  ['Graz', 'Graz'],
  ['Köln', '=?base64?S8O2bG4=?='],
  [' x ', '=?base64?IHgg?='],
])('an argument that the server wants in a header is there too: %s', async (name, header) => {
  const server = await startStatelessHttp();
  const connection = connectionTo({ url: server.url });
  expect(await connection.callTool('region', { place: { name } })).toMatchObject({ data: `in ${name}` });
  expect(server.reached.at(-1)?.headers.get('mcp-param-region')).toBe(header);
  expect(await connection.callTool('region', {})).toMatchObject({ data: 'in no place' });
  expect(server.reached.at(-1)?.headers.has('mcp-param-region')).toBe(false);
});

test.concurrent('a header that was renamed meanwhile costs one refused call, and one that is not allowed its tool', async () => {
  const server = await startStatelessHttp();
  const connection = connectionTo({ url: server.url });
  const odd = oddOf(connection);
  await connection.connect();
  server.header = 'Place';
  expect(await connection.callTool('region', { place: { name: 'Graz' } })).toMatchObject({ data: 'in Graz' });
  expect(server.reached.at(-1)?.headers.get('mcp-param-place')).toBe('Graz');
  server.header = 'not a token';
  const tools = await connection.listTools({ refresh: true });
  expect(tools.map(({ name }) => name)).not.toContain('region');
  expect(tools.map(({ name }) => name)).toContain('add');
  expect(odd).toEqual([expect.stringContaining("bad-tool: its tool 'region' was left out")]);
});

describe.concurrent('changes', () => {
  test.concurrent('of lists and of followed resources are heard while the server is connected, others are not', async () => {
    const server = await startStatelessHttp();
    const connection = connectionTo({ url: server.url });
    await connection.connect();
    const heard: string[] = [];
    connection.on('mcp.list', ({ list }) => heard.push(list));
    const leave = await connection.subscribeResource('note:///one', ({ uri }) => heard.push(uri));
    server.notify.resourceUpdated('note:///two');
    server.notify.resourceUpdated('note:///one');
    server.notify.resourcesChanged();
    const listed = reachedBy(server, 'tools/list');
    server.notify.toolsChanged();
    await vi.waitUntil(() => reachedBy(server, 'tools/list') > listed);
    await poll(() => heard).toEqual(['note:///one', 'resources']);
    await leave();
    server.notify.resourceUpdated('note:///one');
    server.notify.resourcesChanged();
    await poll(() => heard).toEqual(['note:///one', 'resources', 'resources']);
    expect(connection.state).toBe('READY');
  });

  test.concurrent('are heard again after the stream broke, and may have happened meanwhile', async () => {
    const server = await startStatelessHttp();
    const connection = connectionTo({ url: server.url });
    await connection.connect();
    const heard: unknown[] = [];
    await connection.subscribeResource('note:///one', ({ uri }) => heard.push(uri));
    const [listed, listened] = [reachedBy(server, 'tools/list'), reachedBy(server, 'subscriptions/listen')];
    server.breakStreams();
    await vi.waitUntil(() => reachedBy(server, 'subscriptions/listen') > listened, { timeout: 5000 });
    await vi.waitUntil(() => reachedBy(server, 'tools/list') > listed, { timeout: 5000 });
    await poll(() => heard).toEqual(['note:///one']);
    expect(connection.state).toBe('READY');
  });

  test.concurrent('of a resource that the server does not confirm are not promised', async () => {
    const server = await startStatelessHttp();
    server.ignoreResources();
    const connection = connectionTo({ url: server.url });
    await expect(connection.subscribeResource('note:///one', () => undefined)).rejects.toMatchObject({
      code: 'protocol-error',
      message: expect.stringContaining('it does not report changes of this resource'),
    });
  });

  test.concurrent('that the server refuses to report, in an answer, are not asked for again either', async () => {
    const server = await startStatelessHttp('reject', { maxSubscriptions: 0 });
    const connection = connectionTo({ url: server.url });
    const odd = oddOf(connection);
    await connection.connect();
    await expect(connection.subscribeResource('note:///one', () => undefined)).rejects.toMatchObject({
      code: 'protocol-error',
      message: expect.stringContaining('Subscription limit'),
    });
    expect(odd).toEqual([expect.stringContaining('it does not report changes of its lists: Subscription limit')]);
    expect(reachedBy(server, 'subscriptions/listen')).toBe(2);
  });

  test.concurrent('are not asked for again where the server does not report them', async () => {
    const server = await startStatelessHttp();
    server.refuse('subscriptions/listen', 404);
    const connection = connectionTo({ url: server.url });
    const odd = oddOf(connection);
    await connection.connect();
    await expect(connection.subscribeResource('note:///one', () => undefined)).rejects.toMatchObject({
      message: expect.stringContaining('404'),
    });
    expect(await connection.callTool('add', { a: 1, b: 1 })).toMatchObject({ data: '2' });
    // Longer than the first wait before a stream is opened again.
    await new Promise((resolve) => setTimeout(resolve, 1200));
    expect(odd).toEqual([expect.stringMatching(/^unexpected: it does not report changes of its lists: .*HTTP 404/)]);
    expect(reachedBy(server, 'subscriptions/listen')).toBe(2);
  });
});

test.concurrent.each(['silence', 503] as const)(
  'a connection that ends while it waits for its stream of changes (%s) leaves no timer behind',
  async (how) => {
    const server = await startStatelessHttp();
    server.refuse('subscriptions/listen', how);
    const timers = new Set<NodeJS.Timeout>();
    const clock = {
      setTimeout: (fn: () => void, ms: number) => {
        const timer = setTimeout(() => {
          timers.delete(timer);
          fn();
        }, ms);
        timers.add(timer);
        return timer;
      },
      clearTimeout: (timer: NodeJS.Timeout) => {
        timers.delete(timer);
        clearTimeout(timer);
      },
    };
    const connection = createMcpConnection('lab', { url: server.url }, { clock });
    expect(await connection.connect()).toBe(true);
    expect(reachedBy(server, 'subscriptions/listen')).toBe(1);
    await connection.disconnect();
    // What was under way fails now.
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
    expect(timers.size).toBe(0);
  },
);

test.concurrent('a stream that only waits for changes is no work: nobody asks whether the server lives', async () => {
  const server = await startStatelessHttp();
  const connection = connectionTo({ url: server.url });
  await connection.connect();
  await new Promise((resolve) => setTimeout(resolve, 2500));
  expect(reachedBy(server, 'server/discover')).toBe(1);
  void connection.callTool('slow');
  await vi.waitUntil(() => reachedBy(server, 'server/discover') > 1, { timeout: 5000 });
});
