import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type Model, ModelError, type ModelReply } from '../../src/actors/model.ts';
import { createAgent } from '../../src/index.ts';
import { toResponse } from '../../src/inspector/index.ts';
import { fileJournal, memoryJournal } from '../../src/journal/index.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { agUi, runStream, uiStream } from '../../src/ui/index.ts';
import { calls } from '../support/replies.ts';
import { payingAgent } from './paying-agent.ts';

const SERVERS = { uiStream, agUi };

let asked = 0;

/** What a page posts to say something; its id is the text. A client of AG-UI sends it again under another id of its run. */
function said(kind: keyof typeof SERVERS, text: string, id = text): Request {
  asked += 1;
  const bodies = {
    uiStream: { id: 'a', messages: [{ id, role: 'user', parts: [{ type: 'text', text }] }] },
    agUi: { threadId: 'a', runId: `${asked}`, messages: [{ id, role: 'user', content: text }], tools: [], context: [] },
  };
  const body = JSON.stringify({ ...bodies[kind], trigger: 'submit-message', state: {}, forwardedProps: {} });
  const headers = { 'content-type': 'application/json' };
  return new Request('http://app.example/api?id=a', { method: 'POST', headers, body });
}

/** Processes of one app: their tool `look` waits until it may go on. */
function app() {
  const folder = mkdtempSync(join(tmpdir(), 'ui-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const go = Promise.withResolvers<string>();
  let looks = 0;
  const start = (replies: Parameters<typeof payingAgent>[1], more: object = {}) => {
    const journal = { ...fileJournal(folder), ...more };
    const look = (_args: object, { signal }: { signal: AbortSignal }) => {
      looks += 1;
      return Promise.race([
        go.promise,
        new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve(''))),
      ]);
    };
    const agent = payingAgent(journal, replies, { tools: [fakeTool('look', [look, look, look], { effects: 'none' })] });
    onTestFinished(() => agent.close({ runs: 'release' }));
    const say = (kind: keyof typeof SERVERS, text: string, id = text, owner = 'ada'): Promise<Response> =>
      SERVERS[kind].serve(agent, said(kind, text, id), { journal, owner });
    return { agent, journal, say };
  };
  const runs = async () => ((await fileJournal(folder).list?.()) ?? []).toReversed();
  return { start, runs, go: () => go.resolve('seen'), looks: () => looks };
}

async function textOf(response: Response): Promise<string> {
  return `${response.status} ${await response.text()}`;
}

/** An app whose process has ended its run, `Look.`, and is gone; the message `And now?` stands in line behind that, and others behind it. */
async function leftInLine(kind: keyof typeof SERVERS, ...others: readonly string[]) {
  const { start, runs, go, looks } = app();
  const first = start([calls(['look'])]);
  void first.say(kind, 'Look.');
  await expect.poll(looks).toBe(1);
  const [looking] = await runs();
  const posted: Promise<Response>[] = [];
  for (const text of ['And now?', ...others]) {
    posted.push(first.say(kind, text));
    await expect.poll(async () => JSON.stringify(await first.journal.read?.(looking?.runId ?? ''))).toContain(text);
  }
  await first.agent.close();
  await Promise.all(posted);
  expect((await runs()).map(({ status }) => status)).toEqual(['cancelled']);
  return { start, runs, go, looks };
}

for (const kind of ['uiStream', 'agUi'] as const) {
  test(`${kind}: a message that is posted several times at once is one run, at one process and at two`, async () => {
    const { start, runs } = app();
    const [one, other] = [start(['Once.', 'Then.', 'Again.', 'Bob.']), start(['Once.', 'Then.', 'Again.', 'Bob.'])];
    const posted = [one, one, other, one].map(({ say }) => say(kind, 'Hello.'));
    for (const each of posted) expect(await textOf(await each)).toContain('Once.');
    // The same text said anew is a run of its own, and so is the same message of somebody else.
    const next = [one.say(kind, 'Hi.', 'one'), one.say(kind, 'Hi.', 'two'), one.say(kind, 'Hi.', 'one', 'bob')];
    const told = (await Promise.all(next)).map(async (each) => /Then|Again|Bob/.exec(await textOf(each))?.[0]);
    expect(new Set(await Promise.all(told))).toEqual(new Set(['Then', 'Again', 'Bob']));
    const owners = (await runs()).map(({ metadata }) => metadata?.['conversationOwner']);
    expect([owners.length, owners.filter((owner) => owner === 'bob').length]).toEqual([4, 1]);
  });

  test(`${kind}: a message that is posted again while it is in line is one run, and both streams show it`, async () => {
    const { start, runs, go, looks } = app();
    const { say } = start([calls(['look']), 'Seen.', 'Only once.', 'Twice.']);
    const first = say(kind, 'Look.');
    await expect.poll(looks).toBe(1);
    const posted = [say(kind, 'And now?'), say(kind, 'And now?')];
    await new Promise((resolve) => setTimeout(resolve, 200));
    posted.push(say(kind, 'And now?'));
    await new Promise((resolve) => setTimeout(resolve, 200));
    go();
    await textOf(await first);
    for (const one of posted) expect(await textOf(await one)).toContain('Only once.');
    expect((await runs()).map(({ input }) => input)).toEqual(['Look.', 'And now?']);
  });

  test(`${kind}: a message to another process than the one that drives a run is run after that, and its stream shows it`, async () => {
    const { start, runs, go, looks } = app();
    const driver = start([calls(['look']), 'Seen.', 'Next.']);
    const other = start([]);
    const first = driver.say(kind, 'Look.');
    await expect.poll(looks).toBe(1);
    const posted = [other.say(kind, 'And now?'), other.say(kind, 'And now?'), driver.say(kind, 'And now?')];
    const [looking] = await runs();
    await expect
      .poll(async () => JSON.stringify(await other.journal.read?.(looking?.runId ?? '')))
      .toContain('And now?');
    await new Promise((resolve) => setTimeout(resolve, 300));
    go();
    await textOf(await first);
    for (const one of posted) expect(await textOf(await one)).toContain('Next.');
    expect((await runs()).map(({ input, status }) => [input, status])).toEqual([
      ['Look.', 'answered'],
      ['And now?', 'answered'],
    ]);
  });

  test(`${kind}: a message in line is kept when its process closes, and posted again it is one run`, async () => {
    const { start, runs, go, looks } = app();
    const first = start([calls(['look'])]);
    void first.say(kind, 'Look.');
    await expect.poll(looks).toBe(1);
    const posted = first.say(kind, 'And now?');
    const [looking] = await runs();
    await expect
      .poll(async () => JSON.stringify(await first.journal.read?.(looking?.runId ?? '')))
      .toContain('And now?');
    await first.agent.close({ runs: 'release' });
    expect((await textOf(await posted)).slice(0, kind === 'agUi' ? 3 : 3)).toBe(kind === 'agUi' ? '200' : '503');
    go();
    const next = start(['Seen.', 'Next.', 'Twice.']);
    expect(await textOf(await next.say(kind, 'And now?'))).toContain('Next.');
    expect((await runs()).map(({ input, status }) => [input, status])).toEqual([
      ['Look.', 'answered'],
      ['And now?', 'answered'],
    ]);
  });

  test(`${kind}: a message in line behind a run that its process has ended is one run, posted again as well`, async () => {
    const { start, runs } = await leftInLine(kind);
    const next = start(['Next.', 'Twice.']);
    expect(await textOf(await next.say(kind, 'And now?'))).toContain('Next.');
    await next.agent.close();
    expect((await runs()).map(({ input }) => input)).toEqual(['Look.', 'And now?']);
  });

  test(`${kind}: a message that was left in line behind another is answered by its own run`, async () => {
    const { start, go, looks } = await leftInLine(kind, 'And then?');
    const next = start([calls(['look']), 'Now.', 'Then.']);
    const listed = vi.spyOn(next.journal, 'list');
    const posted = next.say(kind, 'And then?');
    await expect.poll(looks).toBe(2);
    // Its process looks for the run, and sees that of the message before it.
    listed.mockClear();
    await expect.poll(() => listed.mock.calls.length).toBeGreaterThan(2);
    go();
    expect(await textOf(await posted)).toContain('Then.');
  });

  test(`${kind}: a message that was left in line and fails is not run again by being posted again`, async () => {
    const { start, runs } = await leftInLine(kind);
    const next = start([new ModelError('auth', 'no key'), 'Twice.']);
    expect(await textOf(await next.say(kind, 'And now?'))).toContain('no key');
    expect((await runs()).map(({ status }) => status)).toEqual(['cancelled', 'failed']);
  });

  test(`${kind}: another message comes after one that was left in line`, async () => {
    const { start, runs } = await leftInLine(kind);
    const next = start(['Next.', 'And then.']);
    expect(await textOf(await next.say(kind, 'And then?'))).toContain('And then.');
    expect((await runs()).map(({ input }) => input)).toEqual(['Look.', 'And now?', 'And then?']);
  });
}

test('uiStream: a message that is posted at two processes at once is one run, also if that fails', async () => {
  const { start, runs } = app();
  const failing = (): readonly ModelError[] => [new ModelError('auth', 'no key')];
  const posted = [start(failing()), start(failing())].map(({ say }) => say('uiStream', 'Hello.'));
  for (const each of posted) expect(await textOf(await each)).toContain('no key');
  expect((await runs()).map(({ status }) => status)).toEqual(['failed']);
});

test('agUi: what says something else by the id of a message in line is a run of its own', async () => {
  const { start, runs, go, looks } = app();
  const { say } = start([calls(['look']), 'Seen.', 'Tea.', 'Coffee.']);
  const first = say('agUi', 'Look.');
  await expect.poll(looks).toBe(1);
  const posted = ['Tea?', 'Coffee?'].map((text) => say('agUi', text, 'order'));
  await new Promise((resolve) => setTimeout(resolve, 200));
  go();
  await textOf(await first);
  for (const one of posted) expect(await textOf(await one)).toMatch(/Tea\.|Coffee\./);
  expect((await runs()).map(({ input }) => input).toSorted()).toEqual(['Coffee?', 'Look.', 'Tea?']);
});

test('a message for a run of a process that cannot be reached is refused, and can be sent again', async () => {
  const { start, runs, go, looks } = app();
  const alone = { requests: undefined };
  const driver = start([calls(['look']), 'Seen.'], alone);
  const other = start(['Next.'], alone);
  const first = driver.say('uiStream', 'Look.');
  await expect.poll(looks).toBe(1);
  expect(await textOf(await other.say('uiStream', 'And now?'))).toMatch(/^409 .*conversation-busy/);
  go();
  await textOf(await first);
  expect(await textOf(await other.say('uiStream', 'And now?'))).toContain('Next.');
  expect((await runs()).map(({ input }) => input)).toEqual(['Look.', 'And now?']);
});

test('a page that comes back to a process that is closed is told nothing of that: another process goes on with the run', async () => {
  const { start, go, looks } = app();
  const first = start([calls(['look'])]);
  void first.say('uiStream', 'Look.');
  await expect.poll(looks).toBe(1);
  await first.agent.close({ runs: 'release' });
  const closed = start([]);
  await closed.agent.close();
  const back = new Request('http://app.example/api/a/stream');
  const served = await uiStream.serve(closed.agent, back, { journal: closed.journal, owner: 'ada' });
  const text = served.text();
  go();
  await new Promise((resolve) => setTimeout(resolve, 200));
  await start(['Seen.']).agent.resumeOrphans();
  expect(await text).toContain('Seen.');
  expect(await text).not.toContain('agent-closed');
});

/** What comes of something while time passes in leaps. */
async function inLeaps<T>(coming: Promise<T>): Promise<T> {
  const there = Promise.allSettled([coming]);
  const isThere = () => Promise.race([there.then(() => true), new Promise((resolve) => setImmediate(resolve, false))]);
  while (!(await isThere())) await vi.advanceTimersByTimeAsync(1000);
  return coming;
}

for (const kind of ['uiStream', 'agUi'] as const) {
  test(`${kind}: the stream of a message that stays in line begins before its run, and shows that it stands`, async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { start, runs, go, looks } = app();
    const { say } = start([calls(['look']), 'Seen.', 'Next.', 'Gone.']);
    const first = say(kind, 'Look.');
    await expect.poll(looks).toBe(1);
    const left = await inLeaps(say(kind, 'And I leave.'));
    await left.body?.cancel();
    const posted = await inLeaps(say(kind, 'And now?'));
    expect([posted.status, posted.headers.get('content-type'), (await runs()).length]).toEqual([
      200,
      'text/event-stream',
      1,
    ]);
    const text = posted.text();
    await vi.advanceTimersByTimeAsync(60_000);
    go();
    await inLeaps((await first).text());
    const [pings = '', ...rest] = (await inLeaps(text)).split('data: ');
    expect(pings.split(': \n\n').length).toBeGreaterThan(4);
    expect(rest.join('')).toMatch(/Next\.|Gone\./);
    expect((await runs()).map(({ input }) => input)).toEqual(['Look.', 'And I leave.', 'And now?']);
  });

  test(`${kind}: a run in line whose page has left is not read for that page`, async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    let reads = 0;
    const journal = {
      ...memoryJournal(),
      revision: async () => {
        reads += 1;
        return null;
      },
    };
    const replies = [Promise.withResolvers<ModelReply>(), Promise.withResolvers<ModelReply>()];
    let requests = 0;
    const model: Model = { id: 'slow', complete: async () => replies[requests++]?.promise ?? { content: '' } };
    const agent = createAgent({ model, silent: true, journal });
    onTestFinished(() => agent.close());
    const say = (text: string): Promise<Response> =>
      inLeaps(SERVERS[kind].serve(agent, said(kind, text), { journal, owner: 'ada' }));
    const first = await say('Look.');
    const reader = (await say('And I leave.')).body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await vi.advanceTimersByTimeAsync(10_000);
    replies[0]?.resolve({ content: 'Seen.' });
    await inLeaps(first.text());
    await inLeaps(expect.poll(() => requests, { timeout: 60_000 }).toBe(2));
    await vi.advanceTimersByTimeAsync(10_000);
    reads = 0;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(reads).toBe(0);
    replies[1]?.resolve({ content: 'Gone.' });
  });

  test(`${kind}: what becomes of a message is an error of its stream where that has begun`, async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { start, looks } = app();
    const { agent, say } = start([calls(['look'])]);
    void say(kind, 'Look.');
    await expect.poll(looks).toBe(1);
    const posted = await inLeaps(say(kind, 'And now?'));
    await inLeaps(agent.close({ runs: 'release' }));
    const messages = (await inLeaps(posted.text())).split('data: ').slice(1);
    const error = kind === 'agUi' ? { type: 'RUN_ERROR', code: 'agent-closed' } : { type: 'error' };
    const at = kind === 'agUi' ? 1 : 0;
    expect(JSON.parse(messages[at] ?? '')).toMatchObject({ ...error });
    expect(messages.length).toBe(2);
    expect(messages.at(-1)?.trim() === '[DONE]').toBe(kind === 'uiStream');
  });
}

test('a stream on which nothing comes shows that it stands before the ten seconds are over that Bun waits', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { start, looks } = app();
  const { agent, journal, say } = start([calls(['look']), calls(['look'])]);
  const posted = [await inLeaps(say('uiStream', 'Look.')), await inLeaps(say('agUi', 'Look.', 'Look.', 'bob'))];
  await expect.poll(looks).toBe(2);
  const run = new Request('http://app.example/api?id=a');
  const alone = createAgent({ model: { id: 'silent', complete: () => new Promise(() => undefined) }, silent: true });
  onTestFinished(() => alone.close());
  const live = alone.run('Look.');
  onTestFinished(() => void live.cancel());
  const streams = [...posted, await inLeaps(runStream.serve(agent, run, { journal, owner: 'ada' })), toResponse(live)];
  const texts = streams.map(() => '');
  for (const [at, { body }] of streams.entries())
    body
      ?.pipeThrough(new TextDecoderStream())
      .pipeTo(new WritableStream({ write: (text) => void (texts[at] += text) }))
      .catch(() => undefined);
  await vi.advanceTimersByTimeAsync(500);
  const before = [...texts];
  await vi.advanceTimersByTimeAsync(8500);
  expect(texts.map((text, at) => /^: ?\n\n/.test(text.slice(before[at]?.length)))).toEqual([true, true, true, true]);
});
