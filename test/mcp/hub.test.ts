import { tmpdir } from 'node:os';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type McpHub, createMcpHub } from '../../src/mcp/hub.ts';
import { createMcpConnection } from '../../src/mcp/index.ts';
import { hostileEntry } from '../support/mcp/hostile-entry.ts';
import { realServer } from '../support/mcp/real-servers.ts';

const io = { signal: new AbortController().signal };

function hubOf(...options: Parameters<typeof createMcpHub>): McpHub {
  const hub = createMcpHub(...options);
  onTestFinished(() => hub.close());
  return hub;
}

describe('the servers of an agent', () => {
  test('are connected together and offer their tools as server_tool', async () => {
    const hub = hubOf({ files: realServer('filesystem', [tmpdir()]), every: realServer('everything') });
    const status = await hub.connectAll({ timeoutMs: 10_000 });
    expect(status.map(({ name, state }) => `${name} ${state}`)).toEqual(['files READY', 'every READY']);
    expect(hub.tools().map(({ name }) => name)).toEqual(expect.arrayContaining(['files_read_text_file', 'every_echo']));
    expect(await hub.callTool('every', 'echo', { message: 'hi' }, io)).toEqual({ status: 'success', data: 'Echo: hi' });
    expect(hub.instructions()).toEqual([{ server: 'every', text: expect.stringContaining('Everything Server') }]);
  });

  test('one that cannot start hinders no other, and says why', async () => {
    const hub = hubOf({ broken: { command: 'no-such-command-at-all' }, every: hostileEntry() });
    const [broken, every] = await hub.connectAll();
    expect(every?.state).toBe('READY');
    expect(broken).toMatchObject({ state: 'FAILED', error: { code: 'spawn-failed' } });
    expect(broken?.error?.message).toContain("'no-such-command-at-all' was not found");
  });

  test('get policy and effects from configuration and annotations', async () => {
    const overrides = { write_file: { policy: 'deny', effects: 'once', timeoutMs: 5, polling: true } } as const;
    const hub = hubOf({
      files: { ...realServer('filesystem', [tmpdir()]), policy: 'by-annotations', overrides, exclude: ['move_file'] },
    });
    await hub.connectAll();
    const tools = new Map(hub.tools().map((entry) => [entry.tool.name, entry]));
    expect(tools.get('read_text_file')).toMatchObject({
      policy: 'allow',
      effects: 'none',
      timeoutMs: 180_000,
      polling: false,
    });
    expect(tools.get('create_directory')).toMatchObject({ policy: 'confirm', effects: 'idempotent' });
    expect(tools.get('edit_file')).toMatchObject({ policy: 'confirm', effects: 'once' });
    expect(tools.get('write_file')).toMatchObject({ policy: 'deny', effects: 'once', timeoutMs: 5, polling: true });
    expect(tools.has('move_file')).toBe(false);
  });

  test('without a policy of their own leave it to the agent', async () => {
    const hub = hubOf({ files: { ...realServer('filesystem', [tmpdir()]), tools: ['write_file'] } });
    await hub.connectAll();
    expect(hub.tools().map(({ name, policy }) => [name, policy])).toEqual([['files_write_file', null]]);
  });
});

test('a shared connection stands for a configuration and outlives the hubs that use it', async () => {
  const shared = createMcpConnection('every', realServer('everything'));
  onTestFinished(() => shared.disconnect());
  const hubs = [hubOf({ a: shared }), hubOf({ b: shared })];
  await Promise.all(hubs.map((hub) => hub.connectAll()));
  expect(hubs.map((hub) => hub.tools()[0]?.name)).toEqual(['a_echo', 'b_echo']);
  await hubs[0]?.close();
  expect(shared.state).toBe('READY');
  expect(await hubs[1]?.callTool('b', 'echo', { message: 'still here' }, io)).toMatchObject({
    data: 'Echo: still here',
  });
});

test('a server that is taken out has its calls cancelled, and later ones say that it is gone', async () => {
  const hub = hubOf({ every: hostileEntry() });
  await hub.connectAll();
  const call = hub.callTool('every', 'hang', {}, io);
  const outcome = expect(call).rejects.toMatchObject({ code: 'cancelled', server: 'every' });
  expect(await hub.remove('every')).toBe(true);
  await outcome;
  await expect(hub.callTool('every', 'echo', {}, io)).rejects.toMatchObject({ code: 'not-connected' });
  expect(await hub.remove('every')).toBe(false);
});

test('news of all servers reach one listener', async () => {
  const hub = hubOf();
  const heard: string[] = [];
  hub.onChange((news) =>
    heard.push(news.type === 'mcp.changed' ? `${news.server} ${news.state}` : `${news.server} ${news.type}`),
  );
  hub.add('every', hostileEntry());
  expect(await hub.connect('every')).toBe(true);
  await hub.remove('every');
  expect(heard).toEqual([
    'every mcp.added',
    'every CONNECTING',
    'every DISCOVERING',
    'every mcp.tools',
    'every READY',
    'every STOPPED',
    'every mcp.removed',
  ]);
  expect(() => hub.add('every', { command: 'x' })).not.toThrow();
  expect(() => hub.add('every', { command: 'x' })).toThrow("There is an MCP server 'every' already");
});
