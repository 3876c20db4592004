import { setImmediate as nextTick } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Confirm } from '../../../src/actors/ask-approval.ts';
import type { Model } from '../../../src/actors/model.ts';
import { createAgent } from '../../../src/agent/create-agent.ts';
import { replay } from '../../../src/journal/replay/replay.ts';
import { memoryJournal } from '../../../src/journal/stores/memory.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import type { ExecuteContext } from '../../../src/tools/tool.ts';
import { calls } from '../../support/replies.ts';

/** A store in memory that distinguishes owners. */
function storeByName() {
  const allowed = new Set<string>();
  const of = (name: string) => ({
    isAlwaysAllowed: (tool: string) => allowed.has(`${name}: ${tool}`),
    add: (tool: string) => void allowed.add(`${name}: ${tool}`),
  });
  return { allowed, store: { ...of('?'), forAgent: of } };
}

/** Hands its task to the agent below, and is done. */
const handingTo = (below: string): Model => ({
  complete: async ({ messages }) =>
    messages.at(-1)?.role === 'tool' ? { content: 'Wiped.' } : calls([below, { task: 'Wipe.' }]),
});

/** An agent and one below it, each with a tool `wipe`; people say "always" to the one below, and no to the other. */
function desk() {
  const [above, below] = [storeByName(), storeByName()];
  const [own, others] = [
    fakeTool('wipe', ['own'], { policy: 'confirm' }),
    fakeTool('wipe', ['theirs'], { policy: 'confirm' }),
  ];
  const helper = createAgent({
    name: 'helper',
    model: {
      complete: async ({ messages }) => (messages.at(-1)?.role === 'tool' ? { content: 'Done.' } : calls(['wipe'])),
    },
    tools: [others],
    permissions: below.store,
    silent: true,
  });
  const asked: string[] = [];
  const agent = createAgent({
    name: 'desk',
    model: scriptedModel([
      calls(['helper', { task: 'Wipe.' }]),
      'One.',
      calls(['wipe']),
      'Two.',
      calls(['helper', { task: 'Wipe again.' }]),
      'Three.',
      calls(['helper', { task: 'Wipe for Ben.' }]),
      'Four.',
    ]),
    tools: [own],
    children: [helper],
    permissions: above.store,
    journal: memoryJournal(),
    silent: true,
    confirm: ({ callId, tool }) => (asked.push(tool), callId.includes('.') ? 'always-allow' : 'deny'),
  });
  return { agent, own, others, asked, above, below };
}

test('"always allow" for a tool of an agent below holds for that tool and owner, and for no other of its name', async () => {
  const { agent, own, others, asked, above, below } = desk();
  await agent.conversation('anna').run('Wipe.');
  await agent.conversation('anna').run('Wipe yourself.');
  expect(own.calls).toEqual([]);
  expect(asked).toHaveLength(2);
  await agent.conversation('anna').run('Wipe again.');
  expect(asked).toHaveLength(2);
  await agent.conversation('ben').run('Wipe.');
  expect(asked).toHaveLength(3);
  expect(others.calls).toHaveLength(3);
  expect([...above.allowed]).toEqual([]);
  expect([...below.allowed]).toEqual(['helper/anna: wipe', 'helper/ben: wipe']);
});

test.each([
  ['when the run is resumed', false],
  ['once the tools below have changed', true],
])('it holds two levels down, too: %s', async (_when, changes) => {
  const journal = memoryJournal();
  const { store } = storeByName();
  store.forAgent('helper/anna').add('wipe');
  const make = (hold: () => unknown) => {
    const asked: string[] = [];
    const wipe = fakeTool('wipe', ['gone'], { policy: 'confirm' });
    const steps = [calls(['hold']), calls(['wipe']), { content: 'Done.' }];
    const helper = createAgent({
      name: 'helper',
      model: {
        complete: async ({ messages }) =>
          steps[messages.filter(({ role }) => role === 'tool').length] ?? { content: '' },
      },
      tools: [wipe, fakeTool('hold', [hold], { effects: 'none' })],
      permissions: store,
      silent: true,
    });
    const confirm: Confirm = ({ tool }) => (asked.push(tool), 'deny');
    const clerk = createAgent({ name: 'clerk', model: handingTo('helper'), children: [helper], silent: true });
    const agent = createAgent({
      name: 'desk',
      model: handingTo('clerk'),
      children: [clerk],
      journal,
      silent: true,
      confirm,
    });
    return { talk: agent.conversation('anna'), helper, asked, wipe };
  };

  const run = make(() => new Promise(() => {})).talk.run('Wipe.');
  for await (const { type, ...event } of run)
    if (type === 'tool.started' && 'tool' in event && event.tool === 'hold') await run.release();
  const after = make(async () => {
    if (changes) after.helper.tools.register(fakeTool('more'));
    await nextTick();
    return 'held';
  });
  await after.talk.resume();
  expect(after.asked).toEqual([]);
  expect(after.wipe.calls).toEqual([{}]);
});

test.each(['agent.run', 'a conversation'])('and for the rest of the run in which it was said: %s', async (how) => {
  const { store } = storeByName();
  const wipe = fakeTool('wipe', ['gone'], { policy: 'confirm' });
  const steps = [calls(['wipe', { n: 1 }]), calls(['wipe', { n: 2 }]), { content: 'Done.' }];
  const helper = createAgent({
    name: 'helper',
    model: {
      complete: async ({ messages }) => steps[messages.filter(({ role }) => role === 'tool').length] ?? { content: '' },
    },
    tools: [wipe],
    permissions: store,
    silent: true,
  });
  const asked: string[] = [];
  const agent = createAgent({
    name: 'desk',
    model: scriptedModel([calls(['helper', { task: 'Wipe.' }]), calls(['helper', { task: 'Wipe again.' }]), 'Wiped.']),
    children: [helper],
    journal: memoryJournal(),
    silent: true,
    confirm: ({ tool }) => (asked.push(tool), 'always-allow'),
  });
  const run = how === 'agent.run' ? agent.run('Wipe.') : agent.conversation('anna').run('Wipe.');
  expect(await run).toMatchObject({ status: 'answered' });
  expect(wipe.calls).toHaveLength(4);
  expect(asked).toEqual(['wipe']);
  const again = replay(run.recording(), agent);
  await again;
  expect(again.transitions()).toEqual(run.transitions());
});

/** An agent whose tool pays for whoever asks, and people who have said "always" to it. */
function room() {
  const { allowed, store } = storeByName();
  const paid: unknown[] = [];
  const pay = fakeTool('pay', [], { policy: 'confirm' });
  const paying = { ...pay, execute: (_args: object, { context }: ExecuteContext) => void paid.push(context) };
  const model: Model = {
    complete: async ({ messages }) => (messages.at(-1)?.role === 'tool' ? { content: 'Paid.' } : calls(['pay'])),
  };
  const journal = memoryJournal();
  const agent = () =>
    createAgent({ name: 'desk', tools: [paying], model, permissions: store, journal, silent: true, confirm: 'wait' });
  return { agent, paid, allowed: allowed.add('desk/ada: pay') };
}

test('"always allow" of an owner is not used for the run of another that stands in line behind theirs', async () => {
  const { agent, paid } = room();
  const clerk = agent();
  const first = clerk.conversation('room', { owner: 'ada' }).run('Pay.', { context: 'ada' });
  const second = clerk.conversation('room', { owner: 'ben' }).run('Pay.', { whenBusy: 'queue', context: 'ben' });
  const third = second.queue('And pay.');
  await first;
  await expect.poll(() => clerk.pending()).toHaveLength(1);
  expect(paid).toEqual(['ada']);
  await second.approve('c1');
  expect(await third).toMatchObject({ delivered: true });
  await expect.poll(() => clerk.pending()).toHaveLength(1);
  expect(paid).toEqual(['ada', 'ben']);
  await clerk.close();
});

test('a message that was left in the run of one owner runs with what that one allows, whoever takes the conversation up', async () => {
  const { agent, paid } = room();
  const clerk = agent();
  const bens = clerk.conversation('room', { owner: 'ben' }).run('Pay.');
  await expect.poll(() => clerk.pending()).toHaveLength(1);
  void bens.queue('And pay.');
  await expect.poll(() => bens.recording()).toContain('And pay.');
  await clerk.close();
  const later = agent();
  const adas = later.conversation('room', { owner: 'ada' }).run('Pay.', { context: 'ada' });
  await expect.poll(() => later.pending()).toHaveLength(1);
  expect(paid).toEqual([]);
  const [asked] = later.pending();
  expect(await later.reject(asked?.runId ?? '', asked?.callId ?? '')).toBe(true);
  expect(await adas).toMatchObject({ status: 'answered' });
  expect(paid).toEqual(['ada']);
});
