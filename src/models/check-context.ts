import { isJsonObject, type JsonObject } from '../parsing/json.ts';
import type { Connection } from './connection.ts';
import type { Endpoint } from './endpoint.ts';
import { placeOf } from './failure.ts';
import { askJson, type AskOptions } from './list-models.ts';

/** What to look into. */
export interface ContextCheck {
  readonly connection: Connection;
  readonly model: string;
  readonly minContextSize: number;
  readonly signal: AbortSignal;
}

/** A server's way of telling how much context a model has. */
interface ContextSource {
  /** Where to ask. */
  url(endpoint: Endpoint): string;
  /** The size in tokens, where the answer holds one. */
  read(answer: JsonObject, model: string): number | undefined;
  /** How to raise it. */
  advice(size: number, model: string): string;
}

const WITHIN_MS = 1000;

/**
 * Warnings for a context that is smaller than wanted, with how to raise it. Empty where it is large enough, and where
 * the server does not tell or does not answer within a second.
 */
export async function checkContext({
  connection,
  model,
  minContextSize,
  signal,
}: ContextCheck): Promise<readonly string[]> {
  const { endpoint } = connection;
  const asking = await connection.asking(signal, WITHIN_MS);
  const sizes = await Promise.all(sourcesFor(endpoint).map((source) => askSource(source, { endpoint, model, asking })));
  const known = sizes.find((found) => found !== undefined);
  if (known === undefined || known.size >= minContextSize) return [];
  const sizeText = `${String(known.size)} tokens of context, fewer than the ${String(minContextSize)} wanted`;
  const advice = known.source.advice(minContextSize, model);
  return [`'${model}' has ${sizeText}, at ${placeOf(endpoint)}. ${advice}, or lower minContextSize.`];
}

interface Asker {
  readonly endpoint: Endpoint;
  readonly model: string;
  readonly asking: AskOptions;
}

async function askSource(source: ContextSource, { endpoint, model, asking }: Asker) {
  const asked = await askJson(source.url(endpoint), endpoint, asking);
  const answer = asked.kind === 'answered' && asked.status < 300 ? asked.value : undefined;
  const size = isJsonObject(answer) ? source.read(answer, model) : undefined;
  return size === undefined ? undefined : { source, size };
}

const atOrigin = (path: string) => (endpoint: Endpoint) => new URL(endpoint.baseURL).origin + path;

const lemonade: ContextSource = {
  url: ({ baseURL }) => `${baseURL}/health`,
  read(answer, model) {
    const loaded = entryOf(answer['all_models_loaded'], 'model_name', model);
    const options = loaded?.['recipe_options'];
    const own = isJsonObject(options) ? sizeOf(options['ctx_size']) : undefined;
    return own ?? (answer['model_loaded'] === model ? sizeOf(answer['context_size']) : undefined);
  },
  advice: (size) => `Start the server with \`lemonade-server serve --ctx-size ${String(size)}\``,
};

const llamacpp: ContextSource = {
  url: atOrigin('/props'),
  read(answer) {
    const settings = answer['default_generation_settings'];
    return isJsonObject(settings) ? sizeOf(settings['n_ctx']) : undefined;
  },
  advice: (size) => `Start the server with \`llama-server -c ${String(size)}\``,
};

const ollama: ContextSource = {
  url: atOrigin('/api/ps'),
  read(answer, model) {
    const models = answer['models'];
    const running = entryOf(models, 'name', model) ?? entryOf(models, 'name', `${model}:latest`);
    return sizeOf(running?.['context_length']);
  },
  advice: (size) => `Start the server with \`OLLAMA_CONTEXT_LENGTH=${String(size)} ollama serve\``,
};

const lmstudio: ContextSource = {
  url: atOrigin('/api/v0/models'),
  read(answer, model) {
    const entry = entryOf(answer['data'], 'id', model);
    return sizeOf(entry?.['loaded_context_length']) ?? sizeOf(entry?.['max_context_length']);
  },
  advice: (size, model) => `Load it again with \`lms load ${model} --context-length ${String(size)}\``,
};

const vllm: ContextSource = {
  url: ({ baseURL }) => `${baseURL}/models`,
  read: (answer, model) => sizeOf(entryOf(answer['data'], 'id', model)?.['max_model_len']),
  advice: (size, model) => `Start the server with \`vllm serve ${model} --max-model-len ${String(size)}\``,
};

const BY_PRESET: Readonly<Record<string, readonly ContextSource[]>> = {
  lemonade: [lemonade],
  llamacpp: [llamacpp],
  ollama: [ollama],
  lmstudio: [lmstudio],
  vllm: [vllm],
  openai: [],
  claude: [],
};

/** A server that has no preset's name may still be one of those that tell. */
function sourcesFor({ preset }: Endpoint): readonly ContextSource[] {
  return preset === undefined ? [llamacpp, lemonade, ollama, lmstudio, vllm] : (BY_PRESET[preset.name] ?? []);
}

function entryOf(list: unknown, key: string, name: string): JsonObject | undefined {
  const entries: readonly unknown[] = Array.isArray(list) ? list : [];
  return entries.filter((entry) => isJsonObject(entry)).find((entry) => entry[key] === name);
}

function sizeOf(value: unknown): number | undefined {
  return typeof value === 'number' && value > 0 ? value : undefined;
}
