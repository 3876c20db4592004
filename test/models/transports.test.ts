import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { AzureOpenAI, OpenAI } from 'openai';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { configuredModel } from '../../src/models/chat/chat-model.ts';
import { secretsOf } from '../../src/models/endpoint/endpoint.ts';
import { chatModel, type ChatModelOptions } from '../../src/models/index.ts';
import { BUNDLED } from '../support/bundled.ts';
import { startModelServer, type ModelServerOptions, type Scripted } from '../support/model-server.ts';
import { modelAt, overEachTransport, overOwnTransports } from '../support/transports.ts';
import { ask, askInVain } from './ask.ts';

async function serve(script: readonly Scripted[], options: ModelServerOptions = {}) {
  const server = await startModelServer(script, options);
  onTestFinished(() => server.close());
  return server;
}

/** A server that answers each request with these bytes, written piece by piece. Gives its address. */
async function serveBytes(answer: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true).on('error', () => undefined);
    let seen = '';
    socket.on('data', (data) => {
      seen += data.toString('latin1');
      const length = Number(/content-length: (\d+)/i.exec(seen)?.[1] ?? 0);
      if (!seen.includes('\r\n\r\n') || seen.length < seen.indexOf('\r\n\r\n') + 4 + length) return;
      seen = '';
      answer(socket);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? String(address?.port) : ''}/v1`;
}

const completion = (content: string) => JSON.stringify({ choices: [{ message: { content }, finish_reason: 'stop' }] });
const events = (content: string) =>
  `data: ${JSON.stringify({ choices: [{ delta: { content }, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`;

/** A body in HTTP chunks of this many bytes. */
function chunked(body: string, size: number): string {
  const bytes = Buffer.from(body);
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  );
  return [
    ...pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece.toString('latin1')}\r\n`),
    '0\r\n\r\n',
  ].join('');
}

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';

overEachTransport(() => {
  test('a body in chunks is read wherever chunks and packets end, within a character too', async () => {
    let answer = '';
    let packet = 1;
    const baseURL = await serveBytes((socket) => {
      for (let at = 0; at < answer.length; at += packet) socket.write(answer.slice(at, at + packet), 'latin1');
    });
    const model = modelAt({ baseURL, model: 'm' });
    const cuts = fc.record({
      text: fc.string({ unit: 'grapheme', maxLength: 12 }),
      chunk: fc.integer({ min: 1, max: 30 }),
      size: fc.integer({ min: 1, max: 200 }),
      stream: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(cuts, async ({ text, chunk, size, stream }) => {
        packet = size;
        const body = chunked(stream ? events(text) : completion(text), chunk);
        answer = `${HEAD}transfer-encoding: chunked\r\n\r\n${body}`;
        expect((await ask(model, { stream })).content).toBe(text);
      }),
      { numRuns: 25 },
    );
  });

  test('a conversation arrives as it is, in ASCII or not', async () => {
    const server = await serve(['ok', 'ok', 'ok']);
    const model = modelAt({ baseURL: server.baseURL, model: 'm' });
    const texts = ['plain', 'größer ÿ', 'über 🚂 \u2028'];
    for (const content of texts) await ask(model, { messages: [{ role: 'user', content }] });
    expect(server.requests.map(({ body }) => body.messages[0]?.content)).toEqual(texts);
  });

  test('a header of the caller’s own replaces ours, whatever its case', async () => {
    const server = await serve(['ok']);
    const headers = { 'User-Agent': 'mine', 'X-Team': 'blue' };
    await ask(modelAt({ baseURL: server.baseURL, model: 'm', headers }));
    expect(server.requests[0]?.headers).toMatchObject({ 'user-agent': 'mine', 'x-team': 'blue' });
  });

  test('every request of a model has the same headers, its own body and the length of that', async () => {
    const server = await serve(['ok', 'ok', 'ok']);
    const model = modelAt({ baseURL: server.baseURL, model: 'm', apiKey: 'secret', headers: { 'x-team': 'blue' } });
    for (const content of ['one', 'twelve', 'x']) await ask(model, { messages: [{ role: 'user', content }] });
    const [first, ...others] = server.requests.map(({ body, headers: { 'content-length': _length, ...headers } }) => {
      return { headers, said: body.messages[0]?.content };
    });
    expect(first?.headers).toMatchObject({ authorization: 'Bearer secret', 'x-team': 'blue' });
    expect(others).toEqual(['twelve', 'x'].map((said) => ({ said, headers: first?.headers })));
  });

  test('a header that cannot be sent is a failed connection', async () => {
    const server = await serve([]);
    const model = modelAt({ baseURL: server.baseURL, model: 'm', headers: { 'x-team': 'two\nlines' } });
    expect((await askInVain(model)).code).toBe('connect-failed');
  });

  test.each(['content-length: 90', 'content-encoding: gzip\r\ncontent-length: 9'])(
    'an error whose body cannot be read to its end keeps its status: %s',
    async (header) => {
      const baseURL = await serveBytes((socket) => {
        socket.end(`HTTP/1.1 401 Unauthorized\r\ncontent-type: text/plain\r\n${header}\r\n\r\nNo access`);
      });
      expect(await askInVain(modelAt({ baseURL, model: 'm' }))).toMatchObject({ code: 'auth', status: 401 });
    },
  );
});

overOwnTransports(() => {
  test('what a server says before its response is not taken for it', async () => {
    const body = completion('ok');
    const baseURL = await serveBytes((socket) => {
      socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n');
      socket.write(`${HEAD}content-length: ${String(body.length)}\r\n\r\n${body}`);
    });
    expect((await ask(modelAt({ baseURL, model: 'm' }))).content).toBe('ok');
  });

  test.each(['constructor', '__proto__', 'gzip, br'])(
    'a body in a form that is unknown (%s) is taken as it is',
    async (form) => {
      const body = completion('ok');
      const baseURL = await serveBytes((socket) => {
        socket.write(`${HEAD}content-encoding: ${form}\r\ncontent-length: ${String(body.length)}\r\n\r\n${body}`);
      });
      const agent = createAgent({ model: modelAt({ baseURL, model: 'm' }), silent: true, retry: { maxAttempts: 1 } });
      expect(await agent.run('hi')).toMatchObject({ result: 'ok' });
    },
  );

  test('a server that changes the protocol unasked is told at once', async () => {
    const baseURL = await serveBytes((socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n');
    });
    for (const options of [{ baseURL, model: 'm' }, { baseURL }]) {
      const agent = createAgent({ model: modelAt(options), silent: true, retry: { maxAttempts: 1 } });
      expect(await agent.run('hi')).toMatchObject({
        error: { code: 'connect-failed', message: expect.stringContaining('EPROTO') },
      });
    }
  });

  test('compressed replies are not asked for', async () => {
    const server = await serve(['ok']);
    await ask(modelAt({ baseURL: server.baseURL, model: 'm' }));
    expect(server.requests[0]?.headers['accept-encoding']).toBeUndefined();
  });

  test('what a server says in a form of its own is told', async () => {
    const server = await serve([
      { status: 400, body: { detail: 'too warm' } },
      { status: 400, body: [{ error: { message: 'too cold' } }] },
      { status: 400, body: { success: false, result: [], error: [{ code: 2009, message: 'too wet' }] } },
      { status: 400, body: { success: false, errors: [{ code: 5007, message: 'too dry' }] } },
      { status: 400, body: { message: 'too late', errors: [{ code: 1 }] } },
    ]);
    const model = modelAt({ baseURL: server.baseURL, model: 'm' });
    for (const said of ['too warm', 'too cold', 'too wet', 'too dry', 'too late'])
      expect((await askInVain(model)).message).toMatch(new RegExp(`The server said: ${said}$`));
  });

  test.each([
    ['an error', '500 Oops', { model: 'm' }, { code: 'server-error', status: 500 }],
    ['a list of models', '200 OK', {}, { code: 'connect-failed' }],
  ])('%s without an end is cut, and its connection closed', async (_what, status, options, expected) => {
    const { promise: closed, resolve } = Promise.withResolvers<number>();
    const baseURL = await serveBytes((socket) => {
      socket.once('close', () => resolve(socket.bytesWritten));
      socket.write(`HTTP/1.1 ${status}\r\ncontent-type: text/plain\r\n\r\n`);
      const more = () => {
        while (!socket.destroyed && socket.write('x'.repeat(65_536)));
      };
      socket.on('drain', more);
      more();
    });
    expect(await askInVain(modelAt({ baseURL, ...options }))).toMatchObject(expected);
    expect(await closed).toBeLessThan(50_000_000);
  });

  test.each(['099 Early', '600 Late', '999 Denied', '503 Not \u0001now'])(
    'a status that no platform knows (%j) is a failure of the server, also where its models are listed',
    async (status) => {
      const baseURL = await serveBytes((socket) => {
        socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 2\r\n\r\nno`);
      });
      for (const options of [{ baseURL, model: 'm' }, { baseURL }]) {
        const agent = createAgent({ model: modelAt(options), silent: true, retry: { maxAttempts: 1 } });
        expect(await agent.run('hi')).toMatchObject({ reason: 'llm-error', error: { code: 'server-error' } });
      }
    },
  );
});

describe.each(['openai', 'direct'] as const)('what the environment sets for OpenAI, over %s', (transport) => {
  const headersAt = async (baseURL: string, headers: Readonly<Record<string, string>> = {}) => {
    // A proxy stands for the server: nothing leaves this machine.
    const server = await serve(['ok']);
    vi.stubEnv('OPENAI_CUSTOM_HEADERS', 'X-Gateway-Token: for OpenAI only\nno header\nAuthorization: Bearer of-openai');
    vi.stubEnv('OPENAI_ORG_ID', 'org-1');
    vi.stubEnv('OPENAI_PROJECT_ID', ' project-1 ');
    onTestFinished(() => void vi.unstubAllEnvs());
    const env = { http_proxy: new URL(server.baseURL).origin };
    await ask(configuredModel({ baseURL, apiKey: 'sk-mine', model: 'm', transport, headers }, env));
    return server.requests[0]?.headers ?? {};
  };

  test('goes to OpenAI, where the headers of the options come first', async () => {
    expect(await headersAt('http://api.openai.com/v1')).toMatchObject({
      'x-gateway-token': 'for OpenAI only',
      'openai-organization': 'org-1',
      'openai-project': 'project-1',
      authorization: 'Bearer of-openai',
    });
    const own = await headersAt('http://api.openai.com/v1', { 'OpenAI-Project': 'mine', 'x-gateway-token': 'own' });
    expect(own).toMatchObject({ 'openai-project': 'mine', 'x-gateway-token': 'own', 'openai-organization': 'org-1' });
  });

  test.each(['http://model.test/v1', 'http://api.openai.com.model.test/v1'])('does not go to %s', async (baseURL) => {
    const headers = await headersAt(baseURL);
    expect(headers).toMatchObject({ authorization: 'Bearer sk-mine' });
    for (const name of ['x-gateway-token', 'openai-organization', 'openai-project'])
      expect(Object.keys(headers)).not.toContain(name);
  });
});

const client = new OpenAI({ baseURL: 'http://model.test/v1', apiKey: 'sk-own' });

test.each<readonly [string, ChatModelOptions | object, RegExp]>([
  ['a transport that there is not', { transport: 'dirct' }, /transport: 'dirct' is unknown/],
  ['direct with fetch', { transport: 'direct', fetch }, /Leave out 'fetch' or 'transport'/],
  ['a client with an address', { client, baseURL: 'http://other.test/v1' }, /baseURL: with 'client'/],
  ['a client with a preset', { client, preset: 'ollama' }, /preset: with 'client'/],
  ['a client with a key', { client, apiKey: 'k' }, /apiKey: with 'client'/],
  ['a client with fetch', { client, fetch }, /fetch: with 'client'/],
  ['a client with a transport', { client, transport: 'openai' }, /transport: with 'client'/],
  ['a client that is none', { client: { post: 1 } }, /client: it must be an instance/],
  ['no client at all', { client: null }, /client: it must be an instance/],
])('%s is refused', (_what, options, text) => {
  expect(() => Reflect.apply(chatModel, undefined, [options])).toThrow(
    expect.objectContaining({ name: 'TypeError', code: 'wrong-option', message: expect.stringMatching(text) }),
  );
});

test.each([
  ['a browser', 'undefined'],
  ['edge', 'object'],
])('direct is refused where there is no Node, and the others work: %s', async (where, has) => {
  const server = await serve(['From elsewhere.']);
  // In a process of its own: what other tests have left to be closed needs it in this one.
  const child = fileURLToPath(new URL('children/without-node.ts', import.meta.url));
  const args = [...BUNDLED, child, server.baseURL, where];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(JSON.parse(stdout)).toEqual({
    refused: expect.stringContaining('needs Node'),
    content: 'From elsewhere.',
    process: has,
  });
});

test('a client’s own retries hold, and its key is used for the list of models', async () => {
  const server = await serve([{ status: 503, headers: { 'retry-after-ms': '1' } }, 'ok'], { models: ['qwen3'] });
  const own = new OpenAI({ baseURL: server.baseURL, apiKey: 'sk-own', maxRetries: 1 });
  const reply = await ask(chatModel({ client: own }));
  expect(reply.content).toBe('ok');
  expect(server.requests.map(({ body }) => body.model)).toEqual(['qwen3', 'qwen3']);
  expect(server.otherHeaders[0]?.authorization).toBe('Bearer sk-own');
});

test('a client’s key is never printed, and known as a secret', async () => {
  const server = await serve([{ status: 401, body: { error: { message: 'bad key sk-very-secret' } } }]);
  const model = chatModel({ client: new OpenAI({ baseURL: server.baseURL, apiKey: 'sk-very-secret' }), model: 'm' });
  const failure = await askInVain(model);
  expect(failure).toMatchObject({ code: 'auth', status: 401 });
  expect(failure.message).toContain('give the client another one');
  expect(failure.message).not.toContain('sk-very-secret');
  expect(secretsOf(model)).toEqual(['sk-very-secret']);
});

test('a client for Azure asks its deployment and its list, with its key and version', async () => {
  const server = await serve(['ok']);
  const azure = new AzureOpenAI({ endpoint: server.origin, apiKey: 'azure-key', apiVersion: '2026-01-01' });
  expect((await ask(chatModel({ client: azure }))).content).toBe('ok');
  expect(server.requests[0]?.url).toBe('/openai/deployments/scripted/chat/completions?api-version=2026-01-01');
  expect(server.otherPaths).toEqual(['/openai/models']);
  for (const headers of [server.requests[0]?.headers, server.otherHeaders[0]]) {
    expect(headers).toMatchObject({ 'api-key': 'azure-key' });
    expect(headers?.authorization).toBeUndefined();
  }
});
