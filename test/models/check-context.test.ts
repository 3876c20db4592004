import { expect, onTestFinished, test } from 'vitest';
import { chatModel } from '../../src/models/index.ts';
import type { PresetName } from '../../src/models/endpoint/presets.ts';
import { startModelServer } from '../support/model-server.ts';
import { ask } from './ask.ts';

async function check(page: string, answer: unknown, preset?: PresetName) {
  const server = await startModelServer([], { pages: { [page]: answer } });
  onTestFinished(() => server.close());
  const where = { baseURL: server.baseURL, model: 'm' };
  const model = chatModel(preset === undefined ? where : { ...where, preset });
  return model.check?.({ minContextSize: 32_768, signal: new AbortController().signal });
}

test.each([
  [
    'lemonade',
    '/v1/health',
    (size: number) => ({ all_models_loaded: [{ model_name: 'm', recipe_options: { ctx_size: size } }] }),
    '--ctx-size 32768',
  ],
  ['lemonade', '/v1/health', (size: number) => ({ model_loaded: 'm', context_size: size }), '--ctx-size 32768'],
  ['llamacpp', '/props', (size: number) => ({ default_generation_settings: { n_ctx: size } }), 'llama-server -c 32768'],
  [
    'ollama',
    '/api/ps',
    (size: number) => ({ models: [{ name: 'm:latest', context_length: size }] }),
    'OLLAMA_CONTEXT_LENGTH=32768',
  ],
  [
    'lmstudio',
    '/api/v0/models',
    (size: number) => ({ data: [{ id: 'm', state: 'loaded', loaded_context_length: size }] }),
    '--context-length 32768',
  ],
  ['vllm', '/v1/models', (size: number) => ({ data: [{ id: 'm', max_model_len: size }] }), '--max-model-len 32768'],
] as const)(
  '%s tells its context size at %s; a small one is a warning with the remedy',
  async (preset, page, answer, remedy) => {
    expect(await check(page, answer(4096), preset)).toEqual([expect.stringContaining(remedy)]);
    expect(await check(page, answer(4096), preset)).toEqual([expect.stringContaining("'m' has 4096 tokens")]);
    expect(await check(page, answer(32_768), preset)).toEqual([]);
  },
);

const WANTED = { minContextSize: 32_768, signal: new AbortController().signal };

test('a server without a name is asked for its model list alone, once in a process, and never with a key', async () => {
  const server = await startModelServer([], { models: ['m'] });
  onTestFinished(() => server.close());
  const options = { baseURL: server.baseURL, model: 'm', apiKey: 'sk-mine', headers: { 'x-api-key': 'sk-mine' } };
  for (const model of [chatModel(options), chatModel(options), chatModel(options)]) {
    expect(await model.check?.(WANTED)).toEqual([]);
  }
  expect(server.otherPaths).toEqual(['/v1/models']);
  expect(JSON.stringify(server.otherHeaders)).not.toContain('sk-mine');
});

test.each([
  ['llamacpp', '/props', { default_generation_settings: { n_ctx: 2048 } }],
  ['library', '/api/ps', { models: [{ name: 'm', context_length: 2048 }] }],
  ['organization_owner', '/api/v0/models', { data: [{ id: 'm', loaded_context_length: 2048 }] }],
  ['lemonade', '/v1/health', { model_loaded: 'm', context_size: 2048 }],
])('a local server that its list names (%s) is asked at its own route, without a key', async (owner, page, answer) => {
  const list = { data: [{ id: 'm', owned_by: owner }] };
  const server = await startModelServer([], { pages: { '/v1/models': list, [page]: answer } });
  onTestFinished(() => server.close());
  const model = chatModel({ baseURL: server.baseURL, model: 'm', apiKey: 'sk-mine' });
  expect(await model.check?.(WANTED)).toEqual([expect.stringContaining('2048 tokens')]);
  expect(server.otherPaths).toEqual(['/v1/models', page]);
  expect(JSON.stringify(server.otherHeaders)).not.toContain('sk-mine');
});

test('llama.cpp is asked whatever name its model is given, and no other server for a model that it does not list', async () => {
  for (const [owner, pages] of [
    ['llamacpp', ['/v1/models', '/props']],
    ['library', ['/v1/models']],
  ] as const) {
    const list = { data: [{ id: 'gemma-3-4b.gguf', owned_by: owner }] };
    const settings = { default_generation_settings: { n_ctx: 2048 } };
    const server = await startModelServer([], { pages: { '/v1/models': list, '/props': settings } });
    onTestFinished(() => server.close());
    const warnings = await chatModel({ baseURL: server.baseURL, model: 'gpt-4o' }).check?.(WANTED);
    expect({ owner, count: warnings?.length, paths: server.otherPaths }).toEqual({
      owner,
      count: pages.length - 1,
      paths: pages,
    });
  }
});

test('the loaded model of a preset is asked for at its own route without the key, the model list with it', async () => {
  const pages = { '/v1/models': { data: [{ id: 'm' }] }, '/api/ps': { models: [{ name: 'm', context_length: 512 }] } };
  const server = await startModelServer(['Hi.'], { pages });
  onTestFinished(() => server.close());
  await ask(chatModel({ preset: 'ollama', baseURL: server.baseURL, apiKey: 'sk-mine' }));
  expect(server.otherPaths).toEqual(['/v1/models', '/api/ps']);
  expect(server.otherHeaders.map(({ authorization }) => authorization)).toEqual(['Bearer sk-mine', undefined]);
});

test.each([
  ['http://127.0.0.1:11434/v1', 'http://127.0.0.1:11434/api/ps'],
  ['http://[::1]:8080/v1', 'http://[::1]:8080/props'],
  ['http://localhost:8000/api/v1', 'http://localhost:8000/api/v1/health'],
  ['http://box:11434/v1', 'http://box:11434/v1/models'],
  ['https://localhost:11434/v1', 'https://localhost:11434/v1/models'],
])('at %s the context is asked for at %s', async (baseURL, url) => {
  const asked: string[] = [];
  const fetch = (input: string | URL | Request) => {
    asked.push(input instanceof Request ? input.url : String(input));
    return Promise.resolve(Response.json({}));
  };
  await chatModel({ baseURL, model: 'm', fetch }).check?.(WANTED);
  expect(asked).toEqual([url]);
});

test('a server that fails is asked again by the next agent, one that does not tell is not', async () => {
  const failing = await startModelServer([], { pages: { '/v1/models': 503 } });
  const dumb = await startModelServer([], { pages: { '/v1/models': 404 } });
  for (const server of [failing, dumb]) {
    onTestFinished(() => server.close());
    const where = { baseURL: server.baseURL, model: 'm' };
    for (const model of [chatModel(where), chatModel(where)]) await model.check?.(WANTED);
  }
  expect(failing.otherPaths).toHaveLength(2);
  expect(dumb.otherPaths).toHaveLength(1);
});

test('a server that does not tell, or talks nonsense, is no warning', async () => {
  expect(await check('/props', 404, 'llamacpp')).toEqual([]);
  expect(await check('/props', { default_generation_settings: 'large' }, 'llamacpp')).toEqual([]);
  expect(await check('/api/ps', { models: [{ name: 'another', context_length: 512 }] }, 'ollama')).toEqual([]);
});

test('a server that is not there, or silent, neither throws nor holds up the run', async () => {
  const signal = new AbortController().signal;
  const gone = chatModel({ preset: 'llamacpp', baseURL: 'http://127.0.0.1:1/v1' });
  expect(await gone.check?.({ minContextSize: 1, signal })).toEqual([]);
  const begun = performance.now();
  for (const named of [{ model: 'm' }, {}]) {
    const silent = chatModel({ preset: 'llamacpp', fetch: () => new Promise<Response>(() => undefined), ...named });
    expect(await silent.check?.({ minContextSize: 1, signal })).toEqual([]);
  }
  expect(performance.now() - begun).toBeLessThan(6000);
});
