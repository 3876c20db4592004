import { HttpAgent } from '@ag-ui/client';
import { type UIMessage, safeValidateUIMessages } from 'ai';
import { expect, test, vi } from 'vitest';
import { type Model, ModelError } from '../../src/actors/model.ts';
import { createAgent } from '../../src/index.ts';
import { memoryJournal } from '../../src/journal/index.ts';
import type { JournalStore } from '../../src/index.ts';
import type { Recording } from '../../src/journal/format/recording.ts';
import { recover } from '../../src/recovery/recover.ts';
import { runTally, summaryOf } from '../../src/journal/format/tally.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { type UiChunk, agUi, chatTransport, runStream, uiStream } from '../../src/ui/index.ts';
import { PAY, payCall, payingAgent } from './paying-agent.ts';
import { RECORDINGS, committed, groupsOf, messageOf } from './recorded-groups.ts';

/** A journal that holds one recorded run as the only one of ada's chat. */
function holding(recording: Recording): JournalStore {
  const head = { ...recording.head, metadata: { conversation: 'ada/chat', conversationOwner: 'ada' } };
  const tally = runTally(head);
  for (const line of recording.lines) tally.add(line);
  return {
    open: memoryJournal().open,
    read: async () => ({ ...recording, head }),
    list: async () => [summaryOf(tally.read(), false)],
  };
}

test.each(RECORDINGS)('%s as a message is what the AI SDK makes of its stream', async (file) => {
  const recording = committed(file);
  const messages = await uiStream.messages<UIMessage>(holding(recording), 'chat', { owner: 'ada' });
  const [asked, reply] = messages;
  expect(asked).toMatchObject({ role: 'user', parts: [{ type: 'text', text: recording.head.input }] });
  const chunks = uiStream(groupsOf(recording).flatMap(({ events }) => events));
  const whole = await messageOf(chunks);
  expect(JSON.parse(JSON.stringify(reply))).toEqual(JSON.parse(JSON.stringify(whole)));
  expect(await safeValidateUIMessages({ messages })).toMatchObject({ success: true });
});

function served(journal: JournalStore, agent: ReturnType<typeof payingAgent>) {
  const handle = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    const owner = request.headers.get('user') ?? 'ada';
    return new URL(request.url).pathname === '/ag'
      ? agUi.serve(agent, request, { journal, owner })
      : uiStream.serve(agent, request, { journal, owner });
  };
  const transport = (user = 'ada') => chatTransport({ api: 'http://x/api/chat', headers: { user }, fetch: handle });
  const client = (user = 'ada') =>
    new HttpAgent({ url: 'http://x/ag', threadId: 'bills', headers: { user }, fetch: handle });
  return { transport, client };
}

async function say(transport: ReturnType<typeof chatTransport>, id: string, text: string): Promise<void> {
  const messages = [{ id, role: 'user', parts: [{ type: 'text', text }] }];
  const stream = await transport.sendMessages({ chatId: 'bills', messages, trigger: 'submit-message', messageId: id });
  for await (const chunk of stream) expect(chunk.type).not.toBe('error');
}

test('a reply that was asked for twice stands in the messages once, without what came before it broke off', async () => {
  const journal = memoryJournal();
  let asked = 0;
  const complete: Model['complete'] = async (_request, { onToken }) => {
    onToken?.({ kind: 'reasoning', text: 'I think.' });
    onToken?.({ kind: 'text', text: `Try ${++asked}.` });
    if (asked === 1) throw new ModelError('server-error', 'gone');
    return { content: `Try ${asked}.`, reasoning: 'I think.' };
  };
  const retry = { backoff: recover.constant(0) };
  const agent = createAgent({ model: { complete }, streaming: true, silent: true, journal, retry });
  await say(served(journal, agent).transport(), 'm1', 'Go');
  const [, reply] = await uiStream.messages<UIMessage>(journal, 'bills', { owner: 'ada' });
  expect(reply?.parts).toMatchObject([
    { type: 'step-start' },
    { type: 'reasoning', text: 'I think.' },
    { type: 'text', text: 'Try 2.' },
  ]);
});

test('the messages of a chat have the ids of the page, its calls that wait, and are those of its owner alone', async () => {
  const journal = memoryJournal();
  const agent = payingAgent(journal, ['Hello.', PAY, 'Paid.']);
  const { transport } = served(journal, agent);
  const ada = transport();
  await say(ada, 'm1', 'Hello?');
  await say(ada, 'm2', 'Pay.');
  const messages = await ada.messages<UIMessage>('bills');
  expect(messages.map(({ id, role }) => (role === 'user' ? id : role))).toEqual(['m1', 'assistant', 'm2', 'assistant']);
  expect(await safeValidateUIMessages({ messages })).toMatchObject({ success: true });
  const waiting = messages.at(-1);
  const [, call] = waiting?.parts ?? [];
  expect(call).toMatchObject({ type: 'tool-pay', state: 'approval-requested', input: { to: 'printer' } });
  expect(waiting?.metadata).toMatchObject({ signalbox: { runId: waiting?.id, position: expect.any(Number) } });
  const latest = await uiStream.messages<UIMessage>(journal, 'bills', { owner: 'ada', limit: 1 });
  expect(latest).toEqual(messages.slice(2));
  for (const [user, chat] of [
    ['alan', 'bills'],
    ['ada', 'never-there'],
    ['alan', 'ada/bills'],
  ] as const)
    expect(await transport(user).messages(chat)).toEqual([]);
  for (const chat of ['bills', 'ada/bills', '']) expect(await uiStream.messages(journal, chat)).toEqual([]);
  expect(await uiStream.messages(journal, runStream.newChatId())).toEqual([]);
  await agent.close();
});

test('a run that ends while a page is loaded is shown to its end', async () => {
  const journal = memoryJournal();
  const agent = payingAgent(journal, [PAY, 'Paid.']);
  const { transport } = served(journal, agent);
  await say(transport(), 'm1', 'Pay.');
  const page = transport();
  const [, call] = (await page.messages<UIMessage>('bills')).at(-1)?.parts ?? [];
  const id = String(Reflect.get(Object(Reflect.get(Object(call), 'approval')), 'id'));
  await transport().answer('bills', [{ id, approved: true }]);
  while (((await journal.list?.({ state: 'ended' })) ?? []).length === 0)
    await new Promise((resolve) => setTimeout(resolve, 5));
  const chunks: UiChunk[] = [];
  for await (const chunk of (await page.reconnectToStream({ chatId: 'bills' })) ?? []) chunks.push(chunk);
  expect((await messageOf(chunks))?.parts.at(-1)).toMatchObject({ type: 'text', text: 'Paid.' });
  // What was shown to its end is not asked for again.
  const later = transport();
  expect((await later.messages('bills')).length).toBe(2);
  for (const one of [page, later]) expect(await one.reconnectToStream({ chatId: 'bills' })).toBeNull();
  await agent.close();
});

test('a client of AG-UI that has nothing asks without a message, and has the thread and what waits in it', async () => {
  const journal = memoryJournal();
  const agent = payingAgent(journal, ['Hello.', { content: '', toolCalls: [payCall('printer')] }, 'Paid.']);
  const { client } = served(journal, agent);
  const first = client();
  first.addMessage({ id: 'u1', role: 'user', content: 'Hello?' });
  await first.runAgent();
  const fresh = client();
  await fresh.runAgent();
  expect(fresh.messages).toEqual(first.messages);
  first.addMessage({ id: 'u2', role: 'user', content: 'Pay.' });
  await first.runAgent();
  const second = client();
  await second.runAgent();
  expect(second.messages).toEqual(first.messages);
  expect(await agUi.messages(journal, 'bills', { owner: 'ada' })).toEqual(
    first.messages.map((message) => expect.objectContaining({ id: message.id, role: message.role })),
  );
  expect(second.pendingInterrupts).toEqual(first.pendingInterrupts);
  const resume = second.pendingInterrupts.map(({ id }) => ({
    interruptId: id,
    status: 'resolved' as const,
    payload: { approved: true },
  }));
  await second.runAgent({ resume });
  expect(second.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'Paid.' });
  expect((await journal.list?.())?.length).toBe(2);
  const alan = client('alan');
  await alan.runAgent();
  expect(alan.messages).toEqual([]);
  expect(await agUi.messages(journal, 'bills', { owner: 'alan' })).toEqual([]);
  await agent.close();
});

test('AG-UI: a message that was edited is shown as it was and as it is now, each with its answer, as the model has them', async () => {
  const journal = memoryJournal();
  const agent = payingAgent(journal, ['Tea.', 'Coffee.', 'Milk.', 'Tea again.']);
  const { client } = served(journal, agent);
  const page = client();
  const edited = async (content: string): Promise<void> => {
    page.setMessages([{ id: 'u1', role: 'user', content }]);
    await page.runAgent();
  };
  const loaded = async () => {
    const fresh = client();
    await fresh.runAgent();
    expect(await agUi.messages(journal, 'bills', { owner: 'ada' })).toEqual(
      fresh.messages.map((message) => expect.objectContaining({ ...message })),
    );
    return fresh;
  };
  await edited('Tea?');
  await edited('Coffee?');
  const [first, second] = ((await journal.list?.()) ?? []).toReversed();
  const fresh = await loaded();
  const shown = fresh.messages.map(({ id, role, content }) => [role === 'user' ? id : '', content]);
  expect(shown).toEqual([
    [`asked:${first?.runId}`, 'Tea?'],
    ['', 'Tea.'],
    ['u1', 'Coffee?'],
    ['', 'Coffee.'],
  ]);
  // Asked for once more by the id that it has, it is the same run.
  fresh.setMessages(fresh.messages.slice(0, 3));
  await fresh.runAgent();
  expect(fresh.messages.at(-1)?.content).toBe('Coffee.');
  fresh.addMessage({ id: 'u2', role: 'user', content: 'Milk?' });
  await fresh.runAgent();
  expect(fresh.messages.map(({ content }) => content)).toEqual([
    'Tea?',
    'Tea.',
    'Coffee?',
    'Coffee.',
    'Milk?',
    'Milk.',
  ]);
  await edited('Tea?');
  expect((await loaded()).messages.map(({ id, role }) => (role === 'user' ? id : ''))).toEqual([
    `asked:${first?.runId}`,
    '',
    `asked:${second?.runId}`,
    '',
    'u2',
    '',
    'u1',
    '',
  ]);
  await agent.close();
});

test('AG-UI: a message with another image is not the same, later or at the same moment', async () => {
  const journal = memoryJournal();
  const replies = [new ModelError('auth', 'no key'), 'A cat.', 'A dog.', 'A cow.', 'A pig.'];
  const agent = payingAgent(journal, [], { model: scriptedModel(replies, { takesImages: true }) });
  const { client } = served(journal, agent);
  const ask = async (id: string, value: string): Promise<void> => {
    const page = client();
    const source = { type: 'data', value, mimeType: 'image/png' } as const;
    page.setMessages([{ id, role: 'user', content: [{ type: 'image', source }] }]);
    await page.runAgent();
  };
  for (const value of ['Y2F0', 'Y2F0', 'Y2F0', 'ZG9n']) await ask('u1', value);
  await Promise.all(['Y293', 'cGln'].map((value) => ask('u2', value)));
  const messages = await agUi.messages(journal, 'bills', { owner: 'ada' });
  const shown = messages.map(
    (one) => /"value":"(\w+)"|$/.exec(JSON.stringify(one))?.[1] ?? Reflect.get(one, 'content'),
  );
  expect(shown.slice(0, 4)).toEqual(['Y2F0', 'A cat.', 'ZG9n', 'A dog.']);
  expect(new Set(shown.slice(4))).toEqual(new Set(['A cow.', 'A pig.', 'Y293', 'cGln']));
  await agent.close();
});

test('many short runs of a chat are read in parts: others have their turn between them', async () => {
  const journal = memoryJournal();
  const model = { complete: async () => ({ content: 'Yes.' }) };
  const agent = createAgent({ model, silent: true, journal });
  const chat = agent.conversation('ada/chat', { owner: 'ada' });
  for (let asked = 0; asked < 60; asked += 1) await chat.run(`Question ${String(asked)}`);
  // Each look at the clock is a millisecond later, so that the parts do not depend on the machine.
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 1));
  let turns = 0;
  const ticking = setInterval(() => (turns += 1), 0);
  const messages = await uiStream.messages(journal, 'chat', { owner: 'ada' });
  clearInterval(ticking);
  clock.mockRestore();
  expect(messages).toHaveLength(120);
  expect(turns).toBeGreaterThan(10);
});
