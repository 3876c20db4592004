import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { memoryJournal } from '../../../src/journal/stores/memory.ts';
import { readRecording } from '../../../src/journal/format/recording.ts';
import type { RecordLine } from '../../../src/journal/format/record.ts';
import { liveJournal } from '../../../src/journal/run/live-journal.ts';
import type { JournalStore } from '../../../src/journal/run/run-journal.ts';
import { echoing, spoken } from './held.ts';

describe('a queued message', () => {
  test('is the input of the next run, in order, and is handed on in the head of the run before it', async () => {
    const journal = memoryJournal();
    const { model, agent } = echoing({ journal });
    const run = agent.run('hold 1');
    await model.asked('hold 1');
    const queued = [run.queue('hold 2', { id: 'a' }), run.queue('3', { id: 'b' }), run.queue('hold 2', { id: 'a' })];
    const waiting = agent.run('4', { whenBusy: 'queue', runId: 'fourth' });
    for await (const event of run) {
      if (event.type === 'message.received' && event.text === '4') break;
    }
    model.free('hold 1');
    expect((await run).undelivered?.map(({ text }) => text)).toEqual(['hold 2', '3', '4']);
    await model.asked('hold 2');
    const [second, again] = await Promise.all([queued[0], queued[2]]);
    expect(second).toMatchObject({ delivered: true, step: 1 });
    expect(again).toEqual(second);
    const head = (await journal.read?.(second?.delivered === true ? second.runId : ''))?.head;
    expect(head).toMatchObject({
      input: 'hold 2',
      queued: [
        { id: 'b', text: '3' },
        { id: 'fourth', text: '4' },
      ],
    });
    model.free('hold 2');
    expect(await waiting).toMatchObject({ status: 'answered', result: '4/4', runId: 'fourth' });
    expect(await queued[1]).toMatchObject({ delivered: true });
    expect(spoken(agent.history)).toEqual(['hold 1', 'hold 1/1', 'hold 2', 'hold 2/2', '3', '3/3', '4', '4/4']);
    expect(readRecording(waiting.recording()).head).not.toHaveProperty('queued');
  });

  test.each(['answered', 'cancelled'])('is not begun again by a resume of its run, which has %s', async (status) => {
    const journal = memoryJournal();
    const { model, agent } = echoing({ journal });
    const run = agent.run('hold 1');
    await model.asked('hold 1');
    const queued = run.queue('2');
    if (status === 'cancelled') await agent.close();
    model.free('hold 1');
    expect((await queued).delivered).toBe(status === 'answered');
    const before = await run;
    if (status === 'answered') await model.asked('2');
    await agent.close();
    const next = echoing({ journal });
    for (const _time of [1, 2]) {
      expect(await next.agent.resume(run.runId)).toMatchObject({ status, undelivered: before.undelivered });
      // What would begin does so a little later.
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(next.model.requests).toEqual([]);
    expect(await next.agent.run('3')).toMatchObject({ status: 'answered' });
  });

  test('is begun after a run that failed or was cancelled, too', async () => {
    const { model, agent } = echoing();
    const run = agent.run('fail');
    const queued = run.queue('next');
    expect(await run).toMatchObject({ status: 'failed' });
    expect(await queued).toMatchObject({ delivered: true });
    await model.asked('next');
    const busy = agent.run('hold it', { whenBusy: 'queue' });
    await model.asked('hold it');
    const after = busy.queue('after');
    for await (const event of busy) if (event.type === 'message.received') break;
    await busy.cancel();
    expect(await after).toMatchObject({ delivered: true });
    await model.asked('after');
  });
});

/** A journal that can write so many times. */
function fullAfter(writes: number, canResume: boolean): JournalStore {
  const records: RecordLine[] = [];
  const append = (more: readonly RecordLine[]): void => {
    if (writes-- <= 0) throw Object.assign(new Error('The disk is full.'), { code: 'ENOSPC' });
    records.push(...more);
  };
  const sink = { append, close: () => undefined };
  const take = async () => {
    writes = 1000;
    return { recording: readRecording(records.map((line) => `${JSON.stringify(line)}\n`).join('')), sink };
  };
  const runs: string[] = [];
  const open: JournalStore['open'] = (run) => {
    runs.push(run.head.runId);
    return liveJournal(run, runs.length === 1 ? sink : null);
  };
  return canResume ? { open, take } : { open };
}

describe('a message to a run whose journal cannot write any more', () => {
  /** Sends two messages to a run, and then fills the disk. */
  const sent = async (canResume: boolean) => {
    const journal = fullAfter(3, canResume);
    const { model, agent } = echoing({ journal });
    const run = agent.run('hold 1');
    await model.asked('hold 1');
    const messages = Promise.all([run.queue('2', { id: 'a' }), run.steer('3', { id: 'b' })]);
    for await (const event of run) if (event.type === 'message.received' && event.text === '3') break;
    model.free('hold 1');
    expect(await run).toMatchObject({ status: 'failed', error: { code: 'ENOSPC' } });
    return { journal, runId: run.runId, messages: await messages, agent };
  };

  test('stays with the run, and is delivered once, when that is resumed', async () => {
    const { journal, runId, messages, agent } = await sent(true);
    const kept = { delivered: false, reason: 'kept' };
    expect(messages).toEqual([kept, kept]);
    expect(spoken(agent.history)).not.toContain('2');
    const next = echoing({ journal });
    const resumed = next.agent.resume(runId);
    await next.model.asked('hold 1');
    next.model.free('hold 1');
    expect(await resumed).toMatchObject({ status: 'answered' });
    await next.model.asked('2');
  });

  test('that is a run of its own is refused with it, and becomes a run once, when that one is resumed', async () => {
    const journal = fullAfter(3, true);
    const { model, agent } = echoing({ journal });
    const run = agent.run('hold 1');
    await model.asked('hold 1');
    const second = agent.run('2', { whenBusy: 'queue', runId: 'second' });
    const third = agent.run('3', { whenBusy: 'queue', runId: 'third' });
    for await (const event of run) if (event.type === 'message.received' && event.text === '3') break;
    model.free('hold 1');
    expect(await run).toMatchObject({ status: 'failed', error: { code: 'ENOSPC' } });
    for (const one of [second, third])
      expect(await one).toMatchObject({
        status: 'failed',
        error: { code: 'ENOSPC', message: expect.stringContaining(`Run ${run.runId} could not be brought to its end`) },
      });
    expect(await agent.run('4')).toMatchObject({ status: 'answered' });
    const next = echoing({ journal });
    const resumed = next.agent.resume(run.runId);
    await next.model.asked('hold 1');
    next.model.free('hold 1');
    expect((await resumed).undelivered?.map(({ text }) => text)).toEqual(['2', '3']);
    await next.model.asked('3');
    expect(model.requests.map(({ messages }) => messages.at(-1)?.content)).toEqual(['hold 1', '4']);
  });

  test('is the next run, where this one cannot be resumed', async () => {
    const { messages } = await sent(false);
    expect(messages).toMatchObject([{ delivered: true }, { delivered: false, reason: 'thrown' }]);
  });
});

describe('a run that finds the agent busy', () => {
  test('is refused as before, by default and as `refuse`', async () => {
    const { model, agent } = echoing();
    const run = agent.run('hold');
    await model.asked('hold');
    expect(() => agent.run('other')).toThrow(run.runId);
    expect(() => agent.run('other', { whenBusy: 'refuse' })).toThrow('is busy with run');
    model.free('hold');
    await run;
  });

  test.each(['steer', 'interrupt'] as const)('becomes a message to the run with %s', async (whenBusy) => {
    const { model, agent } = echoing();
    const run = agent.run('hold');
    await model.asked('hold');
    const same = agent.run('more', { whenBusy });
    expect(same).toBe(run);
    if (whenBusy === 'steer') model.free('hold');
    expect(await same).toMatchObject({ result: 'more/2', stepsTaken: 2 });
    expect(spoken(agent.history)).toEqual(
      whenBusy === 'steer' ? ['hold', 'hold/1', 'more', 'more/2'] : ['hold', 'more', 'more/2'],
    );
  });

  test('with steer becomes the next run where the run takes no more', async () => {
    const { model, agent } = echoing({ maxSteers: 0 });
    const run = agent.run('hold');
    await model.asked('hold');
    agent.run('more', { whenBusy: 'steer' });
    model.free('hold');
    expect(await run).toMatchObject({ result: 'hold/1' });
    await model.asked('more');
  });

  test('with steer is returned where the run took it and could not deliver it', async () => {
    const { model, agent } = echoing({ maxSteps: 1 });
    const run = agent.run('hold');
    await model.asked('hold');
    agent.run('more', { whenBusy: 'steer' });
    model.free('hold');
    expect((await run).undelivered).toMatchObject([{ text: 'more', kind: 'steer' }]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(model.requests).toHaveLength(1);
  });

  test('and is cancelled in line ends there: its message is taken out of the queue, the others are begun', async () => {
    const journal = memoryJournal();
    const { model, agent } = echoing({ journal });
    const run = agent.conversation('c').run('hold');
    await model.asked('hold');
    const [second, third] = [2, 3].map((n) => agent.conversation('c').run(`run ${n}`, { whenBusy: 'queue' }));
    for await (const event of run) {
      if (event.type === 'message.received' && event.text === 'run 3') break;
    }
    expect(await second?.cancel('not needed')).toBe(true);
    expect(await second).toMatchObject({ status: 'cancelled' });
    model.free('hold');
    expect((await run).undelivered?.map(({ text }) => text)).toEqual(['run 3']);
    expect(await third).toMatchObject({ result: 'run 3/2' });
    expect(spoken(await agent.conversation('c').history)).toEqual(['hold', 'hold/1', 'run 3', 'run 3/2']);
    expect((await agent.conversation('c').runs()).map(({ input }) => input)).toEqual(['hold', 'run 3']);
    expect(model.requests).toHaveLength(2);
  });
});

describe('closing the agent', () => {
  test('ends runs in line as cancelled, and starts none', async () => {
    const { model, agent } = echoing();
    const run = agent.run('hold');
    await model.asked('hold');
    const waiting = agent.run('next', { whenBusy: 'queue' });
    const queued = run.queue('after', { id: 'q' });
    await agent.close();
    expect(await waiting).toMatchObject({ status: 'cancelled' });
    expect(await run).toMatchObject({ status: 'cancelled', undelivered: [{ id: 'q', text: 'after', kind: 'queue' }] });
    expect(await queued).toEqual({ delivered: false, reason: 'cancelled' });
    expect(model.requests).toHaveLength(1);
    expect(() => agent.run('more')).toThrow('closed');
  });

  test.each(['cancel', 'release'] as const)(
    'keeps what was queued in a kept conversation for a later agent (%s), and not what a caller waits for',
    async (runs) => {
      const journal = memoryJournal();
      const { model, agent } = echoing({ journal });
      const run = agent.conversation('c').run('hold');
      await model.asked('hold');
      const waiting = agent.conversation('c').run('in line', { whenBusy: 'queue' });
      const queued = run.queue('queued');
      for await (const event of run) if (event.type === 'message.received' && event.text === 'queued') break;
      await agent.close({ runs });
      expect(await waiting).toMatchObject({ status: 'cancelled' });
      expect(await queued).toEqual({ delivered: false, reason: 'kept' });
      const later = echoing({ journal });
      const next = later.agent.conversation('c').run('new');
      if (runs === 'release') {
        await later.model.asked('hold');
        later.model.free('hold');
      }
      expect(await next).toMatchObject({ status: 'answered' });
      const inputs = (await later.agent.conversation('c').runs()).map(({ input }) => input);
      expect(inputs).toEqual(['hold', 'queued', 'new']);
      const asked = later.model.requests.map(
        ({ messages }) => messages.findLast(({ role }) => role === 'user')?.content,
      );
      expect(asked).toEqual(runs === 'release' ? ['hold', 'queued', 'new'] : ['queued', 'new']);
    },
  );

  test('a run that is let go takes what waits behind it along', async () => {
    const journal = memoryJournal();
    const { model, agent } = echoing({ journal });
    const run = agent.run('hold');
    await model.asked('hold');
    const waiting = agent.run('behind', { whenBusy: 'queue' });
    for await (const event of run) if (event.type === 'message.received') break;
    await run.release();
    expect(await waiting).toMatchObject({ status: 'failed', error: { code: 'conversation-waiting' } });
    expect(model.requests).toHaveLength(1);
    const resumed = agent.resume(run.runId);
    model.free('hold');
    await resumed;
    await model.asked('behind');
    expect(model.requests).toHaveLength(3);
  });
});

test('a timer of runs that are over does not part a conversation from the run that is live in it', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { agent, model } = echoing({ journal: memoryJournal() });
  const first = agent.conversation('c').run('hold 1');
  await model.asked('hold 1');
  const queued = first.queue('two');
  model.free('hold 1');
  expect(await queued).toMatchObject({ delivered: true });
  // Not `expect.poll`, which lets the timer fire.
  while (!spoken(await agent.conversation('c').history).includes('two/2')) await new Promise(setImmediate);
  const third = agent.conversation('c').run('hold 3');
  await model.asked('hold 3');
  await vi.advanceTimersByTimeAsync(10);
  expect(() => agent.conversation('c').run('four')).toThrow(third.runId);
  model.free('hold 3');
  expect(await third).toMatchObject({ result: 'hold 3/3' });
});
