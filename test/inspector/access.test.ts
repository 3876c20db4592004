import { createActor, createMachine } from 'xstate';
import { type ClientRequestArgs, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, expect, test, vi } from 'vitest';
import { createInspector, type Inspector } from '../../src/inspector/index.ts';
import { startScene } from './scenes.ts';
import { viewer } from './viewer.ts';
import { inspector } from './with-inspector.ts';

/** A request with headers that `fetch` would not send. */
function ask(
  shown: Inspector,
  path: string,
  options: ClientRequestArgs & { readonly body?: string } = {},
): Promise<{ readonly status: number; readonly headers: NodeJS.Dict<string | string[]> }> {
  return new Promise((resolve, reject) => {
    const { body, ...rest } = options;
    const sent = httpRequest({ host: '127.0.0.1', port: shown.port, path, ...rest }, (response) => {
      response.resume();
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers }));
      if (response.headers['content-type']?.startsWith('text/event-stream') === true)
        resolve({ status: response.statusCode ?? 0, headers: (response.destroy(), response.headers) });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const withToken = (shown: Inspector, path: string): string => `${path}${new URL(shown.url).search}`;

describe('who may speak with the inspector', () => {
  test('nobody without its token: not for the page, not for what it shows, not to act', async () => {
    const shown = await inspector();
    const run = startScene('plain', { inspect: shown });
    await run;
    createActor(createMachine({}), { inspect: shown.inspect }).start();
    const [hello] = await viewer(shown.url).list(({ t }) => t === 'hello');
    const system = hello?.t === 'hello' ? hello.sessions.find((id) => id.startsWith('system-')) : '';
    const paths = [
      '/',
      '/api/stream',
      ...['stream', 'lines', 'recording', 'export'].map((part) => `/api/sessions/${run.runId}/${part}`),
      ...['stream', 'frames', 'steps/1', 'export'].map((part) => `/api/sessions/${system}/${part}`),
    ];
    for (const path of paths) {
      expect([path, (await ask(shown, path)).status]).toEqual([path, 401]);
      expect([path, (await ask(shown, `${path}?token=${'x'.repeat(32)}`)).status]).toEqual([path, 401]);
      expect([path, (await ask(shown, withToken(shown, path))).status]).toEqual([path, 200]);
    }
    const act = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"kind":"cancel"}' };
    expect((await ask(shown, `/api/sessions/${run.runId}/act`, act)).status).toBe(401);
  });

  test('a page that was opened is loaded again without the token; its cookie opens nothing else', async () => {
    const shown = await inspector();
    const run = startScene('plain', { inspect: shown });
    await run;
    const first = await ask(shown, withToken(shown, '/'));
    const cookie = String(first.headers['set-cookie']).split(';')[0] ?? '';

    expect(String(first.headers['set-cookie'])).toContain('HttpOnly; SameSite=Strict');
    expect(cookie).not.toContain(new URL(shown.url).searchParams.get('token') ?? 'none');
    expect((await ask(shown, '/', { headers: { cookie: `a=b; ${cookie}` } })).status).toBe(200);
    expect((await ask(shown, '/', { headers: { cookie: `${cookie}x` } })).status).toBe(401);
    for (const path of ['/api/stream', `/api/sessions/${run.runId}/stream`, `/api/sessions/${run.runId}/recording`])
      expect((await ask(shown, path, { headers: { cookie } })).status).toBe(401);
    expect((await ask(shown, '/')).headers['set-cookie']).toBeUndefined();
  });

  test('nobody by another name than the loopback address: a name that was bent to it is refused, token or not', async () => {
    const shown = await inspector();
    for (const host of [
      'evil.example',
      `evil.example:${shown.port}`,
      '127.0.0.1',
      `127.0.0.1:${shown.port + 1}`,
      `127.0.0.1.evil.example:${shown.port}`,
    ])
      expect([host, (await ask(shown, withToken(shown, '/'), { headers: { host } })).status]).toEqual([host, 403]);
    expect((await ask(shown, withToken(shown, '/'), { headers: { host: `localhost:${shown.port}` } })).status).toBe(
      200,
    );
  });

  test('no other origin and no other site, though it has the token', async () => {
    const shown = await inspector();
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `http://127.0.0.1:${shown.port + 1}` },
      { 'sec-fetch-site': 'cross-site' },
    ])
      expect([headers, (await ask(shown, withToken(shown, '/api/stream'), { headers })).status]).toEqual([
        headers,
        403,
      ]);
    const own = { origin: `http://127.0.0.1:${shown.port}`, 'sec-fetch-site': 'same-origin' };
    expect((await ask(shown, withToken(shown, '/api/stream'), { headers: own })).status).toBe(200);
  });

  test('by a name of a proxy that was allowed, over TLS or not, and by no name that only looks like it', async () => {
    const shown = await inspector({ allowedHosts: ['Page.Example.com', 'here.example:8443', 'a_b'] });
    const own = `localhost:${shown.port}`;
    const answers = async (headers: NodeJS.Dict<string>): Promise<number> =>
      (await ask(shown, withToken(shown, '/api/stream'), { headers: { host: own, ...headers } })).status;
    for (const host of [
      'page.example.com',
      'page.example.com:81',
      'PAGE.example.com',
      'here.example:8443',
      'a_b',
      own,
    ]) {
      expect([host, await answers({ host })]).toEqual([host, 200]);
      // A proxy may keep the name that the browser knows to itself.
      expect([host, await answers({ origin: `http://${host}` })]).toEqual([host, 200]);
    }
    expect(await answers({ host: 'page.example.com', origin: 'https://page.example.com' })).toBe(200);
    const refused = ['a.page.example.com', 'page.example.com.evil.example', 'here.example', 'here.example:8444', 'com'];
    for (const host of refused) {
      expect([host, await answers({ host })]).toEqual([host, 403]);
      expect([host, await answers({ origin: `https://${host}` })]).toEqual([host, 403]);
    }
    expect(await answers({ origin: `https://${own}` })).toBe(403);
    expect(await answers({ origin: 'ftp://page.example.com' })).toBe(403);
    expect((await ask(shown, '/api/stream', { headers: { host: 'page.example.com' } })).status).toBe(401);
  });

  test('a form of another page cannot post: only JSON is taken', async () => {
    const shown = await inspector();
    const run = startScene('plain', { inspect: shown });
    await run;
    const path = withToken(shown, `/api/sessions/${run.runId}/act`);
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])
      expect((await ask(shown, path, { method: 'POST', headers: { 'content-type': type }, body: '{}' })).status).toBe(
        415,
      );
    const put = await ask(shown, path, { method: 'PUT' });
    expect([put.status, put.headers.allow]).toEqual([405, 'GET, HEAD, POST']);
    expect(
      (await ask(shown, path, { method: 'OPTIONS', headers: { origin: `http://127.0.0.1:${shown.port}` } })).status,
    ).toBe(405);
  });

  test('a body that is too long is refused by its length, and the client sees that', async () => {
    const shown = await inspector();
    const headers = { 'content-type': 'application/json', 'content-length': '30000000' };
    const given = { method: 'POST', headers, body: 'x'.repeat(30_000_000) };
    expect((await ask(shown, withToken(shown, '/api/stately'), given)).status).toBe(413);
  });

  test('a body that is nested millions of levels deep is refused at once, wherever it is sent', async () => {
    const shown = await inspector();
    const run = startScene('plain', { inspect: shown });
    await run;
    using parse = vi.spyOn(JSON, 'parse');
    for (const body of ['['.repeat(4_000_000), `${'['.repeat(2_000_000)}${']'.repeat(2_000_000)}`])
      for (const path of [`/api/sessions/${run.runId}/act`, '/api/stately']) {
        const given = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
        expect((await ask(shown, withToken(shown, path), given)).status).toBe(400);
      }
    // To parse one takes seconds.
    expect(parse.mock.calls.filter(([text]) => text.length > 1_000_000)).toEqual([]);
  });

  test('it listens on loopback alone', async () => {
    const shown = await inspector();
    const elsewhere = Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .filter(({ internal, family }) => !internal && family === 'IPv4');
    for (const { address } of elsewhere) {
      const answered = await new Promise<boolean>((resolve) => {
        const socket = connect({ host: address, port: shown.port }, () => resolve((socket.destroy(), true)));
        socket.on('error', () => resolve(false));
      });
      expect([address, answered]).toEqual([address, false]);
    }
    expect(new URL(shown.url).hostname).toBe('127.0.0.1');
  });

  test('every answer, refusals included, forbids inline script, framing, sniffing and caching, and no other origin reads it', async () => {
    const shown = await inspector();
    for (const path of [
      withToken(shown, '/'),
      '/',
      '/assets/main.js',
      '/assets/nothing.js',
      withToken(shown, '/api/stream'),
    ]) {
      const { headers } = await ask(shown, path);
      const policy = String(headers['content-security-policy']);
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("script-src 'self'");
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
      expect(policy).toContain("frame-ancestors 'none'");
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['cache-control']).toMatch(/^no-store\b/);
      expect(headers['referrer-policy']).toBe('no-referrer');
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  });

  test('no path leads out of the page', async () => {
    const shown = await inspector();
    for (const path of [
      '/assets/../../../../etc/passwd',
      '/assets/..%2f..%2fetc%2fpasswd',
      '/assets/%2e%2e/%2e%2e/package.json',
      '/..%5c..%5cx.js',
      '/index.html/../../x.js',
    ])
      expect([path, (await ask(shown, withToken(shown, path))).status]).toEqual([path, 404]);
  });

  test('a token of its own must be long, and a wrong port is refused, both by name', async () => {
    await expect(createInspector({ token: 'short' })).rejects.toThrow(/'token'/);
    await expect(createInspector({ port: -1 })).rejects.toThrow(/'port'/);
    for (const name of ['https://a.example', 'a.example/', '*.example', '', 'a.example:', 5])
      await expect(
        Reflect.apply(createInspector, undefined, [{ allowedHosts: ['a_b.example', name] }]),
      ).rejects.toThrow(/'allowedHosts'/);
    const own = await inspector({ token: 'a token that I chose' });
    expect(new URL(own.url).searchParams.get('token')).toBe('a token that I chose');
    expect((await viewer(own.url).get('/')).status).toBe(200);
  });

  test('two inspectors never share a token', async () => {
    const tokens = [await inspector(), await inspector()].map(
      ({ url }) => new URL(url).searchParams.get('token') ?? '',
    );
    expect(tokens[0]).not.toBe(tokens[1]);
    for (const token of tokens) expect(token.length).toBeGreaterThanOrEqual(32);
  });
});
