import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test, vi } from 'vitest';
import { createAgent, tool } from '../../src/index.ts';
import { ModelError, chatModel } from '../../src/models/index.ts';
import { recover } from '../../src/recovery/recover.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { BUNDLED } from '../support/bundled.ts';

// A workspace may hold the package twice: a library makes the model or the journal, and an application the agent.
const copy = pathToFileURL(join(dirname(BUNDLED.at(-1) ?? ''), 'package/dist/')).href;
const models: typeof import('../../src/models/index.ts') = await import(`${copy}models/index.js`);
const journals: typeof import('../../src/journal/index.ts') = await import(`${copy}journal/index.js`);
const testing: typeof import('../../src/testing/index.ts') = await import(`${copy}testing/index.js`);
const other = { ...models, ...journals, ...testing };

test('the other copy is another one', () => expect(other.ModelError).not.toBe(ModelError));

/** The error of a run whose model fails with this, and how often the model was asked. */
async function failed(thrown: Error) {
  const model = scriptedModel([thrown, thrown]);
  const { error } = await createAgent({
    model,
    silent: true,
    retry: { maxAttempts: 2, backoff: recover.constant(1) },
  }).run('Hello');
  return [error?.code, model.requests.length];
}

test('a failure of a model of the other copy keeps its code, and is not retried in vain', async () => {
  expect(await failed(new other.ModelError('auth', 'The key was refused.'))).toEqual(['auth', 1]);
});

test('an error of someone else that has the same name is any error', async () => {
  const theirs = Object.assign(new Error('The key was refused.'), { name: 'ModelError', code: 'auth' });
  expect(await failed(theirs)).toEqual(['model-error', 2]);
});

test('a class made of ours is still its own', () => {
  class Mine extends ModelError {}
  expect(new Mine('auth', '') instanceof ModelError).toBe(true);
  expect(new ModelError('auth', '') instanceof Mine).toBe(false);
  expect(new other.ModelError('auth', '') instanceof Mine).toBe(false);
});

test('a run that a journal of the other copy has locked is waited for', async () => {
  const journal = other.memoryJournal();
  const pay = tool({ name: 'pay', description: 'Pays.', policy: 'confirm', execute: () => 'paid' });
  const model = scriptedModel([{ content: '', toolCalls: [{ name: 'pay' }] }, 'Paid.']);
  const agent = createAgent({ model, tools: [pay], silent: true, confirm: 'wait', journal });
  const run = agent.run('Pay.');
  for await (const { type } of run) if (type === 'approval.requested') break;
  await run.release();
  const take = vi.spyOn(journal, 'take');
  take.mockRejectedValueOnce(new other.JournalError('run-locked', run.runId, 'the journal'));
  const resumed = agent.resume(run.runId);
  for await (const { type } of resumed) if (type === 'approval.requested') await resumed.approve('c1');
  expect((await resumed).result).toBe('Paid.');
  expect(take).toHaveBeenCalledTimes(2);
});

test('a ban of live models by the other copy counts, until it is lifted', async () => {
  const model = chatModel({ baseURL: 'http://127.0.0.1:1/v1', model: 'm', apiKey: 'none' });
  const code = async () =>
    (await createAgent({ model, silent: true, retry: { maxAttempts: 1 } }).run('Hello')).error?.code;
  const lift = other.forbidLiveModels();
  expect(await code()).toBe('live-forbidden');
  lift();
  expect(await code()).toBe('connect-failed');
});
