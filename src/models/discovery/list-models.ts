import { isJsonObject, type JsonObject, parsedText } from '../../json/json.ts';
import { addressBelow, authorizationOf, type Endpoint, type Fetch } from '../endpoint/endpoint.ts';
import { PRESETS } from '../endpoint/presets.ts';
import { readBeside, untilAborted } from '../http/fetch.ts';

/** A model as a server lists it. */
export interface ListedModel {
  readonly id: string;
  /** The server reports that it is in memory. */
  readonly loaded: boolean;
  /** It supports chat, according to its listing. */
  readonly chats: boolean;
}

/** What came of asking for something beside chat. */
export type Asked =
  | { readonly kind: 'answered'; readonly status: number; readonly value: unknown }
  | { readonly kind: 'unreachable'; readonly cause: unknown };

/** How to ask a server for something beside chat. */
export interface AskOptions {
  readonly fetch: Fetch;
  readonly signal: AbortSignal;
  /** The caller's own. They go to the model list alone. */
  readonly headers: Readonly<Record<string, string>>;
}

const NO_CHAT =
  /embed|rerank|bge-|minilm|whisper|moderation|tts|dall-e|image|transcribe|realtime|audio|sora|babbage|davinci|kokoro|diffusion|flux/i;
const NO_CHAT_LABELS = ['embedding', 'embeddings', 'reranking', 'image', 'audio', 'transcription', 'tts'];

/** Asks an endpoint for its models, with its key. Never throws. */
export function askModels(endpoint: Endpoint, options: AskOptions): Promise<Asked> {
  return askJson(addressBelow(endpoint.baseURL, '/models'), options, { ...keyHeaders(endpoint), ...options.headers });
}

/** The models in an answer of `/models`, or undefined when it is not a model list. */
export function readModels(asked: Asked): readonly ListedModel[] | undefined {
  if (asked.kind === 'unreachable' || asked.status >= 300) return undefined;
  // Together AI sends the bare list.
  const list = isJsonObject(asked.value) ? asked.value['data'] : asked.value;
  if (!Array.isArray(list)) return undefined;
  const models = list.flatMap((entry: unknown) => (isJsonObject(entry) ? readModel(entry) : []));
  return models.length === 0 && list.length > 0 ? undefined : models;
}

/** Asks a URL for a JSON document, without any key. Never throws; a body that is not JSON is undefined. */
export async function askJson(
  url: string,
  options: Pick<AskOptions, 'fetch' | 'signal'>,
  headers: Record<string, string> = {},
): Promise<Asked> {
  try {
    return await untilAborted(options.signal, fetchJson(url, headers, options));
  } catch (cause) {
    return { kind: 'unreachable', cause };
  }
}

async function fetchJson(
  url: string,
  headers: Record<string, string>,
  { fetch, signal }: Pick<AskOptions, 'fetch' | 'signal'>,
): Promise<Asked> {
  const response = await fetch(url, { headers, signal });
  let text = '';
  await readBeside(response, (piece) => (text += piece));
  return { kind: 'answered', status: response.status, value: parsedText(text) };
}

/** Anthropic's model list needs its own headers, although its chat endpoint accepts OpenAI's. */
function keyHeaders(endpoint: Endpoint): Record<string, string> {
  const { apiKey, preset, client } = endpoint;
  const authorization = authorizationOf(endpoint);
  // A client of the caller's own sends its key by itself.
  if (authorization === undefined || client !== undefined) return {};
  if (apiKey === undefined || preset?.baseURL !== PRESETS.claude.baseURL) return { authorization };
  return { 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' };
}

function readModel(entry: JsonObject): ListedModel | readonly [] {
  const { id, labels, status } = entry;
  if (typeof id !== 'string' || id === '') return [];
  const marked = Array.isArray(labels) && labels.some((label) => NO_CHAT_LABELS.includes(String(label)));
  const state = isJsonObject(status) ? status['value'] : entry['state'];
  return {
    id,
    loaded: state === 'loaded',
    chats: !marked && !NO_CHAT_LABELS.includes(textOf(entry['type']) ?? '') && !NO_CHAT.test(id),
  };
}

/** The model to use where none was named: the one that is loaded, else the first listed that can chat. */
export async function pickModel(
  endpoint: Endpoint,
  listed: readonly ListedModel[],
  options: AskOptions,
): Promise<string | undefined> {
  const chatting = listed.filter((model) => model.chats);
  const loaded = await askLoaded(endpoint, options);
  const known = chatting.find((model) => model.id === loaded || model.id === loaded?.replace(/:latest$/, ''));
  return (known ?? chatting.find((model) => model.loaded) ?? chatting[0])?.id;
}

/** What a server reports as loaded, if it has an endpoint for that other than the model list. */
async function askLoaded(endpoint: Endpoint, options: AskOptions): Promise<string | undefined> {
  const { origin } = new URL(endpoint.baseURL);
  switch (endpoint.preset?.name) {
    case 'lemonade':
      return textOf((await ask(addressBelow(endpoint.baseURL, '/health'), options))['model_loaded']);
    case 'ollama':
      return textOf(entriesOf((await ask(`${origin}/api/ps`, options))['models'])[0]?.['name']);
    case 'lmstudio': {
      const models = entriesOf((await ask(`${origin}/api/v0/models`, options))['data']);
      return textOf(models.find(({ state, type }) => state === 'loaded' && type !== 'embeddings')?.['id']);
    }
    default:
      return undefined;
  }
}

async function ask(url: string, options: AskOptions): Promise<JsonObject> {
  const asked = await askJson(url, options);
  return asked.kind === 'answered' && isJsonObject(asked.value) ? asked.value : {};
}

function entriesOf(list: unknown): readonly JsonObject[] {
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
