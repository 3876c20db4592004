import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { createToolRegistry } from '../../src/agent/tools/registry.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import { type McpConnection, type McpStdioConfig, createMcpConnection } from '../../src/mcp/index.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { hostileEntry } from '../support/mcp/hostile-entry.ts';
import { realServer } from '../support/mcp/real-servers.ts';
import { calls, plan } from '../support/replies.ts';

let folder = '';
/** For tests to which it is the same who started it: its start takes most of their time. */
let running: McpConnection | null = null;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agent-mcp-'));
  await writeFile(join(folder, 'tea.txt'), 'three grams');
  return async () => {
    await running?.disconnect();
    await rm(folder, { recursive: true, force: true });
  };
});

const withRunning = (): AgentOptions => ({
  mcpServers: { files: (running ??= createMcpConnection('files', realServer('filesystem', [folder]))) },
});

function make(replies: readonly ScriptedReply[], options: AgentOptions = {}) {
  const model = scriptedModel(replies);
  const files = realServer('filesystem', [folder]);
  const agent = createAgent({ model, mcpServers: { files }, silent: true, ...options });
  onTestFinished(() => agent.close());
  return { agent, model };
}

async function eventsOf(run: AsyncIterable<RunEvent>): Promise<readonly RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const event of run) events.push(event);
  return events;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function gone(...pids: readonly number[]): Promise<boolean> {
  for (let tries = 0; tries < 1000 && pids.some(isAlive); tries++) await wait(20);
  return !pids.some(isAlive);
}

const answered = { status: 'answered', errorHistory: [] };
const pidsOf = (text: unknown): readonly number[] => JSON.parse(String(text));

describe('the real filesystem server in mcpServers', () => {
  test('connects at the first run; its tools are called server_tool, and a run uses them', async () => {
    const path = join(folder, 'tea.txt');
    const { agent, model } = make([
      calls(['files_read_text_file', { path }, 'r']),
      calls(['read_text_file', { path }, 'short']),
      'Three grams.',
    ]);
    expect(agent.tools.size).toBe(0);
    const run = agent.run('How much tea?');
    const result = await run;
    expect(result).toMatchObject({ ...answered, result: 'Three grams.', toolsUsed: ['files_read_text_file'] });
    const results = result.messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content));
    expect(results).toEqual([expect.stringContaining('three grams'), expect.stringContaining('three grams')]);
    expect(model.requests[0]?.tools?.map(({ name }) => name)).toContain('files_list_directory');
    expect(agent.listTools().find(({ name }) => name === 'files_read_text_file')).toEqual({
      name: 'files_read_text_file',
      policy: 'allow',
      enabled: true,
      origin: 'mcp:files',
      title: 'Read Text File',
    });
    expect(agent.listTools({ verbose: true }).every(({ description, inputSchema }) => description && inputSchema)).toBe(
      true,
    );
  });

  test('limits of months, which no timer takes, are not over at once', async () => {
    const month = 3e9;
    const files = { ...realServer('filesystem', [folder]), timeoutMs: month, connectTimeoutMs: month };
    const script = [calls(['files_read_text_file', { path: join(folder, 'tea.txt') }]), 'Three grams.'];
    const { agent, model } = make(script, { mcpServers: { files }, timeouts: { connectMs: month } });
    expect(await agent.run('How much tea?')).toMatchObject(answered);
    expect(model.requests[0]?.tools?.map(({ name }) => name)).toContain('files_read_text_file');
  });

  test('an error of the server is an error of the tool', async () => {
    const { agent } = make(
      [calls(['files_read_text_file', { path: join(folder, 'nothing.txt') }]), 'Sorry.'],
      withRunning(),
    );
    const { errorHistory, status } = await agent.run('Read');
    expect(status).toBe('answered');
    expect(errorHistory).toEqual([expect.objectContaining({ code: 'execution', tool: 'files_read_text_file' })]);
  });

  test('arguments are checked against the schema of the server before it is asked', async () => {
    const { agent } = make([calls(['files_read_text_file', { pfad: 5 }]), 'Sorry.'], withRunning());
    const { errorHistory } = await agent.run('Read');
    expect(errorHistory).toEqual([expect.objectContaining({ code: 'deserialization' })]);
  });

  test('a plan passes results on', async () => {
    const { agent } = make(
      [
        plan(
          ['files_write_file', { path: join(folder, 'new.txt'), content: 'fresh' }],
          ['files_read_text_file', { path: join(folder, 'new.txt') }],
        ),
        'Written.',
      ],
      withRunning(),
    );
    expect(await agent.run('Write')).toMatchObject({ ...answered, planIterations: 1 });
    expect(await readFile(join(folder, 'new.txt'), 'utf8')).toBe('fresh');
  });

  test("the agent's defaultPolicy holds for its tools, the server's policy beats it, an override beats both", async () => {
    const files = { ...realServer('filesystem', [folder]), overrides: { write_file: { policy: 'deny' as const } } };
    const strict = make([], { defaultPolicy: 'confirm', mcpServers: { files } }).agent;
    await strict.ready();
    expect(strict.listTools().find(({ name }) => name === 'files_write_file')?.policy).toBe('deny');
    expect(strict.listTools().find(({ name }) => name === 'files_list_directory')?.policy).toBe('confirm');
    const byHints = make([], { mcpServers: { files: { ...files, overrides: {}, policy: 'by-annotations' } } }).agent;
    await byHints.ready();
    const policies = new Map(byHints.listTools().map(({ name, policy }) => [name, policy]));
    expect([policies.get('files_write_file'), policies.get('files_list_directory')]).toEqual(['confirm', 'allow']);
  });

  test('an override checks the arguments of a tool, and says which calls a person must approve', async () => {
    const seen: unknown[] = [];
    const asked: unknown[] = [];
    const write = (name: string) =>
      calls(['files_write_file', { path: join(folder, `${name}.txt`), content: `of ${name}` }]);
    const overrides = {
      write_file: {
        validateArgs: ({ path, content }, { tool, context }) => {
          seen.push([tool, context]);
          if (String(path).endsWith('key.txt')) throw new Error('Keys are not written.');
          return { path, content: `${String(content)}, signed` };
        },
        needsApproval: async ({ path, content }) =>
          !String(path).endsWith('draft.txt') && String(content).endsWith(', signed'),
      },
    } satisfies McpStdioConfig['overrides'];
    const files = { ...realServer('filesystem', [folder]), policy: 'allow' as const, overrides };
    const { agent } = make([write('draft'), write('key'), write('letter'), write('note'), 'Written.'], {
      mcpServers: { files },
      confirm: ({ args }) => (asked.push(args.path), asked.length === 1 ? 'allow-once' : 'deny'),
    });
    const run = agent.run('Write', { context: 'desk 3' });
    const { errorHistory } = await run;
    expect(asked).toEqual([join(folder, 'letter.txt'), join(folder, 'note.txt')]);
    expect(seen).toEqual(Array.from({ length: 4 }, () => ['files_write_file', 'desk 3']));
    const written = async (name: string) => readFile(join(folder, `${name}.txt`), 'utf8').catch(() => null);
    expect(await Promise.all(['draft', 'key', 'letter', 'note'].map(written))).toEqual([
      'of draft, signed',
      null,
      'of letter, signed',
      null,
    ]);
    expect(errorHistory).toMatchObject([
      { code: 'deserialization', message: expect.stringContaining('Keys are not written.') },
    ]);
    const again = replay(run.recording(), createAgent({ model: scriptedModel([]), silent: true }));
    await again;
    expect(again.transitions()).toEqual(run.transitions());
    expect([seen.length, asked.length]).toEqual([4, 2]);
  });

  test('a call of a child that an override asks about parks the run, and runs once it is approved and resumed', async () => {
    const journal = memoryJournal();
    const write = (name: string) =>
      calls(['files_write_file', { path: join(folder, `${name}.txt`), content: `of ${name}` }]);
    const needsApproval = ({ path }: { readonly path?: unknown }) => !String(path).endsWith('free.txt');
    const files = { ...realServer('filesystem', [folder]), overrides: { write_file: { needsApproval } } };
    const agentOf = (own: readonly ScriptedReply[], below: readonly ScriptedReply[]) => {
      const clerk = createAgent({
        name: 'clerk',
        description: 'Writes.',
        model: scriptedModel(below),
        mcpServers: { files },
        silent: true,
      });
      return make(own, { journal, mcpServers: {}, children: [clerk], confirm: 'wait' }).agent;
    };
    const first = agentOf([calls(['clerk', { task: 'Write.' }])], [write('free'), write('asked')]);
    const { runId, pending = [] } = await first.run('Write', { park: true });
    expect(pending).toMatchObject([{ args: { path: join(folder, 'asked.txt') } }]);
    await expect(readFile(join(folder, 'asked.txt'))).rejects.toThrow();
    await first.approve(runId, pending[0]?.callId ?? '');
    await first.close();
    const next = agentOf(['Done.'], ['Written.']);
    expect(await next.resume(runId)).toMatchObject({ status: 'answered', result: 'Done.' });
    expect(await readFile(join(folder, 'asked.txt'), 'utf8')).toBe('of asked');
  });

  test('a question by arguments opens no tool that its server may not offer, and closes one that is allowed', async () => {
    const needsApproval = () => false;
    const overrides = { write_file: { needsApproval }, list_directory: { needsApproval, policy: 'confirm' as const } };
    const policiesUnder = async (policy: 'allow' | 'deny') => {
      const files = { ...realServer('filesystem', [folder]), policy, overrides };
      const { agent } = make([], { mcpServers: { files } });
      await agent.ready();
      const found = new Map(agent.listTools().map((one) => [one.name, one.policy]));
      return ['write_file', 'list_directory', 'edit_file'].map((name) => found.get(`files_${name}`));
    };
    expect(await policiesUnder('deny')).toEqual(['deny', 'confirm', 'deny']);
    expect(await policiesUnder('allow')).toEqual(['confirm', 'confirm', 'allow']);
  });

  test('a replay needs no server', async () => {
    const { agent } = make([calls(['files_list_directory', { path: folder }]), 'Tea.'], withRunning());
    const run = agent.run('List');
    const result = await run;
    await agent.close();
    const again = replay(run.recording(), createAgent({ model: scriptedModel([]), silent: true }));
    expect(await again).toMatchObject({ result: 'Tea.', toolsUsed: result.toolsUsed });
    expect(again.transitions()).toEqual(run.transitions());
  });
});

describe('a server that is not ready', () => {
  const broken = { command: process.execPath, args: ['-e', 'process.exit(3)'] };

  test('is a warning, is named to the model, and the run goes on with the others', async () => {
    const { agent, model } = make(['Hi.'], { mcpServers: { ...withRunning().mcpServers, broken } });
    const run = agent.run('Hello');
    const warnings = (await eventsOf(run)).flatMap((event) => (event.type === 'warning' ? [event.message] : []));
    expect(await run).toMatchObject(answered);
    expect(warnings).toEqual([expect.stringContaining("'broken'")]);
    expect(String(model.requests[0]?.messages[0]?.content)).toContain("'broken'");
    expect(model.requests[0]?.tools?.length).toBeGreaterThan(5);
  });

  test('is waited for connectMs at most', async () => {
    const mcpServers = { slow: hostileEntry('silent') };
    const { agent } = make(['Hi.'], { mcpServers, timeouts: { connectMs: 150 } });
    const before = performance.now();
    const run = agent.run('Hello');
    const warnings = (await eventsOf(run)).filter(({ type }) => type === 'warning');
    expect(performance.now() - before).toBeLessThan(5000);
    expect(warnings).toHaveLength(1);
  });

  test('and is required ends the run as failed without a request', async () => {
    const { agent, model } = make(['Hi.'], { mcpServers: { broken: { ...broken, required: true } } });
    const result = await agent.run('Hello');
    expect(result).toMatchObject({
      status: 'failed',
      success: false,
      stepsTaken: 0,
      states: ['PLANNING', 'COMPLETION'],
    });
    expect(result.result).toContain("'broken'");
    expect(model.requests).toEqual([]);
  });

  test('and is required does not let a parked run continue, which does so once the server is back', async () => {
    const journal = memoryJournal();
    const pay = fakeTool('pay', ['paid'], { policy: 'confirm', effects: 'once' });
    const options = { name: 'payer', journal, tools: [pay], confirm: 'wait' } as const;
    const first = make([calls(['pay'])], { ...options, mcpServers: {} });
    const { runId, pending = [] } = await first.agent.run('Pay', { park: true });
    await first.agent.approve(runId, pending[0]?.callId ?? '');
    const records = async () => (await journal.read?.(runId))?.lines.length;
    const before = await records();

    const without = make(['Never asked.'], { ...options, mcpServers: { broken: { ...broken, required: true } } });
    const why = {
      message: expect.stringMatching(/^Run .* cannot continue: the required MCP server 'broken'/),
      code: 'not-connected',
    };
    await expect(without.agent.resume(runId)).rejects.toMatchObject(why);
    expect(await without.agent.wake()).toMatchObject([{ runId, result: null, error: why }]);
    expect(await without.agent.resumeOrphans()).toMatchObject({ runs: [], refused: [{ runId, error: why }] });
    expect([await records(), pay.calls.length, without.model.requests.length]).toEqual([before, 0, 0]);

    const back = make(['Done.'], { ...options, mcpServers: {} });
    expect(await back.agent.wake()).toMatchObject([{ result: { status: 'answered' } }]);
    expect(pay.calls).toHaveLength(1);
  });

  test('and is required leaves a conversation as it was, with the run that waits there', async () => {
    const options = {
      name: 'payer',
      journal: memoryJournal(),
      tools: [fakeTool('pay', ['paid'], { policy: 'confirm' })],
    };
    const first = make([calls(['pay'])], { ...options, confirm: 'wait', mcpServers: {} });
    const { runId, pending = [] } = await first.agent.conversation('c').run('Pay', { park: true });
    await first.agent.approve(runId, pending[0]?.callId ?? '');

    const without = make(['Never asked.'], { ...options, mcpServers: { broken: { ...broken, required: true } } });
    const talk = without.agent.conversation('c');
    await expect(talk.resume()).rejects.toMatchObject({ code: 'not-connected' });
    expect(await talk.runs()).toHaveLength(1);
    expect(without.model.requests).toEqual([]);

    const back = make(['Paid.', 'More.'], { ...options, mcpServers: {} });
    expect(await back.agent.conversation('c').resume()).toMatchObject({ runId, result: 'Paid.' });
    expect(await back.agent.conversation('c').run('More?')).toMatchObject({ result: 'More.' });
  });

  test('and is required does not keep a run that is being resumed from being cancelled', async () => {
    const journal = memoryJournal();
    const options = { name: 'payer', journal, tools: [fakeTool('pay', ['paid'], { policy: 'confirm' })] };
    const { agent } = make([calls(['pay'])], { ...options, confirm: 'wait', mcpServers: {} });
    const { runId } = await agent.run('Pay', { park: true });
    const slow = { ...hostileEntry('silent'), required: true };
    const run = make([], { ...options, mcpServers: { slow } }).agent.resume(runId);
    expect(await run.cancel('enough')).toBe(true);
    expect(await run).toMatchObject({ status: 'cancelled' });
  });

  test.each([['cancel'], ['close']])('does not hold up %s', async (how) => {
    const { agent } = make(['Hi.'], { mcpServers: { slow: hostileEntry('silent') } });
    const run = agent.run('Hello');
    await wait(100);
    const before = performance.now();
    if (how === 'cancel') await run.cancel('enough');
    else await agent.close();
    expect(await run).toMatchObject({ status: 'cancelled', stepsTaken: 0 });
    expect(performance.now() - before).toBeLessThan(6000);
  });

  test('is not even started for a run whose signal is aborted already', async () => {
    const { agent } = make(['Hi.']);
    expect(await agent.run('Hello', { signal: AbortSignal.abort() })).toMatchObject({ status: 'cancelled' });
    expect(agent.tools.size).toBe(0);
  });
});

describe('servers come and go', () => {
  test('connectMcpServer says true when its tools are registered, false when the try failed', async () => {
    const { agent } = make([], { mcpServers: {} });
    expect(await agent.connectMcpServer('files', realServer('filesystem', [folder]))).toBe(true);
    expect(agent.tools.has('files_list_directory')).toBe(true);
    expect(agent.mcp.files?.isConnected()).toBe(true);
    expect(await agent.connectMcpServer('broken', { command: process.execPath, args: ['-e', 'process.exit(1)'] })).toBe(
      false,
    );
    expect(await agent.disconnectMcpServer('files')).toBe(true);
    expect(await agent.disconnectMcpServer('files')).toBe(false);
    expect(agent.tools.has('files_list_directory')).toBe(false);
  });

  test('a server connected while a run is live is seen from the next turn on', async () => {
    const join1 = fakeTool('join', [() => agent.connectMcpServer('files', realServer('filesystem', [folder]))]);
    const { agent, model } = make([calls(['join']), calls(['files_list_directory', { path: folder }]), 'Tea.'], {
      mcpServers: {},
      tools: [join1],
    });
    const run = agent.run('Go');
    expect(await run).toMatchObject({ ...answered, toolsUsed: ['join', 'files_list_directory'] });
    expect(model.requests[0]?.tools).toHaveLength(2);
    expect(model.requests[1]?.tools?.length).toBeGreaterThan(5);
    expect(run.recording()).toContain('"tools.changed"');
    const again = replay(run.recording(), createAgent({ model, tools: [join1], silent: true }));
    expect(await again).toMatchObject({ result: 'Tea.' });
  });

  test('a call in flight on a disconnected server is cancelled and the model is told', async () => {
    const { agent, model } = make([calls(['h_hang', {}, 'a']), 'It is gone.'], { mcpServers: { h: hostileEntry() } });
    const run = agent.run('Go');
    for await (const { type } of run) if (type === 'tool.started') break;
    await wait(50);
    expect(await agent.disconnectMcpServer('h')).toBe(true);
    const result = await run;
    expect(result).toMatchObject({ status: 'answered', result: 'It is gone.' });
    expect(String(result.messages.find(({ toolCallId }) => toolCallId === 'a')?.content)).toContain('"status":"error"');
    expect(model.requests[1]?.tools ?? []).toEqual([]);
  });

  test('all are disconnected in a live run: their processes end, their tools are gone, and one can come back', async () => {
    const { agent, model } = make(
      [
        calls(['a_pids', {}, 'a']),
        calls(['leave']),
        calls(['b_echo']),
        'They are gone.',
        'Still gone.',
        'One is back.',
      ],
      { mcpServers: { a: hostileEntry(), b: hostileEntry() } },
    );
    agent.tools.register(fakeTool('leave', [() => agent.disconnectAllMcp()]));
    const result = await agent.run('Go');
    const [pids] = result.messages.flatMap(({ content, toolCallId }) => (toolCallId === 'a' ? [String(content)] : []));
    const ended = pidsOf(JSON.parse(pids ?? '').data);
    expect(ended).toHaveLength(2);
    expect(await gone(...ended)).toBe(true);
    expect(result).toMatchObject({ result: 'They are gone.', errorHistory: [{ tool: 'b_echo' }] });
    const offered = (turn: number) => (model.requests[turn]?.tools ?? []).map(({ name }) => name.split('_')[0]);
    expect(offered(0)).toEqual(expect.arrayContaining(['a', 'b']));
    expect(offered(2)).toEqual(['leave', 'make']);
    expect(await agent.run('Go on')).toMatchObject({ result: 'Still gone.' });
    expect(offered(4)).toEqual(['leave', 'make']);
    expect(await agent.connectMcpServer('b', hostileEntry())).toBe(true);
    // A tool that was found is the server's own, also in another registry.
    const lent = createToolRegistry({ confirm: ({ args }) => (args['say'] === 'no' ? 'deny' : 'allow-once') });
    const echo = agent.tools.find('b_echo');
    if (echo !== undefined) lent.register({ ...echo, policy: 'confirm' });
    expect(await lent.execute('b_echo', { say: 'yes' })).toEqual({ status: 'success', data: 'echo' });
    expect(await lent.execute('b_echo', { say: 'no' })).toMatchObject({ status: 'error', denied: true });
    await expect(agent.connectMcpServer('b', hostileEntry())).rejects.toThrow("'b' already. Disconnect it first.");
    expect(await agent.run('And now?')).toMatchObject({ result: 'One is back.' });
    expect(new Set(offered(5))).toEqual(new Set(['leave', 'b', 'make']));
  });

  test('a change of a server is told as mcp.changed', async () => {
    const { agent } = make([calls(['h_echo', {}]), calls(['h_echo', { n: 2 }]), 'Hi.'], {
      mcpServers: { h: hostileEntry() },
    });
    const run = agent.run('Go');
    const changes: RunEvent[] = [];
    for await (const event of run) {
      if (event.type === 'mcp.changed') changes.push(event);
      if (event.type === 'tool.finished' && event.callId === 'c1') await agent.disconnectMcpServer('h');
    }
    expect(changes[0]).toMatchObject({ server: 'h', state: 'CONNECTING', tools: 0 });
    expect(changes).toContainEqual(expect.objectContaining({ server: 'h', state: 'READY', tools: expect.any(Number) }));
    expect(changes.at(-1)).toMatchObject({ server: 'h', state: 'STOPPED' });
  });

  test.each(['files_list_directory', 'files.list_directory'])(
    'a tool of the user that is sent under the same name stays: %s',
    async (name) => {
      const own = fakeTool(name, ['mine']);
      const { agent, model } = make([calls(['files_list_directory']), 'Mine.'], { ...withRunning(), tools: [own] });
      expect(await agent.run('List')).toMatchObject(answered);
      expect(own.calls).toHaveLength(1);
      const offered = (model.requests[0]?.tools ?? []).map((tool) => tool.name);
      expect(offered.filter((offer) => /^files.list_directory$/.test(offer))).toEqual([name]);
    },
  );
});

test.each([['before its servers are loaded'], ['while they are']])('a server is taken out %s', async (when) => {
  const { agent, model } = make(['Hi.'], withRunning());
  const ready = when === 'while they are' ? agent.ready() : null;
  expect([await agent.disconnectMcpServer('files'), await agent.disconnectMcpServer('none')]).toEqual([true, false]);
  await ready;
  await agent.run('Go');
  expect(model.requests[0]?.tools ?? []).toEqual([]);
});

describe('no process outlives its agent', () => {
  test('close ends all servers and what they started', async () => {
    const { agent } = make([calls(['h_pids', {}, 'a']), 'Hi.'], { mcpServers: { h: hostileEntry() } });
    let pids: readonly number[] = [];
    for await (const event of agent.run('Go'))
      if (event.type === 'tool.finished') pids = pidsOf(event.result.data ?? event.result.message);
    expect(pids).toHaveLength(2);
    expect(pids.every(isAlive)).toBe(true);
    await agent.close();
    expect(await gone(...pids)).toBe(true);
  });

  test.each([
    ['one that is connecting', 'before'],
    ['one that is to be connected afterwards', 'after'],
  ])('nor does %s', async (_, when) => {
    const { agent } = make([], { mcpServers: { own: hostileEntry() } });
    const connected = when === 'before' ? agent.connectMcpServer('h', hostileEntry()) : null;
    await agent.close();
    expect(await (connected ?? agent.connectMcpServer('h', hostileEntry()))).toBe(false);
    await agent.ready();
    expect([agent.mcp.own?.isConnected() ?? false, agent.mcp.h]).toEqual([false, undefined]);
  });

  test('a shared connection is closed by who made it', async () => {
    const shared = createMcpConnection('shared', hostileEntry());
    onTestFinished(() => shared.disconnect());
    const { agent } = make([calls(['s_pids']), 'Hi.'], { mcpServers: { s: shared } });
    let pids: readonly number[] = [];
    for await (const event of agent.run('Go')) if (event.type === 'tool.finished') pids = pidsOf(event.result.data);
    await agent.close();
    expect(shared.isConnected()).toBe(true);
    expect(pids.every(isAlive)).toBe(true);
    await shared.disconnect();
    expect(await gone(...pids)).toBe(true);
  });
});
