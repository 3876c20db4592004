import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { configuredModel, createChatModel } from '../../src/models/chat/chat-model.ts';
import { discoverEndpoint, discoveredSource, settledSource } from '../../src/models/discovery/discover-endpoint.ts';
import { PRESETS, type Preset, type PresetName } from '../../src/models/endpoint/presets.ts';
import { startModelServer, type Scripted } from '../support/model-server.ts';
import { ask, askInVain } from './ask.ts';

async function serve(models: readonly string[], ...script: readonly Scripted[]) {
  const server = await startModelServer(script, { models });
  onTestFinished(() => server.close());
  return server;
}

/** A server on such a port that has nothing to do with models. */
async function otherServer(answer: { readonly status?: number; readonly body?: string; readonly silent?: true }) {
  const server = createServer((_request, response) => {
    if (answer.silent !== true) response.writeHead(answer.status ?? 200).end(answer.body ?? '<html>hi</html>');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${String(typeof address === 'object' ? address?.port : '')}/v1`;
}

const at = (name: PresetName, baseURL: string): Preset => ({ ...PRESETS[name], baseURL, alsoAt: [] });
const nobody = 'http://127.0.0.1:1/v1';

test('only loopback ports are asked', () => {
  const urls = Object.values(PRESETS).flatMap((preset) => (preset.local ? [preset.baseURL, ...preset.alsoAt] : []));
  expect(urls.map((url) => new URL(url).hostname)).toEqual(urls.map(() => 'localhost'));
  expect(urls).toContain('http://localhost:13305/api/v1');
});

test('the preferred server is taken, not the fastest', async () => {
  const [first, second] = [await serve(['slow-but-preferred']), await serve(['other'])];
  const presets = [at('llamacpp', nobody), at('ollama', first.baseURL), at('lmstudio', second.baseURL)];
  const found = await discoverEndpoint({ env: {}, presets });
  expect(found).toMatchObject({
    kind: 'found',
    model: 'slow-but-preferred',
    endpoint: { baseURL: first.baseURL, preset: { name: 'ollama' } },
    tried: [{ outcome: 'no-answer' }, { outcome: 'model-server' }, { outcome: 'model-server' }],
  });
});

test('a model without an address is looked for, and then asked, through the caller’s own fetch alone', async () => {
  const asked: string[] = [];
  const fetch = async (input: string | URL | Request): Promise<Response> => {
    const url = input instanceof Request ? input.url : String(input);
    asked.push(url);
    if (!url.startsWith(PRESETS.ollama.baseURL)) throw new TypeError('nobody is there');
    if (url.endsWith('/models')) return Response.json({ data: [{ id: 'qwen3' }] });
    return Response.json({ choices: [{ message: { content: 'ok' }, finish_reason: 'stop' }] });
  };
  const model = configuredModel({ fetch }, {});
  expect(model.id).toBe('discovered');
  expect((await createAgent({ model, silent: true }).run('hi')).result).toBe('ok');
  expect(model.id).toBe('ollama:qwen3');
  expect(asked.filter((url) => url.endsWith('/models')).length).toBeGreaterThan(4);
  expect(asked.at(-1)).toBe(`${PRESETS.ollama.baseURL}/chat/completions`);
});

test('the named model decides where there is a choice', async () => {
  const [first, second] = [await serve(['a']), await serve(['b', 'qwen3'])];
  const presets = [at('ollama', first.baseURL), at('lmstudio', second.baseURL)];
  const found = await discoverEndpoint({ env: { SIGNALBOX_MODEL: 'qwen3' }, presets });
  expect(found).toMatchObject({ model: 'qwen3', endpoint: { baseURL: second.baseURL } });
});

test('a server that is something else is not taken for one, nor one without a chat model', async () => {
  const empty = await serve(['nomic-embed-text']);
  const presets = [
    at('lemonade', await otherServer({})),
    at('ollama', await otherServer({ body: '{"data":[{"name":"a row"}]}' })),
    at('llamacpp', await otherServer({ status: 404, body: '{"data":[{"id":"qwen3"}]}' })),
    at('lmstudio', empty.baseURL),
    at('vllm', await otherServer({ body: '{"data":[]}' })),
  ];
  const found = await discoverEndpoint({ env: {}, presets });
  expect(found.kind).toBe('nothing');
  expect(found.tried.map((one) => one.outcome)).toEqual([
    'no-model-server',
    'no-model-server',
    'no-model-server',
    'no-model',
    'no-model',
  ]);
});

test('silent servers cost no more than one probe, however many there are', async () => {
  const silent = await otherServer({ silent: true });
  const begun = performance.now();
  const presets = Array.from({ length: 20 }, () => at('ollama', silent));
  expect((await discoverEndpoint({ env: {}, presets })).kind).toBe('nothing');
  // One after the other they would take six seconds.
  expect(performance.now() - begun).toBeLessThan(3000);
});

test('a preset whose newer versions listen elsewhere is found there, once in a process, unless its address was given', async () => {
  const server = await serve(['qwen3'], 'from the newer port', 'again');
  const endpoint = { preset: PRESETS.lemonade, apiKey: undefined, keyVariable: undefined, model: undefined };
  const source = settledSource({ ...endpoint, baseURL: nobody, alternatives: [server.baseURL] }, { env: {} });
  const model = createChatModel(source, {}, {});
  expect((await ask(model)).content).toBe('from the newer port');
  const looked = server.otherPaths.length;
  expect((await ask(model)).content).toBe('again');
  expect(server.otherPaths).toHaveLength(looked);
  const next = settledSource({ ...endpoint, baseURL: nobody, alternatives: [server.baseURL] }, { env: {} });
  expect((await next.locate(new AbortController().signal)).endpoint.baseURL).toBe(server.baseURL);
  expect(server.otherPaths).toHaveLength(looked);
  const settled = { ...endpoint, baseURL: server.baseURL, alternatives: [] };
  const given = await settledSource(settled, { env: {} }).locate(new AbortController().signal);
  expect(given).toEqual({ endpoint: settled });
  expect(server.otherPaths).toHaveLength(looked);
  const fixed = createChatModel(settledSource({ ...endpoint, baseURL: nobody, alternatives: [] }, { env: {} }), {}, {});
  expect((await askInVain(fixed)).code).toBe('connect-failed');
});

test('a discovered model says in its first reply where it comes from', async () => {
  const server = await serve(['qwen3'], 'one', 'two');
  const model = createChatModel(
    discoveredSource({ env: {}, presets: [at('ollama', server.baseURL)] }, undefined),
    {},
    {},
  );
  expect(server.otherPaths).toEqual([]);
  const [first, second] = [await ask(model), await ask(model)];
  expect(first.warnings).toEqual([expect.stringMatching(/No model was configured.*Ollama at .*'qwen3'/)]);
  expect(second.warnings).toBeUndefined();
  expect(model.id).toBe('ollama:qwen3');
});

test('with no server at hand the error says what was tried and how to configure one, and the next try looks again', async () => {
  const server = await serve(['qwen3'], 'found after all');
  const presets = [at('ollama', nobody)];
  const model = createChatModel(discoveredSource({ env: { OPENAI_API_KEY: 'k' }, presets }, undefined), {}, {});
  const failure = await askInVain(model);
  expect(failure.code).toBe('no-model');
  expect(failure.message).toMatch(
    /LEMONADE_BASE_URL.*'ollama:qwen2\.5:7b'.*key for 'openai'.*ollama at http:\/\/127\.0\.0\.1:1\/v1 \(no answer\)/,
  );
  presets[0] = at('ollama', server.baseURL);
  expect((await ask(model)).content).toBe('found after all');
});
