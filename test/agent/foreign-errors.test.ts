import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { chatModel } from '../../src/models/index.ts';
import { ifThere, systemCode } from '../../src/security/folders.ts';

/** As jest has them: Node's own errors are of another realm than the tests. */
const FOREIGN: unknown = runInNewContext("Object.assign(new TypeError('no such file'), { code: 'ENOENT' })");

test.each([
  [
    'thrown',
    () => {
      throw FOREIGN;
    },
  ],
  ['returned', () => FOREIGN],
])('an error of another realm that a tool has %s is that error', async (_how, execute) => {
  const model = scriptedModel([calls(['read']), 'Done.']);
  const { errorHistory } = await createAgent({ model, tools: [fakeTool('read', [execute])], silent: true }).run('Go');
  expect(errorHistory).toMatchObject([{ message: 'Tool execution failed: no such file' }]);
});

test('a regular expression of another realm is refused as a result, as an own one is', async () => {
  const find = fakeTool('find', [() => /tea/, () => runInNewContext('/tea/')]);
  const model = scriptedModel([calls(['find', { at: 1 }]), calls(['find', { at: 2 }]), 'Done.']);
  const { errorHistory } = await createAgent({ model, tools: [find], silent: true }).run('Go');
  const refused = { message: expect.stringContaining('it is a RegExp') };
  expect(errorHistory).toMatchObject([refused, refused]);
});

test.each([
  ['a text', 'the user left'],
  ['an error of another realm', runInNewContext("new Error('the user left')")],
])('the reason of a signal that is %s is that of the cancel', async (_what, reason) => {
  const agent = createAgent({ model: scriptedModel([]), silent: true });
  const result = await agent.run('Go', { signal: AbortSignal.abort(reason) });
  expect(result).toMatchObject({ status: 'cancelled', error: { message: 'the user left' } });
});

test('an error of another realm at the network says what happened', async () => {
  const refused = runInNewContext("Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })");
  const failed = runInNewContext("(cause) => new TypeError('fetch failed', { cause })")(refused);
  const model = chatModel({ baseURL: 'http://model.test/v1', model: 'm', fetch: () => Promise.reject(failed) });
  const agent = createAgent({ model, silent: true, retry: { maxAttempts: 1 } });
  const { error } = await agent.run('Hello');
  expect(error).toMatchObject({ code: 'connect-failed' });
  expect(error?.message).toContain('Cannot reach http://model.test/v1 (ECONNREFUSED)');
});

test('an error of another realm about a file has its code', () => {
  expect(systemCode(FOREIGN)).toBe('ENOENT');
  expect(
    ifThere((): string => {
      throw FOREIGN;
    }),
  ).toBeNull();
  expect(systemCode({ code: 'ENOENT' })).toBe('');
});
