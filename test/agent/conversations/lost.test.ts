import { expect, test } from 'vitest';
import type { RunOptions } from '../../../src/agent/options/run-options.ts';
import { JournalError, type JournalErrorCode } from '../../../src/journal/format/journal-error.ts';
import type { JournalStore, RunJournal } from '../../../src/journal/run/run-journal.ts';
import type { RunRequests } from '../../../src/journal/run/run-requests.ts';
import { memoryJournal } from '../../../src/journal/stores/memory.ts';
import { echoing, spoken } from './held.ts';

/** A store of a process that is stopped for so long that others take what it has. It notices when its first run is sent something. */
function taken(journal: ReturnType<typeof memoryJournal>, code: JournalErrorCode) {
  const noticed = Promise.withResolvers<never>();
  noticed.promise.catch(() => undefined);
  let first: RunJournal | null = null;
  let free: (() => void | Promise<void>) | null = null;
  let [isStopped, isTaken, isFree, isOver] = [false, false, false, false];
  const open: JournalStore['open'] = (run) => {
    const mine = journal.open(run);
    if (first !== null) return mine;
    first = mine;
    return {
      ...mine,
      next: () => Promise.race([mine.next().then((entry) => (isTaken ? noticed.promise : entry)), noticed.promise]),
      send: (...sent) => {
        if (isOver) return Promise.resolve(false);
        if (isTaken) noticed.reject(new JournalError(code, run.head.runId, 'memory'));
        // What is written by then, it does not know.
        if (isStopped) void mine.send(...sent);
        return isStopped || isTaken ? noticed.promise : mine.send(...sent);
      },
      abandon: async () => {
        isOver = true;
        // It gives nothing back that others have.
        if (!isTaken) await mine.abandon?.();
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
  return { store: { ...journal, open, claim }, take, stop: () => void (isStopped = true) };
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

/** A message in line whose process is stopped when the run before it has it in its journal, and before it knows that. */
async function writtenUnknown(options: RunOptions = {}) {
  const journal = memoryJournal();
  const { store, take, stop } = taken(journal, 'run-lost');
  const mine = echoing({ journal: store });
  const talk = mine.agent.conversation('c');
  const first = talk.run('hold 1');
  await mine.model.asked('hold 1');
  stop();
  const next = talk.run('mine', { ...options, whenBusy: 'queue' });
  await expect.poll(async () => JSON.stringify(await journal.read?.(first.runId))).toContain('mine');
  await take('conversation');
  const other = echoing({ journal });
  other.model.free('hold 1');
  await other.agent.conversation('c').resume();
  return { talk, first, next, other: other.agent.conversation('c') };
}

test.each([undefined, 'order-7'])(
  'a message in line that others have run is not run again by its process, which was stopped: runId %s',
  async (runId) => {
    const { talk, first, next, other } = await writtenUnknown(runId === undefined ? {} : { runId });
    const more = talk.run('more', { whenBusy: 'queue' });
    expect(await first).toMatchObject({ error: { code: 'run-lost' } });
    expect(await next).toMatchObject({ status: 'failed', error: { code: 'run-exists' } });
    expect(await more).toMatchObject({ result: 'more/3' });
    expect(spoken(await other.history)).toEqual(['hold 1', 'hold 1/1', 'mine', 'mine/2', 'more', 'more/3']);
    expect((await other.runs()).map((run) => run.runId)).toEqual([first.runId, next.runId, more.runId]);
  },
);

test('queued messages are run whatever their ids are, also where those are no ids of runs or that of a run elsewhere', async () => {
  const journal = memoryJournal();
  const mine = echoing({ journal });
  await mine.agent.conversation('b').run('before', { runId: 'known' });
  const run = mine.agent.conversation('c').run('hold');
  await mine.model.asked('hold');
  const sent = ['known', 'my id', 'own'].map((id) => run.queue(`say ${id}`, { id }));
  await expect.poll(() => run.recording()).toContain('say own');
  await run.release();
  expect(await Promise.all(sent)).toEqual(sent.map(() => ({ delivered: false, reason: 'kept' })));
  const other = echoing({ journal });
  other.model.free('hold');
  await other.agent.conversation('c').resume();
  const said = spoken(await other.agent.conversation('c').history).filter((text) => !text.includes('/'));
  expect(said).toEqual(['hold', 'say known', 'say my id', 'say own']);
  const ids = (await other.agent.conversation('c').runs()).map(({ runId }) => runId);
  expect(ids.at(-1)).toBe('own');
  expect(ids).not.toContain('my id');
});

test.each(['run-locked', 'run-exists'] as const)(
  'a process that loses its conversation while it runs what was left there says so, and leaves it: %s',
  async (code) => {
    const journal = memoryJournal();
    const mine = echoing({ journal });
    const run = mine.agent.conversation('c').run('hold');
    await mine.model.asked('hold');
    void run.queue('left');
    await expect.poll(() => run.recording()).toContain('left');
    await run.release();
    const open: JournalStore['open'] = (begun) => {
      const opened = journal.open(begun);
      if (begun.head.input !== 'left') return opened;
      return { ...opened, next: async () => Promise.reject(new JournalError(code, begun.head.runId, 'memory')) };
    };
    const loses = echoing({ journal: { ...journal, open } });
    loses.model.free('hold');
    expect(await loses.agent.conversation('c').run('mine')).toMatchObject({ error: { code: 'conversation-busy' } });
    const other = echoing({ journal }).agent.conversation('c');
    await other.resume();
    expect(spoken(await other.history)).toEqual(['hold', 'hold/1', 'left', 'left/2']);
  },
);

test('a process that has lost no more than a run goes on in its conversation, with the end that others gave the run', async () => {
  const { talk } = await stopped('run');
  expect(await talk.run('mine', { whenBusy: 'queue' })).toMatchObject({ result: 'mine/2' });
  expect(spoken(await talk.history)).toEqual(['hold 1', 'hold 1/1', 'mine', 'mine/2']);
});

type Answer = Parameters<RunRequests['serve']>[1];

/**
 * Two processes that answer for one run: the one that has lost it, and the one that drives it by now. `turn` says whose turn it is to answer,
 * by how often one was asked before.
 */
async function twoThatAnswer(turn: (asked: number) => 'lost' | 'drives') {
  const journal = memoryJournal();
  const { store, take } = taken(journal, 'run-lost');
  const answers: Answer[] = [];
  let asked = 0;
  const requests: RunRequests = {
    serve: (_runId, answer) => {
      answers.push(answer);
      return () => undefined;
    },
    ask: async (_runId, request) => (await answers[turn(asked++) === 'lost' ? 0 : 1]?.(request)) ?? null,
  };
  const mine = echoing({ journal: { ...store, requests } });
  const first = mine.agent.conversation('c').run('hold 1');
  await mine.model.asked('hold 1');
  await take('conversation');
  const other = echoing({ journal: { ...journal, requests } });
  const resumed = other.agent.conversation('c').resume();
  await other.model.asked('hold 1');
  // It takes nothing more, and notices why.
  await first.steer('notice').catch(() => null);
  expect(await first).toMatchObject({ error: { code: 'run-lost' } });
  return { other, resumed, runId: first.runId, asking: echoing({ journal: { ...journal, requests } }).agent };
}

test('a message that the process of a run has taken is not refused by one that has lost that run', async () => {
  const { other, resumed, runId, asking } = await twoThatAnswer((asked) => (asked === 1 ? 'lost' : 'drives'));
  const sent = asking.queue(runId, 'then');
  await expect.poll(async () => JSON.stringify(await asking.recording(runId))).toContain('then');
  // It is asked again a second later.
  await new Promise((resolve) => setTimeout(resolve, 1100));
  other.model.free('hold 1');
  await resumed;
  expect(await sent).toMatchObject({ delivered: true, step: 1 });
  expect(spoken(await other.agent.conversation('c').history)).toEqual(['hold 1', 'hold 1/1', 'then', 'then/2']);
});

test('what a process refuses that has lost a run is done by the one that drives it', async () => {
  const { other, resumed, runId, asking } = await twoThatAnswer((asked) => (asked === 0 ? 'lost' : 'drives'));
  expect(await asking.cancel(runId)).toBe(true);
  other.model.free('hold 1');
  expect(await resumed).toMatchObject({ status: 'cancelled' });
});

test('what is asked of a process alone that has lost a run is refused once the run is over', async () => {
  const { other, resumed, runId, asking } = await twoThatAnswer(() => 'lost');
  const approved = asking.approve(runId, 'call');
  other.model.free('hold 1');
  await resumed;
  expect(await approved).toBe(false);
  expect(await asking.steer(runId, 'late')).toEqual({ delivered: false, reason: 'over' });
});

test.each(['run-lost', null] as const)(
  'a message to a run whose end is being written is refused only if that succeeds: %s',
  async (code) => {
    const journal = memoryJournal();
    const [ending, written] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    let served: Answer = async () => ({});
    const requests: RunRequests = {
      ask: async () => null,
      serve: (_runId, answer) => {
        served = answer;
        return () => undefined;
      },
    };
    const open: JournalStore['open'] = (run) => {
      const opened = journal.open(run);
      return {
        ...opened,
        end: async (output) => {
          const ended = opened.end(output);
          ending.resolve(undefined);
          await written.promise;
          await ended;
        },
      };
    };
    const run = echoing({ journal: { ...journal, open, requests } }).agent.run('one');
    await ending.promise;
    const answer = served({ do: 'queue', id: 'm', input: 'then' });
    // The run takes it no more.
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (code === null) written.resolve(undefined);
    else written.reject(new JournalError(code, run.runId, 'memory'));
    expect(await answer).toEqual(code === null ? { value: { delivered: false, reason: 'over' } } : {});
  },
);
