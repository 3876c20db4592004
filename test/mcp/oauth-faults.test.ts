import { createServer } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { clientCredentials, createMcpConnection, oauth } from '../../src/mcp/index.ts';
import { freePort } from '../support/free-port.ts';
import type { Misbehaviour } from '../support/mcp/auth-server.ts';
import { agree, desk, guarded, signIn, until } from '../support/mcp/signing-in.ts';

describe('a server that is not safe to sign in at is refused, and nobody is asked', () => {
  test.each<[why: string, wrong: Misbehaviour, said: RegExp]>([
    ['says nothing of PKCE', { pkce: null }, /does not support PKCE with S256/],
    ['knows only plain PKCE', { pkce: ['plain'] }, /does not support PKCE with S256/],
    ['calls itself another', { issuer: 'https://evil.example' }, /calls itself https:\/\/evil\.example/],
    [
      'wants codes over http',
      { tokenEndpoint: 'http://auth.example/token' },
      /token endpoint must be https.*auth\.example/,
    ],
  ])('one that %s', async (_why, wrong, said) => {
    const place = await guarded(wrong);
    const connection = desk(place);
    expect(await connection.connect()).toBe(false);
    await until(() => connection.state === 'FAILED');
    expect(connection.error).toMatchObject({ code: 'auth-failed', message: expect.stringMatching(said) });
    expect(connection.pendingLogin).toBeNull();
    expect(place.auth.count('POST /register') + place.auth.count('GET /authorize')).toBe(0);
  });

  test('one whose MCP server describes itself as another', async () => {
    const place = await guarded({}, { resource: 'https://other.example/mcp' });
    const connection = desk(place);
    expect(await connection.connect()).toBe(false);
    expect(connection.error).toMatchObject({ code: 'auth-failed', message: expect.stringMatching(/another resource/) });
    expect(place.auth.requests).toEqual([]);
  });

  test('one that is not the issuer of the configuration, which gets no secret', async () => {
    const place = await guarded();
    const auth = clientCredentials({ clientId: 'a', clientSecret: 'a secret of mine', issuer: 'https://auth.example' });
    const connection = createMcpConnection('desk', { url: place.server.url, auth });
    onTestFinished(() => connection.disconnect());
    expect(await connection.callTool('read')).toMatchObject({ code: 'auth-failed' });
    expect(place.auth.requests.filter((request) => request.startsWith('POST'))).toEqual([]);
  });
});

test('a slash at the end of its address does not make a server another resource', async () => {
  const adds: { resource?: string } = {};
  const place = await guarded({}, { adds });
  adds.resource = `${place.server.url}/`;
  const connection = desk(place);
  await signIn(connection);
  expect(place.auth.lastToken().get('resource')).toBe(adds.resource);
  expect(await connection.callTool('read')).toMatchObject({ status: 'success' });
});

test('a server that greets everybody, and wants a token for what follows, asks for a sign-in', async () => {
  const place = await guarded({}, { greetsAll: true });
  const plain = createMcpConnection('desk', { url: place.server.url });
  onTestFinished(() => plain.disconnect());
  expect(await plain.callTool('read')).toMatchObject({ code: 'auth-required' });
  expect(plain.state).toBe('AUTH_REQUIRED');
  const connection = desk(place);
  await signIn(connection);
  expect(await connection.callTool('read')).toMatchObject({ status: 'success' });
});

test('a token is sent to no other authorization server than the one that gave it', async () => {
  const options: { names?: string } = {};
  const place = await guarded({}, options);
  const other = await guarded();
  const registered = { clientId: 'registered by hand' };
  await signIn(desk(place, registered));
  options.names = other.auth.url;
  place.auth.expire();
  const connection = desk(place, registered);
  await connection.connect();
  await until(() => connection.pendingLogin !== null);
  expect(connection.pendingLogin?.url).toContain(`${other.auth.url}/authorize`);
  expect(other.auth.requests.filter((request) => request.startsWith('POST /token'))).toEqual([]);
  expect(other.auth.lastAuthorize().size).toBe(0);
  // Where it was before, the login still holds.
  delete options.names;
  expect(await desk(place, registered).connect()).toBe(true);
});

test('neither a token nor a secret follows a redirect to another origin', async () => {
  const place = await guarded();
  const other = await guarded();
  place.auth.wrong.redirectTo = `${other.auth.url}/token`;
  const connection = desk(place);
  await signIn(connection);
  place.auth.expire();
  place.auth.wrong.tokens = 'redirect';
  expect(await connection.callTool('read')).toMatchObject({ status: 'error' });
  const auth = clientCredentials({
    clientId: 'app',
    clientSecret: 'app-secret',
    identityProvider: { tokenEndpoint: `${place.auth.url}/token`, clientId: 'app', idToken: 'an-id-token' },
  });
  const program = createMcpConnection('program', { url: place.server.url, auth });
  onTestFinished(() => program.disconnect());
  expect(await program.callTool('read')).toMatchObject({ code: 'auth-required' });
  expect(other.auth.requests).toEqual([]);
});

test('where clients cannot register themselves, the error says to give a clientId, and with one it works', async () => {
  const place = await guarded({ refusesRegistration: true });
  const connection = desk(place);
  await connection.connect();
  await until(() => connection.state === 'FAILED');
  expect(connection.error).toMatchObject({ code: 'auth-failed', message: expect.stringMatching(/give its clientId/) });
  await signIn(desk(place, { clientId: 'registered by hand' }));
  expect(place.auth.lastAuthorize().get('client_id')).toBe('registered by hand');
});

test.each([
  ['one that registered itself is registered anew', 'invalid_client', {}, 2],
  // The word of the Python SDK before 2.0.
  ['one that registered itself is registered anew', 'unauthorized_client', {}, 2],
  ['one of the configuration is not', 'invalid_client', { clientId: 'registered by hand' }, 0],
] as const)(
  'a client that is unknown when the code is exchanged: %s (%s)',
  async (_what, tokens, options, registrations) => {
    const place = await guarded({ tokens });
    const connection = desk(place, options);
    await connection.connect();
    await until(() => connection.pendingLogin !== null);
    await fetch(await agree(connection.pendingLogin?.url ?? ''));
    await until(() => connection.pendingLogin === null && connection.error !== null);
    expect(connection.error?.message).toContain(tokens);
    delete place.auth.wrong.tokens;
    await signIn(desk(place, options));
    expect(place.auth.count('POST /register')).toBe(registrations);
  },
);

test('where each client has a secret, it is sent as the Python SDK wants it, also to refresh', async () => {
  const place = await guarded({ wantsSecret: true });
  const connection = desk(place);
  await signIn(connection);
  expect(place.auth.lastToken().get('client_secret')).toMatch(/^secret-/);
  place.auth.expire();
  expect(await connection.callTool('read')).toMatchObject({ status: 'success' });
  expect(place.auth.count('POST /token refresh_token')).toBe(1);
});

describe('what an authorization server has nothing to say of', () => {
  const nothing = { scopes_supported: null, service_documentation: '', revocation_endpoint: null, jwks_uri: '' };
  test.each<[where: string, adds: Misbehaviour['adds']]>([
    ['its description', { '/.well-known/oauth-authorization-server': nothing }],
    ['a registration', { '/register': { client_uri: '', logo_uri: null, contacts: null, client_secret: null } }],
    ['a registration that does not repeat what was registered', { '/register': { redirect_uris: null } }],
    ['an answer with tokens', { '/token': { scope: null, id_token: null, token_type: '' } }],
  ])('may be null or empty: %s', async (_where, adds) => {
    const place = await guarded({ adds: adds ?? {} });
    await signIn(desk(place));
    place.auth.expire();
    const next = desk(place);
    expect(await next.callTool('read')).toMatchObject({ status: 'success' });
    expect(await next.loginStatus()).toMatchObject({ scopes: ['read'], renews: true });
  });

  test('may be null where the MCP server describes itself, too', async () => {
    const connection = desk(await guarded({}, { adds: { jwks_uri: null, resource_documentation: '' } }));
    await signIn(connection);
    expect(await connection.callTool('read')).toMatchObject({ status: 'success' });
  });

  test('is no refresh token: one that is empty is not sent', async () => {
    const place = await guarded({ adds: { '/token': { refresh_token: '' } } });
    const connection = desk(place);
    await signIn(connection);
    expect(await connection.loginStatus()).toMatchObject({ signedIn: true, renews: false });
    place.auth.expire();
    expect(await connection.callTool('read')).toMatchObject({ code: 'login-required' });
    expect(place.auth.count('POST /token refresh_token')).toBe(0);
  });
});

describe('the error says what is wrong with', () => {
  test.each<[what: string, answers: NonNullable<Misbehaviour['answers']>, said: RegExp]>([
    [
      'a registration that is refused',
      { '/register': [403, '{"error":"access_denied","error_description":"ask us first"}'] },
      /does not let this client register itself \(HTTP 403, access_denied: ask us first\).*give its clientId/,
    ],
    ['one that is refused with a page', { '/register': [403, '<h1>No</h1>'] }, /register itself \(HTTP 403\): /],
    ['an address for it where nothing is', { '/register': [404, ''] }, /register itself \(HTTP 404\): /],
    ['a registration without an id', { '/register': [201, '{}'] }, /not OAuth \(client_id\)/],
    [
      'a description without endpoints',
      { '/.well-known/oauth-authorization-server': [200, '{}'] },
      /not OAuth \(issuer\)/,
    ],
  ])('%s', async (_what, answers, said) => {
    const connection = desk(await guarded({ answers }));
    expect(await connection.connect()).toBe(false);
    await until(() => connection.state === 'FAILED');
    expect(connection.error).toMatchObject({ code: 'auth-failed', message: expect.stringMatching(said) });
  });

  test.each<[what: string, answer: readonly [number, string], said: RegExp]>([
    ['a token endpoint that does not exist', [404, 'Not found'], /\/token answered with HTTP 404, which is not OAuth/],
    ['an answer without a token', [200, '{"scope":"read"}'], /not OAuth \(access_token\)/],
    ['an answer that is a page', [200, '<h1>Welcome</h1>'], /not OAuth\.$/],
  ])('%s', async (_what, answer, said) => {
    const place = await guarded({ answers: { '/token': answer } });
    const connection = desk(place);
    await connection.connect();
    await fetch(await agree(connection.pendingLogin?.url ?? ''));
    await until(() => connection.state === 'NEEDS_LOGIN');
    expect(connection.error?.message).toMatch(said);
  });
});

test('an authorization server that has moved within its origin is followed', async () => {
  const place = await guarded({ hasMoved: true });
  const connection = desk(place);
  await signIn(connection);
  place.auth.expire();
  expect(await connection.callTool('read')).toMatchObject({ status: 'success' });
  expect(place.auth.count('POST /token refresh_token')).toBe(1);
});

/** A site that wants a token for `/mcp`, and answers other addresses with what is given. */
async function site(answer: (address: string) => readonly [status: number, text: string]): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url === '/mcp') return void response.writeHead(401).end();
    const [status, text] = answer(request.url ?? '');
    response.writeHead(status).end(text);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/mcp`;
}

test('a site that answers every address with a page describes nothing there', async () => {
  const place = await guarded();
  const url = await site((address) =>
    address === '/.well-known/oauth-protected-resource'
      ? [200, JSON.stringify({ resource: url, authorization_servers: [place.auth.url] })]
      : [200, '<h1>Welcome</h1>'],
  );
  const connection = desk({ ...place, server: { ...place.server, url } });
  expect(await connection.connect()).toBe(false);
  expect(connection.pendingLogin?.url).toContain(`${place.auth.url}/authorize`);
});

test.each<[what: string, status: number, said: (root: string) => string]>([
  ['wants a token, and says nowhere who gives them,', 404, (root) => `names no authorization server, and ${root} is`],
  ['gives tokens itself, to others,', 403, (root) => `authorization server ${root} does not let this client`],
])('a server that %s is said to do so', async (_what, status, said) => {
  const place = await guarded();
  const url = await site((address) => (address === '/register' ? [status, ''] : [404, '']));
  const connection = desk({ ...place, server: { ...place.server, url } });
  expect(await connection.connect()).toBe(false);
  await until(() => connection.state === 'FAILED');
  const message: unknown = expect.stringContaining(said(new URL('/', url).href));
  expect(connection.error).toMatchObject({ code: 'auth-failed', message });
});

describe('the redirect', () => {
  test('with another state is answered with 400, and the right one still counts', async () => {
    const place = await guarded({ state: 'forged' });
    const connection = desk(place);
    await connection.connect();
    const { url = '' } = connection.pendingLogin ?? {};
    const forged = await fetch(await agree(url));
    expect(forged.status).toBe(400);
    expect(connection.pendingLogin).not.toBeNull();
    delete place.auth.wrong.state;
    const back = await agree(url);
    expect((await fetch(back)).status).toBe(200);
    await until(() => connection.state === 'READY');
    // It was one shot: nothing listens any more.
    await expect(fetch(back)).rejects.toThrow();
  });

  test('is not disturbed by what another page of the browser asks its listener for', async () => {
    const place = await guarded();
    const connection = desk(place);
    await connection.connect();
    const back = await agree(connection.pendingLogin?.url ?? '');
    for (const path of ['//', '//[/', '//:80:80/callback'])
      expect((await fetch(`${new URL(back).origin}${path}`)).status).toBe(404);
    expect((await fetch(back, { method: 'POST' })).status).toBe(404);
    expect((await fetch(back)).status).toBe(200);
    await until(() => connection.state === 'READY');
  });

  test.each<[why: string, wrong: Misbehaviour]>([
    ['of another issuer', { iss: 'https://evil.example' }],
    ['without the issuer that was promised', { promisesIss: true }],
  ])('%s ends the sign-in, and its code is not used', async (_why, wrong) => {
    const place = await guarded(wrong);
    const connection = desk(place);
    await connection.connect();
    expect((await fetch(await agree(connection.pendingLogin?.url ?? ''))).status).toBe(400);
    await until(() => connection.state === 'NEEDS_LOGIN');
    expect(connection.error?.message).toContain('does not come from');
    expect(place.auth.count('POST /token authorization_code')).toBe(0);
  });

  test('whose issuer differs in a slash alone is not that of the issuer', async () => {
    const place = await guarded({});
    place.auth.wrong.iss = `${place.auth.url}/`;
    const connection = desk(place);
    await connection.connect();
    expect((await fetch(await agree(connection.pendingLogin?.url ?? ''))).status).toBe(400);
    expect(place.auth.count('POST /token authorization_code')).toBe(0);
  });

  test('of the right issuer is taken', async () => {
    const place = await guarded({ promisesIss: true });
    place.auth.wrong.iss = place.auth.url;
    const connection = desk(place);
    await signIn(connection);
    expect(await connection.callTool('read')).toMatchObject({ status: 'success' });
  });

  test('of a person who refuses ends the sign-in, until it is asked for again', async () => {
    const place = await guarded({ denies: true });
    const connection = desk(place);
    await connection.connect();
    await fetch(await agree(connection.pendingLogin?.url ?? ''));
    await until(() => connection.state === 'NEEDS_LOGIN');
    expect(connection.error).toMatchObject({ code: 'login-required', message: expect.stringMatching(/access_denied/) });
    delete place.auth.wrong.denies;
    const again = connection.login();
    await until(() => connection.pendingLogin !== null);
    await fetch(await agree(connection.pendingLogin?.url ?? ''));
    expect(await again).toBe(true);
  });

  test('that never comes is waited for only so long, and then nothing listens', async () => {
    const place = await guarded();
    const connection = desk(place, {}, { loginMs: 100 });
    await connection.connect();
    const back = await agree(connection.pendingLogin?.url ?? '');
    await until(() => connection.state === 'NEEDS_LOGIN');
    await expect(fetch(back)).rejects.toThrow();
    expect(connection.answerLogin(back)).toBe(false);
    expect(await connection.callTool('read')).toMatchObject({ code: 'login-required' });
  });

  test('to an address elsewhere is handed back by hand; another address is not taken', async () => {
    const place = await guarded();
    const connection = desk(place, { redirect: 'https://app.example/back' });
    await connection.connect();
    expect(connection.pendingLogin?.answer).toBe('paste');
    expect(connection.answerLogin('https://app.example/back?code=stolen&state=forged')).toBe(false);
    expect(connection.answerLogin('no address')).toBe(false);
    const back = await agree(connection.pendingLogin?.url ?? '');
    expect(back).toContain('https://app.example/back?');
    expect(connection.answerLogin(back)).toBe(true);
    await until(() => connection.state === 'READY');
    expect(connection.answerLogin(back)).toBe(false);
  });

  test('to a loopback address of the configuration is listened for there', async () => {
    const place = await guarded();
    const redirect = `http://127.0.0.1:${await freePort()}/here`;
    await signIn(desk(place, { redirect }));
    expect(place.auth.lastAuthorize().get('redirect_uri')).toBe(redirect);
  });
});

test('an authorization server that does not answer is given up, and tried again', async () => {
  const place = await guarded();
  await signIn(desk(place));
  place.auth.expire();
  place.auth.wrong.tokens = 'hang';
  const connection = desk(place, {}, { connectTimeoutMs: 300 });
  expect(await connection.connect()).toBe(false);
  expect(connection.error).toMatchObject({ code: 'timeout' });
  expect(await connection.loginStatus()).toMatchObject({ signedIn: true });
});

describe('a configuration that would send the wrong token, or one in the clear, is refused by name', () => {
  const url = 'https://mcp.example/mcp';
  const auth = { type: 'oauth' } as const;
  test.each<[why: string, entry: object, key: string, said: RegExp]>([
    [
      'two tokens',
      { url, auth: 'oauth', headers: { authorization: 'Bearer x' } },
      'auth',
      /both 'auth' and the header/,
    ],
    [
      'a misspelt key',
      { url, auth: { ...auth, scope: ['a'] } },
      'auth.scope',
      /not a known key\. Known are: type, scopes/,
    ],
    ['another type', { url, auth: { type: 'oauth1' } }, 'auth.type', /must be 'oauth'/],
    ['another word', { url, auth: 'bearer' }, 'auth', /must be 'oauth'/],
    ['a scope with a space', { url, auth: { ...auth, scopes: ['a b'] } }, 'auth.scopes.0', /without spaces/],
    [
      'no credentials',
      { url, auth: { type: 'client-credentials', clientId: 'a' } },
      'auth',
      /clientSecret or privateKey/,
    ],
    ['http', { url: 'http://mcp.example/mcp', auth: 'oauth' }, 'url', /must be https/],
    ['a program', { command: 'x', auth: 'oauth' }, 'auth', /not a known key/],
    [
      'a variable that is not set',
      { url, auth: { ...auth, clientSecret: '${NOT_SET}' } },
      'auth.clientSecret',
      /NOT_SET/,
    ],
  ])('%s', (_why, entry, key, said) => {
    const make = () => createAgent({ mcpServers: { desk: entry as { url: string } } });
    expect(make).toThrow(said);
    expect(make).toThrow(`'mcpServers.desk'`);
    expect(() => createMcpConnection('desk', entry as { url: string })).toThrow(expect.objectContaining({ key }));
  });

  test('and all of them are taken where they are right', () => {
    const both = { clientId: '${ID}', clientSecret: '${SECRET}', issuer: 'https://auth.example' };
    const env = { ID: 'me', SECRET: 'word' };
    const made = [oauth(both), { type: 'oauth' as const, ...both }, clientCredentials(both)].map((given) =>
      createMcpConnection('desk', { url, auth: given }, { env }),
    );
    for (const { server } of made)
      expect(server.target).toMatchObject({ auth: { clientId: 'me', clientSecret: 'word' } });
  });
});
