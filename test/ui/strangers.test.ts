import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createAgent } from '../../src/index.ts';
import { memoryJournal } from '../../src/journal/index.ts';
import { permissionStore } from '../../src/security/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { agUi, runStream, uiStream } from '../../src/ui/index.ts';
import { PAY, payingAgent } from './paying-agent.ts';

/** Ada's chat in which a call waits, and every way to ask about a chat. */
async function waiting(...replies: Parameters<typeof payingAgent>[1] & object) {
  const journal = memoryJournal();
  const folder = mkdtempSync(join(tmpdir(), 'strangers-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const permissions = permissionStore({ path: join(folder, 'allowed.json') });
  const agent = payingAgent(journal, [PAY, ...replies], { permissions });
  onTestFinished(() => agent.close());
  const post = (body: object, path: string): Request =>
    new Request(`http://x${path}`, { method: 'POST', body: JSON.stringify(body) });
  const as = (owner: string | undefined) => ({ journal, ...(owner === undefined ? {} : { owner }) });
  const ui = (owner: string | undefined, request: Request) => uiStream.serve(agent, request, as(owner));
  const say = (chat: string, id: string): object => ({
    id: chat,
    messages: [{ id, role: 'user', parts: [{ type: 'text', text: 'Pay.' }] }],
  });
  await (await ui('ada', post(say('bills', 'm'), '/api/chat'))).text();
  const [run] = (await journal.list?.()) ?? [];
  const runId = run?.runId ?? '';
  const [message] = (await uiStream.messages(journal, 'bills', { owner: 'ada' })).slice(-1);
  const approval: unknown = message?.parts.find(({ type }) => type === 'tool-pay')?.approval;
  const id = String(Reflect.get(Object(approval), 'id'));
  const digest = id.slice(id.lastIndexOf(':') + 1);
  const answers = [{ id, approved: true }];
  const resume = [{ interruptId: id, status: 'resolved', payload: { approved: true } }];
  const ag = (owner: string | undefined, body: object) =>
    agUi.serve(agent, post({ runId: 'r', messages: [], ...body }, '/'), as(owner));
  const own = (owner: string | undefined, chat: string, body?: object, headers: Record<string, string> = {}) => {
    const path = `/?id=${encodeURIComponent(chat)}`;
    const request = body === undefined ? new Request(`http://x${path}`, { headers }) : post(body, path);
    return runStream.serve(agent, request, as(owner));
  };
  const get = (chat: string, rest: string): Request =>
    new Request(`http://x/api/chat/${encodeURIComponent(chat)}/${rest}`, { headers: { 'last-event-id': '1' } });
  /** Every entrance that a chat's id can be named at, but that which begins a run. */
  const entrances = (owner: string | undefined, chat: string): readonly Promise<Response>[] => [
    ui(owner, get(chat, 'stream')),
    ui(owner, get(chat, `stream?run=${runId}`)),
    ui(owner, get(chat, 'messages')),
    ui(owner, post({ id: chat, action: 'stop' }, '/api/chat')),
    ui(owner, post({ id: chat, action: 'steer', text: 'Pay more.' }, '/api/chat')),
    ui(owner, post({ id: chat, action: 'answer', answers }, '/api/chat')),
    uiStream.resume(journal, chat, owner === undefined ? {} : { owner }),
    uiStream.messages(journal, chat, { owner }).then((all) => Response.json(all)),
    ag(owner, { threadId: chat }),
    ag(owner, { threadId: chat, resume }),
    agUi.messages(journal, chat, { owner }).then((all) => Response.json(all)),
    own(owner, chat),
    own(owner, chat, undefined, { 'last-event-id': `${runId}:1` }),
    own(owner, chat, { type: 'stop', runId }),
    own(owner, chat, { type: 'steer', runId, text: 'Pay more.' }),
    own(owner, chat, { type: 'approve', runId, callId: 'c1', digest }),
    own(owner, chat, { type: 'reject', runId, callId: 'c1', digest }),
  ];
  const recorded = async (): Promise<number> => (await journal.read?.(runId))?.lines.length ?? 0;
  return { journal, agent, runId, id, digest, entrances, recorded, own, ui, post, say };
}

/** All that a response says, but for the id that was asked for. */
async function told(answer: Promise<Response>, chat: string): Promise<unknown> {
  const response = await answer;
  const text = (await response.text()).replaceAll(JSON.stringify(chat).slice(1, -1), 'CHAT');
  return [response.status, [...response.headers], text];
}

const STRANGERS: readonly (readonly [string | undefined, string])[] = [
  ['alan', 'bills'],
  ['alan', 'ada/bills'],
  ['alan', '../ada/bills'],
  ['alan', 'ada%2Fbills'],
  ['a', 'da/bills'],
  ['Ada', 'bills'],
  ['ada/', 'bills'],
  ['ada/bills', 'bills'],
];

test('at every entrance a chat of another owner is what one is that does not exist, and nothing happens to it', async () => {
  const { entrances, recorded } = await waiting();
  const before = await recorded();
  for (const [owner, chat] of STRANGERS) {
    const asked = entrances(owner, chat).map((answer) => told(answer, chat));
    const unknown = entrances(owner, 'never-there').map((answer) => told(answer, 'never-there'));
    expect(await Promise.all(asked), `${owner} asks for ${chat}`).toEqual(await Promise.all(unknown));
  }
  for (const chat of ['bills', 'ada/bills', 'ada']) {
    const asked = entrances(undefined, chat).map((answer) => told(answer, chat));
    const unknown = entrances(undefined, 'never-there').map((answer) => told(answer, 'never-there'));
    expect(await Promise.all(asked), `nobody asks for ${chat}`).toEqual(await Promise.all(unknown));
  }
  expect(await recorded()).toBe(before);
  // What is compared is something: the owner receives other answers.
  const firstOf = async (chat: string): Promise<readonly unknown[]> => {
    const all = entrances('ada', chat);
    const first = await Promise.all(all.slice(0, 3).map((answer) => told(answer, chat)));
    await Promise.all(all.slice(3).map(async (answer) => (await answer).body?.cancel()));
    return first;
  };
  const own = await firstOf('bills');
  const unknown = await firstOf('never-there');
  for (const [at, answer] of own.entries()) expect(answer).not.toEqual(unknown[at]);
});

test('a run of somebody else under an id that a chat would have is not shown, stopped or steered through the chat', async () => {
  const { agent, journal, entrances } = await waiting(PAY, PAY);
  const mine = agent.conversation('alan/trip', { owner: 'eve' }).run('Pay.');
  const open = uiStream.newChatId();
  const other = agent.conversation(open, { owner: 'eve' }).run('Pay.');
  while (mine.pending.length === 0 || other.pending.length === 0)
    await new Promise((resolve) => setTimeout(resolve, 5));
  for (const [owner, chat] of [
    ['alan', 'trip'],
    [undefined, open],
  ] as const) {
    const unknown = owner === undefined ? uiStream.newChatId() : 'never-there';
    const asked = entrances(owner, chat).map((answer) => told(answer, chat));
    const none = entrances(owner, unknown).map((answer) => told(answer, unknown));
    expect(await Promise.all(asked)).toEqual(await Promise.all(none));
  }
  expect([mine.pending.length, other.pending.length]).toEqual([1, 1]);
  expect((await journal.list?.({ metadata: { conversation: 'alan/trip' } }))?.length).toBe(1);
  await Promise.all([mine.cancel(), other.cancel()]);
});

test('an answer names the run, the call and the arguments that were shown, whichever entrance it takes', async () => {
  const { own, runId, digest, recorded } = await waiting('Paid.');
  const before = await recorded();
  for (const [wrong, code] of [
    [{ callId: 'c1', digest: `${digest.slice(0, -1)}${digest.endsWith('0') ? '1' : '0'}` }, 'approval-changed'],
    [{ callId: 'c1' }, 'approval-changed'],
    [{ callId: 'c2', digest }, 'approval-unknown'],
    [{ callId: ['c1'], digest: [digest, 'x'] }, 'bad-request'],
    [{ callId: 'c1', digest, runId: 'another' }, 'over'],
    [{ callId: 'c1', digest, args: ['to', 'casino'] }, 'bad-request'],
  ] as const) {
    const answer = await own('ada', 'bills', { type: 'approve', runId, ...wrong });
    expect([answer.status, await answer.json()]).toMatchObject([
      code === 'bad-request' ? 400 : 409,
      { error: { code } },
    ]);
  }
  expect(await recorded()).toBe(before);
  expect((await own('ada', 'bills', { type: 'approve', runId, callId: 'c1', digest })).status).toBe(200);
});

test('a call that is answered twice in one request is not answered at all', async () => {
  const { ui, own, post, id, runId, digest, recorded } = await waiting('Paid.');
  const before = await recorded();
  for (const second of [true, false]) {
    const answers = [
      { id, approved: true },
      { id, approved: second },
    ];
    const answer = await ui('ada', post({ id: 'bills', action: 'answer', answers }, '/api/chat'));
    expect([answer.status, await answer.json()]).toMatchObject([409, { error: { code: 'approval-closed' } }]);
  }
  expect(await recorded()).toBe(before);
  expect((await own('ada', 'bills', { type: 'approve', runId, callId: 'c1', digest })).status).toBe(200);
});

test('arguments that are nested deeper than any value of a run are refused as a request, and the call waits on', async () => {
  const { agent, journal, ui, own, id, runId, digest, recorded } = await waiting('Paid.');
  const before = await recorded();
  const deep = `${'{"to":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
  const requestOf = (body: string) => new Request('http://x/?id=bills', { method: 'POST', body });
  const answers = await Promise.all([
    ui('ada', requestOf(`{"id":"bills","action":"answer","answers":[{"id":"${id}","approved":true,"args":${deep}}]}`)),
    runStream.serve(
      agent,
      requestOf(`{"type":"approve","runId":"${runId}","callId":"c1","digest":"${digest}","args":${deep}}`),
      { journal, owner: 'ada' },
    ),
    agUi.serve(
      agent,
      requestOf(
        `{"threadId":"bills","runId":"r","messages":[],"resume":[{"interruptId":"${id}","status":"resolved","payload":{"approved":true,"editedArgs":${deep}}}]}`,
      ),
      { journal, owner: 'ada' },
    ),
  ]);
  for (const answer of answers)
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { code: 'bad-request' } }]);
  expect(await recorded()).toBe(before);
  expect((await own('ada', 'bills', { type: 'approve', runId, callId: 'c1', digest })).status).toBe(200);
});

test('a request with as many answers and messages as fit into it is refused in the time that reading it takes', async () => {
  const journal = memoryJournal();
  const agent = payingAgent(journal);
  const messages = Array.from({ length: 100_000 }, () => ({ role: 'tool', toolCallId: 'x' }));
  const resume = Array.from({ length: 100_000 }, (_, index) => ({ interruptId: `${index}:c1:d` }));
  const body = JSON.stringify({ threadId: 't', runId: 'r', messages, resume });
  const began = performance.now();
  const answer = await agUi.serve(agent, new Request('http://x/', { method: 'POST', body }), { journal, owner: 'ada' });
  expect(await answer.text()).toContain('approval-unknown');
  expect(performance.now() - began).toBeLessThan(20_000);
});

test('"always" of one owner is asked about again with another', async () => {
  const { journal, ui, post, say, id } = await waiting('Paid.', PAY, PAY, 'Paid.');
  const answers = [{ id, approved: true, always: true }];
  expect((await ui('ada', post({ id: 'bills', action: 'answer', answers }, '/api/chat'))).status).toBe(200);
  while (((await journal.list?.({ state: 'ended' })) ?? []).length === 0)
    await new Promise((resolve) => setTimeout(resolve, 5));
  const asked = async (owner: string): Promise<boolean> =>
    (await (await ui(owner, post(say('again', `m ${owner}`), '/api/chat'))).text()).includes('tool-approval-request');
  expect(await asked('alan')).toBe(true);
  expect(await asked('ada')).toBe(false);
});

test('no client is sent the instructions, or the messages of a run a second time', async () => {
  const journal = memoryJournal();
  const agent = createAgent({ model: scriptedModel(['Hello.']), instructions: 'House rules.', silent: true, journal });
  onTestFinished(() => agent.close());
  await agent.conversation('ada/c', { owner: 'ada' }).run('Hello?');
  const run = await runStream.serve(agent, new Request('http://x/?id=c'), { journal, owner: 'ada' });
  const text = await run.text();
  expect(text).toContain('"messages":[]');
  const all = [text, JSON.stringify(await uiStream.messages(journal, 'c', { owner: 'ada' }))].join('');
  expect(all).not.toContain('House rules');
});

test('a request that is too large is refused before it is read, and begins nothing', async () => {
  const journal = memoryJournal();
  const agent = createAgent({ model: scriptedModel(['Hi.', 'Hi.', 'Hi.']), silent: true, journal });
  onTestFinished(() => agent.close());
  const body = (text: string) => {
    const message = { id: 'm', role: 'user' };
    return {
      ui: { id: 'c', messages: [{ ...message, parts: [{ type: 'text', text }] }] },
      ag: { threadId: 'c', runId: 'r', messages: [{ ...message, content: text }] },
      own: { type: 'send', text },
    };
  };
  const sent = (json: object, streamed: boolean): Request & { readonly taken: () => number } => {
    let taken = 0;
    const bytes = new TextEncoder().encode(JSON.stringify(json));
    const stream = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        if (taken >= bytes.length) return controller.close();
        controller.enqueue(bytes.slice(taken, (taken += 1000)));
      },
    });
    const init = streamed
      ? { body: stream, duplex: 'half' }
      : { body: bytes, headers: { 'content-length': `${bytes.length}` } };
    return Object.assign(new Request('http://x/?id=c', { method: 'POST', ...init }), { taken: () => taken });
  };
  const options = { journal, owner: 'ada', maxRequestBytes: 20_000 };
  const large = body('é'.repeat(50_000));
  for (const streamed of [true, false]) {
    const requests = [sent(large.ui, streamed), sent(large.ag, streamed), sent(large.own, streamed)] as const;
    const answers = await Promise.all([
      uiStream.serve(agent, requests[0], options),
      agUi.serve(agent, requests[1], options),
      runStream.serve(agent, requests[2], options),
    ]);
    for (const answer of answers) {
      expect(answer.status).toBe(413);
      expect(await answer.json()).toMatchObject({ error: { code: 'request-too-large' } });
    }
    for (const request of requests) expect(request.taken()).toBeLessThan(30_000);
  }
  expect(await journal.list?.()).toEqual([]);
  // The same without so much text is taken, in pieces that cut a letter in two.
  const small = body('é'.repeat(2001));
  expect((await uiStream.serve(agent, sent(small.ui, true), options)).status).toBe(200);
  const [run] = (await journal.list?.()) ?? [];
  expect(run?.input).toBe('é'.repeat(2001));
  expect(
    (await uiStream.serve(agent, sent(body('é'.repeat(200_000)).ui, true), { journal, owner: 'alan' })).status,
  ).toBe(200);
});

test('why a body could not be read is said, such as the limit of another server on the way, and no run begins', async () => {
  const journal = memoryJournal();
  const agent = payingAgent(journal);
  for (const kind of [uiStream, agUi, runStream]) {
    const body = new ReadableStream({
      pull: (controller) => controller.error(new Error('exceeds limit of 524288 bytes')),
    });
    const init = { method: 'POST', body, duplex: 'half' };
    const request = new Request('http://x/?id=c', init);
    const answer = await kind.serve(agent, request, { journal, owner: 'ada' });
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('limit of 524288 bytes')]);
  }
  expect(await journal.list?.()).toEqual([]);
});

test('a body that the server has read before is said to be missing, and no run begins', async () => {
  const journal = memoryJournal();
  const agent = payingAgent(journal);
  for (const kind of [uiStream, agUi, runStream]) {
    const read = new Request('http://x/?id=c', { method: 'POST', body: '{"id":"c"}' });
    await read.text();
    // As @hono/node-server makes it behind express.json(), whose stream has ended.
    const drained = new Request('http://x/?id=c', { method: 'POST', body: '' });
    for (const request of [read, drained]) {
      const answer = await kind.serve(agent, request, { journal, owner: 'ada' });
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({
        error: { code: 'bad-request', message: expect.stringContaining('has read it before') },
      });
    }
    const wrong = await kind.serve(agent, new Request('http://x/?id=c', { method: 'POST', body: '[' }), {
      journal,
      owner: 'ada',
    });
    expect(await wrong.text()).toMatch(/must be a (?:JSON object|RunAgentInput)/);
  }
  expect(await journal.list?.()).toEqual([]);
});

test.each([
  ['cross-site', 'text/plain', 403],
  ['same-site', 'application/x-www-form-urlencoded', 403],
  ['cross-site', 'text/plain; json', 403],
  ['cross-site', 'text/plain; x=application/json', 403],
  ['cross-site', 'application/json', 200],
  ['same-site', 'Application/JSON; charset=utf-8', 200],
  ['same-origin', 'text/plain', 200],
  ['', 'text/plain', 200],
])('a message from a %s page as %s is answered with %i', async (site, type, status) => {
  const journal = memoryJournal();
  const agent = createAgent({ model: scriptedModel(['A.', 'B.', 'C.']), journal, silent: true });
  onTestFinished(() => agent.close());
  const headers = { 'content-type': type, ...(site === '' ? {} : { 'sec-fetch-site': site }) };
  const options = { journal, owner: 'ada' };
  const post = (body: object, path = '/'): Request =>
    new Request(`http://x${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Go.' }] }];
  const answers = [
    await uiStream.serve(agent, post({ id: 'a', messages }), options),
    await agUi.serve(
      agent,
      post({ threadId: 'b', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'Go.' }] }),
      options,
    ),
    await runStream.serve(agent, post({ type: 'send', text: 'Go.' }, '/?id=c'), options),
  ];
  expect(answers.map((answer) => answer.status)).toEqual([status, status, status]);
  for (const answer of answers) expect((await answer.text()).includes('forged-request')).toBe(status === 403);
  expect(await journal.list?.()).toHaveLength(status === 403 ? 0 : 3);
});

test('a request that is nested millions of levels deep holds up nobody, and brackets in a text are no levels', async () => {
  const { agent, journal } = await waiting('Paid.');
  const ask = (body: string) =>
    runStream.serve(agent, new Request('http://x/?id=bills', { method: 'POST', body }), { journal, owner: 'ada' });
  using parse = vi.spyOn(JSON, 'parse');
  for (const body of ['['.repeat(4_000_000), `${'['.repeat(2_000_000)}${']'.repeat(2_000_000)}`])
    expect(await (await ask(body)).json()).toMatchObject({
      error: { message: expect.stringContaining('nested deeper') },
    });
  // To parse one takes seconds.
  expect(parse.mock.calls.filter(([text]) => text.length > 1_000_000)).toEqual([]);
  for (const text of ['[{'.repeat(2000), `"${'['.repeat(2000)}`, '\\', `\\"${'{'.repeat(2000)}`]) {
    const body = JSON.stringify({ type: 'unheard-of', text, list: Array.from({ length: 2000 }, () => [{}]) });
    expect(JSON.stringify(await (await ask(body)).json())).not.toContain('nested');
  }
});
