import { expect, onTestFinished, test } from 'vitest';
import { type JournalStore, type Model, createAgent } from '../../src/index.ts';
import { JournalError, memoryJournal } from '../../src/journal/index.ts';
import { runStore } from '../../src/store/index.ts';
import { agUi, runStream, uiStream } from '../../src/ui/index.ts';
import { tab, textOf, until } from './chat-tabs.ts';
import { serveWeb } from './http-chat.ts';

/** Chats whose journal cannot be read for a moment, while the run that is shown goes on. */
async function served() {
  const kept = memoryJournal();
  let failures = 0;
  const read: JournalStore['read'] = async (runId) => {
    if (failures-- > 0) throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
    return (await kept.read?.(runId)) ?? null;
  };
  const journal = { ...kept, read };
  const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>();
  const model: Model = {
    complete: async (_request, { onToken }) => {
      onToken?.({ kind: 'text', text: 'One ' });
      await mayAnswer;
      return { content: 'One two.' };
    },
  };
  const agent = createAgent({ model, silent: true, streaming: true, journal });
  onTestFinished(() => agent.close());
  const { url, close } = await serveWeb(async (request) => {
    const { pathname } = new URL(request.url);
    const server = pathname === '/run' ? runStream : pathname === '/ag' ? agUi : uiStream;
    return server.serve(agent, request, { journal, owner: 'ada' });
  });
  onTestFinished(close);
  /** Its next record is there, and cannot be read. */
  const fail = (): void => {
    failures = 1;
    answer();
  };
  return { url, fail, hasFailed: () => failures < 1, inputs: async () => (await journal.list?.())?.length };
}

test('useChat shows a run to its end whose journal could not be read for a moment', async () => {
  const { url, fail, hasFailed, inputs } = await served();
  const { chat } = tab(url, 'a');
  const sent = chat.sendMessage({ text: 'Count.' });
  await until(() => textOf(chat.lastMessage) === 'One');
  fail();
  await sent;
  expect([hasFailed(), chat.status, chat.error]).toEqual([true, 'ready', undefined]);
  expect(chat.messages.map(textOf)).toEqual(['Count.', 'One two.']);
  expect(await inputs()).toBe(1);
});

test.each(['uiStream', 'agUi'] as const)(
  '%s runs a message whose chat another process had taken before its run began',
  async (kind) => {
    const kept = memoryJournal();
    let isTaken = true;
    const open: JournalStore['open'] = (run) => {
      const opened = kept.open(run);
      if (!isTaken) return opened;
      isTaken = false;
      const locked = new JournalError('run-locked', run.head.runId, 'the journal');
      return { ...opened, next: () => Promise.reject(locked) };
    };
    const journal = { ...kept, open };
    const agent = createAgent({ model: { complete: async () => ({ content: 'Hello.' }) }, silent: true, journal });
    onTestFinished(() => agent.close());
    const [id, text] = ['a', 'Hi.'];
    const message = { id: 'm', role: 'user', parts: [{ type: 'text', text }], content: text };
    const body = { id, threadId: id, runId: 'r', trigger: 'submit-message', messages: [message], state: {}, tools: [] };
    const request = new Request('http://app.example/api?id=a', { method: 'POST', body: JSON.stringify(body) });
    const answer = await { uiStream, agUi }[kind].serve(agent, request, { journal, owner: 'ada' });
    expect(await answer.text()).toContain('Hello.');
    expect(isTaken).toBe(false);
  },
);

test('a store shows a run to its end whose journal could not be read for a moment', async () => {
  const { url, fail, hasFailed } = await served();
  const store = runStore(`${url}/run?id=a`, { retryMs: 5 });
  onTestFinished(store.subscribe(() => undefined));
  await store.send('Count.');
  await until(() => store.getSnapshot().messages.some(({ isPartial }) => isPartial));
  fail();
  await until(() => store.getSnapshot().connection === 'closed');
  expect(hasFailed()).toBe(true);
  expect(store.getSnapshot()).toMatchObject({ status: 'answered', error: null });
  expect(store.getSnapshot().messages.map(({ text }) => text)).toEqual(['Count.', 'One two.']);
});

test('a client of AG-UI is not told that a run is over whose journal could not be read', async () => {
  const { url, fail } = await served();
  const body = JSON.stringify({ threadId: 'a', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'Count.' }] });
  const response = await fetch(`${url}/ag`, { method: 'POST', body });
  const text = response.text();
  await new Promise((resolve) => setTimeout(resolve, 300));
  fail();
  await expect(text).rejects.toThrow();
});
