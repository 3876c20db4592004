import pg from 'pg';
import { describe, expect, test } from 'vitest';
import type { Message } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import { createHistories } from '../../src/journal/format/histories.ts';
import { postgresJournal } from '../../src/journal/postgres/index.ts';
import type { JournalStore } from '../../src/journal/run/run-journal.ts';
import { digest } from '../../src/json/digest.ts';
import type { Json } from '../../src/json/json.ts';
import { NO_POSTGRES, startPostgres } from '../support/postgres.ts';

const LONG = 'It is mild there, a little warmer than in the one before. '.repeat(200);

const said = (...texts: readonly string[]): readonly Message[] =>
  texts.map((text) => ({ role: 'user', content: `${text} ${LONG}` }));

test('a conversation that goes on is stored from where it stopped', () => {
  const histories = createHistories();
  const first = histories.place('one', said('a', 'b'));
  const next = histories.place('two', said('a', 'b', 'c'));
  expect(next?.part).toEqual({ $history: first?.part.$history, from: 0, to: 3 });
  expect(next?.added).toEqual(said('c'));
});

test.each([
  ['in the middle', said('a', 'x', 'c')],
  ['at its end', said('a', 'b', 'x')],
])('one that is told otherwise %s begins a history of its own', (_where, otherwise) => {
  const histories = createHistories();
  const first = histories.place('one', said('a', 'b', 'c'));
  const other = histories.place('two', otherwise);
  expect(other?.part).toMatchObject({ from: 0, to: 3 });
  expect(other?.part.$history).not.toBe(first?.part.$history);
  expect(other?.added).toEqual(otherwise);
});

test.each([
  [49, true],
  [50, false],
])('with %i other conversations since, it is known: %s', (others, isKnown) => {
  const histories = createHistories();
  const first = histories.place('first', said('a', 'b'));
  for (let count = 0; count < others; count++) histories.place(`run-${count}`, said(`other ${count}`));
  const again = histories.place('again', said('a', 'b', 'c'));
  expect(again?.part.$history === first?.part.$history).toBe(isKnown);
});

test('one that drops its oldest messages is known by the latest, however many it had', () => {
  const histories = createHistories();
  const window = (end: number): readonly Message[] => said(...Array.from({ length: 10 }, (_, n) => `${end - 10 + n}`));
  const first = histories.place('0', window(10));
  const ids = new Set<string | undefined>();
  let added = 0;
  for (let end = 12; end <= 4000; end += 2) {
    const next = histories.place(`${end}`, window(end));
    ids.add(next?.part.$history);
    added += next?.added.length ?? 0;
    if (next?.part.from !== end - 10 || next.part.to !== end)
      throw new Error(`of ${end}: ${JSON.stringify(next?.part)}`);
  }
  expect([...ids]).toEqual([first?.part.$history]);
  expect(added).toBe(3990);
  // It returns to where it was some hundred messages before, and is not known by its first.
  expect(histories.place('back', window(3100))?.part).toEqual({ $history: first?.part.$history, from: 3090, to: 3100 });
  expect(histories.place('again', window(10))?.part.$history).not.toBe(first?.part.$history);
});

const deepFrozen = <T extends Json>(value: T): T => {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFrozen);
  return Object.freeze(value);
};

test('the digest of a list is the same whatever lists with its first item were digested before', () => {
  const [a, b, c, d] = deepFrozen([{ at: 1 }, { at: 2 }, { at: 3 }, { at: 4 }]);
  const lists: readonly (readonly Json[])[] = [
    [a, b],
    [a, b, c],
    [a, d, c],
    [a],
    [a, b, c, d],
    [a, 'text', null, c],
    [a, 'text', null, c, 7],
    [],
    ['text', a],
  ].map((list) => Object.freeze(list));
  for (const list of [...lists, ...lists.toReversed()])
    expect(digest({ list })).toBe(digest(JSON.parse(JSON.stringify({ list }))));
  const growing: Json[] = [a, b];
  const before = digest(growing);
  growing[1] = d;
  expect(digest(growing)).not.toBe(before);
  expect(digest([...growing, c])).toBe(digest(JSON.parse(JSON.stringify([a, d, c]))));
});

test('the digest of what is not frozen is that of what it is now', () => {
  const open: { of: { at: number }; list: { at: number }[] } = { of: { at: 1 }, list: [{ at: 1 }] };
  const seen = [digest(open), digest(open.of), digest(open.list)];
  open.of.at = 2;
  for (const item of open.list) item.at = 2;
  expect([digest(open), digest(open.of), digest(open.list)].filter((one) => seen.includes(one))).toEqual([]);
  expect(digest(open)).toBe(digest(JSON.parse(JSON.stringify(open))));
});

describe.skipIf(NO_POSTGRES !== '')('a conversation whose runs are in Postgres', () => {
  const talker = (journal: JournalStore) =>
    createAgent({
      name: 'talker',
      model: { id: 'm', complete: ({ messages }) => Promise.resolve({ content: `${LONG}${messages.length}` }) },
      maxHistoryMessages: 0,
      journal,
      silent: true,
    });
  const begun = async (journal: JournalStore, of: string) => {
    const agent = talker(journal);
    for (let turn = 1; turn <= 3; turn++) await agent.run(`${of}${turn} And?`, { runId: `${of}-${turn}` }).orThrow();
    return agent;
  };

  test('goes on where another process has removed what was said before', async () => {
    await using server = await startPostgres();
    const journal = postgresJournal(server.url, { migrate: true });
    const elsewhere = postgresJournal(server.url);
    const agents = [await begun(journal, 'a'), await begun(journal, 'b'), await begun(journal, 'c')] as const;
    for (const runId of ['a-1', 'a-2', 'a-3', 'b-1', 'b-2', 'b-3']) expect(await elsewhere.remove(runId)).toBe(true);
    await agents[0].run('And?', { runId: 'later-0' }).orThrow();
    // The second says nothing that was not stored, and what is written beside it is whole as well.
    agents[1].setHistory(agents[1].history.slice(0, 4));
    await Promise.all([1, 2].map(async (at) => agents[at]?.run('And?', { runId: `later-${at}` }).orThrow()));
    const heads = await Promise.all([0, 1, 2].map(async (at) => (await elsewhere.read(`later-${at}`))?.head));
    expect(heads.map((head) => head?.history.length)).toEqual([6, 4, 6]);
    // The first has begun another history.
    await agents[0].run('And?', { runId: 'last' }).orThrow();
    expect((await elsewhere.read('last'))?.head.history).toEqual(agents[0].history.slice(0, 8));
    await using client = Object.assign(new pg.Client(server.url), { [Symbol.asyncDispose]: async () => client.end() });
    await client.connect();
    expect((await client.query('select id from signalbox.histories')).rows).toHaveLength(2);
    await Promise.all([journal.close(), elsewhere.close()]);
  });

  test('goes on behind a run that could not be written', async () => {
    await using server = await startPostgres();
    const journal = postgresJournal(server.url, { migrate: true, leaseMs: 900, patienceMs: 500 });
    const agent = await begun(journal, 'a');
    await server.kill();
    expect(await agent.run('And?')).toMatchObject({ status: 'failed', error: { code: 'store-unreachable' } });
    await server.start();
    agent.setHistory([...agent.history, { role: 'user', content: `${LONG}Are you there?` }]);
    const { length } = agent.history;
    await agent.run('And?', { runId: 'later' }).orThrow();
    expect((await journal.read('later'))?.head.history).toHaveLength(length);
    await journal.close();
  });
});
