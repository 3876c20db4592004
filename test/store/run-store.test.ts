import { expect, onTestFinished, test, vi } from 'vitest';
import type { JournalStore, Model } from '../../src/index.ts';
import { runStore } from '../../src/store/index.ts';
import { type RunSnapshot } from '../../src/store/index.ts';
import { followed, isDone, paid, payCall, runsIn, servedChat } from './served-chat.ts';

const texts = ({ messages }: RunSnapshot): readonly string[] => messages.map(({ role, text }) => `${role}: ${text}`);

test('a chat streams: what was asked, the reply while it is written, the answer, and the next run behind it', async () => {
  const { url } = await servedChat([{ content: 'One two three.', paceMs: 200 }, 'Again.']);
  const { store, views, until } = followed(`${url}/?id=a`);
  await until(({ connection }) => connection === 'closed');
  expect(store.getSnapshot()).toMatchObject({ status: 'idle', runId: null, messages: [], error: null });
  expect(await store.send('Count.')).toBe(true);
  const done = await until(isDone);
  expect(texts(done)).toEqual(['user: Count.', 'assistant: One two three.']);
  expect(done).toMatchObject({
    status: 'answered',
    state: 'COMPLETION',
    step: 1,
    pending: [],
    error: null,
    output: null,
  });
  expect(done.usage.totalTokens).toBeGreaterThan(0);
  const partial = views.flatMap(({ messages }) =>
    messages.filter(({ isPartial }) => isPartial).map(({ text }) => text),
  );
  expect(partial.length).toBeGreaterThan(0);
  expect(partial.every((text) => 'One two three.'.startsWith(text))).toBe(true);
  expect(await store.send('Once more.')).toBe(true);
  const next = await until((view) => isDone(view) && view.runId !== done.runId);
  expect(texts(next)).toEqual([...texts(done), 'user: Once more.', 'assistant: Again.']);
});

test('signs that end a line elsewhere arrive as they were written, and break no stream', async () => {
  const { url } = await servedChat(['One\u2028data: two\u2029id: 9\u0085three']);
  const { store, views, until } = followed(`${url}/?id=a`);
  await store.send('Say\u2028this.');
  const done = await until(isDone);
  expect(texts(done)).toEqual(['user: Say\u2028this.', 'assistant: One\u2028data: two\u2029id: 9\u0085three']);
  expect(views.filter(({ connection }) => connection === 'retrying')).toEqual([]);
});

test('a long reply is sent once while it is written, not again with each word', async () => {
  const words = Array.from({ length: 250 }, (_, at) => `${at} 👩‍👧 `);
  const answer = words.join('').trim();
  const { promise: isOpen, resolve: open } = Promise.withResolvers<void>();
  const model: Model = {
    complete: async (_request, { onToken }) => {
      await isOpen;
      for (const word of words)
        for (const text of word.split('')) {
          onToken?.({ kind: 'text', text });
          await new Promise((resolve) => setImmediate(resolve));
        }
      return { content: answer };
    },
  };
  let bytes = 0;
  const counting: typeof fetch = async (...request) => {
    const response = await fetch(...request);
    const count = (piece: Uint8Array, controller: TransformStreamDefaultController<Uint8Array>): void => {
      bytes += piece.length;
      controller.enqueue(piece);
    };
    return response.body === null
      ? response
      : new Response(response.body.pipeThrough(new TransformStream({ transform: count })), response);
  };
  const { url } = await servedChat([], { options: { model } });
  const { store, views, until } = followed(`${url}/?id=a`, { fetch: counting });
  await store.send('Count.');
  await until(({ state }) => state === 'PLANNING.ASKING');
  open();
  const done = await until(isDone);
  expect(texts(done)).toEqual(['user: Count.', `assistant: ${answer}`]);
  const partial = views.flatMap(({ messages }) => messages.filter(({ isPartial }) => isPartial));
  expect(partial.length).toBeGreaterThan(20);
  expect(partial.every(({ text }) => answer.startsWith(text))).toBe(true);
  expect(bytes / partial.length).toBeLessThan(400);
});

test('a call is approved with other arguments, which the tool gets; the run goes on', async () => {
  const { url } = await servedChat([payCall(5), 'Paid.']);
  const { store, until } = followed(`${url}/?id=a`);
  await store.send('Pay 5.');
  const waiting = await until(({ status }) => status === 'waiting');
  expect(waiting.pending).toMatchObject([{ tool: 'pay', args: { amount: 5 }, runId: waiting.runId }]);
  const { callId = '' } = waiting.pending[0] ?? {};
  expect(await store.approve(`${callId}0`, { amount: 1 })).toBe(false);
  expect(paid).toEqual([]);
  expect(await store.approve(callId, { amount: 7 })).toBe(true);
  const done = await until(isDone);
  expect(paid).toEqual([7]);
  expect(done.pending).toEqual([]);
  const [call] = done.messages.flatMap(({ calls }) => calls);
  expect(call).toMatchObject({ status: 'finished', ok: true, args: { amount: 7 } });
  expect(texts(done).at(-1)).toBe('assistant: Paid.');
});

test('edited arguments that the tool does not take are refused: nothing runs with them', async () => {
  const { url } = await servedChat([payCall(5), 'Sorry.']);
  const { store, until } = followed(`${url}/?id=a`);
  await store.send('Pay 5.');
  const { pending } = await until(({ status }) => status === 'waiting');
  await store.approve(pending[0]?.callId ?? '', { amount: 700 });
  await until((view) => view.pending[0]?.callId !== pending[0]?.callId || view.error !== null || isDone(view));
  expect(paid).toEqual([]);
});

test('a call is rejected, and the model is told why', async () => {
  const { url, model } = await servedChat([payCall(5), 'Then not.']);
  const { store, until } = followed(`${url}/?id=a`);
  await store.send('Pay 5.');
  const { pending } = await until(({ status }) => status === 'waiting');
  expect(await store.reject(pending[0]?.callId ?? '', 'too expensive')).toBe(true);
  const done = await until(isDone);
  expect(paid).toEqual([]);
  expect(done.messages.flatMap(({ calls }) => calls)).toMatchObject([{ status: 'denied', tool: 'pay' }]);
  expect(JSON.stringify(model.requests.at(-1)?.body.messages)).toContain('too expensive');
});

test('what is said to a run that goes on is shown once, waits until the model has it, and is answered', async () => {
  const { url, model } = await servedChat([payCall(5), 'Paid, in metric.']);
  const { store, until, views } = followed(`${url}/?id=a`);
  await store.send('Pay 5.');
  const { pending } = await until(({ status }) => status === 'waiting');
  expect(await store.steer('In metric, please.')).toBe(true);
  await until(({ messages }) => messages.some(({ isWaiting }) => isWaiting));
  await store.approve(pending[0]?.callId ?? '');
  const done = await until(isDone);
  expect(done.messages.filter(({ text }) => text === 'In metric, please.')).toMatchObject([
    { role: 'user', isWaiting: false },
  ]);
  expect(views.some(({ messages }) => messages.filter(({ text }) => text.startsWith('In metric')).length > 1)).toBe(
    false,
  );
  expect(JSON.stringify(model.requests.at(-1)?.body.messages)).toContain('In metric, please.');
});

test('stop ends the run as cancelled, from another tab too; closing a tab does not', async () => {
  const { url, journal } = await servedChat([{ content: 'One two three four five six.', stallAfter: 3 }]);
  const one = followed(`${url}/?id=a`);
  const two = followed(`${url}/?id=a`);
  const three = followed(`${url}/?id=a`);
  await one.store.send('Count.');
  await one.until(({ messages }) => messages.some(({ isPartial }) => isPartial));
  one.leave();
  await new Promise((resolve) => setTimeout(resolve, 50));
  const [before] = (await journal.list?.()) ?? [];
  expect(before?.state).toBe('running');
  // A tab that was open before the run began looks when it asks for something.
  const late = followed(`${url}/?id=a`);
  await late.until(({ status }) => status === 'working');
  const said = await late.until(({ messages }) => messages.at(-1)?.role === 'assistant');
  expect(await late.store.stop()).toBe(true);
  expect((await late.until(isDone)).status).toBe('cancelled');
  expect(await late.store.stop()).toBe(false);
  expect(late.store.getSnapshot().messages.some(({ isPartial }) => isPartial)).toBe(false);
  expect(late.store.getSnapshot().messages.at(-1)).toMatchObject({ text: said.messages.at(-1)?.text });
  expect(said.messages.at(-1)?.text).toMatch(/^One two/);
  expect(two.store.getSnapshot().status).toBe('idle');
  three.leave();
});

test('an answer to other arguments than those that were shown, to another call, and to a run that is over is refused', async () => {
  const { url } = await servedChat([payCall(5), 'Paid.']);
  const { store, until } = followed(`${url}/?id=a`);
  await store.send('Pay 5.');
  const { pending, runId } = await until(({ status }) => status === 'waiting');
  const [{ callId, digest } = { callId: '', digest: '' }] = pending;
  const post = async (body: object): Promise<unknown> =>
    (await fetch(`${url}/?id=a`, { method: 'POST', body: JSON.stringify(body) })).json();
  const refused = (code: string) => ({ ok: false, error: { code } });
  expect(digest).not.toBe('');
  expect(await post({ type: 'approve', runId, callId, digest: `${digest}0` })).toMatchObject(
    refused('approval-changed'),
  );
  expect(await post({ type: 'approve', runId, callId })).toMatchObject(refused('approval-changed'));
  expect(await post({ type: 'approve', runId, callId: 'c9', digest })).toMatchObject(refused('approval-unknown'));
  expect(await post({ type: 'approve', runId, callId, digest, args: 3 })).toMatchObject({
    error: { code: 'bad-request' },
  });
  expect(await post({ type: 'approve', runId: 'other', callId, digest })).toMatchObject({ ok: false });
  expect(paid).toEqual([]);
  expect(await post({ type: 'approve', runId, callId, digest })).toEqual({ ok: true });
  await until(isDone);
  expect(paid).toEqual([5]);
  expect(await post({ type: 'approve', runId, callId, digest })).toMatchObject({ ok: false, error: { code: 'over' } });
});

test('a page that is loaded receives the latest 100 runs of a long chat', async () => {
  const { url, agent } = await servedChat([], { options: { model: { complete: async () => ({ content: 'Yes.' }) } } });
  const chat = agent.conversation('ann/a', { owner: 'ann' });
  for (let at = 1; at <= 103; at += 1) await chat.run(`Is it ${at}?`);
  const { until } = followed(`${url}/?id=a`);
  const { messages } = await until(isDone);
  expect(messages.length).toBe(200);
  expect([messages[0]?.text, messages.at(-2)?.text]).toEqual(['Is it 4?', 'Is it 103?']);
});

test('what arrives together is told together: a chat that is opened is rendered once, not with each message', async () => {
  const { url, agent } = await servedChat([], { options: { model: { complete: async () => ({ content: 'Yes.' }) } } });
  const chat = agent.conversation('ann/a', { owner: 'ann' });
  for (let at = 1; at <= 10; at += 1) await chat.run(`Is it ${at}?`);
  // As a slow network sends it: in pieces, the first of which ends within a message, and a sign of life before all.
  const inPieces: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    const sent = await response.text();
    const at = sent.indexOf('Is it 6?');
    const pieces = [': \n\n', sent.slice(0, at), sent.slice(at)].map((piece) => new TextEncoder().encode(piece));
    const body = new ReadableStream({
      pull: (controller) => (pieces.length === 0 ? controller.close() : controller.enqueue(pieces.shift())),
    });
    return new Response(sent === '' ? null : body, response);
  };
  const { until, views } = followed(`${url}/?id=a`, { fetch: inPieces });
  await until(isDone);
  expect([...new Set(views.map(({ messages }) => messages.length))]).toEqual([0, 10, 20]);
  const told = views.map(({ messages, connection }) => `${connection} ${messages.length}`);
  expect(told.slice(0, 4)).toEqual(['connecting 0', 'open 0', 'open 10', 'open 20']);
});

test('a request that is none is refused with what is wrong with it, and changes nothing', async () => {
  const { url, journal } = await servedChat([payCall(5), 'Paid.']);
  const { store, until } = followed(`${url}/?id=a`);
  await store.send('Pay 5.');
  const { runId } = await until(({ status }) => status === 'waiting');
  const wrong: readonly (readonly [unknown, string])[] = [
    ['', 'The body must be a JSON object.'],
    [[], 'The body must be a JSON object.'],
    [{}, "'type' must be one of 'approve', 'reject', 'send', 'steer', 'stop'."],
    [{ type: 'cancel', runId }, "'type' must be one of 'approve', 'reject', 'send', 'steer', 'stop'."],
    [{ type: 'send', text: ' ' }, "'text' must be a text that is not blank."],
    [{ type: 'send', text: 5 }, "'text' must be a text."],
    [{ type: 'steer', runId }, "'text' must be a text that is not blank."],
    [{ type: 'stop' }, "'runId' must name the run."],
    [{ type: 'stop', runId: 7 }, "'runId' must be a text."],
    [{ type: 'approve', runId }, "'callId' must name the call."],
    [{ type: 'reject', runId, callId: 'c1', args: 3 }, "'args' must be a JSON object."],
  ];
  for (const [body, message] of wrong) {
    const response = await fetch(`${url}/?id=a`, { method: 'POST', body: JSON.stringify(body) });
    expect([response.status, await response.json()]).toEqual([400, { error: { code: 'bad-request', message } }]);
  }
  expect(await store.send('')).toBe(false);
  expect(store.getSnapshot().error).toEqual({
    code: 'bad-request',
    message: "'text' must be a text that is not blank.",
  });
  expect(await runsIn(journal)).toBe(1);
  expect(store.getSnapshot().status).toBe('waiting');
});

test('a chat of another owner is as if it were not there; without an owner only ids that nobody guesses are served', async () => {
  const owner = (request: Request): string | undefined => request.headers.get('x-user') ?? undefined;
  const { url, journal } = await servedChat(['Secret.'], { owner });
  const ann = followed(`${url}/?id=a`, { headers: () => ({ 'x-user': 'ann' }) });
  await ann.store.send('Tell me.');
  const { runId } = await ann.until(isDone);
  const bob = { 'x-user': 'bob' };
  const unknown = await fetch(`${url}/?id=never`, { headers: bob });
  const others = await fetch(`${url}/?id=a`, { headers: bob });
  expect([others.status, await others.text()]).toEqual([unknown.status, await unknown.text()]);
  const stop = await fetch(`${url}/?id=a`, {
    method: 'POST',
    headers: bob,
    body: JSON.stringify({ type: 'stop', runId }),
  });
  const never = await fetch(`${url}/?id=z`, {
    method: 'POST',
    headers: bob,
    body: JSON.stringify({ type: 'stop', runId }),
  });
  expect(await stop.text()).toBe(await never.text());
  expect((await fetch(`${url}/?id=a`)).status).toBe(404);
  expect(await runsIn(journal)).toBe(1);
});

test('a server that refuses is not asked again, and the view says why', async () => {
  let asked = 0;
  const { url } = await servedChat([], {
    around: async () => {
      asked += 1;
      return Response.json({ error: { code: 'signed-out', message: 'Sign in.' } }, { status: 401 });
    },
  });
  const { store, until } = followed(`${url}/?id=a`);
  const view = await until(({ connection }) => connection === 'closed');
  expect(view.error).toEqual({ code: 'signed-out', message: 'Sign in.' });
  expect(asked).toBe(1);
  expect(await store.send('Hello')).toBe(false);
  expect(store.getSnapshot().error?.code).toBe('signed-out');
  expect(asked).toBe(2);
});

test('any number of subscribers have one connection, also when the only one leaves and comes back at once', async () => {
  const asked: string[] = [];
  const { url } = await servedChat(['Hi.']);
  const store = runStore(`${url}/?id=a`, {
    fetch: (input, init) => {
      asked.push(init?.method ?? 'GET');
      return fetch(input, init);
    },
  });
  expect(asked).toEqual([]);
  store.subscribe(() => undefined)();
  const { until } = followed(store);
  followed(store);
  await until(({ connection }) => connection === 'closed');
  expect(asked).toEqual(['GET']);
});

test('a run that begins while the answer is on its way that nothing goes on is followed all the same', async () => {
  const posted = Promise.withResolvers<void>();
  const { url } = await servedChat(['Hi.'], {
    around: async (request, answer) => {
      const response = await answer();
      if (request.method === 'GET' && response.status === 204) await posted.promise;
      return response;
    },
  });
  const { store, until } = followed(`${url}/?id=a`);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await store.send('Hello')).toBe(true);
  posted.resolve();
  expect(texts(await until(isDone))).toEqual(['user: Hello', 'assistant: Hi.']);
});

test('what is sent while a run goes on waits for its end, and is shown once all the while', async () => {
  const { promise: continues, resolve: goOn } = Promise.withResolvers<void>();
  const { url } = await servedChat([{ content: 'One two three four five.', stallAfter: 3, continues }, 'Next.']);
  const { store, until, views } = followed(`${url}/?id=a`);
  await store.send('Count.');
  const { runId } = await until(({ messages }) => messages.some(({ isPartial }) => isPartial));
  expect(await store.send('And then?')).toBe(true);
  await until(({ messages }) => messages.some(({ isWaiting }) => isWaiting));
  goOn();
  const done = await until((view) => isDone(view) && view.runId !== runId);
  expect(texts(done)).toEqual([
    'user: Count.',
    'assistant: One two three four five.',
    'user: And then?',
    'assistant: Next.',
  ]);
  for (const { messages } of views) expect(messages.filter(({ text }) => text === 'And then?').length).toBeLessThan(2);
});

test('what is sent to another process than the one that drives the run is the next run, once', async () => {
  const { promise: continues, resolve: goOn } = Promise.withResolvers<void>();
  const { url, process, journal } = await servedChat([
    { content: 'One two three.', stallAfter: 2, continues },
    'Next.',
  ]);
  const { store, until } = followed(`${url}/?id=a`);
  await store.send('Count.');
  const { runId } = await until(({ messages }) => messages.some(({ isPartial }) => isPartial));
  const other = followed(`${(await process()).url}/?id=a`);
  await other.until((view) => view.runId === runId);
  expect(await other.store.send('And then?')).toBe(true);
  expect(other.store.getSnapshot().error).toBeNull();
  goOn();
  const both = await Promise.all(
    [until, other.until].map((seen) => seen((view) => isDone(view) && view.runId !== runId)),
  );
  for (const done of both) expect(texts(done).slice(2)).toEqual(['user: And then?', 'assistant: Next.']);
  expect(await runsIn(journal)).toBe(2);
});

test('what was sent while a run goes on is not lost when its server is closed: the next one runs it', async () => {
  const { url, process, agent } = await servedChat([{ content: 'One two three.', stallAfter: 2 }, 'Three.', 'Next.']);
  const { store, until } = followed(`${url}/?id=a`);
  await store.send('Count.');
  await until(({ messages }) => messages.some(({ isPartial }) => isPartial));
  expect(await store.send('And then?')).toBe(true);
  await agent.close({ runs: 'release' });
  const next = followed(`${(await process()).url}/?id=a`);
  const done = await next.until((view) => isDone(view) && view.messages.length === 4);
  expect(texts(done)).toEqual(['user: Count.', 'assistant: Three.', 'user: And then?', 'assistant: Next.']);
});

test('what a server that was closed for good has kept in its queue is run when a page is loaded, once', async () => {
  const { url, process, agent, journal } = await servedChat([{ content: 'One two three.', stallAfter: 2 }, 'Next.']);
  const { store, until } = followed(`${url}/?id=a`);
  await store.send('Count.');
  await until(({ messages }) => messages.some(({ isPartial }) => isPartial));
  expect(await store.send('And then?')).toBe(true);
  await agent.close();
  expect(await runsIn(journal)).toBe(1);
  const { url: next } = await process();
  const pages = [followed(`${next}/?id=a`), followed(`${next}/?id=a`)];
  for (const page of pages) {
    const done = await page.until((view) => isDone(view) && view.status === 'answered');
    expect(texts(done).slice(-2)).toEqual(['user: And then?', 'assistant: Next.']);
  }
  expect(await runsIn(journal)).toBe(2);
});

test('a page that is loaded long before the next run is shown by the journal waits for it', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { promise: continues, resolve: goOn } = Promise.withResolvers<void>();
  const { process, journal } = await servedChat([{ content: 'One two three.', stallAfter: 2, continues }, 'Next.']);
  let isHidden = true;
  let looks = 0;
  const list: JournalStore['list'] = async (query) => {
    looks += 1;
    const runs = (await journal.list?.(query)) ?? [];
    return isHidden ? runs.slice(-1) : runs;
  };
  const { url } = await process({ ...journal, list });
  const { store, until } = followed(`${url}/?id=a`);
  await store.send('Count.');
  const { runId } = await until(({ messages }) => messages.some(({ isPartial }) => isPartial));
  await store.send('And then?');
  goOn();
  await expect.poll(() => runsIn(journal)).toBe(2);
  const late = followed(`${url}/?id=a`);
  for (let times = 0; times < 3; times += 1) {
    const before = looks;
    await expect.poll(() => looks > before + 1 || late.store.getSnapshot().connection === 'closed').toBe(true);
    vi.advanceTimersByTime(9000);
  }
  isHidden = false;
  const done = await late.until((view) => isDone(view) && view.runId !== runId);
  expect(texts(done).slice(2)).toEqual(['user: And then?', 'assistant: Next.']);
});

test('a store that is slow between two runs is waited for: who follows sees what was queued run', async () => {
  const { url, process, agent, journal } = await servedChat([
    { content: 'One two three.', stallAfter: 2 },
    'Three.',
    'Next.',
  ]);
  const { store, until } = followed(`${url}/?id=a`);
  await store.send('Count.');
  await until(({ messages }) => messages.some(({ isPartial }) => isPartial));
  expect(await store.send('And then?')).toBe(true);
  await agent.close({ runs: 'release' });
  let isSlow = true;
  const list: JournalStore['list'] = async (query) => {
    const runs = (await journal.list?.(query)) ?? [];
    if (!isSlow || query?.limit !== 1 || runs[0]?.state !== 'ended') return runs;
    // The first to ask who is last is the process itself, which is about to begin the next run.
    isSlow = false;
    await new Promise((resolve) => setTimeout(resolve, 300));
    return runs;
  };
  const next = followed(`${(await process({ ...journal, list })).url}/?id=a`);
  const done = await next.until(isDone);
  expect(isSlow).toBe(false);
  expect(texts(done)).toEqual(['user: Count.', 'assistant: Three.', 'user: And then?', 'assistant: Next.']);
});

test('nor does a store that shows a run after a while end the chat between two of one process', async () => {
  const { promise: continues, resolve: goOn } = Promise.withResolvers<void>();
  const { process, journal } = await servedChat([{ content: 'One two three.', stallAfter: 2, continues }, 'Next.']);
  const list: JournalStore['list'] = async (query) =>
    ((await journal.list?.(query)) ?? []).filter(
      ({ at }, index, { length }) => index === length - 1 || Date.now() - Date.parse(at) > 300,
    );
  const { url } = await process({ ...journal, list });
  const { store, until } = followed(`${url}/?id=a`);
  await store.send('Count.');
  await until(({ messages }) => messages.some(({ isPartial }) => isPartial));
  const tab = followed(`${url}/?id=a`);
  await tab.until(({ messages }) => messages.length > 1);
  expect(await store.send('And then?')).toBe(true);
  goOn();
  expect(texts(await tab.until(isDone)).slice(2)).toEqual(['user: And then?', 'assistant: Next.']);
});

test('what is sent while a run waits for a person is refused: that is answered first', async () => {
  const { url } = await servedChat([payCall(5), 'Paid.']);
  const { store, until } = followed(`${url}/?id=a`);
  await store.send('Pay 5.');
  const { pending, messages } = await until(({ status }) => status === 'waiting');
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(await store.send('And then?')).toBe(false);
  expect(store.getSnapshot()).toMatchObject({ messages, error: { code: 'conversation-waiting' } });
  expect(await store.approve(pending[0]?.callId ?? '')).toBe(true);
  expect((await until(isDone)).error).toBeNull();
});

test('what is refused because of another tab shows what that has done: the question is there to be answered', async () => {
  const { url } = await servedChat([payCall(5), 'Paid.']);
  const { store, until } = followed(`${url}/?id=a`);
  const other = followed(`${url}/?id=a`);
  for (const tab of [store, other.store]) await expect.poll(() => tab.getSnapshot().connection).toBe('closed');
  await other.store.send('Pay 5.');
  await other.until(({ status }) => status === 'waiting');
  expect(await store.send('Hello?')).toBe(false);
  expect(store.getSnapshot().error?.code).toBe('conversation-waiting');
  const { pending } = await until(({ status }) => status === 'waiting');
  expect(await store.approve(pending[0]?.callId ?? '')).toBe(true);
  await until(isDone);
});

test('of two messages to two processes at the same moment one waits for the other, and none is refused', async () => {
  const { promise: continues, resolve: goOn } = Promise.withResolvers<void>();
  const { url, process, journal } = await servedChat([
    { content: 'One two three.', stallAfter: 2, continues },
    'Next.',
  ]);
  const { store, until } = followed(`${url}/?id=a`);
  let isFirst = true;
  const claim: JournalStore['claim'] = async (name) => {
    if (!isFirst) return (await journal.claim?.(name)) ?? null;
    isFirst = false;
    // The other process has it by now, but has written nothing yet.
    void store.send('Count.');
    return null;
  };
  const late = followed(`${(await process({ ...journal, claim })).url}/?id=a`);
  expect(await late.store.send('And then?')).toBe(true);
  expect(late.store.getSnapshot().error).toBeNull();
  goOn();
  const done = await until((view) => isDone(view) && view.messages.length > 2);
  expect(texts(done)).toEqual(['user: Count.', 'assistant: One two three.', 'user: And then?', 'assistant: Next.']);
  expect([isFirst, await runsIn(journal)]).toEqual([false, 2]);
});

test('what the model has said before it falls silent is shown, though its turn was not recorded yet when it said it', async () => {
  for (let at = 0; at < 3; at += 1) {
    const { url } = await servedChat([{ content: 'One two three four five.', stallAfter: 3 }]);
    const { store, until } = followed(`${url}/?id=a`);
    await store.send('Count.');
    expect((await until(({ messages }) => messages.length > 1)).messages.at(-1)?.isPartial).toBe(true);
  }
});
