import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createAgent } from '../../../src/agent/create-agent.ts';
import { askElsewhere } from '../../../src/agent/run/ask-run.ts';
import { JournalError } from '../../../src/journal/format/journal-error.ts';
import type { RunRequests } from '../../../src/journal/run/run-requests.ts';
import type { JournalStore } from '../../../src/journal/run/run-journal.ts';
import { memoryJournal } from '../../../src/journal/stores/memory.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { openStore } from '../../journal/open-store.ts';
import { temporaryFolder } from '../../journal/temporary-folder.ts';
import { calls } from '../../support/replies.ts';
import { driving } from './driving.ts';

/** A run that another process drives, and an agent here that only shares the store. */
async function elsewhere(kind: string, task: 'pay' | 'listen') {
  const folder = await temporaryFolder();
  const place = join(folder.path, kind === 'file' ? 'runs' : 'runs.sqlite');
  const runId = 'there';
  const there = driving({ kind, place, runId, task });
  const store = openStore(kind, place);
  const agent = createAgent({ name: 'here', model: scriptedModel([]), silent: true, journal: store });
  return {
    agent,
    there,
    runId,
    store,
    requests: join(folder.path, kind === 'file' ? 'runs/requests' : 'runs.sqlite-requests'),
    [Symbol.asyncDispose]: async () => {
      await there.kill();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const asked = ({ type }: Record<string, unknown>): boolean => type === 'approval.requested';
const ended = ({ status }: Record<string, unknown>): boolean => status !== undefined;

describe.concurrent.each(['file', 'sqlite'])(
  'a run that another process drives, in a journal of the kind %s',
  (kind) => {
    test('is approved with other arguments, once, and nothing is left of the request', async () => {
      await using run = await elsewhere(kind, 'pay');
      await run.there.said(asked);
      const [pending] = await run.agent.pending(run.runId);
      const callId = pending?.callId ?? '';
      expect(await run.agent.approve(run.runId, 'no such call')).toBe(false);
      expect(await run.agent.approve(run.runId, callId, { args: { euros: 7 } })).toBe(true);
      expect(await run.agent.approve(run.runId, callId)).toBe(false);
      expect(await run.there.said(ended)).toEqual({ status: 'answered', result: 'Heard: pay' });
      expect(run.there.lines.filter(({ paid }) => paid !== undefined)).toEqual([{ paid: { euros: 7 } }]);
      expect(readdirSync(run.requests)).toEqual([]);
    });

    test('is denied', async () => {
      await using run = await elsewhere(kind, 'pay');
      await run.there.said(asked);
      const [pending] = await run.agent.pending(run.runId);
      expect(await run.agent.reject(run.runId, pending?.callId ?? '', 'too much')).toBe(true);
      expect(await run.there.said(ended)).toMatchObject({ status: 'answered' });
      expect(run.there.lines.some(({ paid }) => paid !== undefined)).toBe(false);
    });

    test('is steered, by one message however often it is sent, and told its step', async () => {
      await using run = await elsewhere(kind, 'listen');
      await run.there.said(({ type }) => type === 'tool.started');
      const sent = [1, 2].map(() => run.agent.steer(run.runId, 'stop', { id: 'm1' }));
      const [first, second] = await Promise.all(sent);
      expect(first).toMatchObject({ delivered: true, runId: run.runId });
      expect(second).toEqual(first);
      expect(await run.there.said(ended)).toEqual({ status: 'answered', result: 'Heard: stop' });
      expect(run.there.lines.filter(({ type }) => type === 'message.delivered')).toHaveLength(1);
      expect(await run.agent.steer(run.runId, 'once more')).toEqual({ delivered: false, reason: 'over' });
    });

    test('is cancelled, once', async () => {
      await using run = await elsewhere(kind, 'listen');
      await run.there.said(({ type }) => type === 'tool.started');
      expect(await run.agent.cancel(run.runId, 'enough')).toBe(true);
      expect(await run.there.said(ended)).toMatchObject({ status: 'cancelled' });
      expect(await run.agent.cancel(run.runId)).toBe(false);
      expect(await run.agent.cancel('no-such-run')).toBe(false);
    });

    test('is written to by the one that asks, where the process has died', async () => {
      await using run = await elsewhere(kind, 'listen');
      await run.there.said(({ type }) => type === 'tool.started');
      await run.there.kill();
      expect(await run.agent.steer(run.runId, 'stop', { id: 'm1' })).toEqual({ delivered: false, reason: 'kept' });
      expect(await run.agent.cancel(run.runId, 'enough')).toBe(true);
      const [summary] = (await run.store.list({})) ?? [];
      expect(summary).toMatchObject({ state: 'ended', status: 'cancelled' });
    });

    test('rejects what is asked of a process that does not answer, and takes none of it later', async () => {
      await using run = await elsewhere(kind, 'pay');
      await run.there.said(asked);
      const [pending] = await run.agent.pending(run.runId);
      run.there.stop();
      // Stopped while it writes, it holds the lock of SQLite's file.
      const code = expect.stringMatching(kind === 'sqlite' ? /^(?:run-locked|store-unreachable)$/ : /^run-locked$/);
      await expect(run.agent.approve(run.runId, pending?.callId ?? '')).rejects.toMatchObject({ code });
      expect(readdirSync(run.requests)).toEqual([]);
    });
  },
);

/** Two agents of one process that share a journal: one can drive a run that waits for an approval, the other only knows the store. */
function sharing(journal: JournalStore) {
  const pay = fakeTool('pay', ['paid'], { policy: 'confirm' });
  const model = scriptedModel([calls(['pay']), 'Done.']);
  const driver = createAgent({ model, tools: [pay], confirm: 'wait', silent: true, journal });
  return { pay, driver, other: createAgent({ model: scriptedModel([]), silent: true, journal }) };
}

test('a run of another agent in the same process is approved through a memory journal', async () => {
  const { pay, driver, other } = sharing(memoryJournal());
  const run = driver.run('Pay.');
  for await (const event of run)
    if (event.type === 'approval.requested') expect(await other.approve(run.runId, event.callId)).toBe(true);
  expect((await run).status).toBe('answered');
  expect(pay.calls).toHaveLength(1);
});

test('a journal without requests says who has the run', async () => {
  const { requests: _none, ...journal } = memoryJournal();
  const { driver, other } = sharing(journal);
  const run = driver.run('Pay.');
  for await (const event of run) {
    if (event.type !== 'approval.requested') continue;
    await expect(other.approve(run.runId, event.callId)).rejects.toMatchObject({ code: 'run-locked' });
    await run.approve(event.callId);
  }
  expect(await run).toMatchObject({ status: 'answered' });
});

test('a run that is locked by a process which does not answer is given up in time, though the clock is set back meanwhile', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: 10_000_000 });
  onTestFinished(() => void vi.useRealTimers());
  let times = 0;
  const requests: RunRequests = {
    ask: () => {
      times += 1;
      vi.advanceTimersByTime(1000);
      vi.setSystemTime(0);
      return times > 20 ? Promise.reject(new Error('it is asked forever')) : Promise.resolve(null);
    },
    serve: () => () => undefined,
  };
  const locked = () => Promise.reject(new JournalError('run-locked', 'run', 'runs'));
  const cancelling = askElsewhere({ ...memoryJournal(), requests }, 'run', { do: 'cancel', reason: 'No.' }, locked);
  await expect(cancelling).rejects.toMatchObject({ code: 'run-locked' });
  expect(times).toBeLessThan(8);
});
