import { expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { createAgent, tool } from '../../src/index.ts';
import { memoryJournal } from '../../src/journal/index.ts';
import { runStore } from '../../src/store/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { followed, isDone } from './served-chat.ts';

const weigh = tool({
  name: 'weigh',
  description: 'Weighs.',
  policy: 'confirm',
  inputSchema: z.object({ grams: z.number() }),
  execute: ({ grams }) => ({ kilos: grams / 1000 }),
});

const call = { content: '', toolCalls: [{ name: 'weigh', arguments: { grams: 500 } }] };

const agentOf = (replies: Parameters<typeof scriptedModel>[0]) =>
  createAgent({
    model: scriptedModel(replies),
    tools: [weigh],
    confirm: 'wait',
    silent: true,
    journal: memoryJournal(),
  });

test('a run of this process is followed and answered; who leaves and comes back sees the same, and ends nothing', async () => {
  const run = agentOf([call, 'Half a kilo.']).run('Weigh it.');
  const { store, until, leave } = followed(runStore(run));
  const waiting = await until(({ status }) => status === 'waiting');
  leave();
  await new Promise((resolve) => setTimeout(resolve, 5));
  const back = followed(store);
  expect(store.getSnapshot().messages).toEqual(waiting.messages);
  expect(run.pending.length).toBe(1);
  expect(await store.approve(waiting.pending[0]?.callId ?? '', { grams: 700 })).toBe(true);
  const done = await back.until(isDone);
  expect(done.messages.map(({ text }) => text)).toEqual(['Weigh it.', '', 'Half a kilo.']);
  expect(done.messages.flatMap(({ calls }) => calls)).toMatchObject([
    { status: 'finished', args: { grams: 700 }, result: { data: { kilos: 0.7 } } },
  ]);
  expect(done.state).toBe('COMPLETION');
  expect((await run).status).toBe('answered');
});

test('stop ends a run of this process, and its calls are over', async () => {
  const run = agentOf([call]).run('Weigh it.');
  const { store, until } = followed(runStore(run));
  await until(({ status }) => status === 'waiting');
  expect(await store.stop()).toBe(true);
  const done = await until(isDone);
  expect(done).toMatchObject({ status: 'cancelled', pending: [] });
  expect(done.messages.flatMap(({ calls }) => calls.map(({ status }) => status))).toEqual(['stopped']);
  expect(await store.steer('Hello?')).toBe(false);
});

test('a store knows the names, arguments and results of its agent', () => {
  const agent = agentOf(['Hi.']);
  const store = runStore<typeof agent>('http://localhost/?id=a');
  const { pending, messages } = store.getSnapshot();
  const [asked] = pending;
  if (asked !== undefined) {
    expectTypeOf(asked.tool).toEqualTypeOf<'weigh'>();
    expectTypeOf(asked.args).toEqualTypeOf<{ readonly grams: number }>();
  }
  for (const one of messages.flatMap(({ calls }) => calls))
    if (one.status === 'finished' && one.ok) expectTypeOf(one.tool).toEqualTypeOf<'weigh'>();
  expectTypeOf(store.approve).parameter(1).toEqualTypeOf<{ readonly grams: number } | undefined>();
  // @ts-expect-error -- the tool takes a number
  void store.approve('c1', { grams: 'many' });
});
