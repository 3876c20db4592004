import { ModelError } from '../../actors/model.ts';
import {
  authorizationOf,
  type ChatModelOptions,
  type Endpoint,
  howToSetKey,
  endpointText,
} from '../endpoint/endpoint.ts';
import type { Environment } from '../endpoint/environment.ts';
import { pickModel, askModels, readModels, type Asked, type AskOptions } from '../discovery/list-models.ts';
import { connectFailed, failureOf } from './failure.ts';
import { loadFetch } from '../http/fetch.ts';
import { fetchList, openOwnClient, openPackageClient } from './openai-client.ts';
import type { ChatClient } from './send-request.ts';

/** The way to one endpoint: its HTTP client, made when first needed, and the model to ask for. */
export type Connection = ReturnType<typeof createConnection>;

/** Default time limit for connecting, in milliseconds. */
export const DEFAULT_CONNECT_MS = 30_000;

const LIST_TIMEOUT_MS = 10_000;

/** Prepares the way to an endpoint. Nothing is opened or loaded yet. */
export function createConnection(endpoint: Endpoint, options: ChatModelOptions, env: Environment) {
  const clients = new Map<number, Promise<ChatClient>>();
  let chosen: string | undefined = endpoint.model;

  const asking = async (signal: AbortSignal, withinMs: number): Promise<AskOptions> => ({
    fetch: options.fetch ?? (await loadFetch(Math.min(withinMs, options.connectMs ?? DEFAULT_CONNECT_MS), env)),
    headers: options.headers ?? {},
    signal: AbortSignal.any([signal, AbortSignal.timeout(withinMs)]),
  });

  const askList = async (signal: AbortSignal) => {
    const ask = await asking(signal, LIST_TIMEOUT_MS);
    const { client } = endpoint;
    return { ask, asked: await askModels(endpoint, client === undefined ? ask : { ...ask, fetch: fetchList(client) }) };
  };

  return {
    endpoint,
    /** How to ask the server for something beside chat, for no longer than `withinMs`. */
    asking,
    /** The model to ask for, once it is certain. */
    chosen: (): string | undefined => chosen,
    client(connectMs: number): Promise<ChatClient> {
      refuseWithoutKey(endpoint, options);
      const known = clients.get(connectMs);
      if (known !== undefined) return known;
      const made = openClient(endpoint, options, env, connectMs);
      clients.set(connectMs, made);
      return made;
    },
    /** The model's name, asked of the server where none was configured. `warning` says what was chosen, once. */
    async model(signal: AbortSignal): Promise<{ readonly name: string; readonly warning?: string }> {
      if (chosen !== undefined) return { name: chosen };
      refuseWithoutKey(endpoint, options);
      const { ask, asked } = await askList(signal);
      if (signal.aborted) throw new ModelError('aborted', `The request to ${endpointText(endpoint)} was aborted.`);
      if (asked.kind === 'unreachable') throw connectFailed(endpoint, asked.cause);
      if (asked.status === 401 || asked.status === 403) throw keyRefused(endpoint, asked);
      const name = await pickModel(endpoint, readModels(asked) ?? [], ask);
      // A server that fails now may list its models later.
      if (name !== undefined || asked.status < 500) chosen = name ?? 'default';
      return { name: name ?? 'default', warning: choiceWarning(endpoint, name) };
    },
    /** What the server lists; undefined when it has no list, or does not say. Never throws. */
    async offered(signal: AbortSignal): Promise<readonly string[] | undefined> {
      const models = readModels((await askList(signal)).asked);
      return models?.map((model) => model.id);
    },
  };
}

/** The client for chat: the caller's own, the direct one, or one on the `openai` package. */
async function openClient(
  endpoint: Endpoint,
  options: ChatModelOptions,
  env: Environment,
  connectMs: number,
): Promise<ChatClient> {
  const { baseURL, apiKey, client } = endpoint;
  const authorization = authorizationOf(endpoint);
  const settings = { baseURL, apiKey, authorization, headers: options.headers ?? {} };
  if (client !== undefined) return openOwnClient(client, settings.headers);
  if (options.transport !== 'direct')
    return openPackageClient(settings, options.fetch, () => loadFetch(connectMs, env));
  const { openDirectClient } = await import('./direct-client.ts');
  return openDirectClient(settings, env, connectMs);
}

/** A hosted server is not asked without a key. */
function refuseWithoutKey(endpoint: Endpoint, { headers }: ChatModelOptions): void {
  const { preset, baseURL, apiKey, client } = endpoint;
  if (client !== undefined || apiKey !== undefined || preset?.local !== false || preset.baseURL !== baseURL) return;
  if (Object.keys(headers ?? {}).some((name) => /authorization|key/i.test(name))) return;
  throw new ModelError('auth', `No API key for ${preset.title}: ${howToSetKey(endpoint)}.`);
}

function keyRefused(endpoint: Endpoint, { status, value }: Extract<Asked, { readonly kind: 'answered' }>): ModelError {
  const refusal = { kind: 'refused', status, headers: undefined, body: value } as const;
  return failureOf(refusal, { endpoint, model: '', offered: [] });
}

function choiceWarning(endpoint: Endpoint, name: string | undefined): string {
  const place = endpointText(endpoint);
  return name === undefined
    ? `No model was named and ${place} lists none that chats, so 'default' is asked for. Set SIGNALBOX_MODEL or the option model.`
    : `No model was named, so '${name}' is used, as ${place} lists it. Set SIGNALBOX_MODEL or the option model to choose.`;
}
