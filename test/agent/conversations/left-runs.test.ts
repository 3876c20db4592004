import { expect, test } from 'vitest';
import { memoryJournal } from '../../../src/journal/stores/memory.ts';
import { echoing, spoken } from './held.ts';

test('a run in line that is cancelled at the moment that ends the run before it is begun by no process', async () => {
  const journal = memoryJournal();
  const { agent, model } = echoing({ journal });
  const gone = new AbortController();
  const first = agent.conversation('c').run('hold', { signal: gone.signal });
  const second = agent.conversation('c').run('never', { whenBusy: 'queue', signal: gone.signal });
  await model.asked('hold');
  await expect.poll(() => first.recording()).toContain('never');
  gone.abort();
  expect(await Promise.all([first, second])).toMatchObject([{ status: 'cancelled' }, { status: 'cancelled' }]);
  await agent.close();
  await echoing({ journal }).agent.conversation('c').run('now');
  expect(spoken(await agent.conversation('c').history)).toEqual(['hold', 'now', 'now/2']);
});

test('a conversation is free as soon as its run and the one in line were cancelled', async () => {
  const journal = memoryJournal();
  const { agent, model } = echoing({ journal });
  const first = agent.conversation('c').run('hold');
  const second = agent.conversation('c').run('never', { whenBusy: 'queue' });
  await model.asked('hold');
  await expect.poll(() => first.recording()).toContain('never');
  await second.cancel();
  await first.cancel();
  await first;
  expect(await echoing({ journal }).agent.conversation('c').run('now')).toMatchObject({ result: 'now/2' });
});

/** A conversation whose process let its run go, with a message behind it. */
async function leftWith(journal: ReturnType<typeof memoryJournal>, queued: string) {
  const { agent, model } = echoing({ journal });
  const first = agent.conversation('c').run('hold');
  void first.queue(queued);
  await model.asked('hold');
  await expect.poll(() => first.recording()).toContain(queued);
  await agent.close({ runs: 'release' });
}

test('an agent that is closed while it catches up with a conversation goes on with none of its runs', async () => {
  const journal = memoryJournal();
  await leftWith(journal, 'hold on');
  const { agent, model } = echoing({ journal });
  model.free('hold');
  const run = agent.conversation('c').run('new');
  await model.asked('hold on');
  await agent.close({ runs: 'release' });
  model.free('hold on');
  expect(await run).toMatchObject({ error: { code: 'conversation-waiting' }, stepsTaken: 0 });
  expect(await agent.conversation('c').runs()).toMatchObject([{ state: 'ended' }, { state: 'interrupted' }]);
  const { agent: later, model: freed } = echoing({ journal });
  freed.free('hold on');
  await later.conversation('c').resume();
  expect(spoken(await later.conversation('c').history)).toEqual(['hold', 'hold/1', 'hold on', 'hold on/2']);
});
