import { wrongOption } from '../../json/known-options.ts';
import { editDistance } from '../../json/nearest-name.ts';

/** The name of a server that Signalbox knows. */
export type PresetName = 'lemonade' | 'ollama' | 'llamacpp' | 'lmstudio' | 'vllm' | HostedName;

type HostedName =
  | 'openai'
  | 'claude'
  | 'anthropic'
  | 'openrouter'
  | 'groq'
  | 'gemini'
  | 'mistral'
  | 'deepseek'
  | 'together';

/** What names a model: a preset, alone or with a model of it (`ollama:qwen2.5:7b`), or an address. Any text is one. */
export type ModelName = PresetName | `${PresetName}:` | (string & Record<never, never>);

/** A server that Signalbox knows by name: where it listens, and what is special about it. */
export interface Preset {
  readonly name: PresetName;
  /** For people, such as `LM Studio`. */
  readonly title: string;
  readonly baseURL: string;
  /** Further places where newer or older versions listen, tried by discovery after `baseURL`. */
  readonly alsoAt: readonly string[];
  /** Runs on the user's machine: its first reply may have to wait until the model is loaded. */
  readonly local: boolean;
  /** The environment variable that holds its API key. */
  readonly keyVariable?: string;
  /** The environment variable that names its base URL. */
  readonly urlVariable?: string;
  /** How to start or reach it, for the message when it cannot be reached. */
  readonly howToStart: string;
}

/** Every preset by name, the local ones in the order in which discovery prefers them. */
export const PRESETS: Readonly<Record<PresetName, Preset>> = {
  lemonade: {
    ...local('lemonade', 'Lemonade Server', 'http://localhost:8000/api/v1', 'lemonade-server serve'),
    alsoAt: ['http://localhost:13305/api/v1'],
    urlVariable: 'LEMONADE_BASE_URL',
  },
  ollama: local('ollama', 'Ollama', 'http://localhost:11434/v1', 'ollama serve'),
  llamacpp: local('llamacpp', 'llama.cpp', 'http://localhost:8080/v1', 'llama-server -m model.gguf --jinja'),
  lmstudio: {
    ...local('lmstudio', 'LM Studio', 'http://localhost:1234/v1', 'lms server start'),
    howToStart: 'start its server with `lms server start`',
  },
  vllm: local('vllm', 'vLLM', 'http://localhost:8000/v1', 'vllm serve <model>'),
  openai: {
    ...hosted('openai', 'OpenAI', 'https://api.openai.com/v1', 'OPENAI_API_KEY'),
    urlVariable: 'OPENAI_BASE_URL',
  },
  claude: hosted('claude', 'Claude', 'https://api.anthropic.com/v1', 'ANTHROPIC_API_KEY'),
  anthropic: hosted('anthropic', 'Claude', 'https://api.anthropic.com/v1', 'ANTHROPIC_API_KEY'),
  openrouter: hosted('openrouter', 'OpenRouter', 'https://openrouter.ai/api/v1', 'OPENROUTER_API_KEY'),
  groq: hosted('groq', 'Groq', 'https://api.groq.com/openai/v1', 'GROQ_API_KEY'),
  gemini: hosted('gemini', 'Gemini', 'https://generativelanguage.googleapis.com/v1beta/openai', 'GEMINI_API_KEY'),
  mistral: hosted('mistral', 'Mistral', 'https://api.mistral.ai/v1', 'MISTRAL_API_KEY'),
  deepseek: hosted('deepseek', 'DeepSeek', 'https://api.deepseek.com/v1', 'DEEPSEEK_API_KEY'),
  together: hosted('together', 'Together AI', 'https://api.together.xyz/v1', 'TOGETHER_API_KEY'),
};

function local(name: PresetName, title: string, baseURL: string, command: string): Preset {
  return { name, title, baseURL, alsoAt: [], local: true, howToStart: `start it with \`${command}\`` };
}

function hosted(name: HostedName, title: string, baseURL: string, keyVariable: string): Preset {
  const howToStart = 'check the network connection and the proxy settings';
  return { name, title, baseURL, alsoAt: [], local: false, keyVariable, howToStart };
}

/** The preset of that name, or undefined. */
export function findPreset(name: string): Preset | undefined {
  return Object.values(PRESETS).find((preset) => preset.name === name);
}

/** The preset of a server on this machine that listens where one usually does, or undefined. */
export function localPresetAt(baseURL: string): Preset | undefined {
  const place = onLocalhost(baseURL);
  return Object.values(PRESETS).find(
    (preset) => preset.local && [preset.baseURL, ...preset.alsoAt].some((usual) => usual === place),
  );
}

/** True for OpenAI's own servers, those of its regions (`eu.api.openai.com`) among them. */
export function isOpenAIHost(baseURL: string): boolean {
  return /^(?:\w+\.)?api\.openai\.com$/.test(new URL(baseURL).hostname);
}

function onLocalhost(baseURL: string): string {
  return baseURL.replace(/^http:\/\/(?:127\.0\.0\.1|\[::1\])(?=[:/])/, 'http://localhost');
}

/** The presets as a sentence lists them. */
export function presetNames(): string {
  return Object.keys(PRESETS).join(', ');
}

/** The parts of a short form such as `ollama:qwen2.5:7b`. */
export interface NamedModel {
  readonly preset: Preset;
  readonly model: string | undefined;
}

/** Reads `preset` or `preset:model`; undefined when the text does not begin with a preset's name. */
export function readModelName(text: string): NamedModel | undefined {
  const colon = text.indexOf(':');
  const preset = findPreset(colon === -1 ? text : text.slice(0, colon));
  if (preset === undefined) return undefined;
  const model = colon === -1 ? undefined : text.slice(colon + 1).trim();
  if (model === '')
    throw wrongOption(`model: '${text}' names no model. Without the colon it is the one that is loaded.`);
  return { preset, model };
}

/** Like {@link readModelName}, for an option: throws a `TypeError` that lists the presets. */
export function parseModelName(text: string): NamedModel {
  const named = readModelName(text.trim());
  if (named !== undefined) return named;
  throw wrongOption(
    `model: '${text}' names no known server. Write one of ${presetNames()}, with a model after a colon if you like ` +
      `('ollama:qwen2.5:7b'), or use chatModel({ baseURL, model }).${misspeltPreset(text.trim())}`,
  );
}

/** For the name of a model that begins like that of a preset, with a letter or two wrong: which one it is like. */
export function misspeltPreset(text: string): string {
  const [begin = '', ...model] = text.split(':');
  const nearest = Object.keys(PRESETS).find(
    (name) => editDistance(name, begin.toLowerCase()) <= (name.length < 8 ? 1 : 2),
  );
  if (nearest === undefined || findPreset(begin) !== undefined) return '';
  return ` There is no server '${begin}'; the nearest is '${[nearest, ...model].join(':')}'.`;
}
