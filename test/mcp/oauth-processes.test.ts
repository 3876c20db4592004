import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { BUNDLED } from '../support/bundled.ts';
import { type Guarded, desk, guarded, signIn, until } from '../support/mcp/signing-in.ts';

/** A process that uses the login in the file of tokens. */
function start({ server, path }: Guarded) {
  const script = join(import.meta.dirname, 'children/oauth-call.ts');
  const child = spawn(process.execPath, [...BUNDLED, script, server.url, path], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const line = async (): Promise<string> => (await lines.next()).value ?? 'ended';
  return {
    line,
    call: (tool: string): Promise<string> => {
      child.stdin.write(`${tool}\n`);
      return line();
    },
    kill: async (): Promise<void> => {
      const ended = once(child, 'close');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

test('of two processes whose token has expired one refreshes, and the other waits and uses what it got', async () => {
  const place = await guarded();
  await signIn(desk(place));
  const [one, two] = [start(place), start(place)];
  expect([await one.line(), await two.line()]).toEqual(['READY', 'READY']);
  place.auth.expire();
  place.auth.wrong.slowMs = 200;
  expect(await Promise.all([one.call('read'), two.call('read')])).toEqual(['success', 'success']);
  expect(place.auth.count('POST /token refresh_token')).toBe(1);
  expect(place.server.calls).toEqual(['read', 'read']);
  place.auth.expire();
  expect([await one.call('read'), await two.call('read')]).toEqual(['success', 'success']);
  expect(place.auth.count('POST /token refresh_token')).toBe(2);
});

test('a process that is killed in the middle of a refresh holds nobody up', async () => {
  const place = await guarded();
  await signIn(desk(place));
  const [killed, other] = [start(place), start(place)];
  expect([await killed.line(), await other.line()]).toEqual(['READY', 'READY']);
  place.auth.expire();
  place.auth.wrong.tokens = 'hang';
  void killed.call('read');
  await until(() => place.auth.count('POST /token refresh_token') === 1);
  const waiting = other.call('read');
  delete place.auth.wrong.tokens;
  await killed.kill();
  expect(await waiting).toBe('success');
  expect(place.auth.count('POST /token refresh_token')).toBe(2);
});

test('a refresh whose answer is lost with the process that asked costs a login, not more', async () => {
  const place = await guarded();
  await signIn(desk(place));
  place.auth.expire();
  place.auth.wrong.tokens = 'drop';
  const lost = start(place);
  await until(() => place.auth.count('POST /token refresh_token') > 0);
  await lost.kill();
  delete place.auth.wrong.tokens;
  const connection = desk(place);
  expect(await connection.connect()).toBe(false);
  expect(await connection.callTool('read')).toMatchObject({ code: 'login-required' });
  await signIn(connection);
  expect(place.auth.count('POST /register')).toBe(1);
});
