import { expect, test } from 'vitest';
import { JournalError, type JournalErrorCode } from '../../../src/journal/format/journal-error.ts';
import type { JournalStore, RunJournal } from '../../../src/journal/run/run-journal.ts';
import { memoryJournal } from '../../../src/journal/stores/memory.ts';
import { echoing, spoken } from './held.ts';

/** A store of a process that is stopped for so long that others take what it has. It notices when its first run is sent something. */
function taken(journal: ReturnType<typeof memoryJournal>, code: JournalErrorCode) {
  const noticed = Promise.withResolvers<never>();
  noticed.promise.catch(() => undefined);
  let first: RunJournal | null = null;
  let free: (() => void | Promise<void>) | null = null;
  let [isTaken, isFree] = [false, false];
  const open: JournalStore['open'] = (run) => {
    const mine = journal.open(run);
    if (first !== null) return mine;
    first = mine;
    return {
      ...mine,
      next: () => Promise.race([mine.next().then((entry) => (isTaken ? noticed.promise : entry)), noticed.promise]),
      send: (...sent) => {
        if (isTaken) noticed.reject(new JournalError(code, run.head.runId, 'memory'));
        return isTaken ? noticed.promise : mine.send(...sent);
      },
    };
  };
  const claim: JournalStore['claim'] = async (name) => {
    const leave = (await journal.claim?.(name)) ?? null;
    free ??= leave;
    return leave === null || leave !== free ? leave : () => (isFree ? undefined : leave());
  };
  const take = async (what: 'run' | 'conversation'): Promise<void> => {
    isTaken = true;
    await first?.abandon?.();
    if (what === 'conversation') await free?.();
    isFree = what === 'conversation';
  };
  return { store: { ...journal, open, claim }, take };
}

async function stopped(what: 'run' | 'conversation', code: JournalErrorCode = 'run-lost') {
  const journal = memoryJournal();
  const { store, take } = taken(journal, code);
  const mine = echoing({ journal: store });
  const talk = mine.agent.conversation('c');
  const first = talk.run('hold 1');
  await mine.model.asked('hold 1');
  await take(what);
  const other = echoing({ journal });
  other.model.free('hold 1');
  await (what === 'run' ? other.agent.resume(first.runId) : other.agent.conversation('c').resume());
  return { talk, first, other };
}

test.each(['run-lost', 'store-unreachable'] as const)(
  'a process that has lost its conversation meanwhile begins the next run behind what others have said in it: %s',
  async (code) => {
    const { talk, first, other } = await stopped('conversation', code);
    await other.agent.conversation('c').run('theirs');
    const next = talk.run('mine', { whenBusy: 'queue' });
    expect(await first).toMatchObject({ status: 'failed', error: { code } });
    expect(await next).toMatchObject({ status: 'answered', result: 'mine/3' });
    const said = ['hold 1', 'hold 1/1', 'theirs', 'theirs/2', 'mine', 'mine/3'];
    for (const one of [talk, other.agent.conversation('c')]) expect(spoken(await one.history)).toEqual(said);
  },
);

test('a process that has lost its conversation meanwhile begins nothing in it while another has it', async () => {
  const { talk, other } = await stopped('conversation');
  const theirs = other.agent.conversation('c').run('hold 2');
  await other.model.asked('hold 2');
  expect(await talk.run('mine', { whenBusy: 'queue' })).toMatchObject({ error: { code: 'conversation-busy' } });
  other.model.free('hold 2');
  await theirs;
  expect(spoken(await talk.history)).toEqual(['hold 1', 'hold 1/1', 'hold 2', 'hold 2/2']);
});

test('a process that has lost no more than a run goes on in its conversation, with the end that others gave the run', async () => {
  const { talk } = await stopped('run');
  expect(await talk.run('mine', { whenBusy: 'queue' })).toMatchObject({ result: 'mine/2' });
  expect(spoken(await talk.history)).toEqual(['hold 1', 'hold 1/1', 'mine', 'mine/2']);
});
