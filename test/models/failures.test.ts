import { createServer } from 'node:net';
import { once } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Model } from '../../src/actors/model.ts';
import { configuredModel } from '../../src/models/chat/chat-model.ts';
import { chatModel } from '../../src/models/index.ts';
import { startModelServer, type ModelServerOptions, type Scripted } from '../support/model-server.ts';
import { ask, askInVain, weather } from './ask.ts';
import { steadyTime } from '../support/steady-time.ts';
import { modelAt, overEachTransport, overOwnTransports } from '../support/transports.ts';

async function serve(script: readonly Scripted[], options: ModelServerOptions = {}) {
  const server = await startModelServer(script, options);
  onTestFinished(() => server.close());
  return { server, model: modelAt({ baseURL: server.baseURL, model: 'm' }) };
}

/** Timers run when the test lets time pass. */
function stopTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
}

const refusing = (status: number, error: Record<string, unknown>, headers = {}): Scripted => ({
  status,
  body: { error },
  headers,
});

overEachTransport(() => {
  test.each([
    [401, { message: 'no' }, 'auth'],
    [403, { message: 'no' }, 'auth'],
    [400, { message: 'no', code: 'invalid_api_key' }, 'auth'],
    [404, { message: 'no' }, 'model-not-found'],
    [400, { message: 'no', code: 'model_not_found' }, 'model-not-found'],
    [429, { message: 'no' }, 'rate-limited'],
    [429, { message: 'no', type: 'insufficient_quota', code: 'insufficient_quota' }, 'quota-exhausted'],
    [402, { message: 'no' }, 'quota-exhausted'],
    [400, { message: 'no', code: 'context_length_exceeded' }, 'context-overflow'],
    [400, { message: 'no', code: 400, type: 'exceed_context_size_error', n_ctx: 4096 }, 'context-overflow'],
    [400, { message: 'no', code: 'content_filter', param: 'prompt' }, 'content-filter'],
    [400, { message: 'no', innererror: { code: 'ResponsibleAIPolicyViolation' } }, 'content-filter'],
    [403, { message: 'no', code: 'content_filter' }, 'content-filter'],
    [400, { message: 'content_filter', type: 'content_filter_is_off', innererror: 'content_filter' }, 'bad-request'],
    [400, { message: 'no' }, 'bad-request'],
    [422, { message: 'no' }, 'bad-request'],
    [500, { message: 'no' }, 'server-error'],
    [503, { message: 'Loading model', code: 503 }, 'server-error'],
    [503, { message: 'Loading model', code: 503, type: 'unavailable_error' }, 'server-error'],
    [301, { message: 'moved' }, 'bad-response'],
  ])('HTTP %i with %o is %s', async (status, error, code) => {
    const { server, model } = await serve([refusing(status, error)]);
    const failure = await askInVain(model);
    expect(failure).toMatchObject({ code, status });
    expect(failure.message).toContain(server.baseURL);
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    [{ 'retry-after': '7' }, 7000],
    [{ 'retry-after-ms': '150' }, 150],
    [{ 'retry-after-ms': '150', 'retry-after': '7' }, 150],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after': 'soon' }, undefined],
    [{}, undefined],
  ])('with %o the wait is %s ms', async (headers, expected) => {
    const { model } = await serve([refusing(429, { message: 'slow down' }, headers)]);
    expect((await askInVain(model)).retryAfterMs).toBe(expected);
  });

  test('how long to wait is read in Google’s errors, where no header says it', async () => {
    const error = { code: 429, message: 'no', details: [{ reason: 'X' }, { retryDelay: '34.5s' }] };
    const script = [{ status: 429, body: [{ error }] }, refusing(429, error, { 'retry-after': '2' })];
    const { model } = await serve(script);
    expect((await askInVain(model)).retryAfterMs).toBe(34_500);
    expect((await askInVain(model)).retryAfterMs).toBe(2000);
  });

  test('a model that llama.cpp is loading is waited for, as long as for a reply and no longer than it is wanted', async () => {
    const error = { message: 'Loading model', type: 'unavailable_error', code: 503 };
    const loading = refusing(503, error, { server: 'llama.cpp' });
    const { server, model } = await serve([loading, loading, 'Loaded.']);
    expect(await ask(model)).toMatchObject({ content: 'Loaded.' });
    expect(server.requests).toHaveLength(3);
    const never = await serve([loading, loading, loading]);
    expect(await askInVain(never.model, { io: { responseMs: 700 } })).toMatchObject({
      code: 'server-error',
      status: 503,
    });
    expect(never.server.requests).toHaveLength(3);
    const unwanted = await serve([loading]);
    const run = new AbortController();
    const asked = askInVain(unwanted.model, { io: { signal: run.signal } });
    await unwanted.server.received(1);
    setTimeout(() => run.abort(), 50);
    expect((await asked).code).toBe('aborted');
    expect(unwanted.server.requests).toHaveLength(1);
  });

  test('a date to wait for becomes a time to wait', async () => {
    const date = new Date(Date.now() + 60_000).toUTCString();
    const { model } = await serve([refusing(503, { message: 'maintenance' }, { 'retry-after': date })]);
    const wait = (await askInVain(model)).retryAfterMs ?? 0;
    expect(wait).toBeGreaterThan(50_000);
    expect(wait).toBeLessThanOrEqual(60_000);
  });

  test('an unknown model is answered with the models that the server has', async () => {
    const { model } = await serve([refusing(404, { message: 'no such model' })], { models: ['qwen3', 'llama3'] });
    expect((await askInVain(model)).message).toMatch(/no model 'm'; it offers qwen3, llama3/);
  });

  test.each([
    ['without a model list', { message: 'Not Found' }, { pages: { '/v1/models': 404 } }],
    ['in FastAPI’s words, without a model list', 'Not Found', { pages: { '/v1/models': 404 } }],
    [
      'by llama.cpp’s type',
      { code: 404, message: 'File Not Found', type: 'not_found_error' },
      { pages: { '/v1/models': 404 } },
    ],
    ['though the list has the model', { message: 'no' }, { models: ['m'] }],
  ])('a 404 %s is about the address', async (_what, error, options) => {
    const body = typeof error === 'string' ? { detail: error } : { error };
    const { server, model } = await serve([{ status: 404, body }], options);
    const failure = await askInVain(model);
    expect(failure).toMatchObject({ code: 'endpoint-not-found', status: 404 });
    expect(failure.message).toContain('ends where /chat/completions begins');
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    { message: 'no', code: 'model_not_found' },
    { message: 'no', code: 'model_not_available' },
    { message: 'no', type: 'NotFoundError', param: 'model' },
  ])('a 404 that speaks of the model is about the model, with a list or without: %o', async (error) => {
    const { model } = await serve([refusing(404, error)], { pages: { '/v1/models': 404 } });
    expect((await askInVain(model)).code).toBe('model-not-found');
  });

  test('a key that is refused when the models are listed is told as such', async () => {
    const { server } = await serve([], { pages: { '/v1/models': 401 } });
    expect((await askInVain(modelAt({ baseURL: server.baseURL }))).code).toBe('auth');
  });

  test('an address with a password in it is shown without', async () => {
    const { server } = await serve([refusing(500, { message: 'no' })]);
    const baseURL = `http://ann:pa55@127.0.0.1:${String(server.port)}/v1`;
    const failure = await askInVain(modelAt({ baseURL, model: 'm' }));
    expect(failure.message).not.toContain('pa55');
  });

  test.each([
    [502, '<html><h1>Bad gateway</h1></html>', 'server-error', 'A proxy or a gateway answered'],
    [503, ' \n<!DOCTYPE html><title>ERROR</title>', 'server-error', 'A proxy or a gateway answered'],
    // A proxy that lets nobody through to this server: the key is not to blame.
    [403, '<!DOCTYPE html><title>Access denied</title>', 'auth', 'A proxy or a gateway answered'],
    // Of a server's own framework.
    [500, '<!doctype html><title>500 Internal Server Error</title>', 'server-error', 'The server failed'],
    [401, '<html>Who are you?</html>', 'auth', 'The API key was not accepted'],
    [404, '<html>Not found</html>', 'model-not-found', 'The server has no model'],
    [403, { error: { message: '<b>No.</b>' } }, 'auth', 'The API key was not accepted'],
    [500, 'a < b', 'server-error', 'The server failed'],
  ])('HTTP %i with %j, of a page meant for browsers nothing is shown', async (status, body, code, said) => {
    const { model } = await serve([{ status, body }]);
    const failure = await askInVain(model);
    expect(failure.code).toBe(code);
    expect(failure.message).toContain(said);
    expect(failure.message).not.toMatch(/<html>|DOCTYPE/i);
  });

  test('an error in plain text is told as it is, and none as none', async () => {
    const { server, model } = await serve([
      { status: 500, body: 'out of memory' },
      { status: 500, body: '' },
    ]);
    const place = `(HTTP 500 from ${server.baseURL}).`;
    expect((await askInVain(model)).message).toContain(`${place} The server said: out of memory`);
    expect((await askInVain(model)).message.endsWith(place)).toBe(true);
  });

  test('a server that hangs up without a word is a failed connection', async () => {
    const { model } = await serve([{ closeSocket: true }]);
    const failure = await askInVain(model);
    expect(failure.code).toBe('connect-failed');
    expect(failure.message).toContain('hung up before it answered');
  });

  test.each([
    ['Failed to parse tool call arguments as JSON: [json.exception.parse_error.101]', ''],
    ['Failed to parse input at pos 12: <tool_call>{"name"', '<tool_call>{"name"'],
    [`error parsing tool call: raw='{"city": "Aus', err=unexpected end of JSON input`, '{"city": "Aus'],
  ])('a server that could not read the model’s tool call tells a malformed call: %s', async (message, text) => {
    const { model } = await serve([refusing(500, { code: 500, message, type: 'server_error' })]);
    const failure = await askInVain(model, { tools: [weather] });
    expect(failure).toMatchObject({ code: 'malformed-tool-call', status: 500, data: { text, message } });
  });

  test('the text that Groq could not read is kept', async () => {
    const error = { code: 'tool_use_failed', message: 'could not', failed_generation: '<function=f>{' };
    const { model } = await serve([refusing(400, error)]);
    expect(await askInVain(model)).toMatchObject({ code: 'malformed-tool-call', data: { text: '<function=f>{' } });
  });

  test('silence before the reply is a timeout, and the server sees the connection go', async () => {
    stopTime();
    const { server, model } = await serve([{ hang: true }]);
    const failing = askInVain(model, { io: { responseMs: 50_000 } });
    await server.received(1);
    await vi.advanceTimersByTimeAsync(50_000);
    expect(await failing).toMatchObject({ code: 'timeout', data: { phase: 'response' } });
    await server.abandoned();
  });

  test('silence in the middle of a stream is a timeout', async () => {
    stopTime();
    const { server, model } = await serve([{ content: 'a long answer', stallAfter: 2 }]);
    const { promise: said, resolve: onToken } = Promise.withResolvers<unknown>();
    const failing = askInVain(model, { stream: true, io: { responseMs: 60_000, onToken } });
    await said;
    await vi.advanceTimersByTimeAsync(60_000);
    expect((await failing).code).toBe('timeout');
    await server.abandoned();
  });

  test.each([
    ['before the reply', { hang: true }],
    ['in the middle of the stream', { content: 'a long answer', stallAfter: 3 }],
  ] as const)('an abort %s really closes the connection', async (_when, scripted) => {
    const { server, model } = await serve([scripted]);
    const controller = new AbortController();
    const failing = askInVain(model, { stream: true, io: { signal: controller.signal } });
    await server.received(1);
    controller.abort(new Error('user left'));
    expect((await failing).code).toBe('aborted');
    await server.abandoned();
  });

  test('an abort that came before the request sends nothing', async () => {
    const { server, model } = await serve(['never asked for']);
    expect((await askInVain(model, { io: { signal: AbortSignal.abort() } })).code).toBe('aborted');
    expect(server.requests).toHaveLength(0);
  });
});

overOwnTransports(() => {
  test('a key that is not accepted is never printed, even when the server prints it', async () => {
    const server = await startModelServer([refusing(401, { message: 'bad key sk-very-secret' })]);
    onTestFinished(() => server.close());
    const failure = await askInVain(modelAt({ baseURL: server.baseURL, model: 'm', apiKey: 'sk-very-secret' }));
    expect(failure.message).toContain('set the option apiKey');
    expect(failure.message).not.toContain('sk-very-secret');
  });

  test('a redirect is told, not followed', async () => {
    const headers = { location: 'https://elsewhere.test/v1/chat/completions' };
    const { model } = await serve([refusing(308, { message: 'moved' }, headers)]);
    expect((await askInVain(model)).message).toContain('points to https://elsewhere.test/v1');
  });

  test.each(['http', 'https'])(
    'what answers %s with something else is reached, and does not speak it',
    async (scheme) => {
      const other = createServer((socket) => void socket.on('error', () => undefined).end('SSH-2.0-OpenSSH_9.2\r\n'));
      other.listen(0, '127.0.0.1');
      await once(other, 'listening');
      onTestFinished(() => void other.close());
      const address = other.address();
      const port = typeof address === 'object' ? String(address?.port) : '';
      const failure = await askInVain(modelAt({ baseURL: `${scheme}://127.0.0.1:${port}/v1`, model: 'm' }));
      expect(failure.code).toBe('connect-failed');
      expect(failure.message).toContain(`does not speak ${scheme}`);
      expect(failure.message).not.toContain('Cannot reach');
    },
  );

  test('a connection that does not stand in time is a timeout of the connection', async () => {
    // A TLS handshake that is never answered: the socket is there, the connection is not.
    const silent = createServer();
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    onTestFinished(() => void silent.close());
    const address = silent.address();
    const port = typeof address === 'object' ? String(address?.port) : '';
    const model = modelAt({ baseURL: `https://127.0.0.1:${port}/v1`, model: 'm' });
    const failure = await askInVain(model, { io: { connectMs: 50 } });
    expect(failure).toMatchObject({ code: 'timeout', data: { phase: 'connect' } });
    expect(failure.message).toContain('connectMs');
  });

  test('a connectMs of a month, which no timer takes, is not over at once', async () => {
    const late = createServer((socket) => void setTimeout(() => socket.destroy(), 50));
    late.listen(0, '127.0.0.1');
    await once(late, 'listening');
    onTestFinished(() => void late.close());
    const address = late.address();
    const port = typeof address === 'object' ? String(address?.port) : '';
    const model = modelAt({ baseURL: `https://127.0.0.1:${port}/v1`, model: 'm' });
    expect(await askInVain(model, { io: { connectMs: 3e9 } })).toMatchObject({ code: 'connect-failed' });
  });
});

test('a hosted server without a key is not even asked, and the text names the variable', async () => {
  const before = process.env['OPENAI_API_KEY'];
  delete process.env['OPENAI_API_KEY'];
  onTestFinished(() => {
    if (before !== undefined) process.env['OPENAI_API_KEY'] = before;
  });
  const failure = await askInVain(
    chatModel({ preset: 'openai', model: 'gpt', fetch: () => Promise.reject(new Error('asked')) }),
  );
  expect(failure.code).toBe('auth');
  expect(failure.message).toContain('OPENAI_API_KEY');
});

test('a key in a header of the caller’s own will do', async () => {
  const fetch = () => Promise.resolve(Response.json({ choices: [{ message: { content: 'ok' } }] }));
  const model = configuredModel({ preset: 'openai', model: 'gpt', headers: { Authorization: 'Bearer x' }, fetch }, {});
  expect((await ask(model)).content).toBe('ok');
});

test('a server that is not there is named, with what to do', async () => {
  const { server } = await serve([]);
  await server.close();
  const failure = await askInVain(chatModel({ preset: 'ollama', baseURL: server.baseURL, model: 'm' }));
  expect(failure.code).toBe('connect-failed');
  expect(failure.message).toContain(`Ollama at ${server.baseURL} (ECONNREFUSED)`);
  expect(failure.message).toContain('ollama serve');
  const unnamed = await askInVain(chatModel({ baseURL: server.baseURL }));
  expect(unnamed.code).toBe('connect-failed');
});

test('a reply that takes longer than the silence allowed is no timeout while it keeps coming', async () => {
  steadyTime();
  const pieces = Array.from(
    { length: 8 },
    (_, at) =>
      `data: ${JSON.stringify({ choices: [{ delta: { content: String(at) }, finish_reason: at === 7 ? 'stop' : null }] })}\n\n`,
  );
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await new Promise((resolve) => setTimeout(resolve, 25));
      const piece = pieces.shift();
      if (piece === undefined) controller.close();
      else controller.enqueue(new TextEncoder().encode(piece));
    },
  });
  const model = chatModel({
    baseURL: 'http://slow.test/v1',
    model: 'm',
    fetch: () => Promise.resolve(new Response(body)),
  });
  expect((await ask(model, { stream: true, io: { responseMs: 120 } })).content).toBe('01234567');
});

test.each([
  ['never answers', () => new Promise<Response>(() => undefined)],
  ['never ends its body', () => Promise.resolve(new Response(new ReadableStream()))],
])('a fetch of the caller’s that %s and pays no attention to signals holds nobody up', async (_what, fetch) => {
  const model = chatModel({ baseURL: 'http://model.test/v1', model: 'm', fetch });
  expect((await askInVain(model, { io: { responseMs: 50 } })).code).toBe('timeout');
  const controller = new AbortController();
  const failing = askInVain(model, { io: { signal: controller.signal } });
  controller.abort();
  expect((await failing).code).toBe('aborted');
});

test('the first reply of a local preset may take ten minutes, while its model is loaded; later ones two', async () => {
  const answers = [Response.json({ choices: [{ message: { content: 'awake' } }] })];
  const fetch = () => {
    const answer = answers.pop();
    return answer === undefined ? new Promise<Response>(() => undefined) : Promise.resolve(answer);
  };
  const awake = chatModel({ preset: 'ollama', model: 'm', fetch });
  await ask(awake);
  stopTime();
  const patience = async (model: Model) => {
    const begun = performance.now();
    const failing = askInVain(model).then(() => Math.round((performance.now() - begun) / 1000));
    await vi.advanceTimersByTimeAsync(700_000);
    return failing;
  };
  expect(await patience(chatModel({ preset: 'ollama', model: 'm', fetch }))).toBe(600);
  expect(await patience(awake)).toBe(120);
  expect(await patience(chatModel({ preset: 'ollama', model: 'm', fetch, responseMs: 5000 }))).toBe(5);
  expect(await patience(chatModel({ baseURL: 'http://model.test/v1', model: 'm', fetch }))).toBe(120);
});
