import { expect, test } from 'vitest';
import type { Model } from '../../../src/actors/model.ts';
import { createAgent } from '../../../src/agent/create-agent.ts';
import type { JournalStore, Sink } from '../../../src/journal/run/run-journal.ts';
import { memoryJournal } from '../../../src/journal/stores/memory.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import type { ExecuteContext } from '../../../src/tools/tool.ts';
import { calls } from '../../support/replies.ts';
import { Echo, echoing, spoken } from './held.ts';

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

test.each(['cancel', 'release'] as const)(
  'a closed agent has no conversation any more, also one that it took up for a run that was cancelled meanwhile: %s',
  async (runs) => {
    const store = memoryJournal();
    const asked = Promise.withResolvers<undefined>();
    const passed = () => new Promise((resolve) => setTimeout(resolve, 30));
    const claim = async (name: string) => {
      const leave = await store.claim?.(name);
      asked.resolve(undefined);
      await passed();
      return () => passed().then(leave);
    };
    const { agent } = echoing({ journal: { ...store, claim } });
    const run = agent.conversation('c').run('never');
    await asked.promise;
    void run.cancel();
    expect((await run).status).toBe('cancelled');
    await agent.close({ runs });
    expect(await echoing({ journal: store }).agent.conversation('c').run('now')).toMatchObject({ result: 'now/1' });
  },
);

/** A conversation whose process let its run go, with a message behind it. */
async function leftWith(journal: ReturnType<typeof memoryJournal>, queued: string) {
  const { agent, model } = echoing({ journal });
  const first = agent.conversation('c').run('hold');
  void first.queue(queued);
  await model.asked('hold');
  await expect.poll(() => first.recording()).toContain(queued);
  await agent.close({ runs: 'release' });
}

test.each([
  ['release', 'kept', 1],
  ['cancel', 'answered', 0],
] as const)('what is behind a run that is closed with %s is said to be what it is', async (runs, said, times) => {
  const journal = memoryJournal();
  const { agent, model } = echoing({ journal });
  const run = agent.run('hold');
  const [second, third] = [run.queue('hold on'), run.queue('third')];
  await model.asked('hold');
  await expect.poll(() => run.recording()).toContain('third');
  model.free('hold');
  await model.asked('hold on');
  const delivery = await second;
  await agent.close({ runs });
  expect(await third).toEqual({ delivered: false, reason: said === 'kept' ? said : 'answer' });
  const later = echoing({ journal });
  later.model.free('hold on');
  const { undelivered } = await later.agent.resume((delivery.delivered && delivery.runId) || '');
  expect(undelivered).toMatchObject([{ text: 'third' }]);
  if (times > 0) await later.model.asked('third');
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(later.model.requests.filter(({ messages }) => messages.at(-1)?.content === 'third')).toHaveLength(times);
});

test('what is behind a run of a conversation that is parked while what was left is run is said to be kept', async () => {
  const journal = memoryJournal();
  await leftWith(journal, 'pay');
  const model = new Echo();
  const complete: Model['complete'] = async (request) =>
    request.messages.at(-1)?.content === 'pay' ? calls(['pay']) : model.complete(request);
  const pay = fakeTool('pay', ['paid'], { policy: 'confirm' });
  const agent = createAgent({ silent: true, journal, tools: [pay], model: { id: 'pays', complete }, confirm: 'wait' });
  const talk = agent.conversation('c');
  const resumed = talk.resume({ park: true });
  await model.asked('hold');
  const [left] = await talk.runs();
  const last = agent.queue(left?.runId ?? '', 'last');
  await expect.poll(() => agent.recording(left?.runId ?? '')).toContain('last');
  model.free('hold');
  expect(await resumed).toMatchObject({ status: 'answered' });
  expect(await last).toEqual({ delivered: false, reason: 'kept' });
  const [waiting] = await talk.pending();
  expect(await agent.approve(waiting?.runId ?? '', waiting?.callId ?? '')).toBe(true);
  await talk.resume();
  expect(spoken(await talk.history).filter((text) => text === 'last')).toHaveLength(1);
});

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

/** An agent that writes down for whom its tool looks, and asks before it pays. */
function clerk(journal: ReturnType<typeof memoryJournal>, replies: Parameters<typeof scriptedModel>[0]) {
  const asked: unknown[] = [];
  const seen = (_args: object, { context }: ExecuteContext): string => {
    asked.push(context);
    return 'seen';
  };
  const tools = [fakeTool('look', [seen, seen]), fakeTool('pay', ['paid'], { policy: 'confirm' })];
  return { asked, agent: createAgent({ model: scriptedModel(replies), tools, silent: true, journal }) };
}

test('what was queued has the context of the resume that runs it, and is parked as well', async () => {
  const journal = memoryJournal();
  await leftWith(journal, 'Look and pay.');
  const { agent, asked } = clerk(journal, ['Done.', calls(['look']), calls(['pay'])]);
  expect(await agent.conversation('c').resume({ context: 'ada', park: true })).toMatchObject({ result: 'Done.' });
  expect(asked).toEqual(['ada']);
  const [, parked] = await agent.conversation('c').runs();
  expect(parked).toMatchObject({ input: 'Look and pay.', state: 'waiting' });
  expect(await agent.conversation('c').run('More')).toMatchObject({ error: { code: 'conversation-waiting' } });
  expect(await agent.conversation('c').pending()).toMatchObject([{ tool: 'pay' }]);
});

test('a message that is queued in a live run becomes a run with its context, which is parked as well', async () => {
  const { agent, asked } = clerk(memoryJournal(), [calls(['look']), 'Seen.', calls(['look']), calls(['pay'])]);
  const run = agent.conversation('c').run('Look.', { context: 'ada', park: true });
  expect(await run.queue('Look and pay.')).toMatchObject({ delivered: true });
  await expect.poll(() => agent.conversation('c').runs()).toMatchObject([{}, { state: 'waiting' }]);
  expect(asked).toEqual(['ada', 'ada']);
});

test('a run that may be parked parks the interrupted one before it, and is refused', async () => {
  const journal = memoryJournal();
  await leftWith(journal, 'More');
  const { agent } = clerk(journal, [calls(['pay'])]);
  const run = agent.conversation('c').run('New', { park: true });
  expect(await run).toMatchObject({ error: { code: 'conversation-waiting' } });
  expect(await agent.conversation('c').runs()).toMatchObject([{ input: 'hold', state: 'waiting' }]);
});

test('while its last run waits, with messages behind it, nothing begins in a conversation', async () => {
  const journal = memoryJournal();
  const pay = fakeTool('pay', ['paid'], { policy: 'confirm' });
  const model = scriptedModel([calls(['pay']), 'Paid.', 'And now?']);
  const agent = createAgent({ tools: [pay], model, confirm: 'wait', silent: true, journal });
  const talk = agent.conversation('c');
  const first = talk.run('Pay.', { park: true });
  const second = talk.run('Next.', { whenBusy: 'queue' });
  expect(await first).toMatchObject({ status: 'waiting', reason: 'parked' });
  const third = talk.run('Too early.');
  for (const run of [second, third]) expect(await run).toMatchObject({ error: { code: 'conversation-waiting' } });
  const [waiting] = await talk.pending();
  await agent.approve(waiting?.runId ?? '', waiting?.callId ?? '');
  expect(await talk.resume()).toMatchObject({ result: 'Paid.' });
  expect(spoken(await talk.history)).toEqual(['Pay.', '', 'Paid.', 'Next.', 'And now?']);
});

test.each(['steer', 'interrupt', 'queue'] as const)(
  'a message to a run that is released before it begins is kept with it: %s',
  async (whenBusy) => {
    const journal = memoryJournal();
    await leftWith(journal, 'hold on');
    const { agent, model } = echoing({ journal });
    model.free('hold');
    const talk = agent.conversation('c');
    const run = talk.run('new');
    await model.asked('hold on');
    const released = run.release();
    const late = talk.run('late', { whenBusy });
    model.free('hold on');
    expect(await released).toBe(true);
    expect(await run).toMatchObject({ status: 'waiting', reason: 'released' });
    const message = expect.stringMatching(/^The conversation 'c' is waiting/);
    if (whenBusy === 'queue') expect(await late).toMatchObject({ error: { code: 'conversation-waiting', message } });
    await expect.poll(async () => JSON.stringify((await journal.read?.(run.runId))?.lines)).toContain('late');
    await talk.resume();
    const said = spoken(await talk.history).filter((text) => !text.includes('/'));
    expect(said).toEqual(['hold', 'hold on', 'new', 'late']);
  },
);

test('a message that a run takes no more is kept behind it, also where that run is parked', async () => {
  const journal = memoryJournal();
  const pay = fakeTool('pay', ['paid'], { policy: 'confirm' });
  const model = scriptedModel([calls(['pay']), 'Paid.', 'And more.']);
  const agent = createAgent({ tools: [pay], model, confirm: 'wait', silent: true, journal, maxSteers: 0 });
  const talk = agent.conversation('c');
  const run = talk.run('Pay.', { park: true });
  for await (const event of run) if (event.type === 'step.started') talk.run('More.', { whenBusy: 'steer' });
  expect(await run).toMatchObject({ reason: 'parked' });
  const [waiting] = await talk.pending();
  await agent.approve(waiting?.runId ?? '', waiting?.callId ?? '');
  await talk.resume();
  expect(spoken(await talk.history)).toEqual(['Pay.', '', 'Paid.', 'More.', 'And more.']);
});

test('what is said while an answered run goes on does not begin behind it where it waits for a person again', async () => {
  const journal = memoryJournal();
  const tools = [fakeTool('pay', ['paid', 'paid'], { policy: 'confirm' })];
  const model = scriptedModel([calls(['pay']), calls(['pay']), 'Paid twice.', 'Nothing else.']);
  const talk = createAgent({ model, tools, silent: true, journal, confirm: 'wait' });
  const conversation = talk.conversation('c');
  const { runId } = await conversation.run('Pay twice.', { park: true });
  const answer = async (): Promise<boolean> =>
    talk.approve(runId, (await conversation.pending())[0]?.callId ?? 'none waits');
  expect(await answer()).toBe(true);
  const [goneOn, early] = await Promise.all([
    conversation.resume({ park: true }),
    conversation.run('Too early.', { whenBusy: 'queue', park: true }),
  ]);
  expect(goneOn).toMatchObject({ status: 'waiting', runId });
  const why = { code: 'conversation-waiting', message: expect.stringMatching(/^The conversation 'c' is waiting/) };
  expect(early).toMatchObject({ status: 'failed', error: why, stepsTaken: 0 });
  expect(await conversation.runs()).toMatchObject([{ runId, state: 'waiting' }]);
  // The second call can be answered, and what is said meanwhile follows on all of it.
  expect(await answer()).toBe(true);
  const [done, next] = await Promise.all([
    conversation.resume({ park: true }),
    conversation.run('What else?', { whenBusy: 'queue', park: true }),
  ]);
  expect([done?.result, next.result]).toEqual(['Paid twice.', 'Nothing else.']);
  const said = spoken(await conversation.history).filter((text) => text !== '');
  expect(said).toEqual(['Pay twice.', 'Paid twice.', 'What else?', 'Nothing else.']);
});

test('a message that a run takes no more outlives the agent that has it in line', async () => {
  const journal = memoryJournal();
  const { agent, model } = echoing({ journal, maxSteers: 0 });
  const run = agent.conversation('c').run('hold');
  await model.asked('hold');
  agent.conversation('c').run('late', { whenBusy: 'steer' });
  await expect.poll(() => run.recording()).toContain('message.queued');
  await agent.close({ runs: 'release' });
  const { agent: later, model: freed } = echoing({ journal });
  freed.free('hold');
  await later.conversation('c').resume();
  expect(spoken(await later.conversation('c').history)).toEqual(['hold', 'hold/1', 'late', 'late/2']);
});

test('a queued message that is sent again when its run is over was kept, and any other was not', async () => {
  const journal = memoryJournal();
  const { agent, model } = echoing({ journal });
  const run = agent.conversation('c').run('hold');
  void run.queue('then', { id: 'then' });
  await model.asked('hold');
  await expect.poll(() => run.recording()).toContain('then');
  model.free('hold');
  await run;
  const other = echoing({ journal }).agent;
  expect(await other.queue(run.runId, 'then', { id: 'then' })).toEqual({ delivered: false, reason: 'kept' });
  expect(await other.queue(run.runId, 'then', { id: 'another' })).toEqual({ delivered: false, reason: 'over' });
  await expect
    .poll(async () => spoken(await agent.conversation('c').history))
    .toEqual(['hold', 'hold/1', 'then', 'then/2']);
});

test('what is said while a run is written to its end is kept behind the next, also where that is parked', async () => {
  const memory = memoryJournal();
  const written = Promise.withResolvers<undefined>();
  const open: typeof memory.open = (run) => {
    const opened = memory.open(run);
    const end: typeof opened.end = async (output) => {
      await written.promise;
      await opened.end(output);
    };
    return new Proxy(opened, {
      get: (of, name) => {
        const member: unknown = name === 'end' ? end : Reflect.get(of, name, of);
        return typeof member === 'function' ? member.bind(of) : member;
      },
    });
  };
  const pay = fakeTool('pay', ['paid'], { policy: 'confirm' });
  const model = scriptedModel(['First.', calls(['pay']), 'Paid.', 'Third.']);
  const journal = { ...memory, open };
  const agent = createAgent({ tools: [pay], model, confirm: 'wait', silent: true, journal });
  const talk = agent.conversation('c');
  const first = talk.run('One.');
  await expect.poll(() => first.state.state).toBe('COMPLETION');
  const [second, third] = [
    talk.run('Pay.', { whenBusy: 'queue', park: true }),
    talk.run('Three.', { whenBusy: 'queue' }),
  ];
  written.resolve(undefined);
  expect(await second).toMatchObject({ reason: 'parked' });
  expect(await third).toMatchObject({ error: { code: 'conversation-waiting' } });
  const [waiting] = await talk.pending();
  await agent.approve(waiting?.runId ?? '', waiting?.callId ?? '');
  await talk.resume();
  const users = (await talk.history).filter(({ role }) => role === 'user');
  expect(spoken(users)).toEqual(['One.', 'Pay.', 'Three.']);
});

test('a run that finds a queued one waiting for a person says so, with the name of the conversation', async () => {
  const journal = memoryJournal();
  const { agent, model } = echoing({ journal });
  const run = agent.conversation('c').run('hold');
  await model.asked('hold');
  void run.queue('Pay.');
  await expect.poll(() => run.recording()).toContain('Pay.');
  await agent.close({ runs: 'release' });
  const tools = [fakeTool('pay', [], { policy: 'confirm' })];
  const later = createAgent({
    model: scriptedModel(['Held.', calls(['pay'])]),
    tools,
    silent: true,
    journal,
    confirm: 'wait',
  });
  const message = expect.stringMatching(/^The conversation 'c' is waiting/);
  expect(await later.conversation('c').run('New.', { park: true })).toMatchObject({
    status: 'failed',
    error: { code: 'conversation-waiting', message },
  });
  expect((await later.conversation('c').runs()).map(({ input }) => input)).toEqual(['hold', 'Pay.']);
});

test('what is left in line keeps its metadata, queued or begun, and no other options', async () => {
  const journal = memoryJournal();
  const { agent, model } = echoing({ journal });
  const first = agent.conversation('c').run('hold', { metadata: { request: 1 } });
  void agent.conversation('c').run('in line', { whenBusy: 'queue', metadata: { request: 2, conversation: 'other' } });
  await model.asked('hold');
  await expect.poll(() => first.recording()).toContain('in line');
  void first.queue('queued', { metadata: { request: 3 } });
  void first.queue('plain');
  await expect.poll(() => first.recording()).toContain('plain');
  // A process that dies leaves the one in line in the queue, too.
  expect(first.recording()).toMatch(/"text":"in line","metadata":\{"request":2,/);
  expect(() => first.queue('wrong', { metadata: [] as never })).toThrow(/run\.queue: option 'metadata'/);
  expect(() => first.queue('wrong', { interrupt: true } as never)).toThrow(/interrupt/);
  await agent.close({ runs: 'release' });
  const later = echoing({ journal });
  for (const text of ['hold', 'in line', 'queued', 'plain']) later.model.free(text);
  await later.agent.conversation('c').resume();
  const runs = await later.agent.conversation('c').runs();
  expect(runs.map(({ input, metadata }) => [input, metadata['request'], metadata['conversation']])).toEqual([
    ['hold', 1, 'c'],
    ['queued', 3, 'c'],
    ['plain', undefined, 'c'],
  ]);
});

test('a message that is queued in a live run begins with its metadata, and is sent again as the same', async () => {
  const { agent, model } = echoing({});
  const first = agent.run('hold');
  await model.asked('hold');
  const again = { id: 'm', metadata: { request: 2 } };
  const sent = [first.queue('next', again), first.queue('next', again)];
  model.free('hold');
  model.free('next');
  const [one, other] = await Promise.all(sent);
  expect(one).toMatchObject({ delivered: true });
  expect(other).toEqual(one);
  expect((await first).undelivered).toEqual([{ id: 'm', text: 'next', metadata: { request: 2 }, kind: 'queue' }]);
});

test('a run of a conversation that the agent resumes by its id adds nothing to what was said to the agent itself', async () => {
  const journal = memoryJournal();
  const { agent, model } = echoing({ journal });
  const run = agent.conversation('c').run('hold');
  await model.asked('hold');
  expect(await run.release()).toBe(true);
  const other = echoing({ journal }).agent;
  await other.run('mine');
  const resumed = other.resume(run.runId);
  expect(await resumed.cancel()).toBe(true);
  expect(await resumed).toMatchObject({ status: 'cancelled' });
  expect(spoken(other.history)).toEqual(['mine', 'mine/1']);
  expect(await other.run('more')).toMatchObject({ result: 'more/2' });
});

test('a secret in a message that waits behind a run which another process has ended is no mark of the next run', async () => {
  const journal = memoryJournal();
  const { agent, model } = echoing({ journal });
  const run = agent.conversation('c').run('hold');
  await model.asked('hold');
  const queued = run.queue(`remember sk-${'o'.repeat(30)}`);
  await expect.poll(() => run.recording()).toContain('remember');
  await agent.close();
  expect(await queued).toEqual({ delivered: false, reason: 'kept' });
  const other = echoing({ journal });
  expect(await other.agent.conversation('c').resume()).toMatchObject({ result: 'remember «secret»/2' });
});

test('nothing begins behind a run whose end cannot be written: it is to be resumed first', async () => {
  const journal = memoryJournal();
  const { agent, model } = echoing({ journal });
  const run = agent.conversation('c').run('hold');
  await model.asked('hold');
  expect(await run.release()).toBe(true);
  const full: JournalStore = {
    ...journal,
    take: async (runId) => {
      const taken = await journal.take(runId);
      if (taken === null) return null;
      const append: Sink['append'] = (records) => {
        if (records.some(({ t }) => t === 'end')) throw Object.assign(new Error('no disk'), { code: 'ENOSPC' });
        return taken.sink.append(records);
      };
      return { ...taken, sink: { ...taken.sink, append } };
    },
  };
  const other = echoing({ journal: full });
  other.model.free('hold');
  const next = await other.agent.conversation('c').run('next');
  expect(next).toMatchObject({ status: 'failed', error: { code: 'ENOSPC' } });
  expect(next.error?.message).toContain(`Run ${run.runId} could not be brought to its end`);
});
