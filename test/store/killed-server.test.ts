import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { BUNDLED } from '../support/bundled.ts';
import { freePort } from '../support/free-port.ts';
import { startModelServer } from '../support/model-server.ts';
import { followed, isDone } from './served-chat.ts';

test('a server that is killed in the middle of a run and started again ends it, and the page shows nothing twice', async () => {
  const model = await startModelServer([
    { content: 'I look.', toolCalls: [{ name: 'look', arguments: {} }] },
    'Tea.',
    'Tea again.',
  ]);
  onTestFinished(model.close);
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-killed-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const port = await freePort();
  const start = async (): Promise<ChildProcess> => {
    const args = [JSON.stringify([folder, model.baseURL, port])];
    const child = fork(join(import.meta.dirname, 'children/chat-server.ts'), args, { execArgv: [...BUNDLED] });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child, 'message');
    return child;
  };
  const first = await start();
  const { store, views, until } = followed(`http://127.0.0.1:${port}/?id=a`, { retryMs: 20 });
  await store.send('What is there?');
  const before = await until(({ messages }) =>
    messages.some(({ calls }) => calls.some((call) => call.status === 'running')),
  );
  first.kill('SIGKILL');
  await until(({ connection }) => connection === 'retrying');
  expect(store.getSnapshot().messages).toEqual(before.messages);
  await start();
  const done = await until(isDone);
  expect(done).toMatchObject({ status: 'answered', runId: before.runId, error: null });
  expect(done.messages.map(({ text }) => text)).toEqual(['What is there?', 'I look.', 'Tea.']);
  expect(done.messages.flatMap(({ calls }) => calls)).toMatchObject([{ tool: 'look', status: 'finished', ok: true }]);
  for (const { messages } of views) expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length);
  expect(model.requests.length).toBe(2);
});
