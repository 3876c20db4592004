import { DefaultChatTransport, type UIMessage } from 'ai';
import { expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/index.ts';
import { memoryJournal } from '../../src/journal/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { uiStream } from '../../src/ui/index.ts';
import { type TestChat, chatOver, tab, textOf, until } from './chat-tabs.ts';
import { serveWeb } from './http-chat.ts';
import { PAY, pay, payCall } from './paying-agent.ts';

/** Chats of an agent whose child asks before it pays; the agent itself asks as well where it pays in the same turn. */
async function delegating(own: boolean) {
  const journal = memoryJournal();
  const clerk = createAgent({
    name: 'clerk',
    description: 'Pays bills.',
    model: scriptedModel([PAY, 'The clerk has paid.']),
    tools: [pay],
    silent: true,
  });
  const delegate = { name: 'clerk', arguments: { task: 'Pay the printer.' } };
  const agent = createAgent({
    model: scriptedModel([
      { content: 'I ask.', toolCalls: [delegate, ...(own ? [payCall('baker')] : [])] },
      'All paid.',
    ]),
    tools: [pay],
    children: [clerk],
    confirm: 'wait',
    silent: true,
    journal,
  });
  const { url, close } = await serveWeb(async (request) => uiStream.serve(agent, request, { journal, owner: 'ada' }));
  for (const end of [close, () => agent.close(), () => clerk.close()]) onTestFinished(end);
  return { url, journal };
}

interface Part {
  readonly type: string;
  readonly state?: string;
  readonly toolMetadata?: object;
  readonly approval?: { readonly id: string };
}

const callsIn = (chat: TestChat): readonly Part[] =>
  (chat.lastMessage?.parts ?? []).filter((part): part is Part & typeof part => 'toolCallId' in part);
const asked = (chat: TestChat, ofChild: boolean): string =>
  callsIn(chat).find((part) => part.state === 'approval-requested' && (part.toolMetadata !== undefined) === ofChild)
    ?.approval?.id ?? '';

test("approving a child agent's call continues the run by the AI SDK's own condition", async () => {
  const { url } = await delegating(false);
  const { chat } = tab(url, 'bills');
  await chat.sendMessage({ text: 'Pay.' });
  await chat.addToolApprovalResponse({ id: asked(chat, true), approved: true });
  await until(() => textOf(chat.lastMessage).endsWith('All paid.'));
  expect(callsIn(chat).map(({ type, state }) => [type, state])).toEqual([
    ['tool-clerk', 'output-available'],
    ['dynamic-tool', 'output-available'],
  ]);
  expect(chat.messages).toHaveLength(2);
});

test.each([true, false])(
  "a call of the agent and one of its child are answered, the child's first: %s",
  async (first) => {
    const { url } = await delegating(true);
    const { chat } = tab(url, 'bills');
    await chat.sendMessage({ text: 'Pay.' });
    for (const ofChild of [first, !first])
      await chat.addToolApprovalResponse({ id: asked(chat, ofChild), approved: true });
    await until(() => textOf(chat.lastMessage).endsWith('All paid.'));
    expect(callsIn(chat).map(({ state }) => state)).toEqual(Array(3).fill('output-available'));
  },
);

test.each(['ours', "the AI SDK's"])(
  'a page that is loaded while a child agent asks shows all once, with %s transport',
  async (of) => {
    const { url, journal } = await delegating(false);
    await tab(url, 'bills').chat.sendMessage({ text: 'Pay.' });
    const messages = await uiStream.messages<UIMessage>(journal, 'bills', { owner: 'ada' });
    const loaded =
      of === 'ours'
        ? tab(url, 'bills', 'ada', messages).chat
        : chatOver(new DefaultChatTransport({ api: `${url}/api/chat` }), 'bills', messages);
    await loaded.resumeStream();
    expect(textOf(loaded.lastMessage)).toBe('I ask.');
    await loaded.addToolApprovalResponse({ id: asked(loaded, true), approved: false, reason: 'No.' });
    await until(() => textOf(loaded.lastMessage).endsWith('All paid.'));
    expect(textOf(loaded.lastMessage)).toBe('I ask.All paid.');
    expect(callsIn(loaded).map(({ state }) => state)).toEqual(['output-available', 'output-denied']);
  },
);
