import { expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { Frame, SessionInfo, StepInfo } from '../../src/inspector/frames/protocol.ts';
import { createMcpConnection } from '../../src/mcp/index.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { hostileEntry } from '../support/mcp/hostile-entry.ts';
import { calls } from '../support/replies.ts';
import { type Viewer, viewer } from './viewer.ts';
import { inspector } from './with-inspector.ts';

const SECRET = 'wJalrXUtnFEMI/K7MDENG';

function agentWith(options: AgentOptions) {
  const model = scriptedModel([calls(['files_die']), 'It died.', 'Nothing to do.']);
  const agent = createAgent({ name: 'clerk', model, silent: true, ...options });
  onTestFinished(() => agent.close());
  return agent;
}

const isConnection = (frame: Frame): boolean => frame.t === 'session' && frame.session.title === 'MCP files';

async function listed({ list }: Viewer, until: (session: SessionInfo) => boolean = () => true): Promise<SessionInfo> {
  const seen = await list((frame) => frame.t === 'session' && isConnection(frame) && until(frame.session));
  const last = seen.at(-1);
  if (last?.t !== 'session') throw new Error('No connection is listed.');
  return last.session;
}

const stepsOf = (frames: readonly Frame[]): readonly StepInfo[] =>
  frames.flatMap((frame) => (frame.t === 'step' ? [frame.step] : []));

/** The states in which the connection was, one after the other. */
function statesOf(frames: readonly Frame[]): readonly string[] {
  const states = stepsOf(frames).map(({ to }) => to[0] ?? '');
  return states.filter((state, index) => state !== states[index - 1]);
}

test('a server that dies in the middle of a call is seen to be lost and found again', async () => {
  const shown = await inspector();
  const look = viewer(shown.url);
  const agent = agentWith({ mcpServers: { files: hostileEntry('normal') }, inspect: shown });
  await agent.run('Die.');
  const { id, ...info } = await listed(look);
  expect(info).toMatchObject({ kind: 'system', agent: 'clerk', status: 'running', can: [] });
  let ready = 0;
  const frames = await look.frames(id, (frame) => {
    if (frame.t === 'step' && frame.step.to[0] === 'READY' && frame.step.from[0] !== 'READY') ready += 1;
    return ready === 2;
  });
  const states = statesOf(frames);
  expect(states.slice(0, 4)).toEqual(['IDLE', 'CONNECTING', 'DISCOVERING', 'READY']);
  expect(states.slice(4)).toEqual(expect.arrayContaining(['CONNECTING', 'DISCOVERING', 'READY']));
  expect(states.at(-1)).toBe('READY');
  expect(frames).toContainEqual(
    expect.objectContaining({ t: 'drawing', drawing: expect.objectContaining({ id: 'mcpConnection' }) }),
  );
  expect(await look.act(id, { kind: 'send', event: { type: 'connection.stopped' } })).toMatchObject({ ok: false });
  await agent.close();
  expect(await listed(look, ({ status }) => status !== 'running')).toMatchObject({ status: 'stopped' });
});

test('a connection that was there before is shown as it is, once for all agents that share it', async () => {
  const shown = await inspector();
  const look = viewer(shown.url);
  await using files = createMcpConnection('files', hostileEntry('normal'));
  await files.connect();
  const first = agentWith({ mcpServers: { files }, inspect: shown, model: scriptedModel(['Fine.']) });
  const second = agentWith({ mcpServers: { files }, inspect: shown, model: scriptedModel(['Fine.']) });
  await Promise.all([first.run('Well?'), second.run('Well?')]);
  const { id } = await listed(look);
  const [begun] = stepsOf(await look.frames(id, ({ t }) => t === 'step'));
  expect(begun).toMatchObject({ event: 'started', from: [], to: expect.arrayContaining(['READY']) });
  await first.close();
  expect(await listed(look)).toMatchObject({ id, status: 'running' });
  await second.close();
  expect(await listed(look, ({ status }) => status !== 'running')).toMatchObject({ id, status: 'stopped' });
  await files.disconnect();
  await agentWith({ inspect: shown, model: scriptedModel(['Fine.']) }).run('Well?', { runId: 'last' });
  const all = await look.list((frame) => frame.t === 'session' && frame.session.id === 'last');
  expect(all.filter((frame) => frame.t === 'session' && frame.session.kind === 'system')).toHaveLength(1);
});

test('what a dying server says of a secret is a mark on the page', async () => {
  const shown = await inspector();
  const look = viewer(shown.url);
  const entry = {
    command: process.execPath,
    args: ['-e', `console.error('no access with ${SECRET}'); process.exit(1)`],
  };
  const agent = agentWith({
    mcpServers: { files: entry },
    secrets: [SECRET],
    inspect: shown,
    model: scriptedModel(['Fine.']),
  });
  await agent.run('Well?');
  const { id } = await listed(look);
  const failed = (frame: Frame): boolean => frame.t === 'step' && frame.step.to[0] === 'BACKING_OFF';
  const [last] = stepsOf(await look.frames(id, failed)).toReversed();
  const { after } = await look.step(id, last?.n ?? 0);
  expect(JSON.stringify(after)).toMatch(/no access with «secret:\d+»/);
  expect(await (await look.get(`/api/sessions/${id}/export`)).text()).not.toContain(SECRET);
});

test('without an inspector nobody looks at a connection', async () => {
  await using files = createMcpConnection('files', hostileEntry('normal'));
  let observers = 0;
  const { system } = files.actor;
  const inspect = system.inspect.bind(system);
  Object.assign(system, {
    inspect: (...given: Parameters<typeof inspect>) => {
      observers += 1;
      return inspect(...given);
    },
  });
  await agentWith({ mcpServers: { files }, model: scriptedModel(['Fine.']) }).run('Well?');
  expect(observers).toBe(0);
  const shown = await inspector();
  await agentWith({ mcpServers: { files }, model: scriptedModel(['Fine.']), inspect: shown }).run('Well?');
  expect(observers).toBe(1);
});
