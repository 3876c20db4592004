import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/index.ts';
import { fileJournal, fork, memoryJournal, replay, sqliteJournal } from '../../src/journal/index.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';

const folder = (): string => {
  const path = mkdtempSync(join(tmpdir(), 'signalbox-run-ids-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
};

const agentWith = (kind: string) => {
  const model = scriptedModel(['Hi.', 'Ho.']);
  const journals = {
    file: () => fileJournal(folder()),
    sqlite: () => sqliteJournal(join(folder(), 'runs.db')),
    memory: () => memoryJournal(),
  };
  const made = Object.entries(journals).find(([name]) => name === kind)?.[1]();
  const agent = createAgent({ model, silent: true, ...(made === undefined ? {} : { journal: made }) });
  onTestFinished(() => agent.close());
  return { agent, model };
};

const KINDS = ['file', 'sqlite', 'memory', 'no'] as const;
const WRONG = ['order 17', 'user/5', '..', '-a', '', 'a\n', 'x'.repeat(129), 17, null];
const RIGHT = ['seed-17', 'cart-17', '0', 'A.b_c-9', 'x'.repeat(128)];

const refusal = (what: string) =>
  expect.objectContaining({
    name: 'TypeError',
    code: 'wrong-option',
    message: expect.stringContaining(`${what}: option 'runId' must be 1 to 128 letters, digits, dots,`),
  });

test.each(KINDS)('with %s journal an id that cannot name a file is refused before a run begins', async (kind) => {
  const { agent, model } = agentWith(kind);
  expect((await agent.run('Hello')).result).toBe('Hi.');
  for (const runId of WRONG) {
    expect(() => Reflect.apply(agent.run, agent, ['Hello', { runId }])).toThrow(refusal('agent.run'));
    const talk = agent.conversation('ann');
    expect(() => Reflect.apply(talk.run, talk, ['Hello', { runId }])).toThrow(refusal('agent.run'));
  }
  expect(model.requests).toHaveLength(1);
  // None of them is live.
  expect((await agent.run('Hello', { runId: 'after' })).result).toBe('Ho.');
});

test.each(KINDS)('with %s journal a run has the id that it is given', async (kind) => {
  for (const runId of RIGHT) {
    const { agent } = agentWith(kind);
    expect(await agent.run('Hello', { runId })).toMatchObject({ runId, status: 'answered', result: 'Hi.' });
  }
  const { agent } = agentWith(kind);
  const { runId, result } = await Reflect.apply(agent.run, agent, ['Hello', { runId: undefined }]);
  expect([result, /^[0-9a-v]{10}-[0-9a-v]{10}$/.test(runId)]).toEqual(['Hi.', true]);
});

test('so are the ids of forks', async () => {
  const { agent } = agentWith('memory');
  const run = agent.run('Hello');
  await run;
  for (const runId of WRONG)
    expect(() => Reflect.apply(fork, undefined, [run.recording(), agent, { input: 'Hey', runId }])).toThrow(
      refusal('fork'),
    );
  expect(await fork(run.recording(), agent, { input: 'Hey', runId: 'fork-1' })).toMatchObject({
    runId: 'fork-1',
    result: 'Ho.',
  });
});

test('what was recorded under another id is replayed', async () => {
  const { agent } = agentWith('no');
  const run = agent.run('Hello', { runId: 'order-17' });
  await run;
  const recording = run.recording().replaceAll('order-17', 'order 17');
  expect(await replay(recording, agent)).toMatchObject({ runId: 'order 17', result: 'Hi.' });
});
