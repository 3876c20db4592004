import { expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { type Model, ModelError } from '../../src/actors/model.ts';
import { createAgent, recover, tool } from '../../src/index.ts';
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
  expect(waiting.connection).toBe('open');
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

test('what a model has said of a reply that broke off is taken back before it is asked again', async () => {
  let attempts = 0;
  const complete: Model['complete'] = async (_request, { onToken }) => {
    const text = ['Half a', 'Half a kilo.'][attempts++] ?? '';
    onToken?.({ kind: 'text', text });
    await new Promise((resolve) => setTimeout(resolve, 5));
    if (attempts === 1) throw new ModelError('server-error', 'It broke off.');
    return { content: text };
  };
  const retry = { backoff: recover.constant(1) };
  const agent = createAgent({ model: { complete }, streaming: true, retry, silent: true });
  const { until, views } = followed(runStore(agent.run('Weigh it.')));
  await until(isDone);
  const texts = views.map(({ messages }) => messages.find(({ role }) => role === 'assistant')?.text ?? '');
  const changes = texts.filter((text, at) => text !== texts[at - 1]);
  expect(changes.slice(0, 4)).toEqual(['', 'Half a', '', 'Half a kilo.']);
  expect(changes.at(-1)).toBe('Half a kilo.');
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

test('a run of this process takes requests before anyone follows its store', async () => {
  const run = agentOf([call, 'Half a kilo.']).run('Weigh it.');
  await expect.poll(() => run.pending.length).toBe(1);
  const store = runStore(run);
  expect(await store.reject('unknown')).toBe(false);
  expect(store.getSnapshot().error).toEqual({ code: 'over', message: 'No such run or call is open.' });
  expect(await store.steer('In kilos.')).toBe(true);
  expect(store.getSnapshot().error).toBeNull();
  expect(await store.approve(run.pending[0]?.callId ?? '')).toBe(true);
  expect((await run).status).toBe('answered');
  const stopped = agentOf([call]).run('Weigh it.');
  expect(await runStore(stopped).stop()).toBe(true);
  expect((await stopped).status).toBe('cancelled');
});

test('a call of a run of this process is rejected, and the model is told why', async () => {
  const { promise: seen, resolve: see } = Promise.withResolvers<string>();
  const last: Model['complete'] = async ({ messages }) => {
    const said = JSON.stringify(messages);
    if (said.includes('too heavy')) see(said);
    return said.includes('too heavy') ? { content: 'Then not.' } : { content: '', toolCalls: [weighCall] };
  };
  const weighCall = { id: 'c1', name: 'weigh', arguments: { grams: 500 } };
  const agent = createAgent({ model: { complete: last }, tools: [weigh], confirm: 'wait', silent: true });
  const { store, until } = followed(runStore(agent.run('Weigh it.')));
  const { pending } = await until(({ status }) => status === 'waiting');
  expect(await store.reject(pending[0]?.callId ?? '', 'too heavy')).toBe(true);
  expect(await seen).toContain('too heavy');
  expect((await until(isDone)).messages.at(-1)?.text).toBe('Then not.');
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

test('a run of this process that is over takes no message, and the view says so; one that works takes it at once', async () => {
  const { promise: continues, resolve: goOn } = Promise.withResolvers<void>();
  const slow = tool({ name: 'slow', description: 'Waits.', execute: () => continues });
  const agent = createAgent({
    model: scriptedModel([{ content: '', toolCalls: [{ name: 'slow' }] }, 'Done.', 'Next.']),
    tools: [slow],
    silent: true,
  });
  const run = agent.run('Go.');
  const { store, until } = followed(runStore(run));
  await until(({ messages }) => messages.some(({ calls }) => calls.length > 0));
  expect(await store.steer('Hurry.')).toBe(true);
  expect(await store.send('And then?')).toBe(true);
  expect(store.getSnapshot().status).toBe('working');
  goOn();
  await until(isDone);
  for (const told of [await store.send('Hello?'), await store.steer('Hello?'), await store.stop()])
    expect([told, store.getSnapshot().error?.code]).toEqual([false, 'over']);
  expect(store.getSnapshot().messages.filter(({ text }) => text === 'Hello?')).toEqual([]);
});

test('a run of this process that takes no more messages says so while it works', async () => {
  const agent = createAgent({
    model: scriptedModel([call]),
    tools: [weigh],
    confirm: 'wait',
    silent: true,
    maxSteers: 1,
  });
  const run = agent.run('Weigh it.');
  const { store, until } = followed(runStore(run));
  await until(({ status }) => status === 'waiting');
  expect(await store.steer('One.')).toBe(true);
  expect(await store.steer('Two.')).toBe(false);
  await run.cancel();
});

test('a question that was answered waits no longer in the view of a run of this process, and is shown as answered', async () => {
  const broken = tool({
    name: 'broken',
    description: 'Fails.',
    effects: 'none',
    execute: () => {
      throw new Error('no disk');
    },
    onError: { executionError: recover.escalate('needs help', 'high') },
  });
  const fails = { content: '', toolCalls: [{ name: 'broken' }] };
  const slowly = () => new Promise<string>((resolve) => setTimeout(() => resolve('Well.'), 50));
  for (const [approved, status] of [
    [true, 'finished'],
    [false, 'denied'],
  ] as const) {
    const agent = createAgent({
      model: scriptedModel([fails, slowly]),
      tools: [broken],
      confirm: 'wait',
      silent: true,
      onEscalation: (_error, to) => to.askHuman('What now?'),
    });
    const { store, until, views } = followed(runStore(agent.run('Go.')));
    const { pending } = await until((view) => view.pending.length > 0);
    const { callId = '' } = pending[0] ?? {};
    expect(await (approved ? store.approve(callId, { answer: 'Wait.' }) : store.reject(callId))).toBe(true);
    const done = await until(isDone);
    const after = views.filter(({ step, status: at }) => step === 2 && at !== 'answered');
    expect(new Set(after.map((view) => `${view.status} ${view.pending.length}`))).toEqual(new Set(['working 0']));
    expect(done.messages.flatMap(({ calls }) => calls.map((one) => one.status))).toEqual(['finished', status]);
    expect(await store.approve(callId)).toBe(false);
  }
});
