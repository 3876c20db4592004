import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import type { McpConnection, TokenStore } from '../../src/mcp/index.ts';
import { BUNDLED } from '../support/bundled.ts';
import { guardedServer } from '../support/mcp/guarded-server.ts';
import { type Guarded, agree, desk, guarded, signIn, until } from '../support/mcp/signing-in.ts';

test('two servers of one authorization server that are signed in to at once both renew their tokens', async () => {
  const place = await guarded();
  const server = await guardedServer(place.auth);
  onTestFinished(() => server[Symbol.asyncDispose]());
  const places = [place, { ...place, server }];
  const pending = places.map((at) => desk(at));
  for (const one of pending) await one.connect();
  for (const one of pending) await fetch(await agree(one.pendingLogin?.url ?? ''));
  for (const one of pending) await until(() => one.state === 'READY');
  expect(place.auth.count('POST /register')).toBe(2);
  place.auth.expire();
  for (const at of places) expect(await desk(at).callTool('read')).toMatchObject({ status: 'success' });
  place.auth.expire();
  for (const at of places) expect(await desk(at).callTool('read')).toMatchObject({ status: 'success' });
});

test.each<[when: string, end: (connection: McpConnection, place: Guarded) => Promise<unknown>]>([
  ['logout()', (connection) => connection.logout()],
  [
    'its connection was lost',
    async (connection, { auth }) => {
      auth.expire();
      auth.wrong.tokens = 500;
      const { promise, resolve } = Promise.withResolvers<void>();
      connection.on('mcp.changed', ({ state }) => (state === 'BACKING_OFF' ? resolve() : undefined));
      void connection.callTool('read');
      await promise;
      delete auth.wrong.tokens;
    },
  ],
  [
    'its connection has failed',
    async (connection, { auth }) => {
      auth.expire();
      auth.wrong.tokens = 'redirect';
      await connection.callTool('read');
      await until(() => connection.state === 'FAILED');
      delete auth.wrong.tokens;
    },
  ],
])('login() after %s begins a session', async (_when, end) => {
  const place = await guarded();
  const connection = desk(place);
  await signIn(connection);
  await end(connection, place);
  const done = connection.login();
  await until(() => connection.pendingLogin !== null);
  await fetch(await agree(connection.pendingLogin?.url ?? ''));
  expect(await done).toBe(true);
  expect(connection.state).toBe('READY');
  expect(place.server.sessions()).toBe(2);
});

test('a login is used for no other authorization server than it was made at', async () => {
  const place = await guarded();
  await signIn(desk(place));
  const elsewhere = desk(place, { issuer: 'https://auth.example' });
  expect(await elsewhere.loginStatus()).toMatchObject({ signedIn: false, issuer: null });
  expect(await elsewhere.connect()).toBe(false);
  expect(place.server.refusedTokens).toEqual(['', '']);
});

test('logout() before anybody has signed in ends the connection, and somebody can still sign in', async () => {
  const place = await guarded();
  const connection = desk(place);
  await connection.logout();
  expect(connection.state).toBe('STOPPED');
  await signIn(connection);
});

test('login() of one who is signed in waits for the person, who may be another one by now', async () => {
  const place = await guarded();
  await signIn(desk(place));
  let looks = 0;
  const store: TokenStore = { ...place.store, get: (key) => ((looks += 1), place.store.get(key)) };
  const connection = desk({ ...place, store });
  const done = connection.login();
  await until(() => connection.pendingLogin !== null);
  const before = looks;
  // It looks twice each time.
  await until(() => looks >= before + 3 || connection.pendingLogin === null);
  await fetch(await agree(connection.pendingLogin?.url ?? 'http://nobody.waits.invalid'));
  expect(await done).toBe(true);
  expect(place.auth.count('POST /token authorization_code')).toBe(2);
});

test('a connection that a browser opened in advance, and never used, does not keep the process alive', async () => {
  const { server, path } = await guarded();
  const child = spawn(
    process.execPath,
    [...BUNDLED, join(import.meta.dirname, 'children/oauth-login.ts'), server.url, path],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const ended = once(child, 'close');
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const back = new URL(await agree((await lines.next()).value ?? ''));
  const idle = connect(Number(back.port), back.hostname);
  onTestFinished(() => void idle.destroy());
  await once(idle, 'connect');
  expect((await fetch(back)).status).toBe(200);
  expect(await lines.next()).toMatchObject({ value: 'true' });
  expect(await ended).toEqual([0, null]);
});

test('where tokens cannot be kept, the error names the file', async () => {
  const place = await guarded();
  await mkdir(dirname(dirname(place.path)), { recursive: true });
  await writeFile(dirname(place.path), '');
  const connection = desk(place);
  expect(await connection.connect()).toBe(false);
  expect(connection.error?.message).toContain(`The token file ${place.path} cannot be written (`);
  await expect(
    place.store.lock('login', async () => null, { signal: new AbortController().signal }),
  ).rejects.toMatchObject({ code: 'tokens-unwritable' });
});
