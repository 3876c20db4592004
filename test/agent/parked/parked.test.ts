import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ModelError } from '../../../src/actors/model.ts';
import { createAgent } from '../../../src/agent/create-agent.ts';
import { recover } from '../../../src/recovery/recover.ts';
import type { Confirm } from '../../../src/actors/ask-approval.ts';
import type { AgentOptions } from '../../../src/agent/options/agent-options.ts';
import type { Recording } from '../../../src/journal/format/recording.ts';
import type { JournalStore } from '../../../src/journal/run/run-journal.ts';
import { memoryJournal } from '../../../src/journal/stores/memory.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import type { ExecuteContext } from '../../../src/tools/tool.ts';
import { openStore } from '../../journal/open-store.ts';
import { temporaryFolder } from '../../journal/temporary-folder.ts';
import { calls } from '../../support/replies.ts';

const slowly = (value: string) => () => new Promise<string>((resolve) => setTimeout(() => resolve(value), 20));

/** An agent as one process has it: its model replies as told, `pay` needs an approval. */
function paying(journal: JournalStore, replies: Parameters<typeof scriptedModel>[0], options: AgentOptions = {}) {
  const reasons: (string | undefined)[] = [];
  const paid = (_args: object, { approvalReason }: ExecuteContext): string => {
    reasons.push(approvalReason);
    return 'paid';
  };
  const pay = fakeTool('pay', [paid], { policy: 'confirm' });
  const look = fakeTool('look', [slowly('seen')]);
  const model = scriptedModel(replies);
  const agent = createAgent({ name: 'payer', model, tools: [pay, look], silent: true, journal, ...options });
  return { agent, pay, look, model, reasons };
}

/** A store whose runs are taken a while after they were read. */
function slowlyTaken(store: JournalStore, ms: number): JournalStore {
  return {
    ...store,
    take: async (runId) => {
      await new Promise((resolve) => setTimeout(resolve, ms));
      return (await store.take?.(runId)) ?? null;
    },
  };
}

test.each(['list', 'read', 'take'])('no runs are woken in a journal that cannot %s them', async (missing) => {
  const { agent } = paying({ ...memoryJournal(), [missing]: undefined }, []);
  await expect(agent.wake()).rejects.toThrow('agent.wake needs a journal whose runs can be listed and resumed.');
});

describe.each(['memory', 'file', 'sqlite'])('a run that may be parked, in a journal of the kind %s', (kind) => {
  const opened = async () => {
    const folder = await temporaryFolder();
    const memory = memoryJournal();
    const open = (): JournalStore =>
      kind === 'memory' ? memory : openStore(kind, join(folder.path, kind === 'file' ? 'runs' : 'runs.sqlite'));
    return { open, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
  };

  test('ends as waiting with the calls that wait, and continues where the answer is there', async () => {
    await using place = await opened();
    const first = paying(place.open(), [calls(['pay'])]);
    const parked = await first.agent.run('Pay.', { park: true });
    expect(parked).toMatchObject({ status: 'waiting', reason: 'parked', success: false, pending: [{ tool: 'pay' }] });
    const { runId, pending = [] } = parked;
    const store = place.open();
    expect(await store.list?.({ state: 'waiting' })).toMatchObject([{ runId }]);

    // A second process has nothing to do yet.
    const second = paying(store, ['Done.']);
    expect(await second.agent.wake()).toEqual([]);
    expect(await second.agent.resume(runId, { park: true })).toMatchObject({
      reason: 'parked',
      pending: [{ tool: 'pay' }],
    });
    expect(
      await second.agent.approve(runId, pending[0]?.callId ?? '', { args: { euros: 7 }, reason: 'It is due.' }),
    ).toBe(true);
    expect(await second.agent.approve(runId, pending[0]?.callId ?? '')).toBe(false);

    const third = paying(place.open(), ['Done.']);
    expect(await third.agent.wake()).toMatchObject([
      { runId, error: null, result: { status: 'answered', result: 'Done.' } },
    ]);
    expect(third.pay.calls).toEqual([{ euros: 7 }]);
    expect(third.reasons).toEqual(['It is due.']);
    expect([first.pay.calls, second.pay.calls]).toEqual([[], []]);
    expect(await third.agent.wake()).toEqual([]);
  });

  test('is parked only when the other calls of the turn are done', async () => {
    await using place = await opened();
    const { agent, look, pay } = paying(place.open(), [calls(['pay'], ['look'])]);
    expect(await agent.run('Look and pay.', { park: true })).toMatchObject({ reason: 'parked' });
    expect([look.calls.length, pay.calls.length]).toEqual([1, 0]);
  });

  test('is answered by agent.approve at the moment of being parked, whichever comes first', async () => {
    await using place = await opened();
    const { agent, pay, reasons } = paying(place.open(), [calls(['pay']), 'Done.']);
    const run = agent.run('Pay.', { park: true });
    let approved: Promise<boolean> | undefined;
    for await (const event of run)
      if (event.type === 'approval.requested') approved ??= agent.approve(run.runId, event.callId);
    expect(await approved).toBe(true);
    if ((await run).reason === 'parked') expect(await agent.wake()).toMatchObject([{ result: { status: 'answered' } }]);
    expect(pay.calls).toHaveLength(1);
    expect(reasons).toEqual([undefined]);
  });

  test('is woken when its approval has run out, and not before', async () => {
    await using place = await opened();
    const timeouts = { approvalMs: 60_000 };
    const first = paying(place.open(), [calls(['pay'])], { timeouts });
    const { runId } = await first.agent.run('Pay.', { park: true });
    const now = Date.now();
    const later = paying(place.open(), ['Nobody said so.'], { timeouts });
    expect(await later.agent.wake({ due: new Date(now + 50_000) })).toEqual([]);
    expect(await later.agent.wake({ due: now + 50_000 })).toEqual([]);
    const [woken] = await later.agent.wake({ due: now + 61_000 });
    // Its own clock says that it is not due yet: it is parked again, and nothing is lost.
    expect(woken).toMatchObject({ runId, result: { reason: 'parked' } });
    expect(later.pay.calls).toEqual([]);
  });

  test('is continued and reported by one of several that wake it at the same time, to its end or until it waits again', async () => {
    await using place = await opened();
    const { runId } = await paying(place.open(), [calls(['pay'])]).agent.run('Pay.', { park: true });
    const wokenByAll = async (callId: string, reply: Parameters<typeof scriptedModel>[0][number]) => {
      await paying(place.open(), []).agent.approve(runId, callId);
      const all = Array.from({ length: 4 }, (_, n) => paying(slowlyTaken(place.open(), n * 80), [reply]));
      const woken = (await Promise.all(all.map(({ agent }) => agent.wake()))).flat();
      return { woken, paid: all.reduce((sum, { pay }) => sum + pay.calls.length, 0) };
    };
    const first = await wokenByAll('c1', calls(['pay', { again: true }]));
    expect(first).toMatchObject({ woken: [{ runId, error: null, result: { reason: 'parked' } }], paid: 1 });
    const callId = first.woken[0]?.result?.pending?.[0]?.callId ?? '';
    const second = await wokenByAll(callId, 'Done.');
    expect(second).toMatchObject({ woken: [{ runId, error: null, result: { status: 'answered' } }], paid: 1 });
    expect((await place.open().read?.(runId))?.lines.filter(({ t }) => t === 'restart')).toHaveLength(2);
  });

  test('is cancelled where it lies, once, and nothing of it runs', async () => {
    await using place = await opened();
    const { runId } = await paying(place.open(), [calls(['pay'])]).agent.run('Pay.', { park: true });
    const other = paying(place.open(), ['Done.']);
    expect(await other.agent.cancel(runId, 'not any more')).toBe(true);
    expect(await other.agent.cancel(runId)).toBe(false);
    expect(await other.agent.wake()).toEqual([]);
    expect(await place.open().list?.({})).toMatchObject([{ runId, state: 'ended', status: 'cancelled' }]);
    expect([other.pay.calls, other.model.requests.length]).toEqual([[], 0]);
  });

  test('in a conversation it is resumed there, and parked again as often as it waits', async () => {
    await using place = await opened();
    const first = paying(place.open(), [calls(['pay'])]);
    const talk = first.agent.conversation('ada');
    const { runId, pending = [] } = await talk.run('Pay.', { park: true });
    expect(await talk.resume({ park: true })).toMatchObject({ runId, reason: 'parked' });
    expect(await talk.run('And now?')).toMatchObject({ error: { code: 'conversation-waiting' } });
    const second = paying(place.open(), ['Done.', 'Nothing.']);
    await second.agent.approve(runId, pending[0]?.callId ?? '');
    const there = second.agent.conversation('ada');
    expect(await there.resume({ park: true })).toMatchObject({ runId, result: 'Done.' });
    expect(await there.run('And now?')).toMatchObject({ result: 'Nothing.' });
    expect((await there.history).filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual([
      'Pay.',
      'And now?',
    ]);
  });
});

test('a run is not parked where somebody is asked in this process, nor without the option', async () => {
  const asked: string[] = [];
  const confirm: Confirm = async ({ tool }) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    asked.push(tool);
    return 'allow-once' as const;
  };
  const { agent } = paying(memoryJournal(), [calls(['pay']), 'Done.'], { confirm });
  expect(await agent.run('Pay.', { park: true })).toMatchObject({ status: 'answered' });
  expect(asked).toEqual(['pay']);
  const denied = paying(memoryJournal(), [calls(['pay']), 'Not paid.']);
  expect(await denied.agent.run('Pay.')).toMatchObject({ status: 'answered', result: 'Not paid.' });
  expect(denied.pay.calls).toEqual([]);
});

test('a child agent that asks somebody in this process is waited for, whatever the root does', async () => {
  const pay = fakeTool('pay', ['paid'], { policy: 'confirm' });
  const asked: string[] = [];
  const confirm: Confirm = async ({ tool }) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    asked.push(tool);
    return 'allow-once' as const;
  };
  const model = scriptedModel([calls(['pay']), 'Paid.']);
  const child = createAgent({ name: 'clerk', description: 'Pays bills.', model, tools: [pay], silent: true, confirm });
  const root = createAgent({
    name: 'root',
    model: scriptedModel([calls(['clerk', { task: 'Pay.' }]), 'Done.']),
    children: [child],
    confirm: 'wait',
    silent: true,
    journal: memoryJournal(),
  });
  expect(await root.run('Pay.', { park: true })).toMatchObject({ status: 'answered' });
  expect([asked, pay.calls.length]).toEqual([['pay'], 1]);
});

test('a run is parked for a wait of a minute, and not for a shorter one', async () => {
  const failing = (ms: number) => {
    const model = { id: 'busy', complete: () => Promise.reject(new ModelError('rate-limited', 'busy')) };
    const retry = { maxAttempts: 2, backoff: recover.constant(ms) };
    return createAgent({ name: 'busy', model, retry, silent: true, journal: memoryJournal() });
  };
  expect(await failing(60_000).run('Go.', { park: true })).toMatchObject({ reason: 'parked', pending: [] });
  const run = failing(20_000).run('Go.', { park: true });
  for await (const event of run) if (event.type === 'model.retrying') break;
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await run.cancel()).toBe(true);
});

test('a run that waits for nobody is not parked, and parking needs a journal', async () => {
  const { agent } = paying(memoryJournal(), [calls(['look']), 'Seen.']);
  expect(await agent.run('Look.', { park: true })).toMatchObject({ status: 'answered', result: 'Seen.' });
  const bare = createAgent({ model: scriptedModel(['x']), silent: true });
  expect(() => bare.run('Look.', { park: true })).toThrow("option 'park' needs a journal");
  await expect(bare.wake()).rejects.toThrow('agent.wake needs a journal');
  await expect(agent.wake({ limit: 0 })).rejects.toThrow("option 'limit'");
});

test('a run of a process that died is woken, and one that is driven elsewhere is left alone', async () => {
  const journal = memoryJournal();
  const held = paying(journal, [calls(['pay']), 'Done.'], { confirm: 'wait' });
  const run = held.agent.run('Pay.');
  for await (const event of run) if (event.type === 'approval.requested') break;
  const other = paying(journal, ['Done.']);
  expect(await other.agent.wake()).toEqual([]);
  await run.release();
  expect(await run).toMatchObject({ reason: 'released', pending: [{ tool: 'pay' }] });
  const stranger = paying(journal, ['Done.'], { name: 'stranger' });
  await other.agent.approve(run.runId, (await run).pending?.[0]?.callId ?? '');
  expect(await stranger.agent.wake()).toEqual([]);
  expect(await other.agent.wake()).toMatchObject([{ runId: run.runId, result: { status: 'answered' } }]);
});

test('runs are woken the oldest first, as many as are asked for, and one that cannot go on holds up no other', async () => {
  const journal = memoryJournal();
  const ids: string[] = [];
  for (let n = 0; n < 4; n++) {
    const { agent } = paying(journal, [calls(['pay', { n }])]);
    const { runId, pending = [] } = await agent.run('Pay.', { park: true });
    ids.push(runId);
    await agent.approve(runId, pending[0]?.callId ?? '');
    // Ids of the same millisecond have no order.
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  const [first, broken, third, last] = ids;
  // As another version of the machines has recorded it, which these cannot replay.
  const damaged = <T extends Recording | null>(found: T): T => {
    if (found === null || found.head.runId !== broken) return found;
    const machine = { ...found.head.machine, hash: 'another' };
    return { ...found, head: { ...found.head, machine }, lines: found.lines.toSpliced(1, 1) };
  };
  const store: JournalStore = {
    ...journal,
    list: async (query) => (await journal.list?.(query))?.toReversed() ?? [],
    read: async (runId) => damaged((await journal.read?.(runId)) ?? null),
    take: async (runId) => {
      const taken = (await journal.take?.(runId)) ?? null;
      return taken === null ? null : { ...taken, recording: damaged(taken.recording) };
    },
  };
  const one = paying(store, ['Done.', 'Done.', 'Done.']);
  const woken = await one.agent.wake({ limit: 2 });
  expect(woken.map(({ runId, result }) => [runId, result?.status])).toEqual([
    [first, 'answered'],
    [broken, undefined],
    [third, 'answered'],
  ]);
  expect(woken[1]?.error).toMatchObject({ code: 'machine-changed', runId: broken });
  expect(one.pay.calls).toEqual([{ n: 0 }, { n: 2 }]);
  expect((await one.agent.wake()).map(({ runId }) => runId)).toEqual([broken, last]);
  for (const due of [Number.NaN, new Date('tomorrow')])
    await expect(one.agent.wake({ due })).rejects.toThrow("option 'due'");
});

test('waking lists the runs of a store once, and reads none that has ended where the store does not know when runs may continue', async () => {
  const memory = memoryJournal();
  const asked: string[] = [];
  const store: JournalStore = {
    ...memory,
    list: async ({ due, ...query } = {}) => {
      asked.push(due === undefined ? 'list' : 'list of those that are due');
      return (await memory.list?.(query)) ?? [];
    },
    read: async (runId) => {
      asked.push(`read ${runId}`);
      return (await memory.read?.(runId)) ?? null;
    },
  };
  await paying(store, ['Hello.']).agent.run('Hi.', { runId: 'ended' });
  const { agent } = paying(store, [calls(['pay']), 'Paid.']);
  await agent.run('Pay.', { runId: 'parked', park: true });
  asked.length = 0;
  expect(await agent.wake()).toEqual([]);
  expect(asked).toEqual(['list of those that are due', 'read parked']);
});
