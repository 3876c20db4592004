import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { clientCredentials, createMcpConnection, fileTokenStore, oauth } from '../../src/mcp/index.ts';
import type { McpConnectionNews } from '../../src/mcp/index.ts';
import { agree, desk, guarded, signIn, until } from '../support/mcp/signing-in.ts';

test('a person signs in: found, registered, asked and exchanged, each a state that is told', async () => {
  const place = await guarded();
  const connection = desk(place);
  const told: string[] = [];
  connection.on('mcp.changed', ({ state, step }) => told.push(step === null ? state : `${state}.${step}`));
  expect(await connection.connect()).toBe(false);
  expect(connection.pendingLogin?.scopes).toEqual(['read']);
  expect(await connection.callTool('read')).toMatchObject({ code: 'login-required' });
  await fetch(await agree(connection.pendingLogin?.url ?? ''));
  await until(() => connection.state === 'READY');
  expect(await connection.callTool('read')).toEqual({ status: 'success', data: 'read done' });
  expect(told).toEqual([
    'CONNECTING',
    'REFRESHING',
    ...['DISCOVERING', 'REGISTERING', 'AWAITING_USER', 'EXCHANGING'].map((step) => `AUTHORIZING.${step}`),
    'CONNECTING',
    'DISCOVERING',
    'READY',
  ]);
  expect(connection.pendingLogin).toBeNull();
  const { auth, server } = place;
  expect(auth.lastAuthorize().get('code_challenge_method')).toBe('S256');
  for (const request of [auth.lastAuthorize(), auth.lastToken()]) expect(request.get('resource')).toBe(server.url);
});

test('what is kept: one file that only its owner reads, used by the next connection without a person', async () => {
  const place = await guarded();
  await signIn(desk(place));
  expect((await stat(place.path)).mode & 0o777).toBe(0o600);
  expect((await stat(dirname(place.path))).mode & 0o777).toBe(0o700);
  const next = desk(place);
  expect(await next.connect()).toBe(true);
  expect(await next.callTool('read')).toMatchObject({ status: 'success' });
  expect(place.auth.count('POST /token authorization_code')).toBe(1);
  expect(await next.loginStatus()).toMatchObject({
    signedIn: true,
    issuer: place.auth.url,
    scopes: ['read'],
    renews: true,
  });
  expect(await desk(place, { identity: 'somebody else' }).connect()).toBe(false);
});

test('a second login uses the registration of the first; after logout nothing but that is kept', async () => {
  const place = await guarded();
  const connection = desk(place);
  await signIn(connection);
  await connection.logout();
  expect(connection.state).toBe('STOPPED');
  expect(await connection.loginStatus()).toMatchObject({ signedIn: false });
  const kept = await readFile(place.path, 'utf8');
  expect(kept).toContain('client-1');
  for (const secret of place.auth.secrets) expect(kept).not.toContain(secret);
  await signIn(connection);
  expect(place.auth.count('POST /register')).toBe(1);
});

test('a registration that has led nowhere is replaced when somebody signs in again, and only then', async () => {
  const place = await guarded();
  const registered = (): number => place.auth.count('POST /register');
  const offer = async (): Promise<void> => {
    const connection = desk(place);
    await connection.connect();
    expect(connection.pendingLogin).not.toBeNull();
    await connection.disconnect();
  };
  await offer();
  await offer();
  expect(registered()).toBe(1);
  const login = async (visits: boolean): Promise<boolean> => {
    const connection = desk(place);
    const done = connection.login();
    await until(() => connection.pendingLogin !== null);
    if (visits) await fetch(await agree(connection.pendingLogin?.url ?? ''));
    else connection.cancelLogin();
    const isIn = await done;
    // It is only offered again.
    await connection.connect();
    await connection.disconnect();
    return isIn;
  };
  // Its page says that it does not know this client: nobody comes back.
  expect([await login(false), registered()]).toEqual([false, 1]);
  await offer();
  expect(registered()).toBe(1);
  expect([await login(false), registered()]).toEqual([false, 2]);
  expect([await login(true), registered()]).toEqual([true, 3]);
  expect([await login(true), registered()]).toEqual([true, 3]);
});

test('a token that expires is refreshed, in the same session, and the call is made once', async () => {
  const place = await guarded();
  const connection = desk(place);
  await signIn(connection);
  const sessions = place.server.sessions();
  place.auth.expire();
  expect(await connection.callTool('read')).toMatchObject({ status: 'success' });
  expect(place.auth.count('POST /token refresh_token')).toBe(1);
  expect(place.server.calls).toEqual(['read']);
  expect(place.server.sessions()).toBe(sessions);
});

test('a token whose end is known is refreshed instead of sent', async () => {
  const place = await guarded();
  await signIn(desk(place));
  const kept = await readFile(place.path, 'utf8');
  await writeFile(place.path, kept.replace(/(expiresAt\\":)\d+/, '$11'));
  const next = desk(place);
  expect(await next.connect()).toBe(true);
  expect(place.auth.count('POST /token refresh_token')).toBe(1);
  expect(place.server.refusedTokens.every((token) => token === '')).toBe(true);
});

test.each([0, 2])('a token that holds for %i s is used, for the most of its life', async (expiresIn) => {
  const place = await guarded({ expiresIn });
  const connection = desk(place);
  await signIn(connection);
  expect(await connection.callTool('read')).toMatchObject({ status: 'success' });
});

test('twenty calls whose token is refused at once cause one refresh, and all are made once', async () => {
  const options: { slowRefusals?: number[] } = {};
  const place = await guarded({}, options);
  const connection = desk(place);
  await signIn(connection);
  // Some refusals come when there is another token already.
  options.slowRefusals = Array.from({ length: 20 }, (_, at) => (at % 2) * 300);
  place.auth.expire();
  const results = await Promise.all(Array.from({ length: 20 }, () => connection.callTool('read')));
  expect(results.every(({ status }) => status === 'success')).toBe(true);
  expect(place.auth.count('POST /token refresh_token')).toBe(1);
  expect(place.server.calls).toHaveLength(20);
});

describe('a refresh that fails', () => {
  test('with invalid_grant drops the token: somebody has to sign in, and calls say so', async () => {
    const place = await guarded();
    const connection = desk(place);
    await signIn(connection);
    place.auth.expire();
    place.auth.revoke();
    expect(await connection.callTool('read')).toMatchObject({ code: 'login-required' });
    expect(await connection.loginStatus()).toMatchObject({ signedIn: false });
    expect(place.server.calls).toEqual([]);
    await until(() => connection.pendingLogin !== null);
    expect(place.auth.count('POST /register')).toBe(1);
  });

  test.each([
    ['another error of OAuth', [400, '{"error":"bad_refresh_token","error_description":"It has expired."}']],
    ['an error that is not OAuth', [404, '']],
  ] as const)('with %s keeps the token, and somebody is asked to sign in', async (_what, answer) => {
    const place = await guarded();
    const connection = desk(place);
    await signIn(connection);
    place.auth.expire();
    place.auth.wrong.answers = { '/token': answer };
    const { code, error } = await connection.callTool('read');
    expect(code).toBe('login-required');
    expect(error).not.toContain('..');
    await until(() => connection.pendingLogin !== null);
    expect(await connection.loginStatus()).toMatchObject({ signedIn: true });
  });

  test.each([429, 500, 'redirect'] as const)('with %s keeps the token', async (tokens) => {
    const place = await guarded();
    const connection = desk(place);
    await signIn(connection);
    place.auth.expire();
    place.auth.wrong.tokens = tokens;
    expect(await connection.callTool('read')).toMatchObject({ status: 'error' });
    expect(await connection.loginStatus()).toMatchObject({ signedIn: true, renews: true });
    expect(connection.pendingLogin).toBeNull();
    await until(() => connection.state === 'FAILED');
    delete place.auth.wrong.tokens;
    expect(await connection.connect()).toBe(true);
    expect(place.auth.count('POST /token authorization_code')).toBe(1);
  });

  test('with a dead network keeps the token, and goes on when it is back', async () => {
    const place = await guarded();
    const connection = desk(place);
    await signIn(connection);
    await place.auth[Symbol.asyncDispose]();
    place.auth.expire();
    expect(await connection.callTool('read')).toMatchObject({ status: 'error' });
    expect(await connection.loginStatus()).toMatchObject({ signedIn: true, renews: true });
  });

  test('with invalid_client drops the registration, and the next login makes another', async () => {
    const place = await guarded();
    const connection = desk(place);
    await signIn(connection);
    place.auth.expire();
    place.auth.wrong.tokens = 'invalid_client';
    expect(await connection.callTool('read')).toMatchObject({ code: 'login-required' });
    delete place.auth.wrong.tokens;
    await signIn(connection);
    expect(place.auth.count('POST /register')).toBe(2);
  });
});

test('a server that refuses even fresh tokens is not asked for ever', async () => {
  const place = await guarded({}, { refusesAll: true });
  const connection = desk(place);
  await connection.connect();
  await fetch(await agree(connection.pendingLogin?.url ?? ''));
  await until(() => connection.state === 'NEEDS_LOGIN');
  expect(place.auth.count('POST /token refresh_token')).toBe(2);
  expect(place.auth.count('POST /token authorization_code')).toBe(1);
});

test('a call that lacks a scope asks for it by name, while other calls go on; with it the call is made', async () => {
  const place = await guarded();
  const connection = desk(place);
  await signIn(connection);
  const sessions = place.server.sessions();
  const refused = await connection.callTool('write');
  expect(refused).toMatchObject({ code: 'insufficient-scope', error: expect.stringContaining('(write)') });
  await until(() => connection.pendingLogin !== null);
  expect(connection.pendingLogin?.scopes).toEqual(['read', 'write']);
  expect(await connection.callTool('read')).toMatchObject({ status: 'success' });
  expect(connection.isConnected()).toBe(true);
  await fetch(await agree(connection.pendingLogin?.url ?? ''));
  await until(() => connection.state === 'READY');
  expect(await connection.callTool('write')).toMatchObject({ status: 'success' });
  expect(place.server.sessions()).toBe(sessions);
  expect(place.server.calls).toEqual(['read', 'write']);
});

test('more scopes are asked for together with all that was granted before', async () => {
  const place = await guarded();
  await signIn(desk(place, { scopes: ['read', 'extra'] }));
  const connection = desk(place);
  expect(await connection.callTool('write')).toMatchObject({ code: 'insufficient-scope' });
  await until(() => connection.pendingLogin !== null);
  expect(connection.pendingLogin?.scopes.toSorted()).toEqual(['extra', 'read', 'write']);
});

test('scopes that a server wants before anything else are asked for, too', async () => {
  const place = await guarded();
  const connection = desk(place, { scopes: ['write'] });
  await connection.connect();
  await fetch(await agree(connection.pendingLogin?.url ?? ''));
  await until(() => connection.pendingLogin?.scopes.includes('read') === true);
  expect(connection.pendingLogin?.scopes).toEqual(['write', 'read']);
  expect(place.auth.count('POST /token refresh_token')).toBe(0);
  await fetch(await agree(connection.pendingLogin?.url ?? ''));
  await until(() => connection.state === 'READY');
  expect(await connection.callTool('write')).toMatchObject({ status: 'success' });
});

test('scopes that a server names later are those of the next login', async () => {
  const wants = { wants: 'read' };
  const place = await guarded({}, wants);
  const connection = desk(place);
  await signIn(connection);
  wants.wants = 'read extra';
  place.auth.expire();
  place.auth.revoke();
  await connection.callTool('read');
  await until(() => connection.pendingLogin !== null);
  expect(connection.pendingLogin?.scopes).toEqual(['read', 'extra']);
});

test('who refuses more scopes keeps what there was, and is not asked for the same again', async () => {
  const place = await guarded();
  const connection = desk(place);
  await signIn(connection);
  await connection.callTool('write');
  await until(() => connection.pendingLogin !== null);
  connection.cancelLogin();
  await until(() => connection.state === 'READY');
  expect(await connection.callTool('write')).toMatchObject({ code: 'insufficient-scope' });
  expect(connection.pendingLogin).toBeNull();
  place.auth.expire();
  expect(await connection.callTool('read')).toMatchObject({ status: 'success' });
});

test('where no login is offered, a call that lacks a scope costs that call alone', async () => {
  const place = await guarded();
  await signIn(desk(place));
  const auth = oauth({ store: place.store });
  const quiet = createMcpConnection('desk', { url: place.server.url, auth }, { offersLogin: false });
  onTestFinished(() => quiet.disconnect());
  expect(await quiet.callTool('write')).toMatchObject({ code: 'insufficient-scope' });
  await until(() => quiet.state === 'READY');
  expect(quiet.pendingLogin).toBeNull();
  expect(await quiet.callTool('read')).toMatchObject({ status: 'success' });
});

test('a login that is made elsewhere is noticed', async () => {
  const place = await guarded();
  const waiting = desk(place);
  await waiting.connect();
  await signIn(desk(place));
  await until(() => waiting.state === 'READY');
  expect(await waiting.callTool('read')).toMatchObject({ status: 'success' });
});

test('credentials of a program need no person, and are asked for more scopes by themselves', async () => {
  const place = await guarded();
  const auth = clientCredentials({ clientId: 'program', clientSecret: 'program-secret', issuer: place.auth.url });
  const connection = createMcpConnection('desk', { url: place.server.url, auth });
  onTestFinished(() => connection.disconnect());
  expect(await connection.callTool('read')).toMatchObject({ status: 'success' });
  expect(await connection.callTool('write')).toMatchObject({ status: 'success' });
  place.auth.expire();
  expect(await connection.callTool('write')).toMatchObject({ status: 'success' });
  expect(place.auth.count('POST /token client_credentials')).toBe(3);
  place.auth.expire();
  place.auth.wrong.tokens = 'invalid_client';
  expect(await connection.callTool('read')).toMatchObject({ code: 'auth-required' });
  expect(connection.state).toBe('AUTH_REQUIRED');
});

test('a function gives tokens: asked first, again when one is refused, and not for ever', async () => {
  const place = await guarded();
  const connection = desk(place);
  await signIn(connection);
  const given: string[] = [];
  const tokens = ['old', place.auth.secrets.find((secret) => secret.startsWith('access')) ?? ''];
  const own = createMcpConnection('own', {
    url: place.server.url,
    auth: () => {
      given.push(tokens[given.length] ?? 'none');
      return given.at(-1) ?? '';
    },
  });
  onTestFinished(() => own.disconnect());
  expect(await own.callTool('read')).toMatchObject({ status: 'success' });
  expect(given).toEqual(tokens);
  place.auth.expire();
  expect(await own.callTool('read')).toMatchObject({ code: 'auth-required' });
  expect(own.state).toBe('AUTH_REQUIRED');
  expect(given).toHaveLength(4);
});

test('a token file that is none of ours, or gone, means signing in again, and it is replaced', async () => {
  const place = await guarded();
  const connection = desk(place);
  await signIn(connection);
  await writeFile(place.path, '{ "version": 7');
  expect(await fileTokenStore({ path: place.path }).get('anything')).toBeNull();
  const next = desk(place);
  await signIn(next);
  expect(JSON.parse(await readFile(place.path, 'utf8'))).toMatchObject({ version: 1 });
});

test('a token file that cannot be read or written is an error that names it, and asks nobody to sign in', async () => {
  const place = await guarded();
  await mkdir(place.path, { recursive: true });
  const store = fileTokenStore({ path: place.path });
  await expect(store.get('key')).rejects.toMatchObject({ code: 'tokens-unreadable' });
  await expect(store.set('key', 'value')).rejects.toMatchObject({ code: 'tokens-unreadable' });
  const below = fileTokenStore({ path: join(fileURLToPath(import.meta.url), 'tokens.json') });
  expect(await below.get('key')).toBeNull();
  await expect(below.set('key', 'value')).rejects.toMatchObject({ code: 'tokens-unwritable' });
  const connection = desk(place);
  expect(await connection.connect()).toBe(false);
  expect(connection.error?.message).toContain(place.path);
  expect(place.auth.count('POST /register')).toBe(0);
});

test('nothing that a connection tells or keeps in its machine holds a token, a code or a secret', async () => {
  const place = await guarded();
  const connection = desk(place);
  const news: McpConnectionNews[] = [];
  const snapshots: string[] = [];
  for (const type of ['mcp.changed', 'mcp.warning', 'mcp.tools'] as const)
    connection.on(type, (told) => news.push(told));
  connection.actor.subscribe((snapshot) => snapshots.push(JSON.stringify(snapshot)));
  await signIn(connection);
  place.auth.expire();
  await connection.callTool('read');
  place.auth.expire();
  place.auth.wrong.tokens = 'invalid_grant';
  const errors = [await connection.callTool('read')];
  const told = JSON.stringify([news, snapshots, errors, connection.error?.message, connection.error?.data]);
  expect(snapshots.length).toBeGreaterThan(10);
  expect(place.auth.secrets.length).toBeGreaterThan(4);
  for (const secret of [...place.auth.secrets, place.auth.lastToken().get('code_verifier')])
    if (secret !== null) expect(told).not.toContain(secret);
});
