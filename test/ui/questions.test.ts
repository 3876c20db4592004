import { expect, onTestFinished, test } from 'vitest';
import { type RunEvent, createAgent, recover, tool } from '../../src/index.ts';
import { memoryJournal } from '../../src/journal/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { agUi, runStream, uiStream } from '../../src/ui/index.ts';
import { followGroups } from '../../src/ui/base/follow-groups.ts';
import { followed, isDone } from '../store/served-chat.ts';
import { tab } from './chat-tabs.ts';
import { serveWeb } from './http-chat.ts';

const broken = tool({
  name: 'broken',
  description: 'Fails.',
  effects: 'none',
  execute: () => {
    throw new Error('no disk');
  },
  onError: { executionError: recover.escalate('needs help', 'high') },
});

/** Chats of an agent that asks a person what to do, once in each run. */
async function asking() {
  const journal = memoryJournal();
  const script = [
    { content: '', toolCalls: [{ name: 'broken' }] },
    async () => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      return 'Well.';
    },
  ];
  const agent = createAgent({
    model: scriptedModel([...script, ...script, ...script]),
    tools: [broken],
    silent: true,
    confirm: 'wait',
    journal,
    onEscalation: (_error, to) => to.askHuman('What now?'),
  });
  onTestFinished(() => agent.close());
  const { url, close } = await serveWeb(async (request) => {
    const { pathname } = new URL(request.url);
    const kind = pathname === '/run' ? runStream : pathname === '/ag' ? agUi : uiStream;
    return kind.serve(agent, request, { journal, owner: 'ada' });
  });
  onTestFinished(close);
  return url;
}

test('useChat shows a yes, a no and no answer to a question as what they are', async () => {
  const url = await asking();
  const { chat, transport } = tab(url, 'ask');
  const question = () => {
    const part = chat.lastMessage?.parts.findLast(({ type }) => type === 'tool-broken');
    const approval: unknown = Reflect.get(Object(part), 'approval');
    return { id: String(Reflect.get(Object(approval), 'id')), state: Reflect.get(Object(part), 'state'), approval };
  };
  for (const approved of [true, false]) {
    await chat.sendMessage({ text: `Go, ${approved}.` });
    await transport.answer('ask', [{ id: question().id, approved }]);
    await chat.resumeStream();
    expect(question()).toMatchObject({
      state: approved ? 'output-available' : 'output-denied',
      approval: { approved },
    });
  }
  await chat.sendMessage({ text: 'Go.' });
  const { id } = question();
  await transport.stop('ask');
  const messages = await transport.messages('ask');
  expect(messages.at(-1)?.parts.at(-1)).toMatchObject({ state: 'output-denied', approval: { approved: false } });
  await expect(transport.answer('ask', [{ id, approved: true }])).rejects.toThrow('was not answered');
});

test('a store shows a question no longer once it is answered, while the model goes on', async () => {
  const url = await asking();
  const { store, views, until } = followed(`${url}/run?id=ask`);
  await store.send('Go.');
  const { pending } = await until((view) => view.pending.length > 0);
  expect(pending).toMatchObject([{ args: { question: 'What now?' } }]);
  expect(await store.approve(pending[0]?.callId ?? '', { answer: 'Wait.' })).toBe(true);
  const done = await until(isDone);
  const after = views.filter((view) => view.step === 2);
  expect(after.map((view) => [view.status, view.pending]).filter(([status]) => status === 'waiting')).toEqual([]);
  expect(after.some(({ status }) => status === 'working')).toBe(true);
  expect(done.messages.flatMap(({ calls }) => calls.map(({ status }) => status))).toEqual(['finished', 'finished']);
});

test('a client of AG-UI is not told of an answer that nobody gave', async () => {
  const url = await asking();
  const ask = async (body: object): Promise<string> =>
    (
      await fetch(`${url}/ag`, { method: 'POST', body: JSON.stringify({ threadId: 'ask', messages: [], ...body }) })
    ).text();
  const said = await ask({ runId: 'one', messages: [{ id: 'm', role: 'user', content: 'Go.' }] });
  const interruptId = /"interrupts":\[\{"id":"([^"]+)"/.exec(said)?.[1];
  const resume = [{ interruptId, status: 'cancelled' }];
  expect(await ask({ runId: 'two', resume })).toContain('"content":"The answer was no."');
});

test('of two child agents of one name that ask at the same time, the answer to one leaves the question of the other open', async () => {
  const journal = memoryJournal();
  const fails = { content: '', toolCalls: [{ name: 'broken' }] };
  const helper = createAgent({
    name: 'helper',
    description: 'Helps.',
    model: scriptedModel([fails, fails, 'One is done.', 'Two is done.']),
    tools: [broken],
    silent: true,
    confirm: 'wait',
    onEscalation: (_error, to) => to.askHuman('What now?'),
  });
  const delegate = (task: string) => ({ name: 'helper', arguments: { task } });
  const agent = createAgent({
    model: scriptedModel([{ content: '', toolCalls: [delegate('one'), delegate('two')] }, 'Both are done.']),
    children: [helper],
    silent: true,
    confirm: 'wait',
    journal,
  });
  onTestFinished(() => agent.close());
  const { url, close } = await serveWeb((request) => runStream.serve(agent, request, { journal, owner: 'ada' }));
  onTestFinished(close);
  const { store, until } = followed(`${url}/run?id=two`);
  await store.send('Go.');
  const { pending, runId } = await until((view) => view.pending.length === 2);
  const events: RunEvent[] = [];
  const [first, second] = pending.map(({ callId }) => callId);
  expect(await store.approve(first ?? '', { answer: 'Wait.' })).toBe(true);
  const left = await until((view) => view.pending.length < 2);
  expect(left.pending.map(({ callId }) => callId)).toEqual([second]);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(store.getSnapshot()).toMatchObject({ status: 'waiting', pending: [{ callId: second }] });
  for await (const { groups, isWhole } of followGroups(journal, runId ?? '', { signal: AbortSignal.timeout(5000) })) {
    for (const group of groups) events.push(...group.events);
    if (isWhole) break;
  }
  const shown = [...agUi(events), ...uiStream(events)].map((one) => JSON.stringify(one)).join('\n');
  expect(shown).toContain(`:${first}`);
  const endOf = (callId = '') =>
    [...agUi(events)].filter((one) => one.type === 'TOOL_CALL_RESULT' && one.toolCallId.endsWith(`:${callId}`)).length;
  expect([endOf(first), endOf(second)]).toEqual([1, 0]);
  const deniedOf = (callId = '') =>
    uiStream(events).filter((one) => one.type.startsWith('tool-output') && JSON.stringify(one).includes(`:${callId}"`))
      .length;
  expect([deniedOf(first), deniedOf(second)]).toEqual([1, 0]);
  expect(await store.approve(second ?? '', { answer: 'Wait.' })).toBe(true);
  expect((await until(isDone)).status).toBe('answered');
});
