import { describe, expect, test, vi } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fork } from '../../src/journal/replay/fork.ts';
import { readRecording } from '../../src/journal/format/recording.ts';
import type { JournalStore } from '../../src/journal/run/run-journal.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { interruptedAfter } from './interrupted.ts';

const wipe = fakeTool('wipe', ['gone'], { policy: 'confirm', effects: 'none' });
const worker = createAgent({ name: 'worker', model: scriptedModel([]), tools: [wipe], silent: true });

function agentWith(journal: JournalStore = memoryJournal()) {
  const model = scriptedModel([calls(['wipe']), 'Done.']);
  const agent = createAgent({
    model,
    tools: [wipe],
    children: [worker],
    journal,
    confirm: () => 'allow-once',
    silent: true,
  });
  return { agent, model };
}

async function recording() {
  const run = agentWith().agent.run('Wipe', { runId: 'one' });
  await run;
  return run.recording();
}

/** The recording with one text of its head replaced, everywhere in the head or in its first place. */
const headWith = async (from: string, to: string): Promise<string> => {
  const [head = '', ...lines] = (await recording()).split('\n');
  expect(head).toContain(from);
  return [head.replace(from, to), ...lines].join('\n');
};

const CONFIRM = '"policy":"confirm"';

describe.each([
  ['a policy in another case', CONFIRM, '"policy":"Allow"', /policy/],
  ['a policy with a blank', CONFIRM, '"policy":"ALLOW "', /policy/],
  ['a policy that is none', CONFIRM, '"policy":null', /policy/],
  ['a policy of an agent below', '"children":[', '"children":[{"tool":"x","setup":{}},', /children/],
  ['an "always" that is a text', '"alwaysAllowed":false', '"alwaysAllowed":"yes"', /alwaysAllowed/],
  ['effects that are not known', '"effects":"none"', '"effects":"None"', /effects/],
  ['a limit that is no number', '"maxSteps":20', '"maxSteps":"many"', /maxSteps/],
])('a recording with %s', (_what, from, to, names) => {
  const refused = { name: 'RecordingError', code: 'bad-recording', line: 1, message: expect.stringMatching(names) };

  test('is not resumed: nothing runs and nothing is written, and the agent is free', async () => {
    const journal = interruptedAfter(await headWith(from, to), 3);
    const written = journal.text();
    const model = scriptedModel([]);
    const agent = createAgent({ model, tools: [wipe], journal, silent: true });
    const before = wipe.calls.length;
    await expect(agent.resume('one')).rejects.toMatchObject(refused);
    expect([wipe.calls.length - before, model.requests.length, journal.text()]).toEqual([0, 0, written]);
    expect(agent.state).toBe('PLANNING');
  });

  test('is neither forked nor played on with a model', async () => {
    const tampered = await headWith(from, to);

    const { agent, model } = agentWith();
    const before = wipe.calls.length;
    expect(() => fork(tampered, agent, { at: 3 })).toThrow(expect.objectContaining(refused));
    expect(() => replay(tampered, agent, { until: 3, then: model })).toThrow(expect.objectContaining(refused));
    expect([wipe.calls.length - before, model.requests.length]).toEqual([0, 0]);
  });
});

test.each<[what: string, change: (line: string) => string]>([
  [
    'a value that is nested deeper than any of a run',
    (line) => line.replace('"value":', `"value":${'{"a":'.repeat(3000)}1${'}'.repeat(3000)},"more":`),
  ],
  ['a time that no clock has', (line) => line.replace(/"at":\d+/, '"at":1e308')],
  ['a time long before its beginning', (line) => line.replace(/"at":\d+/, '"at":-1e308')],
])('a recording with %s is refused wherever it is used, with its line', async (_what, change) => {
  const [head = '', first = '', second = ''] = (await recording()).split('\n');
  const changed = [head, first, change(second)].join('\n');
  expect(changed).not.toContain(second);
  const refused = expect.objectContaining({ code: 'bad-recording', line: 3 });
  const { agent } = agentWith(interruptedAfter(changed, 3));
  await expect(async () => agent.resume('one')).rejects.toEqual(refused);
  expect(() => fork(changed, agent, { at: 2 })).toThrow(refused);
});

test('texts in texts of a recording, which become longer than any is written, are refused before they take all memory', async () => {
  const [head = '', first = '', second = ''] = (await recording()).split('\n');
  const texts = `${'{"$json":['.repeat(30)}"${String.raw`\"`.repeat(4)}"${']}'.repeat(30)}`;
  const changed = [head, first, second.replace('"value":', `"value":${texts},"more":`)];
  const { stringify } = JSON;
  let characters = 0;
  using _counted = vi.spyOn(JSON, 'stringify').mockImplementation((value: unknown) => {
    const text = stringify(value);
    characters += text.length;
    return text;
  });
  expect(() => readRecording(changed)).toThrow(expect.objectContaining({ code: 'bad-recording', line: 3 }));
  expect(characters).toBeLessThan(150_000_000);
});

test('a change of tools that was tampered with is refused by its line', async () => {
  const whole = (await recording()).split('\n');
  const head: { readonly toolset: { readonly tools: readonly object[] } } = JSON.parse(whole[0] ?? '');
  const tools = head.toolset.tools.map((tool) => ({ ...tool, policy: 'Allow' }));
  const changed = { t: 'event', at: 0, event: { type: 'tools.changed', toolset: { ...head.toolset, tools } } };
  const journal = interruptedAfter([...whole.slice(0, 2), JSON.stringify(changed), ...whole.slice(2, 3)].join('\n'), 9);
  const agent = createAgent({ model: scriptedModel([]), tools: [wipe], journal, silent: true });
  await expect(agent.resume('one')).rejects.toMatchObject({ code: 'bad-recording', line: 3 });
});

test('a recording as we write it is taken, the agents below it included', async () => {
  const { agent } = agentWith();
  expect(await fork(await recording(), agent, { at: 1 })).toMatchObject({ status: 'answered' });
});

test('a recording without the digest of a request does not replay, whatever else fits', async () => {
  const without = (await recording()).replace(/"digest":"[^"]+"/, '"digest":""');
  const { agent, model } = agentWith();
  await expect(replay(without, agent)).rejects.toMatchObject({ code: 'replay-divergence' });
  expect(model.requests).toHaveLength(0);
});

test.each(['start', 'outcome', 'timer'])('a record "%s" whose id is no text is damage, with its line', async (t) => {
  const [head = ''] = (await recording()).split('\n');
  for (const id of [5, null, undefined, ['agent']])
    expect(() => readRecording([head, { t, at: 1, id }])).toThrow(
      expect.objectContaining({ code: 'bad-recording', line: 2, message: expect.stringContaining('"id"') }),
    );
  expect(readRecording([head, { t: 'note', at: 1, note: {} }, { t: 'later', id: 5 }]).lines).toHaveLength(1);
});
