import { gunzipSync } from 'node:zlib';
import { request } from 'node:http';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
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
