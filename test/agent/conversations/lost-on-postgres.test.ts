import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { postgresJournal } from '../../../src/journal/postgres/index.ts';
import type { JournalStore } from '../../../src/journal/run/run-journal.ts';
import { NO_POSTGRES, startPostgres } from '../../support/postgres.ts';
import { echoing, spoken } from './held.ts';

describe.skipIf(NO_POSTGRES !== '')(
  'a process that is stopped between the history of a conversation and its next run',
  () => {
    test.each([
      ['begins it where no other has come', false],
      ['does not begin it where another has the conversation meanwhile', true],
    ] as const)('%s', async (_what, isTaken) => {
      await using server = await startPostgres();
      const store = () => postgresJournal(server.url, { migrate: true });
      const [mine, theirs] = [store(), store()];
      const other = echoing({ journal: theirs });
      await other.agent.conversation('c').run('first');
      const [stopped, goesOn] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
      const open: JournalStore['open'] = (run) => {
        const opened = mine.open(run);
        return { ...opened, next: async () => (stopped.resolve(undefined), await goesOn.promise, opened.next()) };
      };
      const { agent } = echoing({ journal: { ...mine, open } });
      const run = agent.conversation('c').run('mine');
      const again = agent.conversation('c').run('again', { whenBusy: 'queue' });
      await stopped.promise;
      if (isTaken) {
        const client = new pg.Client({ connectionString: server.url });
        await client.connect();
        await client.query("update signalbox.writers set until = now() - interval '1 second'");
        await client.end();
        await other.agent.conversation('c').run('theirs');
      }
      goesOn.resolve(undefined);
      expect(await run).toMatchObject(isTaken ? { error: { code: 'run-locked' } } : { result: 'mine/2' });
      // It takes it up anew.
      expect(await again).toMatchObject({ result: 'again/3' });
      const said = ['first', isTaken ? 'theirs' : 'mine', 'again'];
      const history = spoken(await other.agent.conversation('c').history);
      expect(history.filter((text) => !text.includes('/'))).toEqual(said);
      for (const one of [agent, other.agent]) await one.close();
      for (const one of [mine, theirs]) await one.close();
    });
  },
);

test.skipIf(NO_POSTGRES !== '')(
  'a process that was stopped, and does not know yet that another has its run, answers nothing for it',
  async () => {
    await using server = await startPostgres();
    const stores = [0, 1, 2].map(() => postgresJournal(server.url, { migrate: true }));
    // The other does not answer either: whoever takes a request of two that would, is chance.
    const deaf = { ask: async () => null, serve: () => () => undefined };
    const [mine, theirs, third] = stores.map((store, at) =>
      echoing({ journal: at === 1 ? { ...store, requests: deaf } : store }),
    );
    const run = mine?.agent.conversation('c').run('hold');
    await mine?.model.asked('hold');
    const runId = run?.runId ?? '';
    expect(await third?.agent.approve(runId, 'call')).toBe(false);
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    await client.query("update signalbox.writers set until = now() - interval '1 second'");
    const resumed = theirs?.agent.conversation('c').resume();
    await theirs?.model.asked('hold');
    await expect(third?.agent.approve(runId, 'call')).rejects.toMatchObject({ code: 'run-locked' });
    for (const one of [mine, theirs]) one?.model.free('hold');
    expect(await resumed).toMatchObject({ result: 'hold/1' });
    await client.end();
    for (const one of [mine, theirs, third]) await one?.agent.close();
    for (const store of stores) await store.close();
  },
);
