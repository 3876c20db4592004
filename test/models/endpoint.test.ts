import { expect, test } from 'vitest';
import { settleEndpoint } from '../../src/models/endpoint/endpoint.ts';
import { resolveModel } from '../../src/models/chat/chat-model.ts';

const at = (options: Parameters<typeof settleEndpoint>[0], env: Record<string, string> = {}) => {
  const endpoint = settleEndpoint(options, env);
  return (
    endpoint && {
      baseURL: endpoint.baseURL,
      model: endpoint.model,
      apiKey: endpoint.apiKey,
      preset: endpoint.preset?.name,
    }
  );
};

test.each([
  ['lemonade', 'http://localhost:8000/api/v1'],
  ['ollama', 'http://localhost:11434/v1'],
  ['llamacpp', 'http://localhost:8080/v1'],
  ['lmstudio', 'http://localhost:1234/v1'],
  ['vllm', 'http://localhost:8000/v1'],
  ['openai', 'https://api.openai.com/v1'],
  ['claude', 'https://api.anthropic.com/v1'],
  ['anthropic', 'https://api.anthropic.com/v1'],
  ['openrouter', 'https://openrouter.ai/api/v1'],
  ['groq', 'https://api.groq.com/openai/v1'],
  ['gemini', 'https://generativelanguage.googleapis.com/v1beta/openai'],
  ['mistral', 'https://api.mistral.ai/v1'],
  ['deepseek', 'https://api.deepseek.com/v1'],
  ['together', 'https://api.together.xyz/v1'],
] as const)('%s listens at %s', (preset, baseURL) => {
  expect(at({ preset })).toMatchObject({ preset, baseURL });
});

test('another place to look is tried only where nobody gave an address', () => {
  expect(settleEndpoint({ preset: 'lemonade' }, {})?.alternatives).toEqual(['http://localhost:13305/api/v1']);
  expect(settleEndpoint({}, { LEMONADE_BASE_URL: 'http://localhost:8000/api/v1' })?.alternatives).toEqual([]);
  expect(settleEndpoint({ preset: 'ollama' }, {})?.alternatives).toEqual([]);
});

test('an option beats the environment, and nothing at all leaves it to discovery', () => {
  const env = {
    LEMONADE_BASE_URL: 'http://box:8000/api/v1',
    OPENAI_BASE_URL: 'http://proxy/v1',
    SIGNALBOX_MODEL: 'qwen3',
  };
  expect(at({ preset: 'lemonade', baseURL: 'http://mine:1/v1', model: 'm' }, env)).toMatchObject({
    baseURL: 'http://mine:1/v1',
    model: 'm',
  });
  expect(at({ preset: 'lemonade' }, env)).toMatchObject({ baseURL: 'http://box:8000/api/v1', model: 'qwen3' });
  expect(at({}, env)).toMatchObject({ preset: 'lemonade', baseURL: 'http://box:8000/api/v1', model: 'qwen3' });
  expect(at({}, { OPENAI_BASE_URL: 'http://proxy/v1/' })).toMatchObject({ baseURL: 'http://proxy/v1' });
  expect(at({}, { SIGNALBOX_MODEL: 'ollama:qwen2.5:7b' })).toMatchObject({ preset: 'ollama', model: 'qwen2.5:7b' });
  expect(at({}, {})).toBeUndefined();
  expect(at({}, { SIGNALBOX_MODEL: 'qwen3', LEMONADE_BASE_URL: ' ' })).toBeUndefined();
});

test('a model of the environment that belongs to another preset is not taken', () => {
  expect(at({ preset: 'ollama' }, { SIGNALBOX_MODEL: 'openai:gpt-5' })?.model).toBeUndefined();
});

test('an address without a path gets the preset’s own', () => {
  expect(at({}, { LEMONADE_BASE_URL: 'http://box:8000' })?.baseURL).toBe('http://box:8000/api/v1');
});

test('a key goes only to the server it was made for', () => {
  const env = { OPENAI_API_KEY: 'open', ANTHROPIC_API_KEY: 'anthropic', OPENAI_BASE_URL: 'http://proxy/v1' };
  expect(at({ preset: 'openai' }, env)?.apiKey).toBe('open');
  expect(at({ preset: 'claude' }, env)?.apiKey).toBe('anthropic');
  expect(at({ baseURL: 'https://api.anthropic.com/v1' }, env)?.apiKey).toBe('anthropic');
  expect(at({}, env)?.apiKey).toBe('open');
  expect(at({ preset: 'ollama' }, env)?.apiKey).toBeUndefined();
  expect(at({ baseURL: 'http://elsewhere/v1' }, env)?.apiKey).toBeUndefined();
  expect(at({ baseURL: 'http://elsewhere/v1', apiKey: 'mine' }, env)?.apiKey).toBe('mine');
  // What listens at a usual port is not known to be what usually does.
  expect(at({ baseURL: 'http://localhost:11434/v1' }, env)?.preset).toBeUndefined();
});

test.each(['openrouter', 'groq', 'gemini', 'mistral', 'deepseek', 'together'] as const)(
  'the key of %s goes there, by name or address, and nowhere else',
  (preset) => {
    const env = { [`${preset.toUpperCase()}_API_KEY`]: 'mine' };
    expect(at({ preset }, env)?.apiKey).toBe('mine');
    expect(at({ baseURL: at({ preset })?.baseURL ?? '' }, env)).toMatchObject({ preset, apiKey: 'mine' });
    expect(at({ preset: 'openai' }, env)?.apiKey).toBeUndefined();
    expect(at({ baseURL: 'http://elsewhere/v1' }, env)?.apiKey).toBeUndefined();
  },
);

test('an address that is none is refused by name', () => {
  expect(() => at({ baseURL: 'localhost:8000' })).toThrow(/^baseURL: 'localhost:8000'/);
  expect(() => at({}, { OPENAI_BASE_URL: 'nonsense' })).toThrow(/^OPENAI_BASE_URL: 'nonsense'/);
});

test('a short name is preset and model', () => {
  expect(resolveModel('ollama:qwen2.5:7b', {}).id).toBe('ollama:qwen2.5:7b');
  expect(resolveModel('lemonade', {}).id).toBe('lemonade');
  expect(resolveModel('openrouter:qwen/qwen3-4b:free', {}).id).toBe('openrouter:qwen/qwen3-4b:free');
  expect(resolveModel('anthropic:claude-opus-4-5', {}).id).toBe('anthropic:claude-opus-4-5');
  expect(resolveModel('claude', { SIGNALBOX_MODEL: 'claude:haiku' }).id).toBe('claude:haiku');
});

test('a short name that is none lists those that are, and says which one it is like', () => {
  expect(() => resolveModel('olama:qwen', {})).toThrow(
    /'olama:qwen' .*lemonade, ollama, llamacpp, lmstudio, vllm, openai, claude.* the nearest is 'ollama:qwen'\.$/,
  );
  expect(() => resolveModel('llama3:8b', {})).toThrow(/chatModel\(\{ baseURL, model \}\)\.$/);
});

test('a model is taken as it is', () => {
  const model = { complete: () => Promise.resolve({ content: '' }) };
  expect(resolveModel(model, { LEMONADE_BASE_URL: 'http://box:8000' })).toBe(model);
});
