import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createActor, toPromise, waitFor } from 'xstate';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../../src/agent/options/agent-options.ts';
import type { JournalStore } from '../../../src/journal/run/run-journal.ts';
import { fileJournal } from '../../../src/journal/stores/file.ts';
import { memoryJournal } from '../../../src/journal/stores/memory.ts';
import { sqliteJournal } from '../../../src/journal/stores/sqlite.ts';
import type { RunEvent } from '../../../src/machines/events/run-events.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import { calls } from '../../support/replies.ts';

/** A tool that goes on until it is aborted, and the promise of its first start and its end. */
function endless() {
  const started = Promise.withResolvers<undefined>();
  const aborted = Promise.withResolvers<undefined>();
  const slow = {
    ...fakeTool('slow', [null], { effects: 'none' as const }),
    execute: (_args: object, { signal }: { readonly signal: AbortSignal }) => {
      started.resolve(undefined);
      signal.addEventListener('abort', () => aborted.resolve(undefined));
      return new Promise(() => undefined);
    },
  };
  return { slow, started: started.promise, aborted: aborted.promise };
}

const isOver = ({ status }: { readonly status: string }): boolean => status !== 'active';
const quiet = (options: AgentOptions) => createAgent({ silent: true, ...options });

describe('a run that is released', () => {
  test.each([
    ['in memory', () => memoryJournal()],
    ['in a file', (dir: string) => fileJournal(dir)],
    ['in a database', (dir: string) => sqliteJournal(join(dir, 'runs.db'))],
  ])('%s settles as waiting, has no end, is free at once, and goes on where it stood', async (_where, made) => {
    const dir = mkdtempSync(join(tmpdir(), 'signalbox-released-'));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    const journal = made(dir);
    const { slow, started, aborted } = endless();
    const agent = quiet({
      journal,
      model: scriptedModel([calls(['look'], ['slow'])]),
      tools: [fakeTool('look'), slow],
    });
    const run = agent.run('Go');
    await started;
    expect(await run.release()).toBe(true);
    await aborted;
    expect(await run).toMatchObject({ success: false, status: 'waiting', reason: 'released', runId: run.runId });
    expect(await run.cancel()).toBe(false);
    expect(agent.history).toEqual([]);
    expect(await journal.list?.()).toEqual([expect.objectContaining({ runId: run.runId, state: 'interrupted' })]);

    const look = fakeTool('look', ['never']);
    const again = quiet({ journal, model: scriptedModel(['Done.']), tools: [look, fakeTool('slow', ['slept'])] });
    expect(await again.resume(run.runId)).toMatchObject({ result: 'Done.', toolsUsed: ['look', 'slow'] });
    expect(look.calls).toEqual([]);
  });

  test('tells its listeners that nothing more comes, by an event without a number of its own', async () => {
    const { slow, started } = endless();
    const agent = quiet({ journal: memoryJournal(), model: scriptedModel([calls(['slow'])]), tools: [slow] });
    const run = agent.run('Go');
    await started;
    void run.release();
    const events: RunEvent[] = [];
    for await (const event of run) events.push(event);
    expect(events.at(-1)).toMatchObject({ type: 'run.finished', result: { status: 'waiting' } });
    expect(events.at(-1)?.seq).toBe(events.at(-2)?.seq);
  });

  test('before it began is in the journal all the same, and nothing was asked', async () => {
    const journal = memoryJournal();
    const model = scriptedModel(['Hello.']);
    const agent = quiet({ journal, model });
    const run = agent.run('Go');
    expect(await run.release()).toBe(true);
    expect(model.requests).toEqual([]);
    expect(await agent.resume(run.runId)).toMatchObject({ result: 'Hello.' });
  });

  test('leaves what was about to start unstarted: it runs once, when the run is resumed', async () => {
    const journal = memoryJournal();
    const pay = fakeTool('pay', ['paid']);
    const onEvent = (event: RunEvent) => void (event.type === 'model.replied' && !event.replayed && run.release());
    const run = quiet({ journal, model: scriptedModel([calls(['pay'])]), tools: [pay], onEvent }).run('Go');
    expect(await run).toMatchObject({ status: 'waiting' });
    expect(pay.calls).toEqual([]);
    const again = quiet({ journal, model: scriptedModel(['Done.']), tools: [pay] });
    expect(await again.resume(run.runId)).toMatchObject({ status: 'answered', errorHistory: [] });
    expect(pay.calls).toHaveLength(1);
  });

  test('starts nothing any more, also where its start was just written', async () => {
    const pay = fakeTool('pay', ['paid']);
    const onEvent = (event: RunEvent) => {
      if (event.type === 'model.replied') void Promise.resolve().then(() => run.release());
    };
    const model = scriptedModel([calls(['pay']), 'never']);
    const run = quiet({ journal: memoryJournal(), model, tools: [pay], onEvent }).run('Go');
    expect(await run).toMatchObject({ status: 'waiting' });
    expect(pay.calls).toEqual([]);
  });

  test('while it is taken up is free again', async () => {
    const journal = memoryJournal();
    const agent = quiet({ journal, model: scriptedModel(['Hello.']) });
    const run = agent.run('Go');
    await run.release();
    const again = agent.resume(run.runId);
    expect(await again.release()).toBe(true);
    expect(await agent.resume(run.runId)).toMatchObject({ result: 'Hello.' });
  });

  test('goes on where no journal could take it up again', async () => {
    const store = memoryJournal();
    const beginsOnly: JournalStore = { open: store.open };
    const holding: JournalStore = {
      ...store,
      open: (head) => {
        const { release: _release, ...journal } = store.open(head);
        return journal;
      },
    };
    for (const more of [{}, { journal: beginsOnly }, { journal: holding }]) {
      const run = quiet({ model: scriptedModel(['Hello.']), ...more }).run('Go');
      expect(await run.release()).toBe(false);
      expect(await run).toMatchObject({ status: 'answered' });
    }
  });

  test('close releases with runs: release, and cancels without it', async () => {
    for (const [runs, status] of [
      ['release', 'waiting'],
      ['cancel', 'cancelled'],
      [undefined, 'cancelled'],
    ] as const) {
      const { slow, started } = endless();
      const agent = quiet({ journal: memoryJournal(), model: scriptedModel([calls(['slow'])]), tools: [slow] });
      const run = agent.run('Go');
      await started;
      await agent.close(runs === undefined ? {} : { runs });
      expect(await run).toMatchObject({ status });
    }
  });
});

test('an actor of agent.logic whose run was released has not ended, and goes on when it is restored', async () => {
  const journal = memoryJournal();
  const { slow, started } = endless();
  const agent = quiet({ journal, model: scriptedModel([calls(['slow'])]), tools: [slow] });
  const actor = createActor(agent.logic, { input: { task: 'Go' } });
  actor.start();
  await started;
  await agent.close({ runs: 'release' });
  await new Promise((resolve) => setImmediate(resolve));
  expect(actor.getSnapshot().status).toBe('active');
  const again = quiet({ journal, model: scriptedModel(['Done.']), tools: [fakeTool('slow')] });
  const snapshot = actor.getPersistedSnapshot();
  const restored = createActor(again.logic, { snapshot, input: { task: 'never' } }).start();
  expect(await toPromise(restored)).toMatchObject({ status: 'answered' });
});

describe('stopping an actor of agent.logic', () => {
  async function stopped(more: AgentOptions, onStop?: 'release' | 'cancel') {
    const { slow, started, aborted } = endless();
    const ended = Promise.withResolvers<RunEvent>();
    const onEvent = (event: RunEvent) => void (event.type === 'run.finished' && ended.resolve(event));
    const agent = quiet({ model: scriptedModel([calls(['slow'])]), tools: [slow], onEvent, ...more });
    const actor = createActor(agent.logic, { input: { task: 'Go', ...(onStop === undefined ? {} : { onStop }) } });
    actor.start();
    await started;
    const { runId } = actor.getSnapshot();
    actor.stop();
    await aborted;
    return { runId, end: await ended.promise };
  }

  test('releases its run where the journal is durable', async () => {
    const journal = memoryJournal();
    const { runId, end } = await stopped({ journal });
    expect(end).toMatchObject({ result: { status: 'waiting', reason: 'released' } });
    const again = quiet({ journal, model: scriptedModel(['Done.']), tools: [fakeTool('slow')] });
    expect(await again.resume(runId)).toMatchObject({ status: 'answered' });
  });

  test.each([
    ['where nothing is kept', {}, undefined],
    ['where the task says so', { journal: memoryJournal() }, 'cancel'],
  ] as const)('cancels it %s', async (_where, more, onStop) => {
    expect((await stopped(more, onStop)).end).toMatchObject({ result: { status: 'cancelled' } });
  });

  test.each([
    ['with a journal', { journal: memoryJournal() }],
    ['without one', {}],
  ])('and starting it again at once, as strict mode does, is one run %s', async (_what, more) => {
    const look = fakeTool('look', ['seen']);
    const model = scriptedModel([calls(['look']), 'Done.']);
    const started: RunEvent[] = [];
    const onEvent = (event: RunEvent) => void (event.type === 'run.started' && started.push(event));
    const agent = quiet({ model, tools: [look], onEvent, ...more });
    const actor = createActor(agent.logic, { input: { task: 'Go' } });
    actor.start();
    const live = actor.getSnapshot();
    actor.stop();
    // What `useActor` does between the two: the same actor gets its snapshot back.
    Object.assign(actor, { _processingStatus: 0, _snapshot: live });
    actor.start();
    expect((await waitFor(actor, isOver)).output).toMatchObject({ status: 'answered', runId: live.runId });
    expect([started.length, look.calls.length, model.requests.length]).toEqual([1, 1, 2]);
  });

  test('and restoring it in the same breath resumes the run', async () => {
    const { slow, started } = endless();
    const look = fakeTool('look', ['seen']);
    const model = scriptedModel([calls(['look']), calls(['slow']), 'Done.']);
    const agent = quiet({ model, tools: [look, slow], journal: memoryJournal() });
    const actor = createActor(agent.logic, { input: { task: 'Go' } });
    actor.start();
    await started;
    const snapshot = actor.getPersistedSnapshot();
    actor.stop();
    const restored = createActor(agent.logic, { snapshot, input: { task: 'never' } });
    restored.start();
    agent.tools.remove('slow');
    agent.tools.register(fakeTool('slow', ['slept']));
    expect(await toPromise(restored)).toMatchObject({ status: 'answered' });
    expect(look.calls).toHaveLength(1);
  });
});
