import { gunzipSync } from 'node:zlib';
import { request } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type Model, ModelError, type ModelIo, type ModelReply } from '../../src/actors/model.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { Frame } from '../../src/inspector/frames/protocol.ts';
import { isJsonObject } from '../../src/json/json.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { startScene } from './scenes.ts';
import { serverSentEvents, viewer } from './viewer.ts';
import { inspector } from './with-inspector.ts';

type Shown = Awaited<ReturnType<typeof inspector>>;

/** What the stream of a session sends from after a line on, until it ends. */
async function streamed(shown: Shown, session: string, from: number) {
  const events: { readonly id: string | null; readonly texts: readonly string[] }[] = [];
  for await (const event of serverSentEvents(
    await viewer(shown.url).get(`/api/sessions/${session}/stream?from=${from}`),
  ))
    if (event.type === 'message') events.push(event);
  return { lines: events.flatMap(({ texts }) => texts), last: events.at(-1)?.id };
}

/** A GET without what `fetch` does by itself. */
function raw(shown: Shown, path: string, headers: Readonly<Record<string, string>>) {
  const url = new URL(path, shown.url);
  url.search = new URL(shown.url).search;
  return new Promise<{ readonly encoding: string | undefined; readonly body: Buffer }>((resolve, reject) => {
    const sent = request(url, { headers }, (response) => {
      void response.toArray().then((parts) => {
        resolve({ encoding: response.headers['content-encoding'], body: Buffer.concat(parts) });
      }, reject);
    });
    sent.on('error', reject).end();
  });
}

/** A line of a recording as a page receives it that only plays it: without the digest of a request, which costs more than the rest. */
function sentLine(line: string): string {
  const record: unknown = JSON.parse(line);
  return JSON.stringify(isJsonObject(record) && 'request' in record ? { ...record, digest: '', key: '' } : record);
}

test('the lines of a run are those of its recording but for digests, at once and as a stream, which continues after any of them', async () => {
  const shown = await inspector();
  const run = startScene('plan-recovery', { inspect: shown });
  await run;
  const lines = run.recording().trim().split('\n').map(sentLine);
  expect(lines.filter((line) => line.includes('"digest":""')).length).toBeGreaterThan(2);
  expect((await viewer(shown.url).lines(run.runId)).trim().split('\n')).toEqual(lines);
  expect(await streamed(shown, run.runId, 0)).toEqual({ lines, last: String(lines.length) });
  expect((await streamed(shown, run.runId, 7)).lines).toEqual(lines.slice(7));
  expect(await streamed(shown, run.runId, lines.length)).toEqual({ lines: [], last: undefined });
  // What is downloaded has them all.
  expect(run.recording()).not.toContain('"digest":""');
});

test('tokens stand behind the line after which they came, and none of them is sent to who comes later', async () => {
  const shown = await inspector();
  const { promise: watched, resolve: watch } = Promise.withResolvers<void>();
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const run = createAgent({
    silent: true,
    streaming: true,
    inspect: shown,
    model: {
      id: 'slow',
      complete: async (_, { onToken }) => {
        await watched;
        for (const text of ['It ', 'is ', 'late.']) onToken?.({ kind: 'text', text });
        answer();
        return { content: 'It is late.' };
      },
    },
  }).run('How late is it?');
  const live: string[] = [];
  const follow = async (): Promise<void> => {
    for await (const { texts, type } of serverSentEvents(
      await viewer(shown.url).get(`/api/sessions/${run.runId}/stream`),
    )) {
      if (type === 'message') live.push(...texts);
      if (live.some((line) => line.includes('"callLlm"'))) watch();
    }
  };
  const followed = follow();
  await answered;
  await run;
  await followed;
  const kinds = live.map((line) => (JSON.parse(line) as { readonly t: string }).t);
  expect(kinds.filter((kind) => kind === 'said')).toHaveLength(3);
  expect(kinds.slice(kinds.indexOf('said') - 1)).toEqual(['start', 'said', 'said', 'said', 'outcome', 'end']);
  expect((await streamed(shown, run.runId, 0)).lines).toEqual(live.filter((line) => !line.includes('"t":"said"')));
});

/** A run whose model streams what it is told to. Each attempt ends as its promise in `ends` does. */
function streamingRun(shown: Shown, ends: readonly Promise<ModelReply>[], options: Partial<AgentOptions> = {}) {
  const begun = ends.map(() => Promise.withResolvers<NonNullable<ModelIo['onToken']>>());
  let attempts = 0;
  const complete: Model['complete'] = (_, { onToken = () => undefined }) => {
    const attempt = attempts++;
    begun[attempt]?.resolve(onToken);
    return ends[attempt] ?? Promise.reject(new Error('asked too often'));
  };
  const run = createAgent({
    model: { id: 'slow', complete },
    silent: true,
    streaming: true,
    inspect: shown,
    ...options,
  }).run('?');
  const stream = async (attempt: number, text: string, kind: 'text' | 'reasoning' = 'text'): Promise<void> =>
    (await begun[attempt]?.promise)?.({ kind, text });
  return { run, stream };
}

/** What a viewer who comes now, with the first lines or without, is sent beside lines: the words of tokens. */
function saidTo(shown: Shown, { runId }: { readonly runId: string }, from = 0) {
  const said: string[] = [];
  const follow = async (): Promise<void> => {
    for await (const { texts } of serverSentEvents(
      await viewer(shown.url).get(`/api/sessions/${runId}/stream?from=${from}`),
    ))
      for (const text of texts) {
        const line: { readonly t?: string; readonly note?: { readonly text: string } } = JSON.parse(text);
        if (line.t === 'said') said.push(line.note?.text ?? '');
      }
  };
  const over = follow();
  return { said, over, has: (last: string) => vi.waitUntil(() => said.at(-1) === last, { timeout: 10_000 }) };
}

test.each([false, true])(
  'who comes while a reply is under way is sent what it has said, once, and then what follows; tokens are recorded: %s',
  async (recordTokens) => {
    const shown = await inspector();
    const { promise: end, resolve: answer } = Promise.withResolvers<ModelReply>();
    const { run, stream } = streamingRun(shown, [end], { recordTokens, secrets: ['s3cr3t-value'] });
    await stream(0, 'It is ');
    await stream(0, 'Hm.', 'reasoning');
    await stream(0, 's3cr3t-value ');
    const early = saidTo(shown, run);
    await early.has('It is «secret:1» ');
    await stream(0, 'and ');
    await early.has('and ');
    const late = saidTo(shown, run);
    await late.has('It is «secret:1» and ');
    await stream(0, 'late.');
    const isWhole = (frame: Frame): boolean =>
      frame.t === 'event' && frame.event.type === 'model.token' && frame.event.answer === 'It is «secret:1» and late.';
    expect((await viewer(shown.url).frames(run.runId, isWhole)).filter(({ t }) => t === 'event').at(-1)).toBeDefined();
    answer({ content: 'It is s3cr3t-value and late.' });
    expect(await run).toMatchObject({ status: 'answered' });
    await Promise.all([early.over, late.over]);
    expect(early.said).toEqual(['Hm.', 'It is «secret:1» ', 'and ', 'late.']);
    expect(late.said).toEqual(['Hm.', 'It is «secret:1» and ', 'late.']);
    const after = saidTo(shown, run);
    await after.over;
    expect(after.said).toEqual([]);
  },
);

test('so is who comes while agents below are at their replies, several at once; what is over is not said again', async () => {
  const shown = await inspector();
  const clerk = (name: string) => {
    const begun = Promise.withResolvers<(text: string) => void>();
    const end = Promise.withResolvers<ModelReply>();
    const complete: Model['complete'] = (_, { onToken }) => {
      begun.resolve((text) => onToken?.({ kind: 'text', text }));
      return end.promise;
    };
    const agent = createAgent({ name, model: { id: name, complete }, silent: true, streaming: true });
    return { agent, say: async (text: string) => (await begun.promise)(text), end: end.resolve };
  };
  const [ada, bob] = [clerk('ada'), clerk('bob')];
  const model = scriptedModel([calls(['ada', { task: 'Look' }], ['bob', { task: 'Look' }]), 'Done.']);
  const options = { model, streaming: true, silent: true, inspect: shown };
  const run = createAgent({ ...options, children: [ada.agent, bob.agent] }).run('?');
  await ada.say('Ada is');
  await bob.say('Bob is');
  const isSaid = (answer: string) => (frame: Frame) =>
    frame.t === 'event' && frame.event.type === 'model.token' && frame.event.answer === answer;
  for (const answer of ['Ada is', 'Bob is']) await viewer(shown.url).frames(run.runId, isSaid(answer));
  const late = saidTo(shown, run);
  await late.has('Bob is');
  const seen = ['Ada is here.', 'Bob is there.'].map((answer) => viewer(shown.url).frames(run.runId, isSaid(answer)));
  await ada.say(' here.');
  await bob.say(' there.');
  await Promise.all(seen);
  ada.end({ content: 'Ada is here.' });
  await vi.waitUntil(() => run.recording().includes('"content":"Ada is here."'), { timeout: 10_000 });
  const later = saidTo(shown, run);
  await later.has('Bob is there.');
  bob.end({ content: 'Bob is there.' });
  await Promise.all([run, late.over, later.over]);
  expect(late.said.slice(0, 4)).toEqual(['Ada is', 'Bob is', ' here.', ' there.']);
  expect(later.said[0]).toBe('Bob is there.');
});

test('who comes back behind a line is sent all that the reply says by then, which begins it anew', async () => {
  const shown = await inspector();
  const { promise: end, resolve: answer } = Promise.withResolvers<ModelReply>();
  const { run, stream } = streamingRun(shown, [end]);
  await stream(0, 'Half a ');
  const first = saidTo(shown, run);
  await first.has('Half a ');
  await stream(0, 'rep');
  await first.has('rep');
  const back = saidTo(shown, run, 1);
  await back.has('Half a rep');
  await stream(0, 'ly');
  await Promise.all([first, back].map((one) => one.has('ly')));
  answer({ content: 'Half a reply' });
  await Promise.all([first.over, back.over]);
  expect([first.said, back.said]).toEqual([
    ['Half a ', 'rep', 'ly'],
    ['Half a rep', 'ly'],
  ]);
});

test('who opens a run that has just appeared in their list is sent each token as it came', async () => {
  const shown = await inspector();
  const { promise: end, resolve: answer } = Promise.withResolvers<ModelReply>();
  const { promise: watched, resolve: watch } = Promise.withResolvers<void>();
  const listed = viewer(shown.url).list(({ t }) => {
    if (t === 'hello') watch();
    return t === 'session';
  });
  await watched;
  // They are expected for two seconds, in which nobody comes on a busy machine.
  const { setTimeout: usual } = globalThis;
  const timers = vi
    .spyOn(globalThis, 'setTimeout')
    .mockImplementation((work, ms) => usual(work, ms === 2000 ? 100_000 : ms));
  onTestFinished(() => timers.mockRestore());
  const { run, stream } = streamingRun(shown, [end]);
  await stream(0, 'It is ');
  await stream(0, 'late.');
  await listed;
  const opened = saidTo(shown, run);
  await opened.has('late.');
  answer({ content: 'It is late.' });
  await opened.over;
  expect(opened.said).toEqual(['It is ', 'late.']);
});

test('nobody is sent the words of a reply that is void, and those of the next attempt stand alone', async () => {
  const shown = await inspector();
  const [{ promise: failed, reject: fail }, { promise: end, resolve: answer }] = [
    Promise.withResolvers<ModelReply>(),
    Promise.withResolvers<ModelReply>(),
  ];
  const { run, stream } = streamingRun(shown, [failed, end], { retry: { backoff: { kind: 'constant', ms: 300 } } });
  await stream(0, 'Void');
  const watching = saidTo(shown, run);
  await watching.has('Void');
  fail(new ModelError('server-error', 'down'));
  await viewer(shown.url).frames(run.runId, (frame) => frame.t === 'event' && frame.event.type === 'model.retrying');
  const between = saidTo(shown, run);
  await stream(1, 'Good');
  await between.has('Good');
  answer({ content: 'Good' });
  await Promise.all([run, watching.over, between.over]);
  expect([watching.said, between.said]).toEqual([['Void', 'Good'], ['Good']]);
});

test('files and lines are compressed for who takes that, events never, and nothing for who does not', async () => {
  const shown = await inspector();
  const run = startScene('plain', { inspect: shown });
  await run;
  const lines = `/api/sessions/${run.runId}/lines`;
  const plain = await raw(shown, lines, {});
  expect(plain.encoding).toBeUndefined();
  const packed = await raw(shown, lines, { 'accept-encoding': 'gzip, br' });
  expect(packed.encoding).toBe('gzip');
  expect(packed.body.length).toBeLessThan(plain.body.length / 2);
  expect(gunzipSync(packed.body).equals(plain.body)).toBe(true);
  const file = await raw(shown, '/assets/main.js', { 'accept-encoding': 'gzip' });
  expect(gunzipSync(file.body).toString()).toContain('console.log(');
  expect(
    (await raw(shown, `/api/sessions/${run.runId}/stream`, { 'accept-encoding': 'gzip' })).encoding,
  ).toBeUndefined();
});

test('lines that come at once are sent together, some twenty times a second', async () => {
  const shown = await inspector();
  const { promise: watched, resolve: watch } = Promise.withResolvers<void>();
  const script = scriptedModel([...Array.from({ length: 100 }, (_, n) => calls(['count', { n }])), 'Counted.']);
  const run = createAgent({
    model: { id: 'held', complete: async (asked, io) => (await watched, script.complete(asked, io)) },
    tools: [fakeTool('count')],
    maxSteps: 110,
    silent: true,
    inspect: shown,
  }).run('Count.');
  let events = 0;
  let begun = 0;
  for await (const { type } of serverSentEvents(await viewer(shown.url).get(`/api/sessions/${run.runId}/stream`))) {
    if (events === 0) begun = performance.now();
    if (type === 'message') events += 1;
    watch();
  }
  expect((await run).status).toBe('answered');
  expect(events).toBeLessThan((performance.now() - begun) / 50 + 4);
});
