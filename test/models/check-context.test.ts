import { expect, onTestFinished, test } from 'vitest';
import { chatModel } from '../../src/models/index.ts';
import type { PresetName } from '../../src/models/presets.ts';
import { startModelServer } from '../support/model-server.ts';

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

test('a server without a preset’s name is asked in every way', async () => {
  expect(await check('/props', { default_generation_settings: { n_ctx: 2048 } })).toHaveLength(1);
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
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    expect(await silent.check?.({ minContextSize: 1, signal })).toEqual([]);
  }
  expect(performance.now() - begun).toBeLessThan(6000);
});
