import { expect, onTestFinished, test, vi } from 'vitest';
import { createAgent, tool } from '../../src/index.ts';
import { memoryJournal } from '../../src/journal/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { uiStream } from '../../src/ui/index.ts';
import { followGroups } from '../../src/ui/base/follow-groups.ts';
import { calls } from '../support/replies.ts';

const post = (id: string, text: string): Request => {
  const messages = [{ id: text, role: 'user', parts: [{ type: 'text', text }] }];
  return new Request('http://x/api/chat', { method: 'POST', body: JSON.stringify({ id, messages }) });
};

test("a page is told of the root's calls of its step: how many, how many are over, and which run now", async () => {
  const journal = memoryJournal();
  let go: () => void = () => undefined;
  const held = (name: string) =>
    tool({
      name,
      description: 'Works.',
      effects: 'none',
      inputSchema: {},
      execute: () => new Promise<string>((resolve) => (go = () => resolve('done'))),
    });
  const look = tool({ name: 'look', description: 'Looks.', effects: 'none', inputSchema: {}, execute: () => 'seen' });
  const helper = createAgent({
    name: 'helper',
    description: 'Helps.',
    model: scriptedModel([calls(['dig']), 'Dug.']),
    tools: [held('dig')],
    silent: true,
  });
  const agent = createAgent({
    model: scriptedModel([
      calls(['look'], ['look', { again: true }], ['wait']),
      calls(['wait']),
      calls(['helper', { task: 'Dig.' }]),
      'Done.',
    ]),
    tools: [look, held('wait')],
    children: [helper],
    silent: true,
    journal,
  });
  for (const one of [agent, helper]) onTestFinished(() => one.close());
  const answer = await uiStream.serve(agent, post('dig', 'Dig.'), { journal, owner: 'ada', state: true });
  const views: object[] = [];
  let before = '';
  let rest = '';
  for await (const text of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines.filter((one) => one.startsWith('data: {'))) {
      const { type, data } = JSON.parse(line.slice(6));
      if (type !== 'data-signalbox-state') continue;
      const view = { step: data.step, calls: data.calls, running: data.running };
      expect(JSON.stringify(data)).not.toBe(before);
      before = JSON.stringify(data);
      views.push(view);
      // What is held is let go once the page has been told of it.
      if (data.running.length === 1) go();
    }
  }
  expect(views).toEqual(
    expect.arrayContaining([
      { step: 1, calls: { total: 3, done: 2 }, running: ['wait'] },
      { step: 2, calls: { total: 1, done: 0 }, running: ['wait'] },
      { step: 3, calls: { total: 1, done: 0 }, running: ['helper'] },
      { step: 4, calls: { total: 0, done: 0 }, running: [] },
    ]),
  );
  // Of the child's call nothing is told.
  expect(JSON.stringify(views)).not.toContain('dig');
});

test('a stream that is over leaves no timer', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const journal = memoryJournal();
  const agent = createAgent({ model: scriptedModel(['Hello.']), silent: true, journal });
  onTestFinished(() => agent.close());
  const served = uiStream.serve(agent, post('hello', 'Hi.'), { journal, owner: 'ada' });
  const text = served.then((answer) => answer.text());
  const over = new AbortController();
  void text.finally(() => over.abort());
  while (!over.signal.aborted) {
    await vi.advanceTimersByTimeAsync(10);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await text).toContain('Hello.');
  expect(vi.getTimerCount()).toBe(0);
});

test('of many runs that are read again those are at hand that were read last, and those that are being read', async () => {
  const reads = new Map<string, number>();
  const kept = memoryJournal();
  const journal = {
    ...kept,
    read: async (runId: string) => {
      reads.set(runId, (reads.get(runId) ?? 0) + 1);
      return (await kept.read?.(runId)) ?? null;
    },
  };
  const agent = createAgent({
    model: scriptedModel(Array.from({ length: 40 }, () => 'Hello.')),
    silent: true,
    journal,
  });
  onTestFinished(() => agent.close());
  // One that is being read is kept, however many come after it.
  let reader: AsyncGenerator | null = null;
  for (let chat = 0; chat < 40; chat += 1) {
    await (await uiStream.serve(agent, post(`c${chat}`, 'Hi.'), { journal, owner: 'ada' })).text();
    if (chat > 0) continue;
    const [run] = (await journal.list?.()) ?? [];
    reader = followGroups(journal, run?.runId ?? '', { signal: new AbortController().signal });
    await reader.next();
  }
  const readsOf = async (chat: number): Promise<number> => {
    reads.clear();
    await uiStream.messages(journal, `c${chat}`, { owner: 'ada' });
    return [...reads.values()].reduce((sum, one) => sum + one, 0);
  };
  expect(await readsOf(39)).toBe(0);
  expect(await readsOf(0)).toBe(0);
  await reader?.return(undefined);
  // The oldest one that is still at hand stays so for being read.
  expect(await readsOf(9)).toBe(0);
  expect(await readsOf(1)).toBeGreaterThan(0);
  expect(await readsOf(9)).toBe(0);
  expect(await readsOf(10)).toBeGreaterThan(0);
});
