import { expect, test } from 'vitest';
import type { AgentChoices } from '../../src/cli/agent/agent-flags.ts';
import { createAgent } from '../../src/index.ts';
import { selectModel } from '../../src/cli/agent/select-model.ts';

const LOCAL = 'http://127.0.0.1:9/v1';
const NOTHING_CHOSEN: AgentChoices = {
  model: undefined,
  baseURL: undefined,
  apiKey: undefined,
  mcpFile: undefined,
  maxSteps: undefined,
  recordFile: undefined,
  showPrompts: false,
  showStats: false,
  silent: false,
};
const KEYS = { OPENAI_API_KEY: 'k1', ANTHROPIC_API_KEY: 'k2' };

test.each([
  ['an address', { baseURL: LOCAL }, KEYS, `Model: ${LOCAL} (--base-url).`],
  ['an address and a model', { baseURL: LOCAL, model: 'qwen3' }, {}, `Model: qwen3 from ${LOCAL} (--base-url).`],
  [
    'a preset and a model',
    { model: 'ollama:qwen3' },
    KEYS,
    'Model: qwen3 from Ollama at http://localhost:11434/v1 (--model).',
  ],
  [
    'a preset in the environment',
    {},
    { SIGNALBOX_MODEL: 'ollama:qwen3', ...KEYS },
    'Model: qwen3 from Ollama at http://localhost:11434/v1 (SIGNALBOX_MODEL).',
  ],
  [
    'Lemonade before all else',
    {},
    { LEMONADE_BASE_URL: LOCAL, OPENAI_BASE_URL: LOCAL, ...KEYS },
    `Model: Lemonade Server at ${LOCAL} (LEMONADE_BASE_URL).`,
  ],
  ['an address before a key', {}, { OPENAI_BASE_URL: LOCAL, ...KEYS }, `Model: ${LOCAL} (OPENAI_BASE_URL).`],
  ['the key of OpenAI', {}, KEYS, 'Model: OpenAI at https://api.openai.com/v1 (OPENAI_API_KEY).'],
  [
    'the key of Claude',
    {},
    { ANTHROPIC_API_KEY: 'k2' },
    'Model: Claude at https://api.anthropic.com/v1 (ANTHROPIC_API_KEY).',
  ],
  [
    'a key and a model',
    { model: 'gpt-5-mini' },
    KEYS,
    'Model: gpt-5-mini from OpenAI at https://api.openai.com/v1 (OPENAI_API_KEY).',
  ],
  [
    'a key and a model of the environment',
    {},
    { SIGNALBOX_MODEL: 'gpt-5-mini', ...KEYS },
    'Model: gpt-5-mini from OpenAI at https://api.openai.com/v1 (OPENAI_API_KEY).',
  ],
])('%s decides, and is named', async (_title, choices, env, said) => {
  const chosen = await selectModel({ ...NOTHING_CHOSEN, ...choices }, env);
  expect(chosen.said).toBe(said);
  await chosen.close();
});

test.each([
  ['by name', { model: 'practice' }, KEYS],
  ['in the environment', {}, { SIGNALBOX_MODEL: 'practice', ...KEYS }],
])('the practice model can be asked for %s, and says what it is', async (_title, choices, env) => {
  const chosen = await selectModel({ ...NOTHING_CHOSEN, ...choices }, env);
  expect(chosen.said).toContain('It is not an LLM');
  await chosen.close();
});

test.each([
  ['by an option', { model: 'olama:qwen3' }, {}],
  ['in the environment', {}, { SIGNALBOX_MODEL: 'olama:qwen3' }],
])(
  'a model that is named %s is not replaced by a stand-in, and the nearest server is said',
  async (_title, choices, env) => {
    const chosen = await selectModel({ ...NOTHING_CHOSEN, ...choices }, env);
    expect(chosen.said).toBe('');
    const { result } = await createAgent({ model: chosen.model, silent: true }).run('Hello.');
    expect(result).toContain("for the model 'olama:qwen3'");
    expect(result).toContain("There is no server 'olama'; the nearest is 'ollama:qwen3'.");
  },
);
