import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { UIMessage } from 'ai';
import { expect, onTestFinished, test } from 'vitest';
import type { AgentOptions } from '../../src/index.ts';
import { fileJournal, memoryJournal } from '../../src/journal/index.ts';
import { agUi, chatTransport, runStream, uiStream } from '../../src/ui/index.ts';
import { followed } from '../store/served-chat.ts';
import { chatOver, tab, textOf, until } from './chat-tabs.ts';
import { serveWeb } from './http-chat.ts';
import { PAY, payingAgent } from './paying-agent.ts';

/** Versions of an app, one after the other, over one folder of runs. */
function deployed() {
  const folder = mkdtempSync(join(tmpdir(), 'ui-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return async (replies: Parameters<typeof payingAgent>[1], options: AgentOptions = {}) => {
    const journal = fileJournal(folder);
    const agent = payingAgent(journal, replies, options);
    const app = await serveWeb(async (request) => {
      const { pathname } = new URL(request.url);
      const kind = pathname === '/run' ? runStream : pathname === '/ag' ? agUi : uiStream;
      return kind.serve(agent, request, { journal, owner: 'ada' });
    });
    const end = async (): Promise<void> => {
      app.close();
      await agent.close({ runs: 'release' });
    };
    onTestFinished(end);
    return { url: app.url, journal, end };
  };
}

/** A call of `pay` waits in the chat; the next version has no such tool. */
async function withoutTheTool() {
  const deploy = deployed();
  const old = await deploy([PAY]);
  await tab(old.url, 'bills').chat.sendMessage({ text: 'Pay.' });
  await old.end();
  return { deploy, ...(await deploy(['Sorry.'], { tools: [] })) };
}

test('an approval whose run the new version refuses says so; the old version goes on with the answer', async () => {
  const { deploy, url, end } = await withoutTheTool();
  const loaded = tab(url, 'bills');
  const { chat } = tab(url, 'bills', 'ada', await loaded.transport.messages('bills'));
  const asked = chat.lastMessage?.parts.find((part) => 'approval' in part);
  const id = String(Reflect.get(Object(Reflect.get(Object(asked), 'approval')), 'id'));
  await chat.addToolApprovalResponse({ id, approved: true });
  await until(() => chat.status === 'error');
  expect(chat.error?.message).toContain("tool 'pay' is gone");
  const reloaded = tab(url, 'bills', 'ada', await loaded.transport.messages('bills'));
  await reloaded.chat.resumeStream();
  expect(reloaded.chat.error?.message).toContain("tool 'pay' is gone");
  await end();
  const old = await deploy(['Paid.']);
  const again = tab(old.url, 'bills');
  await again.chat.resumeStream();
  expect([textOf(again.chat.lastMessage), again.chat.error]).toEqual(['Paid.', undefined]);
});

test('a store is told why its run cannot go on, and shows what was said before', async () => {
  const { url } = await withoutTheTool();
  const { store, until: shows } = followed(`${url}/run?id=bills`);
  const { pending } = await shows(({ status }) => status === 'waiting');
  expect(await store.approve(pending[0]?.callId ?? '')).toBe(false);
  expect(store.getSnapshot().error?.code).toBe('upgrade-refused');
  const reloaded = followed(`${url}/run?id=bills`);
  const { messages } = await reloaded.until(({ error }) => error?.code === 'upgrade-refused');
  expect(messages.map(({ text }) => text)).toEqual(['Pay.', '']);
});

test('a client of AG-UI is told why its run cannot go on', async () => {
  const { url } = await withoutTheTool();
  const ask = async (body: object): Promise<string> =>
    (
      await fetch(`${url}/ag`, { method: 'POST', body: JSON.stringify({ threadId: 'bills', messages: [], ...body }) })
    ).text();
  const id = /"interrupts":\[\{"id":"([^"]+)"/.exec(await ask({ runId: 'one' }))?.[1];
  const resume = [{ interruptId: id, status: 'resolved', payload: { approved: true } }];
  for (const text of [await ask({ runId: 'two', resume }), await ask({ runId: 'three' })])
    expect(text).toMatch(/"type":"RUN_STARTED".*"type":"RUN_ERROR","code":"upgrade-refused"/s);
});

test.each([false, true])(
  'a message while a call waits is refused, or queued in the page: %s; the call can still be answered',
  async (queues) => {
    const journal = memoryJournal();
    const agent = payingAgent(journal, [PAY, 'Paid.', 'Two.']);
    const { url, close } = await serveWeb((request) => uiStream.serve(agent, request, { journal, owner: 'ada' }));
    for (const end of [close, () => agent.close()]) onTestFinished(end);
    const transport = chatTransport({ api: `${url}/api/chat` });
    const chat = chatOver(transport, 'c', [], queues);
    const approve = async () => {
      const parts = (await transport.messages<UIMessage>('c')).at(-1)?.parts ?? [];
      const [id = ''] = parts.flatMap((part) => ('approval' in part && part.approval ? [part.approval.id] : []));
      await chat.addToolApprovalResponse({ id, approved: true });
    };
    await chat.sendMessage({ text: 'Pay.' });
    const sent = chat.sendMessage({ text: 'And two.' });
    if (!queues) {
      await sent;
      expect(chat.error).toMatchObject({ status: 409, code: 'conversation-waiting' });
      chat.messages = await transport.messages('c');
    }
    await approve();
    await until(() => textOf(chat.lastMessage) === (queues ? 'Two.' : 'Paid.') && chat.status === 'ready');
    await sent;
    expect(chat.messages.map(textOf)).toEqual(['Pay.', 'Paid.', ...(queues ? ['And two.', 'Two.'] : [])]);
  },
);
