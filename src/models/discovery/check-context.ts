import { isJsonObject, type JsonObject, memberOf } from '../../json/json.ts';
import type { EndpointMemory, KnownContext } from '../endpoint/endpoint-memory.ts';
import { addressBelow, type Endpoint, endpointText } from '../endpoint/endpoint.ts';
import { askJson, type AskOptions } from './list-models.ts';
import { localPresetAt } from '../endpoint/presets.ts';

/** What to look into. */
export interface ContextCheck {
  readonly endpoint: Endpoint;
  /** How to ask its server, for no longer than `withinMs`. */
  asking(signal: AbortSignal, withinMs: number): Promise<AskOptions>;
  readonly model: string;
  readonly minContextSize: number;
  readonly memory: EndpointMemory;
}

/** A server's way of saying how much context a model has. */
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
 * Warnings for a context that is smaller than wanted, with how to raise it. Empty if it is large enough, or if the server
 * does not report it or does not answer within a second. A server is asked once per process, never with a key; one that
 * is not known to be local is asked only for its model list.
 */
export async function checkContext(check: ContextCheck): Promise<readonly string[]> {
  const { memory } = check;
  if (memory.context === undefined) {
    memory.asksContext ??= askContext(check);
    await memory.asksContext;
  }
  return knownContextWarnings(check) ?? [];
}

/** The same from what is already known; undefined if the server was not asked yet. */
export function knownContextWarnings(check: Omit<ContextCheck, 'asking'>): readonly string[] | undefined {
  const { endpoint, model, minContextSize, memory } = check;
  const known = memory.context;
  if (known === undefined) return undefined;
  if (known === null || known.size >= minContextSize) return [];
  const sizeText = `${String(known.size)} tokens of context, fewer than the ${String(minContextSize)} wanted`;
  const advice = known.advice(minContextSize);
  return [`'${model}' has ${sizeText}, at ${endpointText(endpoint)}. ${advice}, or lower minContextSize.`];
}

async function askContext(check: ContextCheck): Promise<void> {
  try {
    check.memory.context = await lookUp(check);
  } finally {
    check.memory.asksContext = undefined;
  }
}

/** Null if the server reports nothing; undefined if it may report it later. */
async function lookUp({ endpoint, asking: reach, model }: ContextCheck): Promise<KnownContext | null | undefined> {
  const source = sourceOf(endpoint);
  if (source === null) return null;
  const asking = await reach(AbortSignal.timeout(WITHIN_MS), WITHIN_MS);
  let isUp = true;
  const ask = async (from: ContextSource): Promise<JsonObject | undefined> => {
    const asked = await askJson(from.url(endpoint), asking);
    if (asked.kind === 'unreachable' || asked.status >= 500) isUp = false;
    return asked.kind === 'answered' && asked.status < 300 && isJsonObject(asked.value) ? asked.value : undefined;
  };
  const answer = await ask(source);
  const owner = source === vllm && answer !== undefined ? ownerOf(answer, model) : vllm;
  const found = owner === vllm ? { source, answer } : { source: owner, answer: await ask(owner) };
  const size = found.answer && found.source.read(found.answer, model);
  if (size !== undefined) return { size, advice: (wanted) => found.source.advice(wanted, model) };
  // A local server reports it once the model is loaded, and one that is not up may report it to the next client.
  const isLater = !isUp || (found.answer !== undefined && found.source !== vllm);
  return isLater ? undefined : null;
}

const atOrigin = (path: string) => (endpoint: Endpoint) => new URL(endpoint.baseURL).origin + path;

const lemonade: ContextSource = {
  url: ({ baseURL }) => addressBelow(baseURL, '/health'),
  read(answer, model) {
    const loaded = entryOf(answer['all_models_loaded'], 'model_name', model);
    return (
      sizeOf(memberOf(loaded?.['recipe_options'], 'ctx_size')) ??
      (answer['model_loaded'] === model ? sizeOf(answer['context_size']) : undefined)
    );
  },
  advice: (size) => `Start the server with \`lemonade-server serve --ctx-size ${String(size)}\``,
};

const llamacpp: ContextSource = {
  url: atOrigin('/props'),
  read: (answer) => sizeOf(memberOf(answer['default_generation_settings'], 'n_ctx')),
  advice: (size) => `Start the server with \`llama-server -c ${String(size)}\``,
};

const ollama: ContextSource = {
  url: atOrigin('/api/ps'),
  read: (answer, model) => sizeOf(entryOf(answer['models'], 'name', model)?.['context_length']),
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
  url: ({ baseURL }) => addressBelow(baseURL, '/models'),
  read: (answer, model) => sizeOf(entryOf(answer['data'], 'id', model)?.['max_model_len']),
  advice: (size, model) => `Start the server with \`vllm serve ${model} --max-model-len ${String(size)}\``,
};

const BY_PRESET: { readonly [preset: string]: ContextSource } = { lemonade, llamacpp, ollama, lmstudio, vllm };

/** What the local servers write into their model lists as the owner. */
const BY_OWNER: { readonly [owner: string]: ContextSource } = {
  lemonade,
  llamacpp,
  library: ollama,
  organization_owner: lmstudio,
};

/** Where to ask first; null for a hosted server. One that is not known by name or address is asked for its model list. */
function sourceOf({ preset, baseURL }: Endpoint): ContextSource | null {
  if (preset?.local === false) return null;
  return BY_PRESET[(preset ?? localPresetAt(baseURL))?.name ?? 'vllm'] ?? null;
}

/**
 * The server behind a model list, as far as that names it; else as vLLM, whose list holds the size itself. llama.cpp answers
 * with its one model whatever name is asked for.
 */
function ownerOf(list: JsonObject, model: string): ContextSource {
  const owner = (entryOf(list['data'], 'id', model) ?? entryOf(list['data'], 'owned_by', 'llamacpp'))?.['owned_by'];
  return (typeof owner === 'string' && Object.hasOwn(BY_OWNER, owner) ? BY_OWNER[owner] : undefined) ?? vllm;
}

function entryOf(list: unknown, key: string, name: string): JsonObject | undefined {
  const entries: readonly unknown[] = Array.isArray(list) ? list : [];
  // Ollama lists what is asked for by a bare name under this one.
  const names: readonly unknown[] = [name, `${name}:latest`];
  return entries.filter((entry) => isJsonObject(entry)).find((entry) => names.includes(entry[key]));
}

function sizeOf(value: unknown): number | undefined {
  return typeof value === 'number' && value > 0 ? value : undefined;
}
