import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompressSync, createGzip, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { configuredModel } from '../../src/models/chat/chat-model.ts';
import { createNodeFetch } from '../../src/models/http/node-fetch.ts';
import { BUNDLED } from '../support/bundled.ts';
import { startModelServer } from '../support/model-server.ts';
import { certificate, key } from '../support/tls-certificate.ts';
import { ask, askInVain } from './ask.ts';
import { modelAt, overEachTransport, overOwnTransports } from '../support/transports.ts';

const run = promisify(execFile);
const child = new URL('./children/ask-once.ts', import.meta.url).pathname;

async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

const completion = JSON.stringify({ choices: [{ message: { content: 'ok' }, finish_reason: 'stop' }] });

const complete: RequestListener = (request, response) => {
  request.resume().on('end', () => response.setHeader('content-type', 'application/json').end(completion));
};

/** Answers the first request of every connection and, at the second, says no more than this and hangs up. */
function impatientServer(lastWords = ''): { readonly server: Server; readonly requests: () => number } {
  let requests = 0;
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${String(completion.length)}\r\n\r\n`;
  const server = createTcpServer((socket) => {
    let served = 0;
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      if (!data.toString().startsWith('POST')) return;
      requests += 1;
      served += 1;
      if (served === 1) socket.write(head + completion);
      else socket.write(lastWords, () => socket.destroy());
    });
  });
  return { server, requests: () => requests };
}

overEachTransport(() => {
  test('a new connection that dies is not tried again', async () => {
    const server = await startModelServer([{ closeSocket: true }, 'never asked for']);
    onTestFinished(() => server.close());
    expect((await askInVain(modelAt({ baseURL: server.baseURL, model: 'm' }))).code).toBe('connect-failed');
    expect(server.requests).toHaveLength(1);
  });

  test('a reply that has begun is not asked for again when its kept connection dies', async () => {
    const server = await startModelServer(['one', { content: 'a long answer', breakOffAfter: 3 }, 'never asked for']);
    onTestFinished(() => server.close());
    const model = modelAt({ baseURL: server.baseURL, model: 'm' });
    await ask(model);
    expect((await askInVain(model, { stream: true })).code).toBe('bad-response');
    expect(server.requests).toHaveLength(2);
  });

  test.each(
    Object.entries({
      gzip: gzipSync,
      'x-gzip': gzipSync,
      deflate: deflateSync,
      br: brotliCompressSync,
      zstd: zstdCompressSync,
    }),
  )(
    'a reply that its server compresses unasked (%s) is read, and one that is cut off is told so',
    async (encoding, compress) => {
      let cut = 0;
      const server = createHttpServer((request, response) => {
        const packed = compress(completion);
        response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': encoding });
        request.resume().on('end', () => response.end(packed.subarray(0, packed.length - cut)));
      });
      const model = modelAt({ baseURL: `http://127.0.0.1:${String(await listen(server))}/v1`, model: 'm' });
      expect((await ask(model)).content).toBe('ok');
      cut = 20;
      expect((await askInVain(model)).code).toBe('bad-response');
    },
  );

  test('a stream that its server compresses unasked comes as it is written, and so does an error', async () => {
    let requests = 0;
    const server = createHttpServer((_, response) => {
      const packed = createGzip();
      const write = (text: string): void => {
        packed.write(text);
        packed.flush();
      };
      const isFirst = requests++ === 0;
      response.writeHead(isFirst ? 200 : 404, {
        'content-type': isFirst ? 'text/event-stream' : 'application/json',
        'content-encoding': 'gzip',
      });
      packed.pipe(response);
      if (!isFirst) return void packed.end('{"error":{"message":"no such model","code":"model_not_found"}}');
      write('data: {"choices":[{"delta":{"content":"one"}}]}\n\n');
      heard.promise.then(
        () => packed.end('data: {"choices":[{"delta":{"content":" two"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'),
        () => undefined,
      );
    });
    const heard = Promise.withResolvers<void>();
    const baseURL = `http://127.0.0.1:${String(await listen(server))}/v1`;
    const io = { onToken: () => heard.resolve() };
    expect((await ask(modelAt({ baseURL, model: 'm' }), { stream: true, io })).content).toBe('one two');
    const failing = modelAt({ baseURL, model: 'm' });
    expect((await askInVain(failing)).code).toBe('model-not-found');
  });

  test('a certificate that nobody vouches for is told with the remedy', async () => {
    const port = await listen(createTlsServer({ cert: certificate, key }, complete));
    const failure = await askInVain(modelAt({ baseURL: `https://localhost:${String(port)}/v1`, model: 'm' }));
    expect(failure.code).toBe('connect-failed');
    expect(failure.message).toMatch(/not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\).*NODE_EXTRA_CA_CERTS/);
  });
});

overOwnTransports(() => {
  test('a kept connection that dies unused is replaced, once', async () => {
    const { server, requests } = impatientServer();
    const baseURL = `http://127.0.0.1:${String(await listen(server))}/v1`;
    const model = modelAt({ baseURL, model: 'm' });
    for (const at of [1, 2, 3]) expect((await ask(model)).content, String(at)).toBe('ok');
    expect(requests()).toBe(4);
  });

  test('a kept connection that dies after it has begun to answer is not replaced', async () => {
    const { server, requests } = impatientServer('HTTP/1.1 200 OK\r\ncontent-ty');
    const model = modelAt({ baseURL: `http://127.0.0.1:${String(await listen(server))}/v1`, model: 'm' });
    await ask(model);
    expect((await askInVain(model)).code).toBe('connect-failed');
    expect(requests()).toBe(2);
  });

  test('a request that is aborted on a kept connection is not sent again', async () => {
    const heard: IncomingMessage[] = [];
    const asked = Promise.withResolvers<void>();
    const server = createHttpServer((request, response) => {
      heard.push(request);
      if (heard.length !== 2) complete(request, response);
      else asked.resolve();
    });
    const model = modelAt({ baseURL: `http://127.0.0.1:${String(await listen(server))}/v1`, model: 'm' });
    await ask(model);
    const controller = new AbortController();
    const aborted = askInVain(model, { io: { signal: controller.signal } });
    await asked.promise;
    controller.abort();
    expect((await aborted).code).toBe('aborted');
    for (const _ of [3, 4, 5]) await ask(model);
    expect(heard).toHaveLength(5);
    expect(heard[1]?.socket).toBe(heard[0]?.socket);
  });

  test.each([307, 308])('a redirect (%i) within the origin is followed, with body and key', async (status) => {
    const seen: string[] = [];
    const server = createHttpServer((request, response) => {
      const moves = request.url === '/v1/chat/completions';
      request.setEncoding('utf8').once('data', (body: string) => {
        seen.push(`${String(request.url)} ${String(request.headers.authorization)} ${body.slice(0, 1)}`);
        if (moves) response.writeHead(status, { location: '/v1/chat/completions/' }).end('It has moved.');
        else complete(request, response);
      });
    });
    const baseURL = `http://127.0.0.1:${String(await listen(server))}/v1`;
    const model = modelAt({ baseURL, model: 'm', apiKey: 'sk-abc' });
    expect((await ask(model)).content).toBe('ok');
    expect(seen).toEqual(['', '/'].map((end) => `/v1/chat/completions${end} Bearer sk-abc {`));
  });

  test('a redirect that never ends is left when its request is over', async () => {
    const { promise: left, resolve } = Promise.withResolvers<void>();
    const server = createHttpServer((request, response) => {
      if (request.url !== '/v1/chat/completions') return complete(request, response);
      response.writeHead(307, { location: '/v1/chat/completions/' }).write('It is');
      response.once('close', resolve);
    });
    const baseURL = `http://127.0.0.1:${String(await listen(server))}/v1`;
    const agent = createAgent({ model: modelAt({ baseURL, model: 'm' }), silent: true });
    expect((await agent.run('hi')).result).toBe('ok');
    await left;
  });

  test('redirects in a circle end', async () => {
    let requests = 0;
    const server = createHttpServer((_, response) => {
      requests += 1;
      response.writeHead(307, { location: '/v1/chat/completions' }).end();
    });
    const failure = await askInVain(
      modelAt({ baseURL: `http://127.0.0.1:${String(await listen(server))}/v1`, model: 'm' }),
    );
    expect(failure.message).toContain('It points to /v1/chat/completions');
    expect(requests).toBe(6);
  });

  test('neither key nor body go to another origin', async () => {
    let requests = 0;
    const other = await listen(createHttpServer(() => (requests += 1)));
    const location = `http://127.0.0.1:${String(other)}/v1/chat/completions`;
    const server = createHttpServer((_, response) => response.writeHead(307, { location }).end());
    const model = modelAt({ baseURL: `http://127.0.0.1:${String(await listen(server))}/v1`, model: 'm' });
    expect((await askInVain(model)).message).toContain(`It points to ${location}`);
    expect(requests).toBe(0);
  });
});

test.each(['openai', 'direct'] as const)(
  'plain requests go to the proxy whole, with its password, over %s',
  async (transport) => {
    const seen: IncomingMessage[] = [];
    const proxy = createHttpServer((request, response) => {
      seen.push(request);
      complete(request, response);
    });
    const address = `http://ann:p%40ss@127.0.0.1:${String(await listen(proxy))}`;
    const model = configuredModel({ baseURL: 'http://model.test/v1', model: 'm', transport }, { HTTP_PROXY: address });
    expect((await ask(model)).content).toBe('ok');
    expect(seen[0]?.url).toBe('http://model.test/v1/chat/completions');
    expect(seen[0]?.headers).toMatchObject({
      host: 'model.test',
      'proxy-authorization': `Basic ${Buffer.from('ann:p@ss').toString('base64')}`,
    });
  },
);

test.each(['openai', 'direct'] as const)(
  'a model on this machine is asked directly by %s, whatever proxy is set',
  async (transport) => {
    const server = await startModelServer(['direct']);
    onTestFinished(() => server.close());
    const env = { http_proxy: 'http://127.0.0.1:1', HTTPS_PROXY: 'http://127.0.0.1:1' };
    expect((await ask(configuredModel({ baseURL: server.baseURL, model: 'm', transport }, env))).content).toBe(
      'direct',
    );
  },
);

test.each(['openai', 'direct'] as const)(
  'a proxy that refuses the tunnel is a failed connection of %s',
  async (transport) => {
    const proxy = createHttpServer();
    const passwords: unknown[] = [];
    proxy.on('connect', ({ headers }, socket) => {
      passwords.push(headers['proxy-authorization']);
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
    const port = String(await listen(proxy));
    const env = { HTTPS_PROXY: `http://ann:p%40ss%@127.0.0.1:${port}` };
    const failure = await askInVain(configuredModel({ baseURL: 'https://model.test/v1', model: 'm', transport }, env));
    expect(failure.code).toBe('connect-failed');
    const refused = `the proxy 127.0.0.1:${port} refused a tunnel to model.test:443 (HTTP 403)`;
    expect(failure.message).toBe(`Cannot reach https://model.test/v1: ${refused}. Check HTTPS_PROXY and NO_PROXY.`);
    expect(passwords).toEqual([`Basic ${Buffer.from('ann:p@ss%').toString('base64')}`]);
  },
);

test.each(['openai', 'direct'] as const)('a proxy that is not there is named by %s', async (transport) => {
  const env = { HTTPS_PROXY: 'http://ann:pass@127.0.0.1:1' };
  const failure = await askInVain(configuredModel({ baseURL: 'https://model.test/v1', model: 'm', transport }, env));
  const text =
    'Cannot reach https://model.test/v1 (ECONNREFUSED): the proxy 127.0.0.1:1 opened no tunnel to model.test:443';
  expect(failure).toMatchObject({ code: 'connect-failed', data: { cause: 'ECONNREFUSED' } });
  expect(failure.message).toBe(`${text}. Check HTTPS_PROXY and NO_PROXY.`);
});

test.each(['openai', 'direct'] as const)(
  'a proxy that passes nothing on to a plain server is named by %s, and the server is not',
  async (transport) => {
    const proxy = createHttpServer((request) => request.socket.destroy());
    const here = `127.0.0.1:${String(await listen(proxy))}`;
    for (const [host, cause] of [
      ['127.0.0.1:1', 'ECONNREFUSED'],
      [here, 'ECONNRESET'],
    ] as const) {
      const env = { HTTP_PROXY: `http://ann:pass@${host}` };
      const failure = await askInVain(configuredModel({ baseURL: 'http://model.test/v1', model: 'm', transport }, env));
      expect(failure).toMatchObject({ code: 'connect-failed', data: { cause } });
      const why = `the proxy ${host} passed nothing on to model.test`;
      expect(failure.message).toBe(
        `Cannot reach http://model.test/v1 (${cause}): ${why}. Check HTTP_PROXY and NO_PROXY.`,
      );
    }
  },
);

test.each(['openai', 'direct'] as const)(
  'a proxy that wants a password is told apart from a server that refuses by %s',
  async (transport) => {
    const refuse = (status: number) =>
      createHttpServer((_request, response) => response.writeHead(status).end('<html>No.</html>'));
    const failureOf = async (status: number) => {
      const env = { HTTP_PROXY: `http://127.0.0.1:${String(await listen(refuse(status)))}` };
      return askInVain(configuredModel({ baseURL: 'http://model.test/v1', model: 'm', transport }, env));
    };
    expect(await failureOf(407)).toMatchObject({ code: 'bad-request', message: expect.stringContaining('HTTP_PROXY') });
    expect((await failureOf(406)).message).not.toContain('PROXY');
  },
);

test('an aborted request through a proxy is aborted, and no proxy is to blame', async () => {
  const arrived = Promise.withResolvers<undefined>();
  const proxy = createHttpServer(() => arrived.resolve(undefined));
  const env = { HTTP_PROXY: `http://127.0.0.1:${String(await listen(proxy))}` };
  const stop = new AbortController();
  const answer = createNodeFetch({ connectMs: 1000, env })('http://model.test/', { signal: stop.signal });
  await arrived.promise;
  stop.abort(new Error('enough'));
  await expect(answer).rejects.toThrow('enough');
});

test('a proxy may have an address of IPv6', async () => {
  const env = { HTTPS_PROXY: 'http://[::1]:1' };
  const failure = await askInVain(configuredModel({ baseURL: 'https://model.test/v1', model: 'm' }, env));
  // It is no name, which would be looked up.
  expect(failure.data).toEqual({ cause: expect.stringMatching(/^E(?:CONNREFUSED|ADDRNOTAVAIL|NETUNREACH)$/) });
  expect(failure.message).toContain('the proxy [::1]:1 opened no tunnel');
});

test('what it returns is a response like the platform’s', async () => {
  const port = await listen(createHttpServer(complete));
  const fetch = createNodeFetch({ connectMs: 1000, env: {} });
  const url = `http://127.0.0.1:${String(port)}/`;
  const response = await fetch(url);
  expect(response).toBeInstanceOf(Response);
  expect(response.ok).toBe(true);
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(await response.json()).toEqual(JSON.parse(completion));
  const again = await fetch(new URL(url));
  expect(await new Response(again.body).text()).toBe(completion);
});

test('a response that was read has let go of its connection and of whoever read it', async () => {
  const port = await listen(createHttpServer(complete));
  const fetch = createNodeFetch({ connectMs: 1000, env: {} });
  const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}' });
  expect(await response.text()).toBe(completion);
  await expect.poll(async () => response.text().catch(String)).toBe('TypeError: the body of this response was read');
});

test('an abort after the head closes the connection', async () => {
  const server = await startModelServer([{ content: 'a long answer', stallAfter: 2 }]);
  onTestFinished(() => server.close());
  const controller = new AbortController();
  const fetch = createNodeFetch({ connectMs: 1000, env: {} });
  const body = JSON.stringify({ stream: true, messages: [] });
  const response = await fetch(`${server.baseURL}/chat/completions`, {
    method: 'POST',
    body,
    signal: controller.signal,
  });
  controller.abort(new Error('enough'));
  await expect(response.text()).rejects.toThrow('enough');
  await server.abandoned();
});

test.each(['openai', 'direct'])('idle connections of %s hold no process open', async (transport) => {
  const server = await startModelServer(['bye']);
  onTestFinished(() => server.close());
  const { stdout } = await run(process.execPath, [...BUNDLED, child, server.baseURL, transport], { timeout: 30_000 });
  expect(stdout).toBe('bye\n');
});

test.each(['openai', 'direct'])(
  'a proxy that says nothing is given up by %s when a connection must stand, and holds no process open',
  async (transport) => {
    const proxy = createHttpServer().on('connect', (_request, socket) => socket.on('error', () => undefined));
    const env = { ...process.env, HTTPS_PROXY: `http://127.0.0.1:${String(await listen(proxy))}` };
    const asked = async (...times: string[]) => {
      const args = [...BUNDLED, child, 'https://model.test/v1', transport, ...times];
      return (await run(process.execPath, args, { env, timeout: 30_000 })).stdout;
    };
    expect(await asked('300')).toBe('timeout\n');
    expect(await asked('50000', '300')).toBe('aborted\n');
  },
);

test.each(['openai', 'direct'])(
  'TLS of %s goes through a tunnel of the proxy, trusting the certificates of NODE_EXTRA_CA_CERTS',
  async (transport) => {
    const target = await listen(createTlsServer({ cert: certificate, key }, complete));
    const tunnels: string[] = [];
    const proxy = createHttpServer();
    proxy.on('connect', (request, socket) => {
      tunnels.push(request.url ?? '');
      const upstream = connect(target, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        upstream.pipe(socket).pipe(upstream);
      });
      upstream.on('error', () => undefined);
      socket.on('error', () => undefined);
    });
    const proxyPort = await listen(proxy);
    const folder = await mkdtemp(join(tmpdir(), 'signalbox-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const extra = join(folder, 'ca.pem');
    await writeFile(extra, certificate);
    const env = { ...process.env, HTTPS_PROXY: `http://127.0.0.1:${String(proxyPort)}`, NODE_EXTRA_CA_CERTS: extra };
    const { stdout } = await run(process.execPath, [...BUNDLED, child, 'https://model.test/v1', transport], {
      env,
      timeout: 30_000,
    });
    expect(stdout).toBe('ok\n');
    expect(tunnels).toEqual(['model.test:443']);
  },
);
