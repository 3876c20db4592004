import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createActor, setup, waitFor } from 'xstate';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../../src/agent/options/agent-options.ts';
import { memoryJournal } from '../../../src/journal/stores/memory.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import { BUNDLED } from '../../support/bundled.ts';
import { calls } from '../../support/replies.ts';

const DESK = fileURLToPath(new URL('children/desk.ts', import.meta.url));

/** How a process ends that runs the desk. */
async function desk(dir: string, moment: string): Promise<unknown> {
  const child = spawn(process.execPath, [...BUNDLED, DESK, dir, moment], { stdio: ['ignore', 'ignore', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [code, signal]: readonly unknown[] = await once(child, 'exit');
  return signal ?? code;
}

test.each([
  ['when its agent had started', 'started'],
  ['when its agent had paid', 'paid'],
  ['before the process died within the payment', 'paying'],
  ['while a payment waited, to be approved after the kill,', 'waiting'],
  ['while a payment waited that was approved and made before the kill', 'approved'],
])('a machine that was persisted %s goes on after a kill, and pays once', async (_when, moment) => {
  const dir = mkdtempSync(join(tmpdir(), 'signalbox-desk-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  expect(await desk(dir, moment)).toBe('SIGKILL');
  expect(existsSync(join(dir, 'paid'))).toBe(moment !== 'waiting');
  expect(await desk(dir, moment)).toBe(0);
  expect(readFileSync(join(dir, 'result'), 'utf8')).toBe('It is paid.');
  expect(readFileSync(join(dir, 'paid'), 'utf8')).toBe('paid\n');
  expect(readdirSync(join(dir, 'runs')).filter((name) => name.endsWith('.jsonl'))).toHaveLength(1);
});

describe('a persisted actor of agent.logic', () => {
  const paying = (more: AgentOptions) => {
    const pay = fakeTool('pay', ['paid']);
    const book = fakeTool('book', ['booked'], { policy: 'confirm' });
    const model = scriptedModel([calls(['pay']), calls(['book']), 'Done.']);
    const agent = createAgent({ model, tools: [pay, book], confirm: 'wait', silent: true, ...more });
    return { agent, pay, book, model };
  };
  const waiting = async ({ agent }: ReturnType<typeof paying>) => {
    const actor = createActor(agent.logic, { input: { task: 'Go' } }).start();
    await waitFor(actor, ({ pending }) => pending.length > 0);
    return actor;
  };
  const restored = (
    agent: ReturnType<typeof createAgent>,
    snapshot: unknown,
    onValue = (_value: string): void => undefined,
  ) => {
    const actor = createActor(agent.logic, {
      snapshot: JSON.parse(JSON.stringify(snapshot)),
      input: { task: 'never' },
    });
    actor.subscribe({ next: ({ value }) => onValue(value), error: () => undefined });
    return actor.start();
  };
  const over = (actor: ReturnType<typeof restored>) =>
    waitFor(actor, ({ status }) => status !== 'active').catch(() => null);
  const failure = async (actor: ReturnType<typeof restored>): Promise<unknown> => {
    await over(actor);
    return actor.getSnapshot().error;
  };

  test('holds no handle, and shows after its restart what waits, to be approved there', async () => {
    const before = paying({ journal: memoryJournal() });
    const actor = await waiting(before);
    const kept = actor.getPersistedSnapshot();
    expect(kept).not.toHaveProperty('run');
    actor.stop();
    const after = restored(before.agent, kept);
    expect(after.getSnapshot()).toMatchObject({ value: 'DIRECT_EXECUTION.RUNNING_CALLS', pending: [{ callId: 'c2' }] });
    after.send({ type: 'approval.given' });
    await over(after);
    expect(after.getSnapshot().output).toMatchObject({ result: 'Done.', toolsUsed: ['pay', 'book'] });
    expect([before.pay.calls.length, before.book.calls.length]).toEqual([1, 1]);
  });

  test.each([true, false])(
    'goes on where it was stopped before it was persisted, with its run begun: %s',
    async (isBegun) => {
      const before = paying({ journal: memoryJournal() });
      const actor = isBegun
        ? await waiting(before)
        : createActor(before.agent.logic, { input: { task: 'Go' } }).start();
      actor.stop();
      const after = restored(before.agent, actor.getPersistedSnapshot());
      await waitFor(after, ({ pending }) => pending.length > 0);
      after.send({ type: 'approval.given' });
      await over(after);
      expect(after.getSnapshot()).toMatchObject({ status: 'done', output: { result: 'Done.' } });
      expect([before.pay.calls.length, before.book.calls.length]).toEqual([1, 1]);
    },
  );

  test('has ended if it had ended when it was persisted', async () => {
    const before = paying({ journal: memoryJournal() });
    const actor = await waiting(before);
    actor.send({ type: 'approval.given' });
    await over(actor);
    actor.stop();
    const after = restored(before.agent, actor.getPersistedSnapshot());
    expect(after.getSnapshot()).toMatchObject({ status: 'done', output: { result: 'Done.' } });
  });

  test('shows what waits by now, when it was persisted before anything did', async () => {
    const before = paying({ journal: memoryJournal() });
    const actor = createActor(before.agent.logic, { input: { task: 'Go' } }).start();
    const kept = actor.getPersistedSnapshot();
    expect(kept).toMatchObject({ value: 'PLANNING', begun: 'perhaps' });
    await waitFor(actor, ({ pending }) => pending.length > 0);
    actor.stop();
    const after = restored(before.agent, kept);
    const { pending, step } = await waitFor(after, (snapshot) => snapshot.pending.length > 0);
    expect([pending[0]?.callId, step]).toEqual(['c2', 2]);
    expect(before.pay.calls).toHaveLength(1);
    after.stop();
  });

  test('never shows states that it had left before it was persisted', async () => {
    const before = paying({ journal: memoryJournal() });
    const actor = await waiting(before);
    const kept = actor.getPersistedSnapshot();
    actor.stop();
    const seen = new Set<string>();
    const after = restored(before.agent, kept, (value) => void seen.add(value));
    while (before.agent.pending().length === 0) await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    expect([...seen]).toEqual(['DIRECT_EXECUTION.RUNNING_CALLS']);
    after.stop();
  });

  test('fails with a code where its run was kept nowhere, and does nothing again', async () => {
    const before = paying({});
    const actor = await waiting(before);
    const kept = actor.getPersistedSnapshot();
    actor.stop();
    expect(await failure(restored(before.agent, kept))).toMatchObject({ code: 'journal-cannot-resume' });
    expect(before.pay.calls).toHaveLength(1);
    expect(before.model.requests).toHaveLength(2);
  });

  test('fails with a code where another journal is there', async () => {
    const kept = (await waiting(paying({ journal: memoryJournal() }))).getPersistedSnapshot();
    const other = paying({ journal: memoryJournal() });
    expect(await failure(restored(other.agent, kept))).toMatchObject({ code: 'run-unknown' });
    expect(other.model.requests).toEqual([]);
  });

  test("fails while the run still goes on, and tells its machine's onError", async () => {
    const before = paying({ journal: memoryJournal() });
    const machine = setup({ actors: { agent: before.agent.logic } }).createMachine({
      initial: 'ASKING',
      states: {
        ASKING: { invoke: { id: 'agent', src: 'agent', input: { task: 'Go' }, onError: 'FAILED' } },
        FAILED: {},
      },
    });
    const first = createActor(machine).start();
    while (before.agent.pending().length === 0) await new Promise((resolve) => setImmediate(resolve));
    const second = createActor(machine, { snapshot: first.getPersistedSnapshot() }).start();
    await waitFor(second, (snapshot) => snapshot.matches('FAILED'));
    expect(before.pay.calls).toHaveLength(1);
    first.stop();
  });

  test('waits while an answer is written into its run', async () => {
    const journal = memoryJournal();
    const before = paying({ journal });
    const actor = await waiting(before);
    const kept = actor.getPersistedSnapshot();
    actor.stop();
    await expect.poll(() => before.agent.pending()).toEqual([]);
    const writer = await journal.take?.(actor.getSnapshot().runId);
    const after = restored(before.agent, kept);
    setTimeout(() => void writer?.sink.close(), 60);
    after.send({ type: 'approval.given' });
    await over(after);
    expect(after.getSnapshot().output).toMatchObject({ result: 'Done.' });
    expect([before.pay.calls.length, before.book.calls.length]).toEqual([1, 1]);
  });

  test('has the recorded result of a run that ended meanwhile', async () => {
    const before = paying({ journal: memoryJournal() });
    const actor = await waiting(before);
    const kept = actor.getPersistedSnapshot();
    actor.send({ type: 'approval.given' });
    await over(actor);
    const after = restored(before.agent, kept);
    await over(after);
    expect(after.getSnapshot().output).toMatchObject({ result: 'Done.' });
    expect(before.model.requests).toHaveLength(3);
  });

  test('that was never started begins its run, once, under the id that it had', async () => {
    const { agent, pay } = paying({});
    const made = createActor(agent.logic, { input: { task: 'Go' } });
    const after = restored(agent, made.getPersistedSnapshot());
    await waitFor(after, ({ pending }) => pending.length > 0);
    expect(after.getSnapshot().runId).toBe(made.getSnapshot().runId);
    expect(pay.calls).toHaveLength(1);
    after.stop();
  });

  test('of which a journal knows nothing begins only when it had not been recorded', async () => {
    const { agent, pay } = paying({ journal: memoryJournal() });
    const made = createActor(agent.logic, { input: { task: 'Go' } });
    const kept = { ...made.getSnapshot(), begun: 'perhaps' };
    const after = restored(agent, kept);
    await waitFor(after, ({ pending }) => pending.length > 0);
    expect(pay.calls).toHaveLength(1);
    expect(after.getPersistedSnapshot()).toMatchObject({ begun: 'recorded' });
    after.stop();
  });

  test('that is no snapshot of ours is refused', async () => {
    const { agent, model } = paying({});
    expect(await failure(restored(agent, { status: 'active' }))).toMatchObject({ name: 'TypeError' });
    expect(model.requests).toEqual([]);
  });
});
