import { HttpAgent } from '@ag-ui/client';
import type { Message } from '@ag-ui/core';
import { EventSchemas } from '@ag-ui/core/schemas';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { type JournalStore, type Model, createAgent } from '../../src/index.ts';
import { ModelError } from '../../src/actors/model.ts';
import { memoryJournal } from '../../src/journal/index.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { AgUiFold } from '../../src/ui/ag-ui/ag-ui-fold.ts';
import { agUi } from '../../src/ui/index.ts';
import type { ServedAgent } from '../../src/ui/base/answer-approvals.ts';
import { calls } from '../support/replies.ts';
import { serveWeb } from './http-chat.ts';
import { PAY, pay, payCall, payingAgent } from './paying-agent.ts';
import { eventsOf } from '../agent/agent-on-server.ts';
import { RECORDINGS, committed, groupsOf, streamIn } from './recorded-groups.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** What a client of AG-UI has after a stream; it checks every event. */
async function read(text: string, messages: Message[] = []): Promise<HttpAgent> {
  const fetch = async (): Promise<Response> => new Response(text, { headers: { 'content-type': 'text/event-stream' } });
  const client = new HttpAgent({ url: 'http://x', fetch, initialMessages: messages });
  await client.runAgent();
  return client;
}

test.each(RECORDINGS)('%s as a client of AG-UI receives it', async (file) => {
  const groups = groupsOf(committed(file));
  const text = streamIn(groups, new AgUiFold());
  await expect(text).toMatchFileSnapshot(`golden/${file.replace('.jsonl', '')}.ag-ui.sse`);
  const events = agUi(groups.flatMap((group) => group.events));
  expect(text.replaceAll(/^id: .*\n/gm, '')).toBe(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
  for (const event of events) expect([event.type, EventSchemas.safeParse(event).success]).toEqual([event.type, true]);
  const { messages } = await read(text);
  const made = messages.flatMap((message) => ('toolCalls' in message ? (message.toolCalls ?? []) : []));
  const results = messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : []));
  expect(results.toSorted()).toEqual(made.map(({ id }) => id).toSorted());
});

test('what has no end, no beginning or a call twice is refused by the same client', async () => {
  const groups = groupsOf(committed('approval.jsonl'));
  const events = agUi(groups.flatMap((group) => group.events)).map((event) => `data: ${JSON.stringify(event)}\n\n`);
  for (const wrong of [events.slice(1), [...events.slice(0, 2), ...events.slice(1)]])
    await expect(read(wrong.join(''))).rejects.toThrow();
});

async function served(agent: ServedAgent & { close(): Promise<void> }, journal: JournalStore, state = false) {
  const { url, close } = await serveWeb(async (request) =>
    agUi.serve(agent, request, { journal, owner: request.headers.get('user') ?? 'ada', state }),
  );
  closing.push(close, () => agent.close());
  return (threadId: string, user = 'ada', messages: Message[] = []) =>
    new HttpAgent({ url, threadId, headers: { user }, initialMessages: messages });
}

function textOf(client: HttpAgent): string {
  const said = client.messages.findLast(({ role }) => role === 'assistant');
  return typeof said?.content === 'string' ? said.content : '';
}

const calling = (...to: readonly string[]) => [{ content: '', toolCalls: to.map(payCall) }, 'Done.', 'Again.'];

test('a reply arrives word by word, and each message once', async () => {
  const journal = memoryJournal();
  const model: Model = {
    complete: async (_request, { onToken }) => {
      for (const text of ['It ', 'is ', 'warm.']) {
        onToken?.({ kind: 'text', text });
        await new Promise((resolve) => setTimeout(resolve, 40));
      }
      return { content: 'It is warm.' };
    },
  };
  const open = await served(createAgent({ model, silent: true, streaming: true, journal }), journal, true);
  const client = open('trip');
  client.addMessage({ id: 'u1', role: 'user', content: 'How warm?' });
  const deltas: string[] = [];
  await client.runAgent({}, { onTextMessageContentEvent: ({ event }) => void deltas.push(event.delta) });
  expect(deltas.length).toBeGreaterThan(2);
  expect(client.messages.map(({ role, content }) => [role, content])).toEqual([
    ['user', 'How warm?'],
    ['assistant', 'It is warm.'],
  ]);
  expect(client.state).toMatchObject({ signalbox: { state: 'COMPLETION', step: 1, pending: [] } });
  client.addMessage({ id: 'u2', role: 'user', content: 'And now?' });
  await client.runAgent();
  expect(client.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  const [last] = (await journal.list?.({ limit: 1 })) ?? [];
  expect((await journal.read?.(last?.runId ?? ''))?.head.history).toHaveLength(2);
});

test.each([
  ['1.0', '', ['It ', 'is ', 'warm. ']],
  ['1.0', 'I look.', ['It is ', 'warm.']],
  [undefined, '', ['It ', 'is ', 'warm.']],
  [undefined, 'I look.', ['It is ', 'warm.']],
])(
  'protocol %s: a text that is shown word by word goes on where it is (%s)',
  async (protocolVersion, reasoning, words) => {
    const journal = memoryJournal();
    const model: Model = {
      complete: async (_request, { onToken }) => {
        for (const text of words) {
          onToken?.({ kind: 'text', text });
          await new Promise((resolve) => setTimeout(resolve, 60));
        }
        return { content: words.join(''), reasoning };
      },
    };
    const agent = createAgent({ model, silent: true, streaming: true, journal });
    closing.push(() => agent.close());
    const messages = [{ id: 'u', role: 'user', content: 'How warm?' }];
    const body = JSON.stringify({ threadId: 't', runId: 'r', messages, protocolVersion, tools: [], context: [] });
    const answer = await agUi.serve(agent, new Request('http://x', { method: 'POST', body }), {
      journal,
      owner: 'ada',
    });
    const text = await answer.text();
    const events = text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []));
    const count = (kind: string): number => events.filter(({ type }) => type === kind).length;
    // Clients of 1.0 get a text behind its reasoning again; older ones would show it twice.
    const isAgain = protocolVersion === '1.0' && reasoning !== '';
    expect([count('TEXT_MESSAGE_START'), count('TEXT_MESSAGE_END'), count('MESSAGES_SNAPSHOT')]).toEqual(
      isAgain ? [2, 2, 1] : [1, 1, 0],
    );
    const client = await read(text);
    const said = client.messages.flatMap(({ role, content }) => (role === 'user' ? [] : [[role, content]]));
    const thought = ['reasoning', reasoning];
    const all = [['assistant', 'It is warm.'], ...(reasoning === '' ? [] : [thought])];
    expect(said).toEqual(isAgain ? all.toReversed() : all);
  },
);

test.each([
  ['another text', 'It may ', 'It is warm.', false],
  ['the reply of a second try', 'It is ', 'It is warm.', true],
])('what was shown of a reply is taken back where %s comes', async (_what, shown, content, fails) => {
  const journal = memoryJournal();
  let tries = 0;
  const model: Model = {
    complete: async (_request, { onToken }) => {
      tries += 1;
      if (tries === 1) onToken?.({ kind: 'text', text: shown });
      await new Promise((resolve) => setTimeout(resolve, 100));
      if (tries === 1 && fails) throw new ModelError('connect-failed', 'gone');
      return { content };
    },
  };
  const retry = { backoff: recover.constant(1) };
  const open = await served(createAgent({ model, retry, silent: true, streaming: true, journal }), journal);
  const client = open('trip');
  client.addMessage({ id: 'u1', role: 'user', content: 'How warm?' });
  const deltas: string[] = [];
  await client.runAgent({}, { onTextMessageContentEvent: ({ event }) => void deltas.push(event.delta) });
  expect(deltas).toEqual([shown.trim(), content]);
  expect(client.messages.map((message) => message.content)).toEqual(['How warm?', content]);
});

test('a run that is asked for again is shown again, and not made a second time, whatever came after it', async () => {
  const journal = memoryJournal();
  const open = await served(
    createAgent({ model: scriptedModel(['One.', 'Two.', 'Three.']), silent: true, journal }),
    journal,
  );
  const [tab, other] = [open('trip'), open('trip')];
  tab.addMessage({ id: 'u1', role: 'user', content: 'First' });
  await tab.runAgent({ runId: 'first' });
  other.addMessage({ id: 'u2', role: 'user', content: 'Second' });
  await other.runAgent({ runId: 'second' });
  // Its connection broke before the answer.
  const back = open('trip', 'ada', [{ id: 'u1', role: 'user', content: 'First' }]);
  await back.runAgent({ runId: 'first' });
  expect([tab, other, back].map(textOf)).toEqual(['One.', 'Two.', 'One.']);
  expect((await journal.list?.())?.length).toBe(2);
  tab.addMessage({ id: 'u3', role: 'user', content: 'First' });
  await tab.runAgent({ runId: 'third' });
  expect(textOf(tab)).toBe('Three.');
});

test('a message that is sent again under another run is run again only if it came to no answer', async () => {
  const journal = memoryJournal();
  const model = scriptedModel([new ModelError('auth', 'no key'), 'One.', 'Two.', 'Three.']);
  const open = await served(createAgent({ model, silent: true, journal, secrets: ['hunter2'] }), journal);
  const runs = async () => ((await journal.list?.()) ?? []).map(({ status }) => status);
  const client = open('trip');
  client.addMessage({ id: 'u1', role: 'user', content: 'My key is hunter2.' });
  await client.runAgent();
  expect(await runs()).toEqual(['failed']);
  // What CopilotKit and assistant-ui send to make an answer again: the messages up to the question, and a new run.
  for (const _again of [1, 2]) {
    client.setMessages([{ id: 'u1', role: 'user', content: 'My key is hunter2.' }]);
    await client.runAgent();
    expect(textOf(client)).toBe('One.');
    expect(await runs()).toEqual(['answered', 'failed']);
  }
  client.addMessage({ id: 'u2', role: 'user', content: 'My key is hunter2.' });
  await client.runAgent();
  expect(textOf(client)).toBe('Two.');
  const loaded = open('trip');
  await loaded.runAgent();
  // The question once.
  expect(loaded.messages.map(({ id, role }) => (role === 'user' ? id : role))).toEqual([
    'u1',
    'assistant',
    'u2',
    'assistant',
  ]);
  const edited = open('trip', 'ada', [{ id: 'u2', role: 'user', content: 'Is my key hunter2?' }]);
  await edited.runAgent();
  expect(textOf(edited)).toBe('Three.');
});

test('a run without an answer is shown again to a client that comes back by its id, and made again under another', async () => {
  const journal = memoryJournal();
  const model = scriptedModel([new ModelError('auth', 'no key'), 'It is warm.', 'It was.']);
  const open = await served(createAgent({ model, silent: true, journal }), journal);
  const ask = async (runId: string): Promise<unknown> => {
    const client = open('trip', 'ada', [{ id: 'u1', role: 'user', content: 'How warm?' }]);
    await client.runAgent({ runId }).catch(() => undefined);
    return [textOf(client), (await journal.list?.())?.length];
  };
  expect([await ask('one'), await ask('one'), await ask('two')]).toEqual([
    ['', 1],
    ['', 1],
    ['It is warm.', 2],
  ]);
  const texts = () =>
    model.requests
      .at(-1)
      ?.messages.slice(1)
      .map(({ content }) => content);
  expect(texts()).toEqual(['How warm?']);
  const client = open('trip', 'ada', [{ id: 'u2', role: 'user', content: 'How warm?' }]);
  await client.runAgent({ runId: 'three' });
  expect(texts()).toEqual(['How warm?', 'It is warm.', 'How warm?']);
});

test('what is asked again behind a call is the message of the user, and the result of a tool begins nothing', async () => {
  const journal = memoryJournal();
  const look = fakeTool('look', ['12:30', '12:31'], { effects: 'none' });
  const model = scriptedModel([calls(['look']), new ModelError('auth', 'no key'), calls(['look']), 'Half past.']);
  const open = await served(createAgent({ model, tools: [look], silent: true, journal }), journal);
  const runs = async () => ((await journal.list?.()) ?? []).map(({ status }) => status);
  const client = open('clock');
  client.addMessage({ id: 'u1', role: 'user', content: 'What time is it?' });
  await client.runAgent();
  for (const _again of [1, 2]) {
    // What assistant-ui sends: all up to the answer, or to where it would stand.
    const upTo = client.messages.findIndex(({ role }) => role === 'tool') + 1;
    expect(upTo).toBe(3);
    client.setMessages(client.messages.slice(0, upTo));
    await client.runAgent();
    expect([textOf(client), await runs()]).toEqual(['Half past.', ['answered', 'failed']]);
  }
  const stray = open('other', 'ada', [{ id: 't1', role: 'tool', toolCallId: 'x', content: '12:30' }]);
  await stray.runAgent().catch(() => undefined);
  expect([await runs(), stray.messages.length]).toEqual([['answered', 'failed'], 1]);
});

test('a client is told in its own version of the protocol that a run was stopped', async () => {
  const journal = memoryJournal();
  const agent = createAgent({ model: { complete: () => new Promise(() => undefined) }, silent: true, journal });
  closing.push(() => agent.close());
  const finished = async (threadId: string, more: object) => {
    const body = JSON.stringify({
      threadId,
      runId: 'r',
      messages: [{ id: 'u', role: 'user', content: 'Wait' }],
      ...more,
    });
    const answer = await agUi.serve(agent, new Request('http://x', { method: 'POST', body }), {
      journal,
      owner: 'ada',
    });
    const [run] = (await journal.list?.({ limit: 1 })) ?? [];
    await agent.cancel(run?.runId ?? '', 'enough');
    const text = await answer.text();
    return JSON.parse(
      text
        .split('\n')
        .findLast((line) => line.startsWith('data: '))
        ?.slice(6) ?? '',
    );
  };
  const end = { type: 'RUN_FINISHED', result: { status: 'cancelled', reason: 'cancelled' } };
  expect(await finished('new', { protocolVersion: '1.0' })).toMatchObject({ ...end, outcome: { type: 'cancelled' } });
  const old = await finished('old', {});
  expect(old).toMatchObject(end);
  expect(old).not.toHaveProperty('outcome');
});

test('what the model had said when its run was stopped stays, once, and is there after a reload', async () => {
  const journal = memoryJournal();
  const model: Model = {
    complete: (_, { onToken, signal }) =>
      new Promise((_resolve, reject) => {
        for (const text of ['It ', 'is ', 'warm']) onToken?.({ kind: 'text', text });
        signal.addEventListener('abort', () => reject(new Error('stopped')));
      }),
  };
  const agent = createAgent({ model, silent: true, streaming: true, journal });
  const open = await served(agent, journal);
  const [client, reloaded] = [open('trip'), open('trip')];
  client.addMessage({ id: 'u1', role: 'user', content: 'How warm?' });
  const deltas: string[] = [];
  const stop = async ({ event }: { event: { delta: string } }): Promise<void> => {
    deltas.push(event.delta);
    const [run] = (await journal.list?.({ limit: 1 })) ?? [];
    if (deltas.join('') === 'It is warm') await agent.cancel(run?.runId ?? '', 'enough');
  };
  await client.runAgent({}, { onTextMessageContentEvent: (said) => void stop(said) });
  const said = [
    ['user', 'How warm?'],
    ['assistant', 'It is warm'],
  ];
  expect(client.messages.map(({ role, content }) => [role, content])).toEqual(said);
  await reloaded.runAgent();
  expect(reloaded.messages.map(({ role, content }) => [role, content])).toEqual(said);
});

test('what a person says instead of an answer is not lost: the call is denied, and the message is the next run', async () => {
  const journal = memoryJournal();
  const open = await served(payingAgent(journal, [PAY, 'Not paid.', 'Hello.']), journal);
  const client = open('bills');
  client.addMessage({ id: 'u1', role: 'user', content: 'Pay.' });
  await client.runAgent();
  const [asked] = client.pendingInterrupts;
  // As `steerAway` of assistant-ui sends it.
  client.addMessage({ id: 'u2', role: 'user', content: 'Rather say hello.' });
  await client.runAgent({ resume: [{ interruptId: asked?.id ?? '', status: 'cancelled' }] });
  // The client keeps what it has where it has it.
  const said = client.messages.flatMap(({ role, content }) => (role === 'tool' || content == null ? [] : [content]));
  expect(said).toEqual(['Pay.', 'Rather say hello.', 'Not paid.', 'Hello.']);
  expect(client.pendingInterrupts).toEqual([]);
  expect((await journal.list?.())?.map(({ toolsUsed }) => toolsUsed)).toEqual([[], []]);
});

test('what is said beside an answer is not taken, and that is told, where the run asks again', async () => {
  const journal = memoryJournal();
  const open = await served(payingAgent(journal, [PAY, PAY, 'Not paid.', 'Hello.']), journal);
  const client = open('bills');
  client.addMessage({ id: 'u1', role: 'user', content: 'Pay.' });
  await client.runAgent();
  const [asked] = client.pendingInterrupts;
  client.addMessage({ id: 'u2', role: 'user', content: 'Rather say hello.' });
  const errors: unknown[] = [];
  const resume = [{ interruptId: asked?.id ?? '', status: 'cancelled' as const }];
  await client
    .runAgent({ resume }, { onRunErrorEvent: ({ event }) => void errors.push(event.code) })
    .catch(() => undefined);
  expect(errors).toEqual(['conversation-waiting']);
  expect((await journal.list?.())?.map(({ state }) => state)).toEqual(['waiting']);
  const back = open('bills');
  await back.runAgent();
  expect(back.pendingInterrupts).toHaveLength(1);
});

test('a call that waits is an interrupt; its answer continues the run with the result of the same call', async () => {
  const journal = memoryJournal();
  const open = await served(payingAgent(journal, calling('printer')), journal);
  const client = open('bills');
  client.addMessage({ id: 'u1', role: 'user', content: 'Pay.' });
  await client.runAgent();
  const [asked] = client.pendingInterrupts;
  expect(asked).toMatchObject({
    reason: 'tool_call',
    message: "The policy of 'pay' is confirm.",
    metadata: { tool: 'pay' },
  });
  const payload = { approved: true, editedArgs: { to: 'printer', euros: 10 } };
  const starts: string[] = [];
  await client.runAgent(
    { resume: [{ interruptId: asked?.id ?? '', status: 'resolved', payload }] },
    { onToolCallStartEvent: ({ event }) => void starts.push(event.toolCallId) },
  );
  expect(starts).toEqual([]);
  const result = client.messages.find(({ role }) => role === 'tool');
  expect(result).toMatchObject({ toolCallId: asked?.toolCallId, content: 'paid 10 to printer' });
  expect(textOf(client)).toBe('Done.');
  expect(client.pendingInterrupts).toEqual([]);
});

test('an interrupt says its policy and until when it can be answered, the same to every client and process', async () => {
  const journal = memoryJournal();
  const agent = payingAgent(journal, calling('printer'), { timeouts: { approvalMs: 3_600_000 } });
  const open = await served(agent, journal);
  const client = open('bills');
  client.addMessage({ id: 'u1', role: 'user', content: 'Pay.' });
  await client.runAgent();
  const [asked] = client.pendingInterrupts;
  expect(asked?.metadata).toMatchObject({ policy: 'confirm' });
  const [run] = (await journal.list?.()) ?? [];
  const recording = await journal.read?.(run?.runId ?? '');
  const deadline = recording?.lines.flatMap((line) =>
    line.t === 'start' && line.ms === 3_600_000 ? [line.at] : [],
  )[0];
  const began = Date.parse(recording?.head.at ?? '');
  const late = Date.parse(asked?.expiresAt ?? '') - (began + (deadline ?? 0) + 3_600_000);
  expect(Math.abs(late)).toBeLessThan(1000);
  await new Promise((resolve) => setTimeout(resolve, 30));
  const second = open('bills');
  await second.runAgent();
  expect(second.pendingInterrupts).toEqual(client.pendingInterrupts);
  const other = await served(payingAgent(journal, []), { ...journal });
  const third = other('bills');
  await third.runAgent();
  expect(third.pendingInterrupts).toEqual(client.pendingInterrupts);
  const unlimited = (await served(payingAgent(journal, calling('printer')), journal))('other bills');
  unlimited.addMessage({ id: 'u1', role: 'user', content: 'Pay.' });
  await unlimited.runAgent();
  expect(unlimited.pendingInterrupts).toHaveLength(1);
  expect(unlimited.pendingInterrupts[0]).not.toHaveProperty('expiresAt');
});

test('a person is asked, and can answer, also where there is less than a minute for it', async () => {
  const journal = memoryJournal();
  const open = await served(payingAgent(journal, calling('printer'), { timeouts: { approvalMs: 20_000 } }), journal);
  const client = open('bills');
  client.addMessage({ id: 'u1', role: 'user', content: 'Pay.' });
  await client.runAgent();
  const [asked] = client.pendingInterrupts;
  expect(Date.parse(asked?.expiresAt ?? '') - Date.now()).toBeLessThan(20_000);
  await client.runAgent({
    resume: [{ interruptId: asked?.id ?? '', status: 'resolved', payload: { approved: true } }],
  });
  expect(textOf(client)).toBe('Done.');
});

test('an answer that comes too late is refused, and what became of the run is shown', async () => {
  const journal = memoryJournal();
  const agent = payingAgent(journal, calling('printer'), { timeouts: { approvalMs: 1000 } });
  const client = (await served(agent, journal))('bills');
  client.addMessage({ id: 'u1', role: 'user', content: 'Pay.' });
  await client.runAgent();
  const [asked] = client.pendingInterrupts;
  await new Promise((resolve) => setTimeout(resolve, 1500));
  const resume = [{ interruptId: asked?.id ?? '', status: 'resolved', payload: { approved: true } }];
  const body = JSON.stringify({ threadId: 'bills', runId: 'r', messages: [], resume });
  const late = await client.fetch(client.url, { method: 'POST', body, headers: { user: 'ada' } });
  expect(await late.text()).toContain('"code":"approval-closed"');
  const again = (await served(agent, journal))('bills');
  await again.runAgent();
  expect(textOf(again)).toBe('Done.');
  expect(again.messages.find(({ role }) => role === 'tool')?.content).toContain('nobody');
});

test('edited arguments that are no object are refused: the call does not run with those from before', async () => {
  const journal = memoryJournal();
  const client = (await served(payingAgent(journal, calling('printer')), journal))('bills');
  client.addMessage({ id: 'u1', role: 'user', content: 'Pay.' });
  await client.runAgent();
  const interruptId = client.pendingInterrupts[0]?.id;
  for (const payload of [{ editedArgs: '{"to":"printer","euros":1}' }, { editedArgs: [] }, { answer: { euros: 1 } }]) {
    const resume = [{ interruptId, status: 'resolved', payload: { approved: true, ...payload } }];
    const body = JSON.stringify({ threadId: 'bills', runId: 'r', messages: [], resume });
    const answer = await client.fetch(client.url, { method: 'POST', body, headers: { user: 'ada' } });
    expect(await answer.text()).toContain('"code":"bad-request"');
  }
  expect((await journal.list?.())?.[0]).toMatchObject({ toolsUsed: [], status: null });
});

test('all open calls are answered at once, or none is', async () => {
  const journal = memoryJournal();
  const open = await served(payingAgent(journal, calling('printer', 'casino')), journal);
  const client = open('bills');
  client.addMessage({ id: 'u1', role: 'user', content: 'Pay.' });
  await client.runAgent();
  const ids = client.pendingInterrupts.map(({ id }) => id);
  expect(ids).toHaveLength(2);
  const yes = (interruptId: string) => ({ interruptId, status: 'resolved', payload: { approved: true } }) as const;
  const refused = async (resume: unknown, threadId = 'bills', user = 'ada'): Promise<string> => {
    const body = JSON.stringify({ threadId, runId: 'r', messages: client.messages, resume });
    const response = await client.fetch(client.url, { method: 'POST', body, headers: { user } });
    return /"RUN_ERROR".*"code":"([\w-]+)"/.exec(await response.text())?.[1] ?? 'none';
  };
  expect(await refused([yes(ids[0] ?? '')])).toBe('approvals-missing');
  expect(await refused([yes(ids[0] ?? ''), yes(`${ids[1]?.slice(0, -2)}xy`)])).toBe('approval-changed');
  expect(await refused([yes(ids[0] ?? ''), yes('x:c1:1')])).toBe('approval-unknown');
  expect(await refused(ids.map(yes), 'bills', 'alan')).toBe(await refused(ids.map(yes), 'never-there'));
  expect(await refused(undefined)).toBe('conversation-waiting');
  expect((await journal.list?.())?.[0]).toMatchObject({ toolsUsed: [], status: null });
  const resume = [yes(ids[0] ?? ''), { interruptId: ids[1] ?? '', status: 'cancelled' as const }];
  await client.runAgent({ resume });
  const results = client.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []));
  expect(results).toEqual(expect.arrayContaining(['paid 40 to printer', expect.stringContaining('denied')]));
  const again = await client.fetch(client.url, {
    method: 'POST',
    body: JSON.stringify({ threadId: 'bills', runId: 'r2', messages: [], resume }),
  });
  expect(await again.text()).toContain('Done.');
  expect((await journal.list?.())?.[0]).toMatchObject({ toolsUsed: ['pay'], status: 'answered' });
});

test('the approvals of a child agent are interrupts of the root, with the subagent that they belong to', async () => {
  const journal = memoryJournal();
  const child = createAgent({
    name: 'clerk',
    description: 'Pays bills.',
    model: scriptedModel([PAY, 'Paid it.']),
    tools: [pay],
    silent: true,
    confirm: 'wait',
  });
  const parent = createAgent({
    model: scriptedModel([{ content: '', toolCalls: [{ name: 'clerk', arguments: { task: 'Pay.' } }] }, 'All paid.']),
    children: [child],
    silent: true,
    confirm: 'wait',
    journal,
  });
  const open = await served(parent, journal);
  const client = open('bills');
  client.addMessage({ id: 'u1', role: 'user', content: 'Pay.' });
  const seen: string[] = [];
  const onEvent = ({ event }: { event: { type: string } }): void => void seen.push(event.type);
  await client.runAgent({}, { onEvent });
  const [asked] = client.pendingInterrupts;
  expect(asked?.subagentRunId).toMatch(/:c1$/);
  expect(seen).toContain('SUBAGENT_STARTED');
  expect(seen.filter((type) => type === 'SUBAGENT_FINISHED')).toHaveLength(1);
  await client.runAgent({
    resume: [{ interruptId: asked?.id ?? '', status: 'resolved', payload: { approved: true } }],
  });
  expect(textOf(client)).toBe('All paid.');
});

test('agents below agents are subagents of theirs, one that fails says so, and the tokens are told by model', async () => {
  const usage = { inputTokens: 2, outputTokens: 1, totalTokens: 3 };
  const modelOf = (id: string, ...replies: readonly (readonly string[] | string)[]) => {
    const said = replies.map((one) =>
      typeof one === 'string'
        ? { content: one, usage }
        : { ...calls(...one.map((name) => [name, { task: 'Go.' }] as const)), usage },
    );
    return { ...scriptedModel(said), id };
  };
  const common = { description: 'Works.', silent: true, retry: { maxAttempts: 1 } } as const;
  const typist = createAgent({ ...common, name: 'typist', model: modelOf('small', 'Typed.') });
  const clerk = createAgent({
    ...common,
    name: 'clerk',
    model: modelOf('small', ['typist'], 'Written.'),
    children: [typist],
  });
  const complete = () => Promise.reject(new ModelError('server-error', 'down', { status: 500 }));
  const lost = createAgent({ ...common, name: 'lost', model: { id: 'none', complete } });
  const boss = createAgent({ ...common, model: modelOf('large', ['clerk', 'lost'], 'Done.'), children: [clerk, lost] });
  const run = boss.run('Go');
  const events = agUi(await eventsOf(run));
  for (const event of events) expect([event.type, EventSchemas.safeParse(event).success]).toEqual([event.type, true]);
  const id = (callId: string) => `${run.runId}:${callId}`;
  expect(events.filter(({ type }) => type.startsWith('SUBAGENT'))).toEqual([
    { type: 'SUBAGENT_STARTED', subagentRunId: id('c1'), name: 'clerk', parentToolCallId: id('c1') },
    { type: 'SUBAGENT_STARTED', subagentRunId: id('c2'), name: 'lost', parentToolCallId: id('c2') },
    { type: 'SUBAGENT_ERROR', subagentRunId: id('c2'), message: expect.stringContaining('down') },
    {
      type: 'SUBAGENT_STARTED',
      subagentRunId: id('c1.1'),
      name: 'typist',
      parentToolCallId: id('c1.1'),
      parentSubagentRunId: id('c1'),
    },
    { type: 'SUBAGENT_FINISHED', subagentRunId: id('c1.1'), outcome: { type: 'success' } },
    { type: 'SUBAGENT_FINISHED', subagentRunId: id('c1'), outcome: { type: 'success' } },
  ]);
  expect(events.at(-1)).toMatchObject({
    type: 'RUN_FINISHED',
    usage: [
      { model: 'large', inputTokens: 4, outputTokens: 2, totalTokens: 6 },
      { model: 'small', inputTokens: 6, outputTokens: 3, totalTokens: 9 },
    ],
  });
});

test('images and documents of a message are parts of the input; what cannot be read is refused, not left out', async () => {
  const journal = memoryJournal();
  const model = scriptedModel(['A bill.'], { takesImages: true, takesFiles: true });
  const client = await served(createAgent({ model, silent: true, journal }), journal);
  const text = { type: 'text', text: 'What is this?' } as const;
  const said = (...parts: object[]): Message[] => [
    z.custom<Message>().parse({ id: 'm', role: 'user', content: [text, ...parts] }),
  ];
  for (const source of [
    { type: 'url', value: 'file:///etc/passwd', mimeType: 'application/pdf' },
    { type: 'file', value: 'file-17', mimeType: 'application/pdf' },
    { type: 'data', value: 'no base64!', mimeType: 'application/pdf' },
  ])
    expect(await client('a', 'ada', said({ type: 'document', source })).runAgent()).toMatchObject({ newMessages: [] });
  expect(await journal.list?.()).toEqual([]);
  const image = { type: 'image', source: { type: 'data', value: 'AAAA', mimeType: 'image/png' } };
  const bill = { type: 'document', source: { type: 'data', value: 'BBBB', mimeType: 'application/pdf' } };
  const named = { ...bill, metadata: { filename: 'bill.pdf' } };
  const odd = { ...bill, metadata: { filename: 7 } };
  await client('a', 'ada', said({ type: 'text', text: '' }, image, named, odd)).runAgent();
  const [run] = (await journal.list?.()) ?? [];
  expect((await journal.read?.(run?.runId ?? ''))?.head.content).toEqual([
    text,
    { type: 'image', url: 'data:image/png;base64,AAAA' },
    { type: 'file', url: 'data:application/pdf;base64,BBBB', mediaType: 'application/pdf', filename: 'bill.pdf' },
    { type: 'file', url: 'data:application/pdf;base64,BBBB', mediaType: 'application/pdf' },
  ]);
  const fresh = client('a');
  await fresh.runAgent();
  expect(fresh.messages[0]).toEqual(said(image, named, bill)[0]);
});
