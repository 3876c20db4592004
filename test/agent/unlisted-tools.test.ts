import { setImmediate as nextTick } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { createMcpConnection } from '../../src/mcp/index.ts';
import { LinkFault } from '../../src/mcp/wire/faults.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { scriptedWorld } from '../support/mcp/scripted-dial.ts';
import { stdioToolServer } from '../support/mcp/tool-server.ts';

const journal = memoryJournal();

/** An agent of a new process, with a server that lists all its tools, or all but one. */
function process(replies: Parameters<typeof scriptedModel>[0], unlisted?: string) {
  const world = scriptedWorld();
  if (unlisted !== undefined) world.unlist(unlisted);
  const bank = createMcpConnection('bank', { command: 'x', policy: 'confirm' }, { dial: world.dial });
  const model = scriptedModel(replies);
  const agent = createAgent({ silent: true, confirm: 'wait', journal, model, mcpServers: { bank } });
  return { world, agent, model };
}

const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await nextTick();
};

test.each([
  ['pay', 1, 'Nobody knows whether'],
  ['put', 2, '"status":"success"'],
])(
  'a call of %s whose server does not list it any more when its run is resumed is sent %i times',
  async (named, times, said) => {
    const before = process([calls([`bank_${named}`])]);
    const { runId } = await before.agent.run('Do it.', { park: true });
    const { world, agent, model } = process(['Done.'], named);
    const run = agent.resume(runId);
    await until(() => run.pending.length > 0);
    await run.approve(run.pending[0]?.callId ?? '');
    await until(() => world.arrived.length === 1);
    world.arrived[0]?.fail(new LinkFault('unreachable', 'cut', { delivered: true }));
    await until(() => world.arrived.length === times);
    world.arrived[1]?.answer();
    expect(await run).toMatchObject({ status: 'answered' });
    expect(JSON.stringify(model.requests[0]?.messages.at(-1)).replaceAll('\\', '')).toContain(said);
    expect(world.arrived).toHaveLength(times);
  },
);

test('a tool that was removed below an agent is not offered there by the next run', async () => {
  const [look, drop, reload] = ['look', 'drop', 'reload'].map((name) => ({ name, inputSchema: { type: 'object' } }));
  const [server, scripted] = [stdioToolServer([]), scriptedModel([calls(['notes_reload']), 'Seen.', 'Seen again.'])];
  const list = [look, drop, reload].flatMap((one) => one ?? []);
  server.list(list);
  const child = createAgent({
    name: 'scout',
    description: 'Scouts.',
    silent: true,
    model: scripted,
  });
  const parent = createAgent({
    silent: true,
    children: [child],
    model: scriptedModel([
      calls(['scout', { task: 'look' }]),
      'Done.',
      calls(['scout', { task: 'look again' }]),
      'Done.',
    ]),
  });
  onTestFinished(() => parent.close());
  onTestFinished(() => child.close());
  await child.connectMcpServer('notes', server.entry());
  expect(child.tools.remove('notes_drop')).toBe(true);
  server.list([...list, { name: 'fresh', inputSchema: { type: 'object' } }]);
  await parent.run('Scout');
  await expect.poll(() => child.tools.has('notes_fresh')).toBe(true);
  await parent.run('Scout again');
  const offered = scripted.requests.at(-1)?.tools?.map(({ name }) => name) ?? [];
  expect(offered).toEqual(expect.arrayContaining(['notes_look', 'notes_fresh']));
  expect(offered).not.toContain('notes_drop');
});

test('a tool of a server that was removed stays so when its list changes, and its others come and go', async () => {
  const [look, drop, fresh] = ['look', 'drop', 'fresh'].map((name) => ({ name, inputSchema: { type: 'object' } }));
  const [reload, server] = [{ name: 'reload', inputSchema: { type: 'object' } }, stdioToolServer([])];
  if (look === undefined || drop === undefined || fresh === undefined) throw new Error('There are three.');
  server.list([look, drop, reload]);
  const offered: string[][] = [];
  const replies = [calls(['notes_reload']), calls(['notes_drop']), 'Done.'];
  const script = scriptedModel(replies);
  const agent = createAgent({
    silent: true,
    mcpServers: { notes: server.entry() },
    model: {
      complete: async (request, io) => {
        if (offered.length === 0) {
          expect(agent.tools.remove('notes_drop')).toBe(true);
          expect(agent.tools.remove('notes_drop')).toBe(false);
          server.list([fresh, drop, reload]);
        }
        if (offered.length === 1) await expect.poll(() => agent.tools.has('notes_fresh')).toBe(true);
        offered.push((request.tools ?? []).map(({ name }) => name));
        return script.complete(request, io);
      },
    },
  });
  onTestFinished(() => agent.close());
  const result = await agent.run('Reload, then drop');
  expect(offered[0]).toEqual(expect.arrayContaining(['notes_look', 'notes_drop']));
  expect(agent.tools.list().map(({ name }) => name)).toEqual(['notes_fresh', 'notes_reload']);
  expect(offered[2]).not.toContain('notes_drop');
  expect(server.ran()).toEqual(['reload']);
  expect(result.status).toBe('answered');

  // What the user registers by that name is the user's own.
  agent.tools.register(fakeTool('notes_drop', ['own']));
  expect(agent.tools.has('notes_drop')).toBe(true);

  // All that were there are gone for good, and a tool that the server lists for the first time is not.
  agent.tools.clear();
  server.list([look, fresh, drop, reload]);
  await agent.mcp.notes?.callTool('reload');
  await expect.poll(() => agent.tools.size).toBeGreaterThan(0);
  expect(agent.tools.list().map(({ name }) => name)).toEqual(['notes_look']);

  // Who connects the server anew wants its tools; what is removed of another server is none of its business.
  const other = stdioToolServer([look, drop, reload], 'other');
  await agent.connectMcpServer('other', other.entry());
  agent.tools.remove('other_drop');
  await agent.disconnectMcpServer('notes');
  await agent.connectMcpServer('notes', server.entry());
  await agent.mcp.other?.callTool('reload');
  const names = agent.tools.list().map(({ name }) => name);
  expect(names).toEqual(
    expect.arrayContaining(['notes_look', 'notes_fresh', 'notes_drop', 'notes_reload', 'other_look']),
  );
  expect(names).not.toContain('other_drop');
});
