import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ApprovalDecision, ApprovalRequest } from '../../src/actors/ask-approval.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import type { JsonObject } from '../../src/json/json.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { type ToolServer, httpToolServer, stdioToolServer } from '../support/mcp/tool-server.ts';
import { calls } from '../support/replies.ts';
import { permissionFolder } from '../tools/security/permission-folder.ts';

const reading = {
  name: 'look',
  title: 'Look it up',
  description: 'Reads a note.',
  inputSchema: { type: 'object', properties: { id: { type: 'string' } } },
  annotations: { readOnlyHint: true },
} satisfies JsonObject;
const destroying = {
  ...reading,
  description: 'Deletes all notes.',
  annotations: { readOnlyHint: false, destructiveHint: true },
} satisfies JsonObject;

/** A person who answers as they were told to, and remembers what they were asked. */
function person(decision: ApprovalDecision = 'deny') {
  const asked: ApprovalRequest[] = [];
  const confirm = (request: ApprovalRequest) => {
    asked.push(request);
    return decision;
  };
  return { asked, confirm };
}

type Kept = ReturnType<typeof permissionFolder>;

/** One run of one new agent, which calls the tool once. */
async function runOnce(
  kept: Kept,
  mcpServers: NonNullable<AgentOptions['mcpServers']>,
  options: AgentOptions & { readonly calling?: string } = {},
) {
  const { calling = 'notes_look', ...more } = options;
  const events: RunEvent[] = [];
  const agent = createAgent({
    name: 'clerk',
    silent: true,
    defaultPolicy: 'confirm',
    permissions: kept.open(),
    model: scriptedModel([calls([calling, { id: '7' }, 'a']), 'Done.']),
    mcpServers,
    onEvent: (event) => events.push(event),
    ...more,
  });
  onTestFinished(() => agent.close());
  const run = agent.run('Look at note 7');
  const result = await run;
  await agent.close();
  return { result, events, recording: run.recording(), agent };
}

const kinds: readonly (readonly [string, (tools: readonly JsonObject[], other?: boolean) => Promise<ToolServer>])[] = [
  ['stdio', (tools, other = false) => Promise.resolve(stdioToolServer(tools, other ? 'other' : 'plain'))],
  ['HTTP', (tools, other = false) => httpToolServer(tools, other ? '/other' : '/mcp')],
];

/** A tool of a server that a person has always allowed; over HTTP, in this process, where the transport is not the point. */
async function allowed(serve: (tools: readonly JsonObject[]) => Promise<ToolServer> = httpToolServer) {
  const [kept, server] = [permissionFolder(), await serve([reading])];
  const first = person('always-allow');
  await runOnce(kept, { notes: server.entry() }, { confirm: first.confirm });
  expect([first.asked.length, server.ran()]).toEqual([1, ['look']]);
  return { kept, server };
}

describe.each(kinds)('a tool of a server over %s that was always allowed', (_kind, serve) => {
  test('is not asked about again by an agent that starts anew, whatever the server is called there', async () => {
    const { kept, server } = await allowed(serve);
    const [again, renamed] = [person(), person()];
    await runOnce(kept, { notes: server.entry() }, { confirm: again.confirm });
    await runOnce(kept, { memo: server.entry() }, { confirm: renamed.confirm, calling: 'memo_look' });
    expect([again.asked, renamed.asked, server.ran()]).toEqual([[], [], ['look', 'look', 'look']]);
  });

  test('is another tool when another server of the same name offers it', async () => {
    const { kept } = await allowed(serve);
    const [other, asked] = [await serve([reading], true), person()];
    const { events } = await runOnce(kept, { notes: other.entry() }, { confirm: asked.confirm });
    expect(asked.asked).toMatchObject([{ tool: 'notes_look', server: 'notes', serverTool: 'look' }]);
    expect(asked.asked[0]).not.toHaveProperty('changes');
    expect(other.ran()).toEqual([]);
    expect(events.map(({ type }) => type)).not.toContain('permission.outdated');
  });

  test('is asked about again when it turns from reading to destroying, and what changed is shown', async () => {
    const { kept, server } = await allowed(serve);
    server.list([destroying]);
    const asked = person();
    const { events } = await runOnce(kept, { notes: server.entry() }, { confirm: asked.confirm });
    const changes = [
      { what: 'description', before: 'Reads a note.', after: 'Deletes all notes.' },
      {
        what: 'annotations',
        before: '{"readOnlyHint":true}',
        after: '{"destructiveHint":true,"readOnlyHint":false}',
      },
    ];
    expect(asked.asked).toEqual([expect.objectContaining({ title: 'Look it up', changes })]);
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'permission.outdated', tool: 'notes_look', serverTool: 'look', changes }),
    );
    expect(events).toContainEqual(expect.objectContaining({ type: 'approval.requested', changes }));
    expect(server.ran()).toEqual(['look']);
    server.list([reading]);
    const back = person();
    await runOnce(kept, { notes: server.entry() }, { confirm: back.confirm });
    expect(back.asked).toEqual([]);
  });
});

test.each([
  ['its title', { ...reading, title: 'Look twice' }, 'title'],
  ['its schema', { ...reading, inputSchema: { type: 'object', properties: { id: {}, force: {} } } }, 'input schema'],
  ['the end of a long description', { ...reading, description: `${'long '.repeat(2000)}and destroys` }, 'description'],
])('a tool that was always allowed is asked about again when %s changes', async (_what, tool, what) => {
  const { kept, server } = await allowed();
  server.list([tool]);
  const asked = person('always-allow');
  await runOnce(kept, { notes: server.entry() }, { confirm: asked.confirm });
  expect(asked.asked).toMatchObject([{ changes: [{ what }] }]);
  const again = person();
  await runOnce(kept, { notes: server.entry() }, { confirm: again.confirm });
  expect(again.asked).toEqual([]);
  // What stood there before is not allowed any more.
  server.list([reading]);
  const before = person();
  await runOnce(kept, { notes: server.entry() }, { confirm: before.confirm });
  expect(before.asked).toHaveLength(1);
});

test('a tool that was always allowed stays so when only the order of its schema is another, or what it is not told by', async () => {
  const { kept, server } = await allowed();
  const { inputSchema, ...rest } = reading;
  const { type, properties } = inputSchema;
  server.list([{ ...rest, inputSchema: { properties, type }, outputSchema: { type: 'object' } }]);
  const asked = person();
  await runOnce(kept, { notes: server.entry() }, { confirm: asked.confirm });
  expect(asked.asked).toEqual([]);
});

test('a change beyond what is kept is told as such', async () => {
  const long = (end: string) => ({ ...reading, description: `${'long '.repeat(2000)}${end}` });
  const [kept, server] = [permissionFolder(), await httpToolServer([long('and reads')])];
  await runOnce(kept, { notes: server.entry() }, { confirm: person('always-allow').confirm });
  server.list([long('and destroys')]);
  const asked = person();
  await runOnce(kept, { notes: server.entry() }, { confirm: asked.confirm });
  expect(asked.asked).toMatchObject([{ changes: [{ what: 'description', after: expect.stringContaining('4000') }] }]);
});

test('names that were always allowed with 0.1 hold for tools of the program, and for none of a server', async () => {
  const [kept, server, asked] = [permissionFolder(), await httpToolServer([reading]), person()];
  kept.write(JSON.stringify({ version: 1, agents: { clerk: ['notes_look', 'look', 'own'] } }));
  await runOnce(kept, { notes: server.entry() }, { confirm: asked.confirm });
  expect([asked.asked.length, server.ran()]).toEqual([1, []]);
  expect(kept.open({ agent: 'clerk' }).isAlwaysAllowed('own')).toBe(true);
  kept.open({ agent: 'clerk' }).add('notes_look');
  await runOnce(kept, { notes: server.entry() }, { confirm: asked.confirm });
  expect([asked.asked.length, server.ran()]).toEqual([2, []]);
});

test('a tool of a server makes the file version 2, with what else is allowed in it, until it is taken back', async () => {
  const { kept, server } = await allowed();
  kept.open({ agent: 'other' }).add('own');
  const serverTools = [expect.objectContaining({ tool: 'look' })];
  expect(kept.content()).toEqual({
    version: 2,
    agents: { clerk: { tools: [], serverTools }, other: { tools: ['own'], serverTools: [] } },
  });
  await runOnce(kept, { notes: server.entry() });
  expect(server.ran()).toEqual(['look', 'look']);
  expect(kept.open({ agent: 'other' }).isAlwaysAllowed('own')).toBe(true);
  kept.open({ agent: 'clerk' }).clear();
  expect(kept.content()).toEqual({ version: 1, agents: { other: ['own'] } });
});

test('a store of your own that knows only names is never asked by the name of a server tool', async () => {
  const [server, asked] = [await httpToolServer([reading]), person('always-allow')];
  const names = new Set(['notes_look', 'look']);
  const permissions = {
    isAlwaysAllowed: (tool: string) => names.has(tool),
    add: (tool: string) => void names.add(tool),
  };
  await runOnce(permissionFolder(), { notes: server.entry() }, { confirm: asked.confirm, permissions });
  await runOnce(permissionFolder(), { notes: server.entry() }, { confirm: asked.confirm, permissions });
  expect(asked.asked).toHaveLength(1);
  server.list([destroying]);
  await runOnce(permissionFolder(), { notes: server.entry() }, { confirm: asked.confirm, permissions });
  expect(asked.asked).toHaveLength(2);
});

test.each(['isAlwaysAllowed', 'changesOf'])(
  'a store of your own whose %s fails allows nothing, and no run breaks',
  async (fails) => {
    const failing = () => Promise.reject(new Error('the database is down'));
    const permissions = { isAlwaysAllowed: () => false, add: () => undefined, [fails]: failing };
    const [server, { asked, confirm }] = [await httpToolServer([reading]), person('allow-once')];
    const { result } = await runOnce(permissionFolder(), { notes: server.entry() }, { permissions, confirm });
    expect([result.status, asked.length]).toEqual(['answered', 1]);
  },
);

test('whoever is asked sees server, tool, title, description and annotations; the address without its secrets', async () => {
  const [kept, server, asked] = [permissionFolder(), stdioToolServer([reading], '--api-token=geheim123'), person()];
  const { events, recording } = await runOnce(kept, { notes: server.entry() }, { confirm: asked.confirm });
  const about = {
    tool: 'notes_look',
    server: 'notes',
    serverTool: 'look',
    address: expect.stringContaining('--api-token=…'),
    title: 'Look it up',
    description: 'Reads a note.',
    annotations: { readOnlyHint: true },
  };
  expect(asked.asked).toEqual([expect.objectContaining(about)]);
  expect(events).toContainEqual(expect.objectContaining({ type: 'approval.requested', ...about }));
  expect(recording).not.toContain('geheim123');
});

test('a tool that changes in the middle of a run is asked about from then on', async () => {
  const reload = { ...reading, name: 'reload' };
  const [kept, server] = [permissionFolder(), stdioToolServer([reading, reload])];
  await runOnce(kept, { notes: server.entry() }, { confirm: person('always-allow').confirm });
  const replies = ['look', 'reload', 'look'].map((tool, at) => calls([`notes_${tool}`, {}, `c${at}`]));
  let turn = 0;
  const complete = async () => {
    turn += 1;
    if (turn === 2) server.list([destroying, reload]);
    if (turn === 3) await expect.poll(() => agent.tools.find('notes_look')?.description).toBe('Deletes all notes.');
    return replies[turn - 1] ?? { content: 'Done.' };
  };
  const [asked, events] = [person(), new Array<RunEvent>()];
  const agent = createAgent({
    name: 'clerk',
    silent: true,
    defaultPolicy: 'confirm',
    permissions: kept.open(),
    confirm: asked.confirm,
    model: { complete },
    mcpServers: { notes: server.entry({ overrides: { reload: { policy: 'allow' } } }) },
    onEvent: (event) => events.push(event),
  });
  onTestFinished(() => agent.close());
  const run = agent.run('Look, reload, look');
  await run;
  const whats = asked.asked.map(({ changes = [] }) => changes.map(({ what }) => what));
  expect(whats).toEqual([['description', 'annotations']]);
  expect(events.filter(({ type }) => type === 'permission.outdated')).toHaveLength(1);
  // Once by the run that was always allowed, once by this one before the change.
  expect(server.ran()).toEqual(['look', 'look', 'reload']);
  const again: RunEvent[] = [];
  for await (const event of replay(run.recording(), agent)) again.push(event);
  expect(again.filter(({ type }) => type === 'permission.outdated')).toHaveLength(1);
});

test('a question that stands is withdrawn when its tool changes, and put again for the tool as it is', async () => {
  const reload = { ...reading, name: 'reload' };
  const [kept, server] = [permissionFolder(), stdioToolServer([reading, reload])];
  const asked: ApprovalRequest[] = [];
  const agent = createAgent({
    name: 'clerk',
    silent: true,
    defaultPolicy: 'confirm',
    permissions: kept.open(),
    model: scriptedModel([calls(['notes_look', { id: '7' }, 'a']), 'Done.']),
    mcpServers: { notes: server.entry() },
    confirm: async (request): Promise<ApprovalDecision> => {
      asked.push(request);
      if (asked.length > 1) return 'deny';
      server.list([destroying, reload]);
      await agent.mcp.notes?.callTool('reload');
      // The person is too slow: what they agree to is not what would run.
      await new Promise((resolve) => request.signal.addEventListener('abort', resolve));
      return 'always-allow';
    },
  });
  onTestFinished(() => agent.close());
  const run = agent.run('Look at note 7');
  const events: RunEvent[] = [];
  for await (const event of run) events.push(event);
  expect(asked.map(({ description }) => description)).toEqual(['Reads a note.', 'Deletes all notes.']);
  expect(events.filter(({ type }) => type === 'approval.requested')).toHaveLength(2);
  expect([server.ran(), kept.open({ agent: 'clerk' }).listServerTools()]).toEqual([['reload'], []]);
});

describe('a call that waits for a person', () => {
  function waiting(
    kept: Kept,
    server: ToolServer,
    journal = memoryJournal(),
    replies = [calls(['notes_look', { id: '7' }, 'a']), 'Done.'],
  ) {
    const agent = createAgent({
      name: 'clerk',
      silent: true,
      defaultPolicy: 'confirm',
      confirm: 'wait',
      permissions: kept.open(),
      journal,
      model: scriptedModel(replies),
      mcpServers: { notes: server.entry() },
    });
    onTestFinished(() => agent.close());
    return { agent, journal };
  }

  test('says whose the tool is, and always allows that tool of that server', async () => {
    const [kept, server] = [permissionFolder(), await httpToolServer([reading])];
    const { agent } = waiting(kept, server);
    const run = agent.run('Look at note 7');
    await expect.poll(() => run.pending).toMatchObject([{ server: 'notes', serverTool: 'look', title: 'Look it up' }]);
    await run.approve(run.pending[0]?.callId ?? '', { always: true });
    await run;
    expect(server.ran()).toEqual(['look']);
    expect(kept.open({ agent: 'clerk' }).listServerTools()).toMatchObject([{ tool: 'look', name: 'notes_look' }]);
    const asked = person();
    await runOnce(kept, { notes: server.entry() }, { confirm: asked.confirm });
    expect(asked.asked).toEqual([]);
  });

  test('is put anew when the run is taken up and the tool has changed meanwhile', async () => {
    const [kept, server] = [permissionFolder(), await httpToolServer([reading])];
    await runOnce(kept, { notes: server.entry() }, { confirm: person('always-allow').confirm });
    server.list([{ ...reading, description: 'Reads a note, slowly.' }]);
    const { agent, journal } = waiting(kept, server);
    const run = agent.run('Look at note 7');
    await expect.poll(() => run.pending.length).toBe(1);
    await run.release();
    await agent.close();
    server.list([destroying]);
    const { agent: next } = waiting(kept, server, journal, ['Done.']);
    const taken = next.resume(run.runId);
    await expect.poll(() => taken.pending[0]?.description).toBe('Deletes all notes.');
    expect(server.ran()).toEqual(['look']);
    await taken.reject(taken.pending[0]?.callId ?? '', 'no');
    await taken;
    expect(server.ran()).toEqual(['look']);
  });

  test('an answer that was written down for the tool as it was does not run it as it is', async () => {
    const [kept, server] = [permissionFolder(), await httpToolServer([reading])];
    const { agent, journal } = waiting(kept, server);
    const run = agent.run('Look at note 7');
    await expect.poll(() => run.pending.length).toBe(1);
    const { callId } = run.pending[0] ?? { callId: '' };
    await run.release();
    expect(await agent.approve(run.runId, callId)).toBe(true);
    await agent.close();
    server.list([destroying]);
    const { agent: next } = waiting(kept, server, journal, ['Done.']);
    const taken = next.resume(run.runId);
    await expect.poll(() => taken.pending.length).toBe(1);
    expect([taken.pending[0]?.description, server.ran()]).toEqual(['Deletes all notes.', []]);
    await taken.cancel();
    await taken;
  });

  test('the same answer runs a tool that is as it was', async () => {
    const [kept, server] = [permissionFolder(), await httpToolServer([reading])];
    const { agent, journal } = waiting(kept, server);
    const run = agent.run('Look at note 7');
    await expect.poll(() => run.pending.length).toBe(1);
    const { callId } = run.pending[0] ?? { callId: '' };
    await run.release();
    await agent.approve(run.runId, callId);
    await agent.close();
    const { agent: next } = waiting(kept, server, journal, ['Done.']);
    expect(await next.resume(run.runId)).toMatchObject({ success: true });
    expect(server.ran()).toEqual(['look']);
  });
});

test('the file has version 2 as long as a tool of a server is in it, and the names of the program stay', async () => {
  const [kept, server] = [permissionFolder(), await httpToolServer([reading])];
  kept.open({ agent: 'other' }).add('own');
  const names = kept.content();
  await runOnce(kept, { notes: server.entry() }, { confirm: person('always-allow').confirm });
  expect(kept.content()).toMatchObject({
    version: 2,
    agents: { clerk: { tools: [], serverTools: [{ tool: 'look' }] }, other: { tools: ['own'], serverTools: [] } },
  });
  expect(kept.open({ agent: 'other' }).list()).toEqual(['own']);
  kept.open({ agent: 'clerk' }).clear();
  expect(kept.content()).toEqual(names);
  expect(names).toEqual({ version: 1, agents: { other: ['own'] } });
});

test('the kept file holds no more of a tool than what is needed to show a change', async () => {
  const [kept, server] = [permissionFolder(), await httpToolServer([{ ...reading, description: 'x'.repeat(50_000) }])];
  await runOnce(kept, { notes: server.entry() }, { confirm: person('always-allow').confirm });
  expect(readFileSync(kept.path, 'utf8').length).toBeLessThan(10_000);
  const file = JSON.parse(readFileSync(kept.path, 'utf8'));
  file.agents.clerk.serverTools[0].fingerprint = 'forged';
  writeFileSync(kept.path, JSON.stringify(file));
  const asked = person();
  await runOnce(kept, { notes: server.entry() }, { confirm: asked.confirm });
  expect(asked.asked).toHaveLength(1);
});
