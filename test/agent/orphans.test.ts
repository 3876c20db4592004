import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { RunOptions } from '../../src/agent/options/run-options.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import type { RunSummary } from '../../src/journal/format/tally.ts';
import type { JournalStore } from '../../src/journal/run/run-journal.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { openStore } from '../journal/open-store.ts';
import { interrupted, taken, waiting } from '../journal/stored-runs.ts';
import { temporaryFolder } from '../journal/temporary-folder.ts';
import { calls } from '../support/replies.ts';

const worker = (journal: JournalStore, more: AgentOptions = {}) =>
  createAgent({ name: 'worker', model: scriptedModel(['Done.']), silent: true, journal, ...more });

/** A run of the worker that was released in the middle of a call. */
async function released(
  journal: JournalStore,
  runId: string,
  { metadata = {}, ...more }: AgentOptions & Pick<RunOptions, 'metadata'> = {},
): Promise<void> {
  const run = worker(journal, {
    model: scriptedModel([calls(['hold'])]),
    tools: [fakeTool('hold', [() => new Promise(() => undefined)], { effects: 'idempotent' })],
    ...more,
  }).run('Hold', { runId, metadata });
  for await (const event of run) if (event.type === 'tool.started') break;
  expect(await run.release()).toBe(true);
}

const tools = [fakeTool('hold', ['held', 'held', 'held'], { effects: 'idempotent' })];

for (const [kind, open] of Object.entries({
  memory: () => memoryJournal(),
  file: (folder: string) => openStore('file', folder),
  sqlite: (folder: string) => openStore('sqlite', join(folder, 'runs.sqlite')),
}))
  test(`${kind}: runs that nobody drives are finished, the oldest first, each by one`, async () => {
    await using folder = await temporaryFolder();
    const journal = open(folder.path);
    for (const runId of ['first', 'second', 'third']) {
      await released(journal, runId);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await released(journal, 'theirs', { name: 'other' });
    const agent = worker(journal, { tools, model: scriptedModel(['Done.', 'Done.', 'Done.']) });
    expect((await agent.resumeOrphans({ olderThan: 60_000 })).runs).toEqual([]);
    const one = await agent.resumeOrphans({ limit: 1 });
    expect(one.runs.map(({ runId }) => runId)).toEqual(['first']);
    const [here, there] = await Promise.all([
      agent.resumeOrphans(),
      worker(journal, { tools, model: scriptedModel(['Done.', 'Done.', 'Done.']) }).resumeOrphans(),
    ]);
    const both = [...here.runs, ...there.runs];
    expect(both.map(({ runId }) => runId).toSorted()).toEqual(['second', 'third']);
    expect([...here.refused, ...there.refused]).toEqual([]);
    const results = await Promise.all([...one.runs, ...both].map(async (run) => ({ ...(await run) })));
    expect(results.map(({ status }) => status)).toEqual(['answered', 'answered', 'answered']);
    expect((await agent.resumeOrphans()).runs).toEqual([]);
    expect(await journal.list?.({ state: 'interrupted' })).toMatchObject([{ runId: 'theirs' }]);
  });

test('a run that waits for a person is left, and so is one that is being written', async () => {
  const journal = memoryJournal();
  await interrupted(journal, 'asks');
  const { run } = await waiting(journal, 'live');
  const agent = worker(journal, { name: 'mailer', tools: [fakeTool('send_mail', ['sent'], { policy: 'confirm' })] });
  expect(await agent.resumeOrphans()).toEqual({ runs: [], refused: [] });
  const [pending] = await agent.pending('asks');
  await agent.approve('asks', pending?.callId ?? '');
  const { runs } = await agent.resumeOrphans();
  expect(runs.map(({ runId }) => runId)).toEqual(['asks']);
  expect((await runs[0])?.status).toBe('answered');
  await run.cancel();
});

test('a run that cannot be taken up is refused, does not count, and is left as it is', async () => {
  const journal = memoryJournal();
  await released(journal, 'damaged');
  await released(journal, 'whole');
  const damaged: JournalStore = {
    ...journal,
    take: async (runId) => {
      if (runId === 'damaged') throw new Error('cannot be read');
      return (await journal.take?.(runId)) ?? null;
    },
  };
  const { runs, refused } = await worker(damaged, { tools }).resumeOrphans({ limit: 1 });
  expect(refused).toEqual([{ runId: 'damaged', error: new Error('cannot be read') }]);
  expect(runs.map(({ runId }) => runId)).toEqual(['whole']);
  await runs[0];
  const withoutTool = await worker(journal).resumeOrphans();
  expect(withoutTool).toMatchObject({ runs: [], refused: [{ runId: 'damaged', error: { code: 'upgrade-refused' } }] });
  expect(await journal.list?.({ state: 'interrupted' })).toMatchObject([{ runId: 'damaged' }]);
});

test('a run that is taken up again and again without progress ends as a crash loop', async () => {
  const journal = memoryJournal();
  await released(journal, 'loops', {});
  for (let times = 0; times < 5; times++) {
    const { sink } = await taken(journal, 'loops');
    await sink.append([{ t: 'restart', at: times + 1 }]);
    await sink.close();
  }
  const { runs } = await worker(journal, { tools }).resumeOrphans();
  expect(await runs[0]).toMatchObject({ status: 'failed', error: { code: 'crash-loop' } });
});

test('a run of a process whose clock was ahead is taken up, but is of no age', async () => {
  const journal = memoryJournal();
  await released(journal, 'ahead');
  const at = new Date(Date.now() + 3_600_000).toISOString();
  const list: JournalStore['list'] = async (query) =>
    ((await journal.list?.(query)) ?? []).map((run) => ({ ...run, at }));
  const agent = worker({ ...journal, list }, { tools });
  expect((await agent.resumeOrphans({ olderThan: 1 })).runs).toEqual([]);
  const { runs } = await agent.resumeOrphans();
  expect((await Promise.all(runs)).map(({ runId, status }) => [runId, status])).toEqual([['ahead', 'answered']]);
});

test('a journal that only begins runs cannot resume any', async () => {
  const { open } = memoryJournal();
  await expect(worker({ open }).resumeOrphans()).rejects.toMatchObject({
    code: 'journal-cannot-resume',
    runId: null,
    message: expect.stringMatching(
      /^The agent's journal can start runs, but not resume them\. Give the option 'journal'/,
    ),
  });
});

test('each run continues with the context of its own user; one whose context fails is left as it is', async () => {
  const journal = memoryJournal();
  for (const userId of ['ada', 'bob', 'eve']) await released(journal, `of-${userId}`, { metadata: { userId } });
  const as: unknown[] = [];
  const holds = fakeTool('hold', [(_args, { context }) => as.push(context)], { effects: 'idempotent' });
  const agent = worker(journal, { tools: [holds], model: scriptedModel(['Done.', 'Done.', 'Done.']) });
  const contextFor = async ({ runId, metadata }: RunSummary): Promise<unknown> => {
    if (runId === 'of-bob') throw new Error('Bob has left.');
    return { user: metadata['userId'] };
  };
  const { runs, refused } = await agent.resumeOrphans({ context: { user: 'nobody' }, contextFor });
  await Promise.all(runs);
  expect(runs.map(({ runId }) => runId)).toEqual(['of-ada', 'of-eve']);
  expect(refused).toEqual([{ runId: 'of-bob', error: new Error('Bob has left.') }]);
  expect(as).toEqual([{ user: 'ada' }, { user: 'eve' }]);
  expect(await journal.list?.({ state: 'interrupted' })).toMatchObject([{ runId: 'of-bob' }]);
  expect(await agent.wake({ contextFor })).toMatchObject([
    { runId: 'of-bob', result: null, error: { message: 'Bob has left.' } },
  ]);
  expect(await agent.wake({ contextFor: () => 'someone' })).toMatchObject([
    { runId: 'of-bob', result: { status: 'answered' } },
  ]);
  expect(as).toEqual([{ user: 'ada' }, { user: 'eve' }, 'someone']);
});

test('the agents below a run that is continued have its context, and not that of another', async () => {
  const journal = memoryJournal();
  const done = () => scriptedModel(['Done.', 'Done.']);
  const asks = (tool: string) => scriptedModel([calls([tool, tool === 'hold' ? {} : { task: 'Hold' }])]);
  /** Three agents deep; the tool of the last waits, or says as whom it runs. */
  const tree = (modelFor: typeof asks, execute: (context: unknown) => unknown) => {
    const hold = fakeTool('hold', [(_args, { context }) => execute(context)], { effects: 'idempotent' });
    const last = createAgent({ name: 'last', model: modelFor('hold'), tools: [hold], silent: true });
    const middle = createAgent({ name: 'middle', model: modelFor('last'), children: [last], silent: true });
    return worker(journal, { children: [middle], model: modelFor('middle') });
  };
  const begin = async (userId: string): Promise<void> => {
    const run = tree(asks, () => new Promise(() => undefined)).run('Hold', { metadata: { userId } });
    for await (const event of run) if (event.type === 'tool.started' && event.tool === 'hold') break;
    expect(await run.release()).toBe(true);
  };
  await begin('ada');
  await begin('bob');
  const as: unknown[] = [];
  const later = tree(done, (context) => as.push(context));
  const { runs } = await later.resumeOrphans({ contextFor: ({ metadata }) => metadata['userId'] });
  expect((await Promise.all(runs)).map(({ status }) => status)).toEqual(['answered', 'answered']);
  expect(as.map(String).toSorted()).toEqual(['ada', 'bob']);
});
