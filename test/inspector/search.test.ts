import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { SearchPage } from '../../src/inspector/frames/protocol.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { testFolder } from '../support/test-folder.ts';
import { viewer } from './viewer.ts';
import { inspector } from './with-inspector.ts';

const runOf = (task: string, where: string) =>
  createAgent({
    name: 'scout',
    instructions: 'You are a careful otter.',
    model: scriptedModel([calls(['look', { where }]), `Seen ${where}.`]),
    tools: [fakeTool('look', [{ sky: `"grey"\nover ${where}` }], { inputSchema: { type: 'object' } })],
    silent: true,
  }).run(task);

async function searched(url: string, query: string): Promise<SearchPage> {
  const response = await viewer(url).get(`/api/search?q=${encodeURIComponent(query)}`);
  return (await response.json()) as SearchPage;
}

test('a text is found in the runs of a folder: in prompts, requests, replies and results, the newest run first', async () => {
  const folder = testFolder();
  const names: string[] = [];
  for (const where of ['Bergen', 'Tromsø', 'Malmö']) {
    const run = runOf(`Look at ${where}`, where);
    await run;
    names.push(run.runId);
    writeFileSync(join(folder, `${run.runId}.jsonl`), run.recording());
  }
  const shown = await inspector();
  await shown.openFolder(folder);

  const bergen = await searched(shown.url, 'bergen');
  expect(new Set(bergen.hits.map(({ session }) => session))).toEqual(new Set([names[0]]));
  expect(bergen.hits.map(({ where }) => where)).toEqual(
    expect.arrayContaining(['prompt', 'reply callLlm', 'request callTool', 'reply callTool']),
  );
  const otter = await searched(shown.url, 'careful OTTER');
  expect([...new Set(otter.hits.map(({ session }) => session))]).toEqual(names.toReversed());
  const quoted = await searched(shown.url, '"grey"\nover Tromsø');
  expect(quoted.hits.length).toBeGreaterThan(0);
  for (const { session, line, excerpt } of [...bergen.hits, ...quoted.hits]) {
    expect(excerpt.length).toBeLessThan(200);
    const text = await (await viewer(shown.url).get(`/api/sessions/${session}/recording`)).text();
    expect(text.split('\n')[line - 1]?.toLowerCase()).toMatch(/bergen|tromsø/);
  }
});

test('nothing is found for nothing, nor in digests and clocks; what is too much ends and says so', async () => {
  const shown = await inspector();
  const one = runOf('Look', 'here');
  await one;
  shown.open(one.recording());
  expect(await searched(shown.url, '  ')).toEqual({ hits: [], partial: false });
  expect(await searched(shown.url, 'no such text')).toEqual({ hits: [], partial: false });
  const digest = /"digest":"([^"]{16})/.exec(one.recording())?.[1] ?? '-';
  expect(await searched(shown.url, digest)).toEqual({ hits: [], partial: false });

  for (let copy = 0; copy < 24; copy++) shown.open(one.recording());
  const { hits, partial } = await searched(shown.url, 'e');
  expect(hits.length).toBe(100);
  expect(partial).toBe(true);
});

test('nobody searches without the token', async () => {
  const shown = await inspector();
  const { origin } = new URL(shown.url);
  expect((await fetch(`${origin}/api/search?q=otter`)).status).toBe(401);
});
