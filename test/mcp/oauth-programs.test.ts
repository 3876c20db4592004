import { createVerify, generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type ClientCredentialsOptions, clientCredentials, createMcpConnection } from '../../src/mcp/index.ts';
import type { Misbehaviour } from '../support/mcp/auth-server.ts';
import { type Guarded, guarded } from '../support/mcp/signing-in.ts';

/** A program's connection, with its answers to a call. */
function program({ server }: Guarded, options: Partial<ClientCredentialsOptions>) {
  const auth = clientCredentials({ clientId: 'app', ...options });
  const limits = { backoff: { kind: 'constant', ms: 20 }, maxFailures: 2 } as const;
  const connection = createMcpConnection('desk', { url: server.url, auth }, { seed: 1, limits });
  onTestFinished(() => connection.disconnect());
  return connection;
}

const read = (base64: string | undefined): unknown => JSON.parse(Buffer.from(base64 ?? '', 'base64url').toString());

describe('a program with a private key', () => {
  const keys = () => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    return { publicKey, privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
  };

  test('signs who it is for that authorization server, and sends no key', async () => {
    const place = await guarded();
    const { publicKey, privateKey } = keys();
    expect(await program(place, { privateKey }).callTool('read')).toMatchObject({ status: 'success' });
    const asked = place.auth.lastToken();
    expect(asked.get('client_assertion_type')).toBe('urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
    const [head, claims, signature] = (asked.get('client_assertion') ?? '').split('.');
    expect(read(head)).toMatchObject({ alg: 'RS256' });
    expect(read(claims)).toMatchObject({ iss: 'app', sub: 'app', exp: expect.any(Number), jti: expect.any(String) });
    const verify = createVerify('RSA-SHA256').update(`${head}.${claims}`);
    expect(verify.verify(publicKey, signature ?? '', 'base64url')).toBe(true);
    expect(asked.toString()).not.toContain('PRIVATE');
  });

  test.each([
    ['is none', { privateKey: 'not a key' }, 'RS256'],
    ['does not fit its algorithm', { privateKey: keys().privateKey, algorithm: 'ES256' }, 'ES256'],
  ] as const)('that %s says so without showing it, and asks for nothing', async (_what, given, algorithm) => {
    const place = await guarded();
    const outcome = await program(place, given).callTool('read');
    expect(outcome).toMatchObject({ status: 'error', code: 'auth-failed' });
    expect(outcome.error).toContain(`cannot sign with ${algorithm}`);
    expect(outcome.error).not.toContain(given.privateKey.slice(0, 30));
    expect(place.auth.count('POST /token client_credentials')).toBe(0);
  });
});

/** Starts an identity provider, which answers with these members. */
async function identityProvider(answer: object, status = 200) {
  const asked: URLSearchParams[] = [];
  const server = createServer(async (request, response) => {
    asked.push(new URLSearchParams(await text(request)));
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => server.closeAllConnections());
  onTestFinished(() => void server.close());
  const address = server.address();
  return { asked, tokenEndpoint: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/token` };
}

describe('a program for which an identity provider vouches', () => {
  const vouching = { issued_token_type: 'urn:ietf:params:oauth:token-type:id-jag', access_token: 'vouched/for=word' };

  async function vouched(wrong: Misbehaviour = {}, answer: object = vouching, status = 200) {
    const place = await guarded(wrong);
    const { asked, tokenEndpoint } = await identityProvider(answer, status);
    const idToken = async (): Promise<string> => 'id-token-of-the-user';
    const own = { tokenEndpoint, clientId: 'app-there', clientSecret: 'secret-there', idToken };
    const connection = program(place, { clientSecret: 'app-secret', identityProvider: own });
    return { place, asked, connection };
  }

  test('sends it who the user is, and the authorization server only that it was vouched for', async () => {
    const { place, asked, connection } = await vouched();
    expect(await connection.callTool('read')).toMatchObject({ status: 'success' });
    expect(asked.map((one) => Object.fromEntries(one))).toMatchObject([
      {
        audience: place.auth.url,
        resource: place.server.url,
        subject_token: 'id-token-of-the-user',
        client_id: 'app-there',
        client_secret: 'secret-there',
      },
    ]);
    const sent = place.auth.lastToken();
    expect(sent.get('assertion')).toBe('vouched/for=word');
    for (const secret of ['id-token-of-the-user', 'secret-there']) expect(sent.toString()).not.toContain(secret);
  });

  test.each([
    ['a token of another type', { ...vouching, issued_token_type: 'urn:ietf:params:oauth:token-type:jwt' }, 200],
    ['no token', { issued_token_type: vouching.issued_token_type }, 200],
    ['a refusal', { ...vouching, error: 'access_denied' }, 403],
  ])('is refused where that answers with %s, which goes nowhere', async (_what, answer, status) => {
    const { place, connection } = await vouched({}, answer, status);
    const { error = '', ...outcome } = await connection.callTool('read');
    expect(outcome).toMatchObject({ status: 'error', code: 'auth-required' });
    expect(error).toContain('the identity provider refused');
    expect(error).not.toContain('vouched/for=word');
    expect(place.auth.requests.filter((request) => request.startsWith('POST'))).toEqual([]);
  });

  test('shows nothing of what it sent where the authorization server repeats it', async () => {
    const { connection } = await vouched({ tokens: 'invalid_grant' });
    const { error = '' } = await connection.callTool('read');
    expect(error).toContain('not this: ');
    for (const secret of ['vouched', 'id-token-of-the-user', 'app-secret']) expect(error).not.toContain(secret);
  });
});

test.each([
  ['fails', () => Promise.reject(new Error('words of its own')), 'failed'],
  ['throws', () => JSON.parse('words of its own'), 'failed'],
  ['gives none', () => '', 'gave none'],
  ['gives one that is none', () => 'words of\nits own', 'gave none'],
])('a function for the token that %s is a refusal, in our words, and nothing is asked', async (_what, give, says) => {
  const place = await guarded();
  const { tokenEndpoint, asked } = await identityProvider({});
  const own = { tokenEndpoint, clientId: 'app-there', idToken: give };
  const connections = [
    program(place, { clientSecret: 'app-secret', identityProvider: own }),
    createMcpConnection('desk', { url: place.server.url, auth: give }),
  ];
  for (const connection of connections) {
    onTestFinished(() => connection.disconnect());
    const { error = '', code } = await connection.callTool('read');
    expect([code, error]).toEqual([
      'auth-required',
      expect.stringContaining(`the function that gives its token ${says}`),
    ]);
    expect(error).not.toContain('words');
  }
  expect([asked, place.auth.requests.filter((request) => request.startsWith('POST'))]).toEqual([[], []]);
});

test.each([
  ['urn:app:7', 'a+b/c%d=e:f é'],
  ['app', 'GOCSPX-plain_secret~/='],
])('id and secret in a header are read as they are: %s, %s', async (clientId, clientSecret) => {
  const place = await guarded();
  expect(await program(place, { clientId, clientSecret }).callTool('read')).toMatchObject({ status: 'success' });
  const [id, ...secret] = place.auth.lastClient();
  expect([id, secret.join(':')]).toEqual([clientId, clientSecret]);
});

test('id and secret in the body of a request are sent as they are', async () => {
  const place = await guarded({ authMethods: ['client_secret_post'] });
  const how = { clientId: 'urn:app:7', clientSecret: 'a+b/c%d=e:f é' };
  expect(await program(place, how).callTool('read')).toMatchObject({ status: 'success' });
  const sent = place.auth.lastToken();
  expect([sent.get('client_id'), sent.get('client_secret')]).toEqual([how.clientId, how.clientSecret]);
});

test('tokens of another kind than Bearer are not used', async () => {
  const place = await guarded({ tokenType: 'DPoP' });
  const outcome = await program(place, { clientSecret: 'app-secret' }).callTool('read');
  expect(outcome).toMatchObject({ status: 'error', code: 'auth-failed', error: expect.stringContaining('Bearer') });
});
