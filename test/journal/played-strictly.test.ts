import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { readRecording } from '../../src/journal/format/recording.ts';
import { firstDifference, readableDiff } from '../../src/journal/replay/divergence.ts';
import { fork } from '../../src/journal/replay/fork.ts';
import { playRecording, replay, transitions } from '../../src/journal/replay/replay.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

const look = fakeTool('look', [{ seen: 'a cat' }]);

async function recorded(): Promise<readonly string[]> {
  const model = scriptedModel([calls(['look']), 'A cat.']);
  const run = createAgent({ tools: [look], model, silent: true, timeouts: { totalMs: 60_000 } }).run('What is here?');
  await run;
  return run.recording().trim().split('\n');
}

const replayed = (lines: readonly string[]) =>
  replay(lines, createAgent({ tools: [look], model: scriptedModel([]), silent: true }));

describe('a replay diverges', () => {
  test('at a start that has lost its digest, as only lines of a live run have none', async () => {
    const lines = await recorded();
    const lost = lines.map((line) =>
      line.includes('callTool') ? line.replace(/"digest":"[^"]*"/, '"digest":""') : line,
    );
    expect(lost).not.toEqual(lines);
    expect((await replayed(lines)).result).toBe('A cat.');
    await expect(replayed(lost)).rejects.toMatchObject({
      entry: 1 + lost.findIndex((line) => line.includes('callTool')),
    });
  });

  test('at a timer that was set to another time', async () => {
    const lines = await recorded();
    const other = lines.map((line) => line.replace('"ms":60000', '"ms":50000'));
    expect(other).not.toEqual(lines);
    await expect(replayed(other)).rejects.toMatchObject({ difference: '/ms: 50000 → 60000' });
  });

  test('at an event before which something was started that is not recorded', () => {
    const lines = readFileSync(join(import.meta.dirname, '../recordings/cancel.jsonl'), 'utf8')
      .trim()
      .split('\n');
    const event = lines.findIndex((line) => line.startsWith('{"t":"event"'));
    expect(lines[event - 1]).toMatch(/^\{"t":"start"/);
    expect(transitions(lines).length).toBeGreaterThan(0);
    expect(() => transitions(lines.toSpliced(event - 1, 1))).toThrow(
      expect.objectContaining({ code: 'replay-divergence', entry: event, expected: 'the event run.cancelled' }),
    );
  });

  test('and blames the reading of 0.1 only where a reply was read', async () => {
    const lines = (await recorded()).map((line) => line.replace(/("machine":\{"id":"agent","version":)"\d+"/, '$1"1"'));
    const [first, second] = lines.flatMap((line, index) => (/^\{"t":"start".*callLlm/.test(line) ? [index] : []));
    const cause = (at = 0, name = 'callLlm') =>
      replayed(lines.map((line, index) => (index === at ? line.replace(`"name":"${name}"`, '"name":"x"') : line)));
    await expect(cause(first)).rejects.toMatchObject({ cause: 'unknown' });
    await expect(cause(second)).rejects.toMatchObject({ cause: 'unknown' });
    const tool = lines.findIndex((line) => line.includes('"name":"callTool"'));
    await expect(cause(tool, 'callTool')).rejects.toMatchObject({ cause: 'reading-changed' });
  });
});

test('a recording that was cut says by its number which record was played last', async () => {
  const { head, lines } = readRecording(await recorded());
  for (const count of [0, 1, 2, 3])
    expect(playRecording({ head, lines: lines.slice(0, count) }).past.passed()).toBeLessThanOrEqual(1 + count);
  expect(playRecording({ head, lines: [] }).past.passed()).toBe(1);
  expect(playRecording({ head, lines: lines.slice(0, 1) }).past.passed()).toBe(2);
});

const forked = async (lines: readonly string[], at: number) => {
  const agent = createAgent({ tools: [look], model: scriptedModel(['Done.']), silent: true });
  const run = fork(lines, agent, { at });
  return { result: await run, lines: readRecording(run.recording()).lines };
};
const firstOf = (lines: readonly string[], begin: string): number =>
  1 + lines.findIndex((line) => line.startsWith(begin));

test.each([
  ['goes on from the record that both share', 7000, 'answered'],
  ['is over where the last millisecond of a limit was used', 60_000, 'stopped'],
])('time %s', async (_what, ms, status) => {
  const late = (await recorded()).map((line) => line.replace(/"at":\d+/, `"at":${line.includes('"ms"') ? 0 : ms}`));
  const at = firstOf(late, '{"t":"outcome"');
  const { result, lines } = await forked(late, at);
  expect(result.status).toBe(status);
  expect(lines.length).toBeGreaterThan(at);
  for (const line of lines.slice(at)) expect(line.at).toBeGreaterThanOrEqual(ms);
});

test('a fork of a run that was often resumed is no crash loop of its own', async () => {
  const lines = await recorded();
  const started = 1 + lines.findIndex((line) => line.includes('"name":"callTool"'));
  const often = lines.toSpliced(started, 0, ...Array.from({ length: 9 }, () => '{"t":"restart","at":1}'));
  expect((await forked(often, started + 9)).result).toMatchObject({ status: 'answered', result: 'Done.' });
});

test('what was in flight at a cut settles in the recorded order, not in that in which it was begun', async () => {
  const both = (names: readonly string[]) => names.map((name) => fakeTool(name, [name], { effects: 'none' }));
  const model = scriptedModel([calls(['slow'], ['fast']), 'Both.']);
  const run = createAgent({ tools: both(['slow', 'fast']), model, silent: true }).run('Go');
  await run;
  const lines = run.recording().trim().split('\n');
  const [slow = 0, fast = 0] = lines.flatMap((line, n) => (/^\{"t":"outcome".*callTool/.test(line) ? [n] : []));
  const swapped = lines.with(slow, lines[fast] ?? '').with(fast, lines[slow] ?? '');
  for (const [recording, order] of [
    [lines, ['agent/c1/callTool#1', 'agent/c2/callTool#1']],
    [swapped, ['agent/c2/callTool#1', 'agent/c1/callTool#1']],
  ] as const) {
    const tools = both(['slow', 'fast']);
    const agent = createAgent({ tools, model: scriptedModel(['Done.']), silent: true });
    const again = fork(recording, agent, { at: slow });
    await again;
    const settled = readRecording(again.recording()).lines.flatMap((line) =>
      line.t === 'outcome' && line.id.includes('callTool') ? [line.id] : [],
    );
    expect(settled).toEqual(order);
    expect(tools.flatMap((tool) => tool.calls)).toEqual([]);
  }
});

test('until is asked behind the first record, not before it', async () => {
  const live = fakeTool('look', [{ seen: 'a dog' }]);
  const agent = createAgent({ tools: [live], model: scriptedModel([]), silent: true });
  const then = scriptedModel(['A dog.']);
  expect((await replay(await recorded(), agent, { until: () => true, then })).result).toBe('A dog.');
  expect(live.calls).toHaveLength(1);
});

test('of more than six places that differ, the others are counted, be it one', () => {
  const places = (count: number, value: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, value]));
  expect(readableDiff(places(6, 1), places(6, 2))).not.toContain('more');
  expect(readableDiff(places(7, 1), places(7, 2))).toMatch(/… and 1 more$/);
  expect(firstDifference(places(1, 1), places(1, 1))).toBe('');
});
