import { setImmediate as nextTick } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import type { Run } from '../../src/agent/run/run.ts';
import type { Recording } from '../../src/journal/format/recording.ts';
import type { JournalStore } from '../../src/journal/run/run-journal.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

const inputSchema = { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] };

function payTwice(options: AgentOptions) {
  const pay = fakeTool('pay', ['paid'], { policy: 'confirm', inputSchema });
  const model = scriptedModel([calls(['pay', { to: 'Ann' }]), calls(['pay', { to: 'Bob' }]), 'Done.']);
  return { pay, run: createAgent({ model, tools: [pay], silent: true, ...options }).run('Pay') };
}

/** Everything that happened, with an answer to each call that waits. */
async function answering(run: Run, answer: (event: RunEvent & { readonly type: 'approval.requested' }) => unknown) {
  const events: RunEvent[] = [];
  for await (const event of run) {
    events.push(event);
    if (event.type === 'approval.requested') await answer(event);
  }
  return events;
}

const brokenStore = {
  isAlwaysAllowed: () => false,
  add: () => Promise.reject(new Error('the disk is full')),
};

test('an "always" that cannot be kept is a warning; this call runs, and the next is you will be asked again', async () => {
  let asked = 0;
  const { pay, run } = payTwice({ permissions: brokenStore, confirm: () => (asked++, 'always-allow') });
  const events = await answering(run, () => undefined);
  const warnings = events.flatMap((event) => (event.type === 'warning' ? [event.message] : []));
  expect(warnings).toHaveLength(2);
  expect(warnings[0]).toMatch(/'pay'.*you will be asked again.*the disk is full/);
  expect([asked, pay.calls.length]).toEqual([2, 2]);
  expect(await run).toMatchObject({ status: 'answered', errorHistory: [] });
});

test.each([true, 'allow', undefined])(
  'an answer of confirm that is none, such as %s, denies and says so',
  async (answer) => {
    // @ts-expect-error: what a program without types may return.
    const { pay, run } = payTwice({ confirm: () => answer });
    const denied = (await answering(run, () => undefined)).flatMap((event) =>
      event.type === 'tool.denied' ? [event.reason] : [],
    );
    expect(denied).toHaveLength(2);
    expect(denied[0]).toContain(
      `asking failed: confirm returned ${answer}, not 'allow-once', 'always-allow' or 'deny'`,
    );
    expect(pay.calls).toEqual([]);
    expect(run.recording()).toContain('wrong-option');
  },
);

test('what confirm denies is denied by a person, and nothing failed', async () => {
  const { pay, run } = payTwice({ confirm: () => 'deny' });
  const denied = (await answering(run, () => undefined)).flatMap((event) =>
    event.type === 'tool.denied' ? [event.reason] : [],
  );
  expect(denied[0]).toBe("Tool 'pay' execution denied by user");
  expect(pay.calls).toEqual([]);
});

test('run.approve with always and edited arguments does both: they are checked, and nobody is asked again', async () => {
  const kept: string[] = [];
  const permissions = {
    isAlwaysAllowed: (tool: string) => kept.includes(tool),
    add: (tool: string) => void kept.push(tool),
  };
  const { pay, run } = payTwice({ permissions, confirm: 'wait' });
  const asked: string[] = [];
  await answering(run, ({ callId }) => {
    asked.push(callId);
    return run.approve(callId, { always: true, args: { to: 'Eve' } });
  });
  expect(pay.calls).toEqual([{ to: 'Eve' }, { to: 'Bob' }]);
  expect(asked).toHaveLength(1);
  expect(kept).toEqual(['pay']);
});

test('edited arguments that are wrong do not run, always or not', async () => {
  const { pay, run } = payTwice({ permissions: brokenStore, confirm: 'wait' });
  await answering(run, ({ callId }) => run.approve(callId, { always: true, args: { to: [1] } }));
  expect(pay.calls).toEqual([]);
  expect((await run).errorHistory.map(({ code }) => code)).toEqual(['deserialization', 'deserialization']);
});

test('a call that was approved and then mended is you will be asked again, with the new arguments', async () => {
  const seen: unknown[] = [];
  const pay = fakeTool('pay', [new Error('unknown payee'), 'paid'], {
    policy: 'confirm',
    inputSchema,
    onError: { executionError: recover.fix(() => ({ to: 'Eve' })) },
  });
  const agent = createAgent({
    model: scriptedModel([calls(['pay', { to: 'Ann' }]), 'Done.']),
    tools: [pay],
    confirm: ({ args }) => (seen.push(args), seen.length === 1 ? 'allow-once' : 'deny'),
    silent: true,
  });
  await agent.run('Pay');
  expect(seen).toEqual([{ to: 'Ann' }, { to: 'Eve' }]);
  expect(pay.calls).toEqual([{ to: 'Ann' }]);
});

test.each(['resume', 'wake', 'conversation'] as const)(
  'an "always" that answers a parked run holds for its later calls (%s), and an answered call is not pending any more',
  async (how) => {
    const kept = new Set<string>();
    const permissions = {
      isAlwaysAllowed: (tool: string) => kept.has(tool),
      add: (tool: string) => void kept.add(tool),
      forAgent: () => permissions,
    };
    const journal = memoryJournal();
    const pay = fakeTool('pay', ['paid'], { policy: 'confirm', inputSchema });
    const agent = (...replies: readonly ScriptedReply[]) =>
      createAgent({ model: scriptedModel(replies), tools: [pay], permissions, confirm: 'wait', journal, silent: true });
    const before = agent(calls(['pay', { to: 'Ann' }]));
    const begun = await (how === 'conversation' ? before.conversation('ada') : before).run('Pay', { park: true });
    const { runId, pending = [] } = begun;
    expect(await before.approve(runId, pending[0]?.callId ?? '', { always: true })).toBe(true);
    expect(await before.pending(runId)).toEqual([]);

    const after = agent(calls(['pay', { to: 'Bob' }]), 'Done.');
    if (how === 'resume') await after.resume(runId, { park: true });
    if (how === 'wake') await after.wake();
    if (how === 'conversation') await after.conversation('ada').resume({ park: true });
    expect(await journal.list?.({})).toMatchObject([{ state: 'ended', status: 'answered' }]);
    expect(pay.calls).toEqual([{ to: 'Ann' }, { to: 'Bob' }]);
  },
);

test('of two that are always allowed at nearly the same moment both are known, whichever is read first', async () => {
  const kept = new Set<string>();
  const [isRead, isReadAgain] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  let reads = 0;
  const permissions = {
    isAlwaysAllowed: async (tool: string) => {
      const isKept = kept.has(tool);
      if (kept.size === 0) return isKept;
      // The tools are read for the first while the second is kept, and the answers for the second come after those.
      reads += 1;
      if (reads === 2) isRead.resolve(undefined);
      if (reads === 4) isReadAgain.resolve(undefined);
      await isReadAgain.promise;
      if (reads > 2 && isKept) await nextTick();
      return isKept;
    },
    add: async (tool: string) => {
      if (kept.size > 0) await isRead.promise;
      kept.add(tool);
    },
  };
  const tools = ['pay', 'ship'].map((name) => fakeTool(name, ['done', 'done'], { policy: 'confirm' }));
  const both = (n: number) => calls(['pay', { n }], ['ship', { n }]);
  const model = scriptedModel([both(1), both(2), 'Done.']);
  const run = createAgent({ model, tools, permissions, confirm: 'wait', silent: true }).run('Go');
  const asked: string[] = [];
  await answering(run, ({ callId }) => {
    asked.push(callId);
    if (asked.length === 2) for (const id of asked) void run.approve(id, { always: true });
    return asked.length > 2 && run.reject(callId);
  });
  expect(asked).toEqual(['c1', 'c2']);
});

test('a store of permissions that could not be had once is asked for again by the next run', async () => {
  let asked = 0;
  const permissions = {
    isAlwaysAllowed: () => true,
    add: () => undefined,
    forAgent: () => {
      asked += 1;
      if (asked === 1) throw new Error('The store is locked.');
      return { isAlwaysAllowed: () => true, add: () => undefined };
    },
  };
  const pay = fakeTool('pay', ['paid'], { policy: 'confirm' });
  const agent = createAgent({
    model: scriptedModel([calls(['pay']), 'Paid.']),
    tools: [pay],
    permissions,
    silent: true,
  });
  expect(await agent.run('Pay')).toMatchObject({ status: 'failed', error: { message: 'The store is locked.' } });
  expect(pay.calls).toEqual([]);
  expect(await agent.run('Pay')).toMatchObject({ status: 'answered', result: 'Paid.' });
  expect(await agent.run('Pay')).toMatchObject({ error: { message: expect.stringContaining('no reply left') } });
  expect(asked).toBe(2);
});

const HOUR_MS = 3_600_000;

/** A store of runs that began so long before their first record, which was made so long ago. */
function aged(journal: JournalStore, beforeMs: number, agoMs: number): JournalStore {
  const older = ({ head, lines }: Recording): Recording => ({
    head: { ...head, at: new Date(Date.parse(head.at) - beforeMs - agoMs).toISOString() },
    lines: lines.map((line) => (line.t === 'run' ? line : { ...line, at: line.at + beforeMs })),
  });
  return {
    ...journal,
    read: async (runId) => {
      const recording = await journal.read?.(runId);
      return recording ? older(recording) : null;
    },
    take: async (runId) => {
      const taken = await journal.take?.(runId);
      return taken ? { ...taken, recording: older(taken.recording) } : null;
    },
  };
}

test('the time for an answer counts from the question, not from the beginning of a run or from its resume', async () => {
  const parked = async (beforeMs: number, agoMs: number) => {
    const pay = fakeTool('pay', ['paid'], { policy: 'confirm' });
    const timeouts = { approvalMs: HOUR_MS / 2 };
    const journal = memoryJournal();
    const options: AgentOptions = { name: 'payer', tools: [pay], confirm: 'wait', silent: true, timeouts };
    const asks = createAgent({ ...options, journal, model: scriptedModel([calls(['pay'])]) });
    const { runId } = await asks.run('Pay', { park: true });
    const later = { ...options, journal: aged(journal, beforeMs, agoMs), model: scriptedModel(['Done.']) };
    return { pay, runId, agent: createAgent(later) };
  };
  const late = await parked(HOUR_MS, 0);
  expect(await late.agent.pending(late.runId)).toHaveLength(1);
  const run = late.agent.resume(late.runId);
  expect(await run.approve('c1')).toBe(true);
  expect(await run).toMatchObject({ status: 'answered' });
  expect(late.pay.calls).toHaveLength(1);

  const due = await parked(0, HOUR_MS / 2 - 1000);
  expect(await due.agent.resume(due.runId)).toMatchObject({ status: 'answered' });
  expect(due.pay.calls).toEqual([]);
});

test('a stored call whose time is over waits for nobody any more', async () => {
  const journal = memoryJournal();
  const { run } = payTwice({ journal, confirm: 'wait', timeouts: { approvalMs: 60_000 } });
  await expect.poll(() => run.pending).toHaveLength(1);
  expect(await run.release()).toBe(true);
  let ageMs = 0;
  const older = (recording: Recording | null): Recording | null => {
    if (recording === null) return null;
    const at = new Date(Date.parse(recording.head.at) - ageMs).toISOString();
    return { ...recording, head: { ...recording.head, at } };
  };
  const store: JournalStore = {
    ...journal,
    read: async (runId) => older(await journal.read(runId)),
    take: async (runId) => {
      const taken = await journal.take(runId);
      const recording = older(taken?.recording ?? null);
      return taken === null || recording === null ? null : { ...taken, recording };
    },
  };
  const agent = createAgent({ model: scriptedModel([]), silent: true, journal: store });
  expect(await agent.pending(run.runId)).toMatchObject([{ callId: 'c1', tool: 'pay' }]);
  ageMs = 120_000;
  expect(await agent.pending(run.runId)).toEqual([]);
  expect(await agent.approve(run.runId, 'c1')).toBe(false);
  ageMs = 0;
  expect(await agent.approve(run.runId, 'c1')).toBe(true);
});

test('what owners of conversations have allowed is forgotten once other permissions are given', async () => {
  let asked = 0;
  const pay = fakeTool('pay', ['paid', 'paid', 'paid'], { policy: 'confirm' });
  const model = scriptedModel(['1', '2', '3'].flatMap((said) => [calls(['pay']), said]));
  const permissions = () => ({ isAlwaysAllowed: () => false, add: () => undefined });
  const confirm = () => (asked++, 'always-allow' as const);
  const agent = createAgent({ model, tools: [pay], silent: true, permissions: permissions(), confirm });
  for (const times of [1, 1, 2]) {
    if (times === 2) agent.configure({ permissions: permissions() });
    expect(await agent.conversation('c', { owner: 'ann' }).run('Pay')).toMatchObject({ status: 'answered' });
    expect(asked).toBe(times);
  }
});
