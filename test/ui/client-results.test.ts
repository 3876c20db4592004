import { HttpAgent } from '@ag-ui/client';
import { expect, onTestFinished, test } from 'vitest';
import { memoryJournal } from '../../src/journal/index.ts';
import { agUi, uiStream } from '../../src/ui/index.ts';
import { serveWeb } from './http-chat.ts';
import { PAY, payCall, payingAgent } from './paying-agent.ts';

/** An app whose pages answer as CopilotKit does: by the run's id, and with a result of the call that they have made up. */
async function app(...replies: Parameters<typeof payingAgent>[1] & object) {
  const journal = memoryJournal();
  const agent = payingAgent(journal, replies);
  const { url, close } = await serveWeb((request) => agUi.serve(agent, request, { journal, owner: 'ada' }));
  for (const end of [close, () => agent.close()]) onTestFinished(end);
  const open = (): HttpAgent => new HttpAgent({ url, threadId: 'bills' });
  const runs = async () => ((await journal.list?.()) ?? []).map(({ input }) => input).toReversed();
  return { agent, journal, open, runs };
}

async function say(client: HttpAgent, content: string): Promise<void> {
  client.addMessage({ id: content, role: 'user', content });
  await client.runAgent({ runId: 'one' });
}

/** Answers all that waits. Gives the types of the events that come, and the codes of errors. */
async function answer(client: HttpAgent, ...approved: readonly boolean[]): Promise<readonly string[]> {
  const open = client.pendingInterrupts;
  for (const [at, { toolCallId = '' }] of open.entries()) {
    const content = JSON.stringify({ approved: approved[at] });
    client.addMessage({ id: `made up ${toolCallId}`, role: 'tool', toolCallId, content });
  }
  const resume = open.map(({ id }, at) => ({
    interruptId: id,
    status: 'resolved' as const,
    payload: { approved: approved[at] },
  }));
  const seen: string[] = [];
  const onEvent = ({ event }: { event: { type: string; code?: unknown } }): void =>
    void seen.push(event.type, ...(typeof event.code === 'string' ? [event.code] : []));
  await client.runAgent({ runId: 'one', resume }, { onEvent }).catch(() => undefined);
  return seen;
}

const results = (client: HttpAgent) => client.messages.flatMap((one) => (one.role === 'tool' ? [one.content] : []));
const texts = (client: HttpAgent) =>
  client.messages.flatMap(({ role, content }) => (role === 'tool' || content == null ? [] : [content]));

test('what a client has put in the place of the result makes room for it, and nothing else does', async () => {
  const { open } = await app({ content: '', toolCalls: [payCall('printer'), payCall('casino')] }, 'Done.');
  const client = open();
  client.addMessage({ id: 'other', role: 'tool', toolCallId: 'of another agent', content: 'kept' });
  await say(client, 'Pay.');
  await answer(client, true, false);
  const [kept, ...own] = results(client);
  expect(kept).toBe('kept');
  // Calls that run beside each other end in any order.
  expect(own).toHaveLength(2);
  expect(own).toEqual(expect.arrayContaining(['paid 40 to printer', expect.stringContaining('denied')]));
  expect(texts(client)).toEqual(['Pay.', 'Done.']);
});

test('a client that has made nothing up keeps its messages as they are', async () => {
  const { open } = await app(PAY, 'Done.');
  const client = open();
  await say(client, 'Pay.');
  const [asked] = client.pendingInterrupts;
  const seen: string[] = [];
  await client.runAgent(
    { resume: [{ interruptId: asked?.id ?? '', status: 'resolved', payload: { approved: true } }] },
    { onEvent: ({ event }) => void seen.push(event.type) },
  );
  expect(seen).not.toContain('MESSAGES_SNAPSHOT');
  expect(results(client)).toEqual(['paid 40 to printer']);
});

test('an answer that is refused leaves no result on the page, and what was said there', async () => {
  const { open } = await app(PAY, 'Not paid.');
  const client = open();
  await say(client, 'Pay.');
  const other = open();
  await other.runAgent();
  await answer(other, false);
  client.addMessage({ id: 'Hello.', role: 'user', content: 'Hello.' });
  expect(await answer(client, true)).toEqual(['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'RUN_ERROR', 'approval-closed']);
  expect([results(client), texts(client)]).toEqual([[], ['Pay.', 'Hello.']]);
});

test('the result that the call gave stays, also where another answer to it is refused', async () => {
  const { open } = await app(PAY, 'Paid.');
  const client = open();
  await say(client, 'Pay.');
  const resume = client.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: 'cancelled' as const }));
  await answer(client, true);
  const seen: string[] = [];
  const late = client.runAgent({ resume }, { onEvent: ({ event }) => void seen.push(event.type) });
  await late.catch(() => undefined);
  expect(seen).toEqual(['RUN_STARTED', 'RUN_ERROR']);
  expect([results(client), texts(client)]).toEqual([['paid 40 to printer'], ['Pay.', 'Paid.']]);
});

test('what was said while a call waited is the next run after the answer, also before a result that was made up', async () => {
  const { open, runs } = await app(PAY, 'Paid.', 'Hello.');
  const client = open();
  await say(client, 'Pay.');
  // It is not sent before the answer.
  await expect(say(client, 'Say hello.')).rejects.toThrow('interrupt');
  await answer(client, true);
  expect(await runs()).toEqual(['Pay.', 'Say hello.']);
  expect([results(client), texts(client)]).toEqual([['paid 40 to printer'], ['Pay.', 'Say hello.', 'Paid.', 'Hello.']]);
});

test('a message that is edited while its call waits is the next run after the answer', async () => {
  const { open, runs } = await app(PAY, 'Not paid.', 'Twenty paid.');
  const client = open();
  await say(client, 'Pay.');
  const resume = client.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: 'cancelled' as const }));
  const [asked] = client.messages;
  client.setMessages([{ id: asked?.id ?? '', role: 'user', content: 'Pay twenty.' }]);
  await client.runAgent({ resume });
  expect(await runs()).toEqual(['Pay.', 'Pay twenty.']);
  expect(texts(client).at(-1)).toBe('Twenty paid.');
});

test('a message before the call is not run again by an answer, whoever has sent it', async () => {
  const { agent, journal, open, runs } = await app(PAY, PAY, 'Paid.', 'Never.');
  const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Pay.' }] };
  const request = new Request('http://x/api/chat', {
    method: 'POST',
    body: JSON.stringify({ id: 'bills', messages: [message] }),
  });
  await (await uiStream.serve(agent, request, { journal, owner: 'ada' })).text();
  const client = open();
  await client.runAgent();
  for (const _twice of [1, 2]) await answer(client, true);
  expect([await runs(), results(client).length, texts(client)]).toEqual([['Pay.'], 2, ['Pay.', 'Paid.']]);
});
