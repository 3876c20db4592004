/** Owns: the rules of lists of runs. */
import type { RunQuery, RunSummary } from '../format/tally.ts';
import type { JournalStore } from '../run/run-journal.ts';
import {
  type JournalRule,
  abandonedRun,
  begin,
  effectOf,
  expectSame,
  held,
  takeRun,
  waitingRun,
  wholeRun,
  yielding,
} from './sample-run.ts';

const FAILED = {
  status: 'failed',
  reason: 'error',
  stepsTaken: 2,
  toolsUsed: ['look'],
  error: { code: 'model-error' },
};

const listing: JournalRule = async ({ store }) => {
  const { list } = store;
  if (list === undefined) return false;
  await wholeRun(store, 'ended', { agent: 'clerk', input: 'Look', metadata: { ticket: 17 } });
  const [one] = await list();
  const { at, ...rest } = one ?? { at: '' };
  expectSame(Number.isNaN(Date.parse(at)), false, 'whether the time of a run in a list is a time');
  const expected: Omit<RunSummary, 'at'> = {
    runId: 'ended',
    agent: 'clerk',
    input: 'Look',
    state: 'ended',
    status: 'answered',
    reason: 'answer',
    errorCode: null,
    toolsUsed: ['look'],
    steps: 1,
    records: 4,
    metadata: { ticket: 17 },
  };
  expectSame(rest, expected, 'a run in a list');
  return true;
};

const states: JournalRule = async ({ store }) => {
  if (store.list === undefined) return false;
  const stateOf = async (runId: string) => (await store.list?.())?.find((run) => run.runId === runId)?.state;
  const { journal } = await waitingRun(store, 'run');
  expectSame(await stateOf('run'), 'running', 'the state of a run that is being written');
  await journal.abandon?.();
  expectSame(await stateOf('run'), 'waiting', 'the state of a run that nobody writes, and that waits for an approval');
  const sink = (await store.take?.('run'))?.sink;
  if (sink === undefined) return true;
  expectSame(await stateOf('run'), 'running', 'the state of a run that was taken');
  await sink.append([{ t: 'event', at: 1, event: { type: 'approval.given' }, to: 'agent/toolCall' }]);
  await sink.close();
  expectSame(await stateOf('run'), 'interrupted', 'the state of a run whose approval was answered');
  return true;
};

const filters: JournalRule = async ({ store }) => {
  if (store.list === undefined) return false;
  await wholeRun(store, 'good', { agent: 'clerk', metadata: { ticket: 17, user: { name: 'ada', tags: ['a', 'b'] } } });
  const journal = begin(store, 'bad', { agent: 'other' });
  journal.open(effectOf('agent/toolCall/callTool#1'), yielding(1));
  await journal.next();
  await journal.end(FAILED);
  await abandonedRun(store, 'cut', { metadata: { ticket: '17' } });
  const cases: readonly (readonly [query: RunQuery, found: readonly string[]])[] = [
    [{}, ['bad', 'cut', 'good']],
    [{ agent: 'other' }, ['bad']],
    [{ state: 'ended' }, ['bad', 'good']],
    [{ state: 'waiting' }, ['cut']],
    [{ state: 'running' }, []],
    [{ state: 'interrupted' }, []],
    [{ status: 'failed' }, ['bad']],
    [{ reason: 'answer' }, ['good']],
    [{ tool: 'look', status: 'answered' }, ['good']],
    [{ tool: 'none' }, []],
    [{ errorCode: 'model-error' }, ['bad']],
    [{ errorCode: 'model-error', agent: 'clerk' }, []],
    [{ metadata: { ticket: 17 } }, ['good']],
    [{ metadata: { ticket: '17' } }, ['cut']],
    [{ metadata: { user: { name: 'ada' } } }, ['good']],
    [{ metadata: { user: { tags: ['a', 'b'] } } }, ['good']],
    [{ metadata: { user: { tags: ['a'] } } }, []],
    [{ metadata: {} }, ['bad', 'cut', 'good']],
    [{ limit: 0 }, []],
  ];
  for (const [query, found] of cases)
    expectSame((await idsOf(store, query)).toSorted(), found, `the runs of list(${JSON.stringify(query)})`);
  return true;
};

const paging: JournalRule = async ({ store }) => {
  const { list } = store;
  if (list === undefined) return false;
  // Two pairs have the same time: then the id decides, from the last on.
  const times = ['2024-01-01', '2024-01-03', '2024-01-03', '2024-01-02', '2024-01-05', '2024-01-05', '2024-01-04'];
  for (const [index, day] of times.entries())
    await wholeRun(store, `r${index}`, { at: `${day}T00:00:00.000Z`, agent: index === 6 ? 'other' : 'sample' });
  const newest = ['r5', 'r4', 'r6', 'r2', 'r1', 'r3', 'r0'];
  expectSame(await idsOf(store, {}), newest, 'a list, newest first');
  expectSame(await idsOf(store, { limit: 3 }), newest.slice(0, 3), 'the newest three');
  const pages: (readonly string[])[] = [];
  let after: RunSummary | undefined;
  do {
    const page = await list({ limit: 2, after, agent: 'sample' });
    pages.push(page.map(({ runId }) => runId));
    after = page.at(-1);
  } while (after !== undefined && pages.length < 9);
  expectSame(pages, [['r5', 'r4'], ['r2', 'r1'], ['r3', 'r0'], []], 'the pages of two, of the runs of one agent');
  return true;
};

const HOUR_MS = 3_600_000;

const dueRuns: JournalRule = async ({ store }) => {
  if (store.list === undefined || store.take === undefined) return false;
  await abandonedRun(store, 'asks');
  // A store that does not know lists all that have not ended, and the caller checks each.
  if ((await store.list()).some((run) => run.due === undefined)) return false;
  const at = new Date().toISOString();
  for (const [runId, ms] of [
    ['sleeps', HOUR_MS],
    ['works', undefined],
  ] as const) {
    const journal = begin(store, runId, { at });
    const { perform, launched } = held();
    journal.open(effectOf('agent/a/callTool#1', ms === undefined ? {} : { ms }), perform);
    const next = journal.next();
    if (ms === undefined) await Promise.race([launched, next]);
    else await new Promise((resolve) => setTimeout(resolve, 50));
    await journal.abandon?.();
  }
  await abandonedRun(store, 'answered', { at });
  const { sink } = await takeRun(store, 'answered');
  await sink.append([{ t: 'event', at: 1, event: { type: 'approval.given' }, to: 'agent/toolCall' }]);
  await sink.close();
  await wholeRun(store, 'ended');
  const { journal } = await waitingRun(store, 'live');
  const dueIn = async (ms: number): Promise<readonly string[]> => {
    const due = new Date(Date.parse(at) + ms).toISOString();
    return (await idsOf(store, { due })).toSorted();
  };
  expectSame(await dueIn(HOUR_MS / 2), ['answered', 'works'], 'the runs that may continue in half an hour');
  expectSame(await dueIn(2 * HOUR_MS), ['answered', 'sleeps', 'works'], 'the runs that may continue in two hours');
  const asking = (await store.list({ state: 'waiting' })).map(({ runId, due }) => [runId, due]);
  expectSame(asking, [['asks', null]], 'when a run may continue that waits for an approval');
  await journal.abandon?.();
  return true;
};

async function idsOf(store: JournalStore, query: RunQuery): Promise<readonly string[]> {
  return ((await store.list?.(query)) ?? []).map(({ runId }) => runId);
}

/** The rules of lists, by their names. */
export const listRules: Readonly<Record<string, JournalRule>> = {
  list: listing,
  states,
  filters,
  due: dueRuns,
  paging,
};
