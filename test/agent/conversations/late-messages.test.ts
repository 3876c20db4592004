import { expect, test } from 'vitest';
import type { Agent } from '../../../src/agent/agent-types.ts';
import type { RunOptions } from '../../../src/agent/options/run-options.ts';
import { JournalError, type JournalErrorCode } from '../../../src/journal/format/journal-error.ts';
import type { RunRequests } from '../../../src/journal/run/run-requests.ts';
import { memoryJournal } from '../../../src/journal/stores/memory.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import { createAgent } from '../../../src/agent/create-agent.ts';
import { calls } from '../../support/replies.ts';
import { echoing, spoken } from './held.ts';

/**
 * A message to a run that is released at that moment. It is on its way until `arrive` is called: another process can bring the run to its
 * end meanwhile, and go on.
 */
async function sentLate(whenBusy: Exclude<RunOptions['whenBusy'], undefined>, ...texts: readonly string[]) {
  const journal = memoryJournal();
  const onItsWay = Promise.withResolvers<undefined>();
  const take: typeof journal.take = (runId) => onItsWay.promise.then(() => journal.take?.(runId) ?? null);
  const line: {
    down: JournalErrorCode | null;
    asked: number;
    fails: Error | null;
    isWritten: boolean;
    isUnread: boolean;
  } = {
    down: null,
    asked: 0,
    fails: null,
    isWritten: false,
    isUnread: false,
  };
  const ask: RunRequests['ask'] = async (runId, ...asked) => {
    line.asked += 1;
    if (line.down !== null) throw new JournalError(line.down, runId, 'the journal');
    return (await journal.requests?.ask(runId, ...asked)) ?? null;
  };
  const requests: RunRequests = { ask, serve: (...given) => journal.requests?.serve(...given) ?? (() => undefined) };
  const open: typeof journal.open = (run) => {
    const opened = journal.open(run);
    const { fails, isWritten } = line;
    if (fails === null) return opened;
    line.fails = null;
    return {
      ...opened,
      next: async () => {
        // What is written at once is what it starts.
        if (isWritten) void opened.next();
        return Promise.reject(fails);
      },
    };
  };
  const read: typeof journal.read = async (id) => {
    const isUnread = line.isUnread && id !== run.runId;
    line.isUnread &&= !isUnread;
    if (isUnread) throw new JournalError('store-unreachable', id, 'the journal');
    return (await journal.read?.(id)) ?? null;
  };
  const mine = echoing({ journal: { ...journal, open, take, read, requests } });
  const talk = mine.agent.conversation('c');
  const run = talk.run('hold 1');
  await mine.model.asked('hold 1');
  void run.release();
  for (const text of texts.length === 0 ? ['late'] : texts)
    talk.run(text, { whenBusy, metadata: { of: 'mine' }, maxSteps: 7 });
  await run;
  const other = echoing({ journal });
  other.model.free('hold 1');
  expect(await other.agent.conversation('c').resume()).toMatchObject({ result: 'hold 1/1' });
  return { journal, mine: mine.agent, model: mine.model, other, arrive: () => onItsWay.resolve(undefined), line };
}

const said = async (agent: Agent): Promise<readonly string[]> => spoken(await agent.conversation('c').history);

test.each(['steer', 'interrupt'] as const)(
  'a message for %s that comes too late is queued behind the run that another process has begun meanwhile',
  async (whenBusy) => {
    const { mine, other, arrive } = await sentLate(whenBusy);
    const next = other.agent.conversation('c').run('hold 2');
    await other.model.asked('hold 2');
    arrive();
    for await (const event of next) if (event.type === 'message.received') break;
    other.model.free('hold 2');
    expect((await next).undelivered).toMatchObject([{ text: 'late', kind: 'queue' }]);
    await expect.poll(() => said(mine)).toEqual(['hold 1', 'hold 1/1', 'hold 2', 'hold 2/2', 'late', 'late/3']);
    const runs = await mine.conversation('c').runs();
    expect(runs.map(({ metadata }) => metadata)).toMatchObject([{}, {}, { of: 'mine' }]);
  },
);

test('a message that comes too late is the next run where nobody else has the conversation', async () => {
  const { mine, arrive } = await sentLate('steer');
  arrive();
  await expect.poll(() => said(mine)).toEqual(['hold 1', 'hold 1/1', 'late', 'late/2']);
});

test('a run that a late message has begun ends with its agent, and answers what is queued behind it', async () => {
  const { journal, mine, arrive } = await sentLate('steer', 'hold late');
  arrive();
  await expect.poll(() => mine.conversation('c').runs()).toHaveLength(2);
  const runId = (await mine.conversation('c').runs()).at(-1)?.runId ?? '';
  expect(() => mine.conversation('c').run('more')).toThrow(runId);
  const queued = mine.queue(runId, 'then');
  await expect.poll(async () => JSON.stringify((await journal.read?.(runId))?.lines)).toContain('then');
  await mine.close();
  expect(await queued).toEqual({ delivered: false, reason: 'kept' });
  const { agent } = echoing({ journal });
  await agent.conversation('c').resume();
  expect(await said(agent)).toEqual(['hold 1', 'hold 1/1', 'hold late', 'then', 'then/3']);
});

test.each(['run-locked', 'store-unreachable'] as const)(
  'a message that comes too late is sent again where the process of the next run does not answer at once: %s',
  async (code) => {
    const { mine, other, arrive, line } = await sentLate('steer');
    const next = other.agent.conversation('c').run('hold 2');
    await other.model.asked('hold 2');
    line.down = code;
    arrive();
    await expect.poll(() => line.asked).toBeGreaterThan(1);
    line.down = null;
    for await (const event of next) if (event.type === 'message.received') break;
    other.model.free('hold 2');
    await expect.poll(() => said(mine)).toEqual(['hold 1', 'hold 1/1', 'hold 2', 'hold 2/2', 'late', 'late/3']);
  },
);

test.each([
  new JournalError('run-locked', 'late', 'the journal'),
  new JournalError('store-unreachable', 'late', 'the journal'),
  new Error('the disk is full'),
])('a message that comes too late is tried again where its run could not begin: %s', async (fails) => {
  const { mine, arrive, line } = await sentLate('steer');
  line.fails = fails;
  arrive();
  await expect.poll(() => said(mine)).toEqual(['hold 1', 'hold 1/1', 'late', 'late/2']);
});

test.each([false, true])(
  'a message that comes too late is not run again where its run has begun and the journal fails then: nor can it be read %s',
  async (isUnread) => {
    const { mine, arrive, line } = await sentLate('steer');
    line.isUnread = isUnread;
    [line.fails, line.isWritten] = [new JournalError('store-unreachable', 'late', 'the journal'), true];
    arrive();
    await expect.poll(() => mine.conversation('c').runs()).toHaveLength(2);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await mine.conversation('c').resume();
    expect(await said(mine)).toEqual(['hold 1', 'hold 1/1', 'late', 'late/2']);
  },
);

test('a message that comes too late is not run again where its run fails', async () => {
  const { mine, model, arrive } = await sentLate('steer', 'fail late');
  arrive();
  await model.asked('fail late');
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect((await mine.conversation('c').runs()).map(({ status }) => status)).toEqual(['answered', 'failed']);
});

test('a message that comes too late waits while another process has the conversation and no run yet', async () => {
  const { journal, mine, arrive } = await sentLate('steer');
  const leave = await journal.claim?.('conversation c');
  arrive();
  // It is refused more than once.
  await new Promise((resolve) => setTimeout(resolve, 120));
  expect(await said(mine)).toEqual(['hold 1', 'hold 1/1']);
  await leave?.();
  await expect.poll(() => said(mine)).toEqual(['hold 1', 'hold 1/1', 'late', 'late/2']);
  expect(await mine.conversation('c').runs()).toHaveLength(2);
});

test('a message that comes too late is kept with the run that waits for a person meanwhile', async () => {
  const { journal, mine, arrive } = await sentLate('steer');
  const pay = fakeTool('pay', ['paid'], { policy: 'confirm' });
  const agent = createAgent({
    tools: [pay],
    model: scriptedModel([calls(['pay']), 'Paid.', 'And late.']),
    confirm: 'wait',
    silent: true,
    journal,
  });
  const talk = agent.conversation('c');
  const { runId } = await talk.run('Pay.', { park: true });
  arrive();
  await expect.poll(async () => JSON.stringify((await journal.read?.(runId))?.lines)).toContain('late');
  expect(await mine.conversation('c').runs()).toMatchObject([{}, { state: 'waiting' }]);
  const [waiting] = await talk.pending();
  await agent.approve(runId, waiting?.callId ?? '');
  await talk.resume();
  expect(await said(agent)).toEqual(['hold 1', 'hold 1/1', 'Pay.', '', 'Paid.', 'late', 'And late.']);
});

test('messages that come too late together are all run, where another process has the conversation and no run yet', async () => {
  const { journal, mine, arrive } = await sentLate('steer', 'one', 'two', 'three');
  const leave = await journal.claim?.('conversation c');
  arrive();
  // The first is refused, and the others stand behind it.
  await new Promise((resolve) => setTimeout(resolve, 120));
  await leave?.();
  await expect.poll(() => said(mine)).toHaveLength(8);
  const users = (await said(mine)).filter((text) => !text.includes('/'));
  expect(users.toSorted()).toEqual(['hold 1', 'one', 'three', 'two']);
});

test('a message that comes too late keeps its options behind the run that its process has begun meanwhile', async () => {
  const { journal, mine, model, arrive } = await sentLate('steer');
  const next = mine.conversation('c').run('hold 2');
  arrive();
  await expect.poll(() => next.recording()).toContain('late');
  model.free('hold 2');
  await expect.poll(() => said(mine)).toEqual(['hold 1', 'hold 1/1', 'hold 2', 'hold 2/2', 'late', 'late/3']);
  const last = (await mine.conversation('c').runs()).at(-1);
  expect(last?.metadata).toMatchObject({ of: 'mine' });
  expect(JSON.stringify((await journal.read?.(last?.runId ?? ''))?.head)).toContain('"maxSteps":7');
});

test('a message that comes too late stays with the run that it stands behind, and is run once by the process that has both next', async () => {
  const { mine, other, arrive } = await sentLate('steer');
  const next = mine.conversation('c').run('hold 2');
  arrive();
  await expect.poll(() => next.recording()).toContain('late');
  await next.release();
  other.model.free('hold 2');
  await other.agent.conversation('c').resume();
  // Looked for once more, it would be run again.
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(await said(other.agent)).toEqual(['hold 1', 'hold 1/1', 'hold 2', 'hold 2/2', 'late', 'late/3']);
});

test('a message that a run takes no more is the next run, also without a journal', async () => {
  const { agent, model } = echoing({ maxSteers: 0 });
  const run = agent.run('hold');
  await model.asked('hold');
  agent.run('late', { whenBusy: 'steer' });
  for await (const { type } of run) if (type === 'message.received') break;
  model.free('hold');
  await model.asked('late');
  await expect.poll(() => spoken(agent.history)).toEqual(['hold', 'hold/1', 'late', 'late/2']);
});

test('a message whose own run could not begin is refused at once, instead of being lost where it comes too late', async () => {
  const { agent, model } = echoing({ maxSteers: 0 });
  const run = agent.run('hold');
  await model.asked('hold');
  for (const whenBusy of ['steer', 'interrupt'] as const)
    for (const [option, wrong] of [
      ['metadata', { at: 1n }],
      ['outputSchema', 5],
      ['outputMode', 'tool'],
    ] as const)
      expect(() => agent.run('late', { whenBusy, [option]: wrong as never })).toThrow(`option '${option}'`);
  model.free('hold');
  expect((await run).status).toBe('answered');
  expect(spoken(agent.history)).toEqual(['hold', 'hold/1']);
});

/** A message for a run that another process has by now, which takes messages and whose answers are lost. */
async function unanswered() {
  const journal = memoryJournal();
  const line = { asked: 0 };
  const ask: RunRequests['ask'] = async (runId, ...asked) => {
    // The process stops when it has taken the first.
    if (line.asked++ === 0) void journal.requests?.ask(runId, ...asked);
    throw new JournalError('run-locked', runId, 'the journal');
  };
  const requests: RunRequests = { ask, serve: () => () => undefined };
  const onItsWay = Promise.withResolvers<undefined>();
  const take: typeof journal.take = (runId) => onItsWay.promise.then(() => journal.take?.(runId) ?? null);
  const mine = echoing({ journal: { ...journal, take, requests } });
  const run = mine.agent.conversation('c').run('hold');
  await mine.model.asked('hold');
  void run.release();
  mine.agent.conversation('c').run('late', { whenBusy: 'steer' });
  await run;
  const other = echoing({ journal });
  const resumed = other.agent.conversation('c').resume();
  await other.model.asked('hold');
  onItsWay.resolve(undefined);
  await expect.poll(() => line.asked).toBeGreaterThan(1);
  return { mine: mine.agent, other, resumed, line };
}

test('a message is not run again if the process that has taken it does not answer', async () => {
  const { mine, other, resumed } = await unanswered();
  other.model.free('hold');
  await resumed;
  await new Promise((resolve) => setTimeout(resolve, 600));
  expect(await said(mine)).toEqual(['hold', 'hold/1', 'late', 'late/2']);
});

test('nobody is asked for a message any more once its agent is closed', async () => {
  const { mine, other, line } = await unanswered();
  await mine.close();
  const { asked } = line;
  await new Promise((resolve) => setTimeout(resolve, 600));
  expect(line.asked).toBeLessThanOrEqual(asked + 1);
  await other.agent.close();
});

test('a message that comes too late is still sent after its process was stopped for longer than a place is looked for', async () => {
  const { journal, mine, arrive } = await sentLate('steer');
  const leave = await journal.claim?.('conversation c');
  const { now } = performance;
  let stopped = 0;
  performance.now = () => now.call(performance) + stopped;
  try {
    arrive();
    await new Promise((resolve) => setTimeout(resolve, 120));
    stopped = 120_000;
    await leave?.();
    await expect.poll(() => said(mine)).toEqual(['hold 1', 'hold 1/1', 'late', 'late/2']);
  } finally {
    performance.now = now;
  }
});
