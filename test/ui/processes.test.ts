import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { fileJournal } from '../../src/journal/index.ts';
import { BUNDLED } from '../support/bundled.ts';
import { freePort } from '../support/free-port.ts';
import { tab, textOf, until } from './chat-tabs.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ui-'));
  closing.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A process that serves chats from a folder. */
async function started(folder: string, port: number) {
  const script = fileURLToPath(new URL('children/chat-process.ts', import.meta.url));
  const child: ChildProcess = spawn(process.execPath, [...BUNDLED, script, folder, String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  };
  closing.push(kill);
  if (child.stdout !== null) await once(child.stdout, 'data');
  return { url: `http://127.0.0.1:${port}`, kill };
}

test('a server that is killed in mid-run and started again continues the run, in the stream that was open', async () => {
  const folder = newFolder();
  const port = await freePort();
  const first = await started(folder, port);
  const { chat } = tab(first.url, 'count');
  const sent = chat.sendMessage({ text: 'Count.' });
  await until(() => textOf(chat.lastMessage) === 'One two');
  await first.kill();
  await started(folder, port);
  writeFileSync(join(folder, 'go'), '');
  await sent;
  expect(chat.error).toBeUndefined();
  expect(textOf(chat.lastMessage)).toBe('One two three.');
  expect(chat.messages).toHaveLength(2);
  const runs = (await fileJournal(join(folder, 'runs')).list?.()) ?? [];
  expect(runs.map(({ status }) => status)).toEqual(['answered']);
});

test('three tabs at two processes show one run, and any of them stops it', async () => {
  const folder = newFolder();
  const [driver, other] = await Promise.all([started(folder, await freePort()), started(folder, await freePort())]);
  const tabs = [tab(driver.url, 'count'), tab(driver.url, 'count'), tab(other.url, 'count')] as const;
  const sent = tabs[0].chat.sendMessage({ text: 'Count.' });
  await until(() => textOf(tabs[0].chat.lastMessage) === 'One two');
  const shown = [tabs[1].chat.resumeStream(), tabs[2].chat.resumeStream()];
  await until(() => textOf(tabs[1].chat.lastMessage) === 'One two');
  await until(() => tabs[2].chat.messages.length === 1);
  expect(await tabs[2].transport.stop('count', 'enough')).toBe(true);
  await Promise.all([sent, ...shown]);
  for (const { chat } of tabs) expect([chat.error, textOf(chat.lastMessage)]).toEqual([undefined, 'One two']);
  const runs = (await fileJournal(join(folder, 'runs')).list?.()) ?? [];
  expect(runs.map(({ status }) => status)).toEqual(['cancelled']);
});
