import { expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/index.ts';
import { memoryJournal } from '../../src/journal/index.ts';
import { runStore } from '../../src/store/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { agUi, runStream, uiStream } from '../../src/ui/index.ts';
import { tab, textOf } from './chat-tabs.ts';
import { serveWeb } from './http-chat.ts';

/** A server of chats whose agent is closed, as one is that stops; `next` is the process that takes its place. */
async function stopping() {
  const journal = memoryJournal();
  const make = () => createAgent({ model: scriptedModel(['Hi.']), silent: true, journal });
  let agent = make();
  onTestFinished(() => agent.close());
  const answers: number[] = [];
  const { url, close } = await serveWeb(async (request) => {
    const { pathname } = new URL(request.url);
    const server = pathname === '/run' ? runStream : pathname === '/ag' ? agUi : uiStream;
    const response = await server.serve(agent, request, { journal, owner: 'ada' });
    answers.push(response.status);
    return response;
  });
  onTestFinished(close);
  await agent.close();
  const next = (): void => void (agent = make());
  const inputs = async () => ((await journal.list?.()) ?? []).map(({ input, status }) => [input, status]);
  return { url, answers, next, inputs };
}

test('useChat: a message to a server that stops is refused for now, and is sent again to the next one, once', async () => {
  const { url, answers, next, inputs } = await stopping();
  const { chat } = tab(url, 'a');
  await chat.sendMessage({ text: 'Hello.' });
  expect([answers, chat.status, await inputs()]).toEqual([[503], 'error', []]);
  expect(chat.error).toMatchObject({ status: 503 });
  next();
  await chat.sendMessage();
  expect([chat.status, ...chat.messages.map(textOf)]).toEqual(['ready', 'Hello.', 'Hi.']);
  expect(await inputs()).toEqual([['Hello.', 'answered']]);
});

test('a store: a message to a server that stops is refused for now, and the view says why', async () => {
  const { url, answers, next, inputs } = await stopping();
  const store = runStore(`${url}/run?id=a`);
  expect(await store.send('Hello.')).toBe(false);
  expect(store.getSnapshot().error?.code).toBe('agent-closed');
  expect([answers, await inputs()]).toEqual([[503], []]);
  next();
  expect(await store.send('Hello.')).toBe(true);
  expect(store.getSnapshot().error).toBeNull();
  await expect.poll(inputs).toEqual([['Hello.', 'answered']]);
});

test('a client of AG-UI is told that the server stops', async () => {
  const { url, inputs } = await stopping();
  const message = { id: 'm', role: 'user', content: 'Hello.' };
  const body = JSON.stringify({ threadId: 'a', runId: 'r', messages: [message] });
  const events = await (await fetch(`${url}/ag`, { method: 'POST', body })).text();
  expect(events).toContain('"type":"RUN_ERROR"');
  expect(events).toContain('"code":"agent-closed"');
  expect(await inputs()).toEqual([]);
});
