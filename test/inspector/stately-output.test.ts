import { execFileSync } from 'node:child_process';
import { expect, onTestFinished, test } from 'vitest';
import { assign, createActor, setup } from 'xstate';
import { createAgent } from '../../src/agent/create-agent.ts';
import { statelyOutput } from '../../src/inspector/index.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { hostileEntry } from '../support/mcp/hostile-entry.ts';
import { calls } from '../support/replies.ts';
import { type StatelyEvent, statelyReceiver } from './stately-receiver.ts';
import { viewer } from './viewer.ts';
import { inspector } from './with-inspector.ts';

const KEY = 'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789';

const lamp = setup({
  types: { context: {} as { readonly key: string }, events: {} as { readonly type: 'TURN' } },
}).createMachine({
  id: 'lamp',
  context: { key: KEY },
  initial: 'OFF',
  states: { OFF: { on: { TURN: 'ON' } }, ON: {} },
});

const isSnapshot =
  (value: unknown) =>
  ({ type, snapshot }: StatelyEvent): boolean =>
    type === '@xstate.snapshot' && JSON.stringify(snapshot?.value) === JSON.stringify(value);

/** The leaves of a connection, which have no names of their own. */
const CONNECTING = ['connectMcp', 'listMcpTools'];

async function connected() {
  const receiver = await statelyReceiver();
  const output = await statelyOutput({ url: receiver.url });
  onTestFinished(async () => {
    output.close();
    await receiver.close();
  });
  return { receiver, output };
}

test('actors, events and snapshots of any actor arrive at a WebSocket server', async () => {
  const { receiver, output } = await connected();
  const actor = createActor(lamp, { id: 'hall', inspect: output.inspect }).start();
  actor.send({ type: 'TURN' });
  const events = await receiver.until(isSnapshot('ON'));
  const [begun] = events;
  expect(events.map(({ type }) => type)).toEqual([
    '@xstate.actor',
    '@xstate.event',
    '@xstate.snapshot',
    '@xstate.event',
    '@xstate.snapshot',
  ]);
  expect(begun).toMatchObject({ type: '@xstate.actor', name: 'hall', rootId: actor.sessionId });
  expect(begun).not.toHaveProperty('parentId');
  expect(JSON.parse(begun?.definition ?? '')).toMatchObject({ id: 'lamp', states: { OFF: { on: { TURN: 'ON' } } } });
  expect(events).toContainEqual(expect.objectContaining({ type: '@xstate.event', event: { type: 'TURN' } }));
  expect(new Set(events.map(({ sessionId }) => sessionId))).toEqual(new Set([actor.sessionId]));
  expect(JSON.stringify(events)).not.toContain(KEY);
  expect(events.at(-1)?.snapshot?.context).toEqual({ key: '«secret:1»' });
});

test('a run of an agent arrives with its calls and its connections, secrets as marks', async () => {
  const { receiver, output } = await connected();
  await using agent = createAgent({
    model: scriptedModel([calls(['look', { at: KEY }]), 'Fine.']),
    tools: [fakeTool('look', [{ seen: KEY }], { inputSchema: { type: 'object' } })],
    mcpServers: { files: hostileEntry('normal') },
    silent: true,
    inspect: output,
  });
  expect((await agent.run('Well?')).result).toBe('Fine.');
  const events = await receiver.until(isSnapshot('COMPLETION'));
  const actors = events.filter(({ type }) => type === '@xstate.actor');
  expect(actors.map(({ name }) => name)).toEqual([
    'mcpConnection',
    ...CONNECTING,
    'agent',
    'llmCall',
    'c1',
    'callTool',
    'llmCall',
  ]);
  const [agentActor, call] = [actors.find(({ name }) => name === 'agent'), actors.find(({ name }) => name === 'c1')];
  expect(call).toMatchObject({
    parentId: agentActor?.sessionId,
    rootId: agentActor?.sessionId,
    snapshot: { status: 'active' },
  });
  expect(JSON.parse(call?.definition ?? '')).toMatchObject({ id: 'toolCall' });
  expect(events.find(isSnapshot({ READY: 'LISTED' }))).toMatchObject({ sessionId: actors[0]?.sessionId });
  expect(JSON.stringify(events)).not.toMatch(/abcdefghijklmnopqrstuvwxyz0123456789/);
});

test('what a dying server says of a secret is a mark there, too', async () => {
  const { receiver, output } = await connected();
  const secret = 'wJalrXUtnFEMI/K7MDENG';
  const args = ['-e', `console.error('no access with ${secret}'); process.exit(1)`];
  await using agent = createAgent({
    model: scriptedModel(['Fine.']),
    mcpServers: { files: { command: process.execPath, args } },
    secrets: [secret],
    silent: true,
    inspect: output,
  });
  await agent.run('Well?');
  const text = JSON.stringify(await receiver.until(isSnapshot('BACKING_OFF')));
  expect(text).toMatch(/no access with «secret:\d+»/);
  expect(text).not.toContain(secret);
});

test('another inspector of theirs may carry it, and one that throws breaks nothing', async () => {
  const sent: object[] = [];
  const output = await statelyOutput({ to: { adapter: { send: (event) => void sent.push(event) } } });
  const broken = await statelyOutput({
    to: {
      adapter: {
        send: () => {
          throw new Error('The line is dead.');
        },
      },
    },
  });
  const observe = (inspected: Parameters<typeof output.inspect>[0]): void => {
    broken.inspect(inspected);
    output.inspect(inspected);
  };
  const actor = createActor(lamp, { inspect: observe }).start();
  await expect.poll(() => sent.length).toBeGreaterThan(2);
  output.close();
  const before = sent.length;
  actor.send({ type: 'TURN' });
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(sent.length).toBe(before);
});

test('without the package it says how to get it', () => {
  const script = `
    import { registerHooks } from 'node:module';
    registerHooks({
      resolve(specifier, context, next) {
        if (specifier !== '@statelyai/inspect') return next(specifier, context);
        throw Object.assign(new Error('Cannot find it.'), { code: 'ERR_MODULE_NOT_FOUND' });
      },
    });
    const { statelyOutput } = await import(${JSON.stringify(new URL('../../src/inspector/index.ts', import.meta.url).href)});
    await statelyOutput().catch(({ name, code, message }) => console.log(JSON.stringify({ name, code, message })));`;
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  expect(JSON.parse(said)).toEqual({
    name: 'MissingPackageError',
    code: 'package-missing',
    message: expect.stringContaining('npm install @statelyai/inspect'),
  });
});

test('what is too long for a message is left out of it, and what comes after it arrives', async () => {
  const shown = await inspector();
  const look = viewer(shown.url);
  const output = await statelyOutput({ url: shown.statelyUrl });
  onTestFinished(() => output.close());
  const scroll = setup({
    types: {
      events: {} as { readonly type: 'WRITE'; readonly text: string; readonly mood: string },
    },
  }).createMachine({
    id: 'scroll',
    context: { own: 'kept' },
    initial: 'OPEN',
    states: {
      OPEN: { on: { WRITE: { target: 'FULL', actions: assign(({ event }) => ({ said: event.text })) } } },
      FULL: {},
    },
  });
  const long = createActor(scroll, { id: 'scroll', inspect: output.inspect }).start();
  long.send({ type: 'WRITE', text: 'ж'.repeat(6_000_000), mood: 'calm' });
  createActor(lamp, { id: 'later', inspect: output.inspect }).start();
  await look.list((frame) => frame.t === 'session' && frame.session.id === 'stately-1');
  const frames = await look.frames('stately-1', (frame) => frame.t === 'step' && frame.step.event === 'WRITE');
  expect(frames).toContainEqual(
    expect.objectContaining({ t: 'step', step: expect.objectContaining({ to: ['FULL'] }) }),
  );
  const step = JSON.stringify(await look.step('stately-1', 2));
  expect(step).toContain('«6000002 characters»');
  expect(step).toContain('calm');
  await look.list((frame) => frame.t === 'session' && frame.session.title.includes('later'));
});

test('many members that are too long together are left out from where they are, and no others', async () => {
  const { receiver, output } = await connected();
  const shelf = setup({
    types: { context: {} as { readonly books: object; readonly pages: object; readonly label: string } },
  }).createMachine({
    id: 'shelf',
    context: {
      books: Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`book${n}`, 'a'.repeat(100_000)])),
      pages: Object.fromEntries(Array.from({ length: 40_000 }, (_, n) => [n, 'b'.repeat(40)])),
      label: 'novels',
    },
  });
  createActor(shelf, { id: 'shelf', inspect: output.inspect }).start();
  const events = await receiver.until(({ type }) => type === '@xstate.snapshot');
  const context = Object(events.at(-1)?.snapshot?.context);
  expect(JSON.stringify(events.at(-1)).length).toBeLessThan(3_100_000);
  expect(context).toMatchObject({ label: 'novels', pages: expect.stringMatching(/^«\d+ characters»$/) });
  expect(context.books).toMatchObject({ book0: 'a'.repeat(100_000), book99: '«100002 characters»' });
});
