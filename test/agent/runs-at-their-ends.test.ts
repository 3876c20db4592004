import { expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { liveJournal } from '../../src/journal/index.ts';
import type { RecordLine } from '../../src/journal/format/record.ts';
import type { JournalStore } from '../../src/journal/run/run-journal.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

const forever = () => new Promise<never>(() => undefined);

/** A journal that is told before it writes, and may fail. */
function writing(told: (records: readonly RecordLine[]) => void | Promise<void>): JournalStore {
  return { open: (run) => liveJournal(run, { append: async (records) => told(records), close: () => undefined }) };
}

const isOf = (type: RecordLine['t']) => (records: readonly RecordLine[]) => records.some(({ t }) => t === type);

test('a message that comes while the end of a run is written is too late for it, and not one too many', async () => {
  const written = Promise.withResolvers<undefined>();
  const isEnding = Promise.withResolvers<undefined>();
  const journal = writing(async (records) => {
    if (!isOf('end')(records)) return;
    isEnding.resolve(undefined);
    await written.promise;
  });
  const agent = createAgent({ model: scriptedModel(['Hi.']), silent: true, journal });
  const run = agent.run('Hello');
  await isEnding.promise;
  expect(await run.steer('More.')).toEqual({ delivered: false, reason: 'over' });
  expect(await run.queue('More.')).toEqual({ delivered: false, reason: 'over' });
  expect(await run.cancel()).toBe(false);
  written.resolve(undefined);
  expect(await run).toMatchObject({ status: 'answered' });
});

test('a message to a run that could not begin is too late for it, and not one too many', async () => {
  const open = () => {
    throw new Error('no disk');
  };
  const agent = createAgent({ model: scriptedModel([]), silent: true, journal: { open } });
  const run = agent.run('Hello');
  const sent = [run.steer('More.'), run.queue('More.')];
  expect(await run).toMatchObject({ status: 'failed' });
  sent.push(run.steer('More.'), run.queue('More.'));
  for (const one of sent) expect(await one).toEqual({ delivered: false, reason: 'over' });
});

test('a run whose journal fails while calls are open gives each call a result, and counts what was used', async () => {
  let isFull = false;
  const journal = writing(() => {
    if (isFull) throw Object.assign(new Error('the disk is full'), { code: 'ENOSPC' });
  });
  const quick = fakeTool('quick', [() => ((isFull = true), 'done')]);
  const tools = [fakeTool('stuck', [forever]), quick];
  const model = scriptedModel([calls(['stuck', {}, 'a'], ['quick', {}, 'b'])]);
  const { status, error, messages } = await createAgent({ model, tools, silent: true, journal }).run('Go');
  expect({ status, code: error?.code }).toEqual({ status: 'failed', code: 'ENOSPC' });
  expect(messages.map(({ role, toolCallId = '' }) => `${role} ${toolCallId}`.trim())).toEqual([
    'user',
    'assistant',
    'tool a',
    'tool b',
  ]);
});

test('what a journal says of its failure shows no secret to listeners, and the whole to the caller', async () => {
  const secret = 'swordfish-4711';
  const events: RunEvent[] = [];
  const journal = writing(() => {
    throw new Error(`cannot log in with ${secret}`);
  });
  const onEvent = (event: RunEvent) => void events.push(event);
  const agent = createAgent({ model: scriptedModel([]), silent: true, journal, secrets: [secret], onEvent });
  expect((await agent.run('Hello')).error?.message).toBe(`cannot log in with ${secret}`);
  expect(events.at(-1)).toMatchObject({ type: 'run.finished', result: { status: 'failed' } });
  expect(JSON.stringify(events)).not.toContain(secret);
});

test('a run that is released before anything of it could be written has failed: nothing is there to be resumed', async () => {
  const journal = memoryJournal();
  const full = { ...writing(() => Promise.reject(new Error('no disk'))), take: journal.take };
  const run = createAgent({ model: scriptedModel([]), silent: true, journal: full }).run('Hello');
  expect(await run.release()).toBe(false);
  expect(await run).toMatchObject({ status: 'failed', error: { message: 'no disk' } });
});

test('a message that is sent again to a run that then leaves its recording is kept with it', async () => {
  const journal = memoryJournal();
  const agent = createAgent({ model: scriptedModel([forever]), silent: true, journal });
  const run = agent.run('Hello');
  for await (const { type } of run) if (type === 'step.started') break;
  const first = run.steer('More.', { id: 'm1' });
  await expect.poll(() => run.recording()).toContain('m1');
  expect(await run.release()).toBe(true);
  expect(await first).toEqual({ delivered: false, reason: 'kept' });
  const id = 'agent/other#1';
  const beside: RecordLine = {
    t: 'start',
    at: 1,
    id,
    name: 'other',
    effects: 'none',
    digest: 'x',
    key: 'x',
    request: null,
  };
  const strange: JournalStore = {
    ...journal,
    take: async (runId) => {
      const taken = await journal.take(runId);
      if (taken === null) return null;
      const { head, lines } = taken.recording;
      return {
        ...taken,
        recording: { head, lines: [...lines, beside] },
      };
    },
  };
  const other = createAgent({ model: scriptedModel([]), silent: true, journal: strange });
  const resumed = other.resume(run.runId);
  const again = resumed.steer('More.', { id: 'm1' });
  await expect(resumed).rejects.toMatchObject({ code: 'replay-divergence' });
  expect(await again).toEqual({ delivered: false, reason: 'kept' });
});

test('a run that is released before it has begun starts no work', async () => {
  let asked = 0;
  const instructions = () => `Asked ${++asked} times.`;
  const agent = createAgent({ model: scriptedModel([]), silent: true, journal: memoryJournal(), instructions });
  const run = agent.run('Hello');
  expect(await run.release()).toBe(true);
  expect(await run).toMatchObject({ status: 'waiting', reason: 'released' });
  expect(asked).toBe(0);
});

test('the prompts of turns from before a run is resumed are not shown again', async () => {
  const journal = memoryJournal();
  const tools = [fakeTool('pay', ['paid'], { policy: 'confirm' })];
  const shown: string[] = [];
  const output = { prompt: (text: string) => void shown.push(text) };
  const asked = { journal, tools, output, showPrompts: true, confirm: 'wait' } as const;
  const run = createAgent({ ...asked, model: scriptedModel([calls(['pay'])]) }).run('Pay');
  await expect.poll(() => run.pending).toHaveLength(1);
  expect(await run.release()).toBe(true);
  expect(shown).toHaveLength(1);
  const resumed = createAgent({ ...asked, model: scriptedModel(['Paid.']) }).resume(run.runId);
  await expect.poll(() => resumed.pending).toHaveLength(1);
  await resumed.approve(resumed.pending[0]?.callId ?? '');
  expect(await resumed).toMatchObject({ status: 'answered' });
  expect(shown).toHaveLength(2);
});

test('a child that code calls, and that stops before it is done, gives what it has', async () => {
  const tools = [fakeTool('look')];
  const model = scriptedModel([calls(['look']), calls(['look'])]);
  const child = createAgent({ name: 'scout', model, tools, maxSteps: 1, silent: true });
  const agent = createAgent({ model: scriptedModel([]), children: [child], silent: true });
  expect(await agent.tools.execute('scout', { task: 'Look' })).toMatchObject({
    status: 'partial',
    data: 'Reached maximum steps limit (1 steps).',
  });
});

test('a conversation is taken up again though it is still being left', async () => {
  const inner = memoryJournal();
  const left = Promise.withResolvers<undefined>();
  const isLeaving = Promise.withResolvers<undefined>();
  const journal: JournalStore = {
    ...inner,
    claim: async (name) => {
      const leave = await inner.claim(name);
      if (leave === null) return null;
      return async () => {
        isLeaving.resolve(undefined);
        await left.promise;
        await leave();
      };
    },
  };
  const agent = createAgent({ model: scriptedModel(['One.', 'Two.']), silent: true, journal });
  const first = agent.conversation('c').run('1');
  await isLeaving.promise;
  const second = agent.conversation('c').run('2');
  await Promise.resolve();
  left.resolve(undefined);
  expect(await first).toMatchObject({ status: 'answered', result: 'One.' });
  expect(await second).toMatchObject({ status: 'answered', result: 'Two.' });
});

test('what is queued in a run that is resumed without its conversation stays with it, and is begun with that', async () => {
  const journal = memoryJournal();
  const tools = [fakeTool('pay', ['paid'], { policy: 'confirm' })];
  const asked = { journal, tools, silent: true, confirm: 'wait' } as const;
  const run = createAgent({ ...asked, model: scriptedModel([calls(['pay'])]) })
    .conversation('c')
    .run('Pay');
  await expect.poll(() => run.pending).toHaveLength(1);
  expect(await run.release()).toBe(true);
  const resumed = createAgent({ ...asked, model: scriptedModel(['Paid.']) }).resume(run.runId);
  const next = resumed.queue('And now?', { id: 'm1' });
  await expect.poll(() => resumed.pending).toHaveLength(1);
  await resumed.approve(resumed.pending[0]?.callId ?? '');
  expect(await resumed).toMatchObject({ status: 'answered', result: 'Paid.' });
  expect(await next).toEqual({ delivered: false, reason: 'kept' });
  const last = createAgent({ ...asked, model: scriptedModel(['Now this.']) });
  expect(await last.conversation('c').resume()).toMatchObject({ status: 'answered', result: 'Now this.' });
});

test('a run is parked where nobody can be asked, though its agent is not silent', async () => {
  const stdin = Object.getOwnPropertyDescriptor(process.stdin, 'isTTY');
  onTestFinished(
    () => void Object.defineProperty(process.stdin, 'isTTY', stdin ?? { value: undefined, configurable: true }),
  );
  Object.defineProperty(process.stdin, 'isTTY', { value: false, configurable: true });
  const tools = [fakeTool('pay', ['paid'], { policy: 'confirm' })];
  const agent = createAgent({ journal: memoryJournal(), tools, output: {}, model: scriptedModel([calls(['pay'])]) });
  expect(await agent.run('Pay', { park: true })).toMatchObject({ status: 'waiting', reason: 'parked' });
});

test('why a run is cancelled before it is resumed, and what a model streams of its reply, shows no secret in the recording', async () => {
  const secret = 'swordfish-4711';
  const journal = memoryJournal();
  const asked = { journal, silent: true, secrets: [secret], streaming: true, recordTokens: true } as const;
  const tools = [fakeTool('pay', ['paid'], { policy: 'confirm' })];
  const model = scriptedModel([{ ...calls(['pay']), content: `I know that ${secret} is secret.` }]);
  const run = createAgent({ ...asked, tools, model, confirm: 'wait' }).run('Pay');
  await expect.poll(() => run.pending).toHaveLength(1);
  expect(await run.release()).toBe(true);
  expect(run.recording()).toContain('"tokens"');
  const resumed = createAgent({ ...asked, tools, model: scriptedModel([]), confirm: 'wait' }).resume(run.runId);
  expect(await resumed.cancel(`Everybody knows ${secret}.`)).toBe(true);
  expect((await resumed).error?.message).toBe(`Everybody knows ${secret}.`);
  for (const text of [JSON.stringify(await journal.read(run.runId)), run.recording(), resumed.recording()])
    expect(text).not.toContain(secret);
});

test('a message that is queued again when the run is over is too late for it', async () => {
  const agent = createAgent({ model: scriptedModel(['Hi.', 'More.']), silent: true });
  const run = agent.run('Hello');
  const queued = run.queue('And?', { id: 'm1' });
  expect(await run).toMatchObject({ status: 'answered', undelivered: [{ id: 'm1' }] });
  expect(await queued).toMatchObject({ delivered: true });
  expect(await run.queue('And?', { id: 'm1' })).toEqual({ delivered: false, reason: 'over' });
});

test('runs are woken in the order in which they began', async () => {
  const journal = memoryJournal();
  const tools = [fakeTool('pay', ['paid', 'paid', 'paid'], { policy: 'confirm' })];
  const asked = { journal, tools, silent: true } as const;
  for (const runId of ['b', 'c', 'a']) {
    const agent = createAgent({ ...asked, model: scriptedModel([calls(['pay'])]) });
    expect(await agent.run('Pay', { runId, park: true })).toMatchObject({ reason: 'parked' });
    const [asking] = await agent.pending(runId);
    expect(await agent.approve(runId, asking?.callId ?? '')).toBe(true);
  }
  const agent = createAgent({ ...asked, model: scriptedModel(['Paid.', 'Paid.', 'Paid.']) });
  const woken = await agent.wake({ limit: 2 });
  expect(woken.map(({ runId, result }) => [runId, result?.result])).toEqual([
    ['b', 'Paid.'],
    ['c', 'Paid.'],
  ]);
});

test('a message that comes before its run has begun is delivered once it has', async () => {
  const model = scriptedModel(['Hi.', 'With more.', 'Next.']);
  const agent = createAgent({ model, silent: true });
  const run = agent.run('Hello');
  const [steered, queued] = [run.steer('More.'), run.queue('And?')];
  expect(await steered).toMatchObject({ delivered: true, runId: run.runId });
  expect(JSON.stringify(model.requests)).toContain('More.');
  expect(await queued).toMatchObject({ delivered: true, step: 1 });
});

test('an agent is closed once the end of its live run is written', async () => {
  const isEnding = Promise.withResolvers<undefined>();
  const written = Promise.withResolvers<undefined>();
  const journal = writing(async (records) => {
    if (!isOf('end')(records)) return;
    isEnding.resolve(undefined);
    await written.promise;
  });
  const agent = createAgent({ model: scriptedModel([forever]), silent: true, journal });
  const run = agent.run('Hello');
  for await (const { type } of run) if (type === 'step.started') break;
  let isClosed = false;
  const closed = agent.close().then(() => (isClosed = true));
  await isEnding.promise;
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
  expect(isClosed).toBe(false);
  written.resolve(undefined);
  await closed;
  expect(await run).toMatchObject({ status: 'cancelled' });
});
