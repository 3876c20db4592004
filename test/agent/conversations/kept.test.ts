import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { spawn } from 'node:child_process';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { fork } from '../../../src/journal/replay/fork.ts';
import { memoryJournal } from '../../../src/journal/stores/memory.ts';
import type { Permissions } from '../../../src/agent/options/option-types.ts';
import { permissionStore } from '../../../src/security/permissions-store.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import { createAgent } from '../../../src/agent/create-agent.ts';
import { openStore } from '../../journal/open-store.ts';
import { temporaryFolder } from '../../journal/temporary-folder.ts';
import { BUNDLED } from '../../support/bundled.ts';
import { calls } from '../../support/replies.ts';
import { echoing, spoken } from './held.ts';

const KINDS = ['file', 'sqlite'] as const;
const placeIn = (folder: string, kind: string): string => join(folder, kind === 'file' ? 'runs' : 'runs.sqlite');

/** A process that begins runs of the conversation `c`, of which each lasts until it is said an empty line. */
function racer(kind: string, place: string) {
  const script = join(import.meta.dirname, 'children/racer.ts');
  const child = spawn(process.execPath, [...BUNDLED, script, kind, place], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    say: (text: string) => void child.stdin.write(`${text}\n`),
    line: async (): Promise<string> => (await lines.next()).value ?? 'ended',
    kill: async () => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

describe.each(KINDS)('a conversation in a journal: %s', (kind) => {
  test('is had by one of many processes that begin a run of it at the same moment, from the first run on', async () => {
    await using folder = await temporaryFolder();
    const place = placeIn(folder.path, kind);
    const racers = Array.from({ length: 4 }, () => racer(kind, place));
    await Promise.all(racers.map((one) => one.line()));
    for (const round of [1, 2, 3]) {
      const ended: string[] = [];
      for (const [n, one] of racers.entries()) one.say(`from ${n}`);
      const all = racers.map(async (one) => ended.push(await one.line()));
      // The one that has it keeps it until the last of the others has begun.
      await vi.waitUntil(() => ended.length >= 3, { timeout: 60_000 });
      for (const one of racers) one.say('');
      await Promise.all(all);
      expect(ended).toEqual([...Array(3).fill('failed conversation-busy'), `answered ${round}`]);
    }
    const { agent } = echoing({ journal: openStore(kind, place) });
    expect(await agent.conversation('c').runs()).toHaveLength(3);
    expect(spoken(await agent.conversation('c').history)).toHaveLength(6);
  });

  test('that another process has taken, and not yet begun a run of, does not say that its ended run is the one in use', async () => {
    await using folder = await temporaryFolder();
    const place = placeIn(folder.path, kind);
    const { agent } = echoing({ journal: openStore(kind, place) });
    const first = agent.conversation('c').run('one');
    await first;
    const leave = await openStore(kind, place).claim?.('conversation c');
    const { error } = await agent.conversation('c').run('two');
    expect(error).toMatchObject({
      code: 'conversation-busy',
      message: `The conversation 'c' is in use by another process; its last run is ${first.runId}. Wait until that process is done.`,
    });
    await leave?.();
    expect(await agent.conversation('c').run('three')).toMatchObject({ result: 'three/2' });
  });

  test('is free at once when its process was killed, and what that left is brought to its end first', async () => {
    await using folder = await temporaryFolder();
    const place = placeIn(folder.path, kind);
    const other = racer(kind, place);
    await other.line();
    const { agent } = echoing({ journal: openStore(kind, place) });
    other.say('interrupted');
    await expect.poll(async () => (await agent.conversation('c').runs()).length).toBe(1);
    expect(await agent.conversation('c').run('busy?')).toMatchObject({
      status: 'failed',
      error: { code: 'conversation-busy' },
    });
    expect(await agent.conversation('other').run('mine')).toMatchObject({ status: 'answered' });
    await other.kill();
    expect(await agent.conversation('c').run('new')).toMatchObject({ result: 'new/2' });
    expect(spoken(await agent.conversation('c').history)).toEqual(['interrupted', 'interrupted/1', 'new', 'new/2']);
    expect((await agent.conversation('c').runs()).map(({ input, state }) => `${input} ${state}`)).toEqual([
      'interrupted ended',
      'new ended',
    ]);
    const { agent: later } = echoing({ journal: openStore(kind, place) });
    expect(await later.conversation('c').run('later')).toMatchObject({ result: 'later/3' });
    expect(later.history).toEqual([]);
  });
});

test('a thousand conversations at once stay apart, and leave nothing behind', async () => {
  const journal = memoryJournal({ maxRuns: 10_000 });
  const { agent, model } = echoing({ journal });
  const names = Array.from({ length: 1000 }, (_, n) => `user ${n}`);
  const first = await Promise.all(names.map((name) => agent.conversation(name).run(`${name} first`)));
  expect(first.map(({ result }) => result)).toEqual(names.map((name) => `${name} first/1`));
  const again = names.slice(0, 100);
  const second = await Promise.all(again.map((name) => agent.conversation(name).run(`${name} second`)));
  expect(second.map(({ result }) => result)).toEqual(again.map((name) => `${name} second/2`));
  for (const { messages } of model.requests) {
    const users = messages
      .filter(({ role }) => role === 'user')
      .map(({ content }) => String(content).replace(/ \w+$/, ''));
    expect(new Set(users).size).toBe(1);
  }
  expect(agent.history).toEqual([]);
  expect(spoken(await agent.conversation('user 7').history)).toHaveLength(4);
});

test('runs of a conversation are ordered, even where the clock stands still', async () => {
  const journal = memoryJournal();
  const { agent } = echoing({ journal });
  const inputs = Array.from({ length: 20 }, (_, n) => `say ${n}`);
  for (const input of inputs) {
    await agent.conversation('c').run(input, { runId: `run-${20 - inputs.indexOf(input)}` });
  }
  const runs = await agent.conversation('c').runs();
  expect(runs.map(({ input }) => input)).toEqual(inputs);
  expect(new Set(runs.map(({ at }) => at)).size).toBe(20);
});

test('a conversation is busy by itself, and neither are others nor is the agent', async () => {
  const { agent, model } = echoing({ journal: memoryJournal() });
  const run = agent.conversation('a').run('hold');
  expect(() => agent.conversation('a').run('again')).toThrow(run.runId);
  expect(await agent.conversation('b').run('b')).toMatchObject({ result: 'b/1' });
  expect(await agent.run('own')).toMatchObject({ result: 'own/1' });
  await model.asked('hold');
  model.free('hold');
  await run;
  expect(spoken(agent.history)).toEqual(['own', 'own/1']);
});

test('without a journal a conversation is kept in memory', async () => {
  const { agent } = echoing();
  await agent.conversation('a').run('one');
  expect(await agent.conversation('a').run('two')).toMatchObject({ result: 'two/2' });
  expect(spoken(await agent.conversation('a').history)).toEqual(['one', 'one/1', 'two', 'two/2']);
  expect(await agent.conversation('a').resume()).toBeNull();
});

test('maxHistoryMessages holds over processes, and an outputSchema belongs to its run', async () => {
  const journal = memoryJournal();
  const options = { journal, maxHistoryMessages: 2 };
  await echoing(options).agent.conversation('c').run('one');
  await echoing(options).agent.conversation('c').run('two');
  const model = scriptedModel(['{"word":"three"}', 'four']);
  const agent = createAgent({ model, silent: true, ...options });
  const word = { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] } as const;
  expect(await agent.conversation('c').run('three', { outputSchema: word })).toMatchObject({
    output: { word: 'three' },
  });
  expect(await agent.conversation('c').run('four')).toMatchObject({ result: 'four', output: null });
  expect(spoken(model.requests[0]?.messages ?? [])).toEqual(['two', 'two/2', 'three']);
});

test('without a journal, a conversation lists the calls of its live run that wait, and no others', async () => {
  const danger = fakeTool('danger', ['boom'], { policy: 'confirm' });
  const model = scriptedModel([calls(['danger']), 'Done.']);
  const agent = createAgent({ model, silent: true, tools: [danger], confirm: 'wait' });
  const [talk, other] = [agent.conversation('c'), agent.conversation('d')];
  const run = talk.run('Do it.');
  for await (const event of run) {
    if (event.type !== 'approval.requested') continue;
    const [waiting, ...rest] = await talk.pending();
    expect([waiting?.callId, rest, await other.pending()]).toEqual([event.callId, [], []]);
    await run.approve(event.callId);
  }
  expect([(await run).result, await talk.pending()]).toEqual(['Done.', []]);
});

test('a run that waits for a person holds its conversation until it is answered and resumed, also elsewhere', async () => {
  const journal = memoryJournal();
  const make = () => {
    const danger = fakeTool('danger', ['boom'], { policy: 'confirm' });
    const model = scriptedModel([calls(['danger']), 'Done.', 'Next.']);
    return createAgent({ model, silent: true, journal, tools: [danger], confirm: 'wait' });
  };
  const agent = make();
  const run = agent.conversation('c').run('Do it.');
  for await (const event of run) if (event.type === 'approval.requested') await run.release();
  const later = make();
  const [waiting] = await later.conversation('c').pending();
  expect(waiting).toMatchObject({ runId: run.runId, tool: 'danger' });
  const refused = await later.conversation('c').run('And then?');
  expect(refused).toMatchObject({ status: 'failed', error: { code: 'conversation-waiting' } });
  expect(await later.conversation('c').runs()).toHaveLength(1);
  expect(await later.approve(run.runId, waiting?.callId ?? '')).toBe(true);
  const third = createAgent({
    model: scriptedModel(['Done.', 'Next.']),
    silent: true,
    journal,
    tools: [fakeTool('danger', ['boom'], { policy: 'confirm' })],
    confirm: 'wait',
  });
  expect(await third.conversation('c').resume()).toMatchObject({ runId: run.runId, result: 'Done.' });
  expect(await third.conversation('c').resume()).toBeNull();
  expect(await third.conversation('c').run('And then?')).toMatchObject({ result: 'Next.' });
});

test('a secret of an earlier run is a mark that stands for nothing in a later one', async () => {
  const journal = memoryJournal();
  const one = echoing({ journal, secrets: ['first-secret'] });
  await one.agent.conversation('c').run('My key is first-secret.');
  const two = echoing({ journal, secrets: ['second-secret'] });
  await two.agent.run('Know second-secret.');
  await two.agent.conversation('c').run('What was it?');
  const history = JSON.stringify(await two.agent.conversation('c').history);
  expect(history).toContain('My key is «secret».');
  expect(history).not.toContain('first-secret');
  expect(history).not.toContain('second-secret');
});

describe('"always allow" of one owner', () => {
  const make = (permissions: object | undefined, journal = memoryJournal()) => {
    const danger = fakeTool('danger', ['boom'], { policy: 'confirm' });
    const asked: string[] = [];
    const agent = createAgent({
      model: {
        id: 'm',
        complete: async ({ messages }) => (messages.at(-1)?.role === 'tool' ? { content: 'Done.' } : calls(['danger'])),
      },
      silent: true,
      journal,
      tools: [danger],
      ...(permissions === undefined ? {} : { permissions: permissions as never }),
      confirm: () => (asked.push('asked'), 'always-allow'),
    });
    return { agent, asked, danger, journal };
  };

  test.each(['without forAgent', 'with forAgent'])('never holds for another: a store %s', async (how) => {
    const stores = new Map<string, Set<string>>();
    const storeOf = (name: string) => {
      const allowed = stores.get(name) ?? new Set<string>();
      stores.set(name, allowed);
      return { isAlwaysAllowed: (tool: string) => allowed.has(tool), add: (tool: string) => void allowed.add(tool) };
    };
    const store = how === 'with forAgent' ? { ...storeOf(''), forAgent: storeOf } : storeOf('');
    const { agent, asked, danger } = make(store);
    const say = (id: string, owner?: string) => agent.conversation(id, owner === undefined ? {} : { owner }).run('Go.');
    await say('anna');
    await say('anna');
    expect(asked).toHaveLength(1);
    await say('ben');
    await agent.run('Go.');
    expect(asked).toHaveLength(3);
    await say('another of anna', 'anna');
    expect(asked).toHaveLength(3);
    expect(danger.calls).toHaveLength(5);
  });
});

describe('"always allow" of one owner', () => {
  const guarded = (permissions: Permissions) => {
    const asked: string[] = [];
    const waits = Promise.withResolvers<void>();
    const agent = createAgent({
      name: 'desk',
      model: {
        id: 'm',
        complete: async ({ messages, tools = [] }) => {
          if (messages.at(-1)?.role === 'tool') return { content: tools.map(({ name }) => name).join() };
          if (messages.at(-1)?.content === 'Wait, then go.') await waits.promise;
          return calls(['danger']);
        },
      },
      silent: true,
      plans: false,
      journal: memoryJournal(),
      tools: [fakeTool('danger', ['boom'], { policy: 'confirm' })],
      permissions,
      confirm: ({ tool }) => (asked.push(tool), 'always-allow'),
    });
    return { agent, asked, goOn: () => waits.resolve() };
  };

  test('is kept in the file under that owner', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'permissions.json');
    const { agent, asked } = guarded(permissionStore({ path }));
    await agent.conversation('anna').run('Go.');
    await agent.conversation('anna').run('Go.');
    expect(asked).toEqual(['danger']);
    await agent.conversation('ben').run('Go.');
    await agent.run('Go.');
    expect(asked).toHaveLength(3);
    const other = guarded(permissionStore({ path }));
    await other.agent.conversation('anna').run('Go.');
    await other.agent.conversation('clara').run('Go.');
    expect(other.asked).toEqual(['danger']);
  });

  test.each([
    ['under a name of its own', { agent: 'nightly' }],
    ['in which something was allowed beforehand', {}],
  ])('is not that of a store %s', async (_what, bound) => {
    await using folder = await temporaryFolder();
    const store = permissionStore({ path: join(folder.path, 'permissions.json'), ...bound });
    store.add('danger');
    const { agent, asked } = guarded(store);
    await agent.conversation('anna').run('Go.');
    await agent.conversation('ben').run('Go.');
    expect(asked).toHaveLength(2);
    await agent.conversation('anna').run('Go.');
    await agent.run('Go.');
    expect(asked).toHaveLength(2);
  });

  test('does not come with the news of tools that have changed', async () => {
    await using folder = await temporaryFolder();
    const { agent, asked, goOn } = guarded(permissionStore({ path: join(folder.path, 'permissions.json') }));
    // The agent's own conversation may call it without a question.
    await agent.run('Go.');
    expect(asked).toHaveLength(1);
    const run = agent.conversation('anna').run('Wait, then go.');
    await expect.poll(() => run.state.path).toBe('PLANNING.ASKING');
    agent.tools.register(fakeTool('another', ['x']));
    await expect.poll(() => run.recording()).toContain('"tools.changed"');
    goOn();
    expect(await run).toMatchObject({ result: 'danger,another' });
    expect(asked).toHaveLength(2);
  });
});

test('a run that this version cannot replay is left out of the conversation, and the next run says so', async () => {
  const inner = memoryJournal();
  const { agent } = echoing({ journal: inner });
  await agent.conversation('c').run('one');
  const last = await agent.conversation('c').runs();
  const foreign = {
    ...inner,
    read: async (runId: string) => {
      const kept = (await inner.read?.(runId)) ?? null;
      if (kept === null) return null;
      if (kept.head.input !== 'one') return kept;
      const lines = kept.lines.map((line) => (line.t === 'start' ? { ...line, id: `${line.id}9` } : line));
      return { ...kept, lines };
    },
  };
  const later = echoing({ journal: foreign }).agent;
  const run = later.conversation('c').run('two');
  expect(await run).toMatchObject({ result: 'two/1' });
  const warnings: string[] = [];
  for await (const event of run) if (event.type === 'warning') warnings.push(event.message);
  expect(warnings).toEqual([expect.stringContaining(last[0]?.runId ?? '?')]);
  // It is said once.
  const next = later.conversation('c').run('three');
  await next;
  for await (const event of next) expect(event.type).not.toBe('warning');
});

test('a fork of a run of a conversation belongs to none', async () => {
  const { agent } = echoing({ journal: memoryJournal() });
  const run = agent.conversation('c').run('one');
  await run;
  const other = fork(run.recording(), agent, { at: 1, input: 'another' });
  expect(await other).toMatchObject({ result: 'another/1' });
  expect(await agent.conversation('c').runs()).toHaveLength(1);
  expect(await agent.conversation('c').run('two')).toMatchObject({ result: 'two/2' });
});

test('"always allow" in a run that is resumed is its owner\'s', async () => {
  const journal = memoryJournal();
  const kept: string[] = [];
  const storeOf = (name: string) => ({
    isAlwaysAllowed: () => false,
    add: (tool: string) => void kept.push(`${name} ${tool}`),
  });
  const make = (replies: Parameters<typeof scriptedModel>[0]) =>
    createAgent({
      name: 'desk',
      model: scriptedModel(replies),
      silent: true,
      journal,
      permissions: { ...storeOf('all'), forAgent: storeOf },
      tools: [fakeTool('danger', ['boom'], { policy: 'confirm' })],
      confirm: 'wait',
    });
  const run = make([calls(['danger'])])
    .conversation('c', { owner: 'anna' })
    .run('Do it.');
  for await (const event of run) if (event.type === 'approval.requested') await run.release();
  const later = make(['Done.']);
  const resumed = later.conversation('c').resume();
  await expect.poll(() => later.pending().length).toBe(1);
  const [call] = later.pending();
  expect(await later.approve(run.runId, call?.callId ?? '', { always: true })).toBe(true);
  expect(await resumed).toMatchObject({ result: 'Done.' });
  expect(kept).toEqual(['desk/anna danger']);
});
