import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { RecordLine } from '../../src/journal/format/record.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { type FakeTool, fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { interruptedAfter } from './interrupted.ts';

const MINUTE = 60_000;

/** A service with an agent; `slow` never ends, `pay` waits for a person. */
function service(journal?: ReturnType<typeof interruptedAfter>, replies: readonly string[] = []) {
  const pay = fakeTool('pay', ['paid'], { policy: 'confirm' });
  const slow = fakeTool('slow', [() => new Promise(() => undefined)], { effects: 'idempotent' });
  const agent = createAgent({
    model: scriptedModel(replies),
    tools: [pay, slow],
    confirm: 'wait',
    silent: true,
    ...(journal === undefined ? {} : { journal }),
  });
  return { agent, pay };
}

/** The recording of a run that began so many minutes ago and makes these calls. */
async function begun(names: readonly string[], minutes = 0): Promise<string> {
  const { agent } = service();
  agent.configure({ model: scriptedModel([calls(...names.map((name) => [name] as const))]) });
  const run = agent.run('Go', { runId: 'one' });
  for await (const event of run) if (event.type === 'approval.requested' || event.type === 'tool.started') break;
  const text = run.recording();
  await agent.close();
  const at = new Date(Date.now() - minutes * MINUTE).toISOString();
  return text.replace(/"at":"[^"]+"/, `"at":"${at}"`);
}

describe('a run whose service starts again and again', () => {
  test('waits for a person as long as it takes', async () => {
    let text = await begun(['pay']);
    for (let restart = 0; restart < 12; restart++) {
      const journal = interruptedAfter(text, 999);
      const { agent } = service(journal);
      const run = agent.resume('one');
      for await (const event of run) if (event.type === 'approval.requested') break;
      while (restartsIn(journal.text()) <= restart) await new Promise((resolve) => setImmediate(resolve));
      text = journal.text();
    }
    const { agent, pay } = service(interruptedAfter(text, 999), ['Done.']);
    const run = agent.resume('one');
    expect(await run.approve('c1')).toBe(true);
    expect(await run).toMatchObject({ result: 'Done.' });
    expect(pay.calls).toHaveLength(1);
  });

  test('goes on however often its process has released it', async () => {
    const journal = memoryJournal();
    const slow = fakeTool('slow', [() => new Promise(() => undefined)], { effects: 'idempotent' });
    const made = (tool: FakeTool, replies: readonly ScriptedReply[]) =>
      createAgent({ journal, tools: [tool], silent: true, model: scriptedModel(replies) });
    let run = made(slow, [calls(['slow'])]).run('Go', { runId: 'one' });
    for (let deploy = 0; deploy < 8; deploy++) {
      await expect.poll(() => slow.calls.length).toBe(deploy + 1);
      expect(await run.release()).toBe(true);
      run = made(slow, []).resume('one');
    }
    await run.release();
    const agent = made(fakeTool('slow', ['seen'], { effects: 'idempotent' }), ['Done.']);
    expect(await agent.resume('one')).toMatchObject({ status: 'answered', result: 'Done.' });
    const text = (await agent.recording('one')) ?? '';
    expect(await replay(text, agent)).toMatchObject({ status: 'answered' });
  });

  test('is released where that cannot be written, too', async () => {
    const journal = interruptedAfter(await begun(['slow']), 999);
    const { agent } = service({
      ...journal,
      take: async (runId) => {
        const taken = await journal.take?.(runId);
        if (taken == null) return null;
        let writes = 0;
        const append = (records: readonly RecordLine[]) => {
          if (++writes > 1) throw new Error('The disk is full.');
          return taken.sink.append(records);
        };
        return { ...taken, sink: { ...taken.sink, append } };
      },
    });
    const run = agent.resume('one');
    while (restartsIn(journal.text()) === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(await run.release()).toBe(true);
    expect(await run).toMatchObject({ status: 'waiting', reason: 'released' });
  });

  test('ends as a crash loop after that where its processes end without a word', async () => {
    const released = JSON.stringify({ t: 'note', at: 2 * MINUTE, note: { note: 'released' } });
    const restart = JSON.stringify({ t: 'restart', at: 2 * MINUTE });
    const lines = [restart, released, ...Array.from({ length: 5 }, () => restart)];
    const journal = interruptedAfter([(await begun(['slow'], 3)).trimEnd(), ...lines].join('\n'), 999);
    expect(await service(journal).agent.resume('one')).toMatchObject({ error: { code: 'crash-loop' } });
  });

  test.each([
    ['ends as a crash loop where it works, too, while it waits', ['slow', 'pay'], [1, 1, 1, 1, 1], 'failed'],
    ['ends as one where the restarts follow shortly', ['slow'], [20, 24, 28, 32, 36], 'failed'],
    ['goes on where there was time between them', ['slow'], [1, 10, 20, 30, 39], 'waits'],
    ['goes on where the last is long ago', ['slow'], [1, 1, 1, 1, 1], 'waits', 40],
  ] as const)('%s', async (_what, names, restarts, ends, age: number = Math.max(...restarts) + 1) => {
    const lines = restarts.map((at) => JSON.stringify({ t: 'restart', at: at * MINUTE }));
    const journal = interruptedAfter([(await begun(names, age)).trimEnd(), ...lines].join('\n'), 999);
    const { agent } = service(journal);
    const run = agent.resume('one');
    const first = await Promise.race([run, untilRestarted(journal, restarts.length + 1)]);
    expect(first?.error?.code ?? 'waits').toBe(ends === 'failed' ? 'crash-loop' : 'waits');
    await agent.close();
  });
});

function restartsIn(text: string): number {
  return text.split('"t":"restart"').length - 1;
}

/** Resolves a while after the restart was written: what ends a crash loop comes right behind it. */
async function untilRestarted(journal: ReturnType<typeof interruptedAfter>, count: number): Promise<null> {
  while (restartsIn(journal.text()) < count) await new Promise((resolve) => setImmediate(resolve));
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
  return null;
}
