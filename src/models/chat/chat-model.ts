import { ModelError, type Model, type ModelReply } from '../../actors/model.ts';
import { rememberEndpoint } from '../../actors/circuits.ts';
import { askModel } from './ask-model.ts';
import { checkContext, knownContextWarnings } from '../discovery/check-context.ts';
import { createConnection, DEFAULT_CONNECT_MS, type Connection } from './model-connection.ts';
import { recallEndpoint, type EndpointMemory } from '../endpoint/endpoint-memory.ts';
import {
  checkModelOptions,
  settleEndpoint,
  type ChatModelOptions,
  type Endpoint,
  rememberSecrets,
} from '../endpoint/endpoint.ts';
import { processEnvironment, readVariable, type Environment } from '../endpoint/environment.ts';
import { discoveredSource, settledSource, type EndpointSource } from '../discovery/discover-endpoint.ts';
import { refuseIfBanned } from '../endpoint/live-guard.ts';
import { untilAborted } from '../http/fetch.ts';
import { isOpenAIHost, parseModelName } from '../endpoint/presets.ts';
import { type StateSending, stateSending } from './returned-state.ts';

/**
 * A model behind any server that speaks Chat Completions: a local one by preset or address, or a hosted one. Nothing is
 * opened or loaded before the first request. Throws a `TypeError` for a wrong option.
 *
 * @example
 * const model = chatModel({ preset: 'ollama', model: 'qwen2.5:7b' });
 * const other = chatModel({ baseURL: 'http://localhost:8080/v1', model: 'qwen3' });
 */
export function chatModel(options: ChatModelOptions = {}): Model {
  checkModelOptions(options);
  return configuredModel(options, processEnvironment());
}

/** {@link chatModel} with a given environment, which is read now. Where neither says, the endpoint is discovered. */
export function configuredModel(options: ChatModelOptions, env: Environment): Model {
  const endpoint = settleEndpoint(options, env);
  const search = options.fetch === undefined ? { env } : { env, fetch: options.fetch };
  if (endpoint !== undefined) return createChatModel(settledSource(endpoint, search), options, env);
  const model = options.model ?? readVariable(env, 'SIGNALBOX_MODEL');
  return createChatModel(discoveredSource(search, model), options, env);
}

const DEFAULT_RESPONSE_MS = 120_000;

/** A check that takes longer is abandoned. */
const CHECK_MS = 1000;

/** The server of a local preset may have to load the model before it says anything. */
const FIRST_LOCAL_RESPONSE_MS = 600_000;

/** Where a model's requests go, and what is known of the place. */
interface Place {
  readonly connection: Connection;
  readonly name: string;
  readonly memory: EndpointMemory;
  /** What the model gets back from its earlier replies. */
  readonly state: StateSending;
}

/** A model at an endpoint that is settled or still to be found. */
export function createChatModel(source: EndpointSource, options: ChatModelOptions, env: Environment): Model {
  let opened: Connection | undefined;
  let model = source.known()?.model;
  let hasReplied = false;
  const unsaid = new Set<string>();
  /** Set when it is certain, so that later requests do not wait for it. */
  let settled: Place | undefined;
  let settling: Promise<Place> | undefined;
  const client = options.fetch ?? options.client;
  const settle = async (signal: AbortSignal): Promise<Place> => {
    const { endpoint, warning: found } = await source.locate(signal);
    if (found !== undefined) unsaid.add(found);
    const connection = opened?.endpoint === endpoint ? opened : createConnection(endpoint, options, env);
    opened = connection;
    const { name, warning: chosen } = await connection.model(signal);
    if (chosen !== undefined) unsaid.add(chosen);
    model = name;
    const state = stateSending(endpoint, name, id(), options.sendReasoning);
    const place = { connection, name, memory: recallEndpoint(endpoint.baseURL, name, client), state };
    if (source.isFound() && connection.chosen() !== undefined) settled = place;
    return place;
  };
  const id = () => idOf(source.known(), model);
  const known = () => knownOf(source.known(), model, client);

  const chat: Model = {
    keepsTime: true,
    takesImages: options.images === true,
    takesFiles: options.files === true,
    get takesSchemaWithTools() {
      const baseURL = source.known()?.baseURL;
      return baseURL !== undefined && isOpenAIHost(baseURL);
    },
    get contextSize() {
      return options.contextSize ?? known()?.context?.size;
    },
    get id() {
      return id();
    },
    get toolCalling() {
      const tools = known()?.tools;
      return tools === 'refused' || tools === 'doubted' ? 'json' : 'native';
    },
    get callsNatively() {
      return known()?.callsNatively === true;
    },
    async complete(request, io) {
      if (io.signal.aborted) throw new ModelError('aborted', 'The request was aborted before it was sent.');
      refuseIfBanned(id, processEnvironment());
      const place = settled ?? (await (settling = settle(io.signal)));
      const isLocal = place.connection.endpoint.preset?.local === true;
      const silence = isLocal && !hasReplied ? FIRST_LOCAL_RESPONSE_MS : DEFAULT_RESPONSE_MS;
      const responseMs = io.responseMs ?? options.responseMs ?? silence;
      const connectMs = io.connectMs ?? options.connectMs ?? DEFAULT_CONNECT_MS;
      const reply = await askModel({ ...place, extra: options.body, connectMs, responseMs }, request, io);
      hasReplied = true;
      if (reply.toolCalls?.some(({ name }) => name.trim() !== '') === true) place.memory.callsNatively = true;
      return withUnsaid(reply, unsaid);
    },
    async check({ minContextSize, signal }) {
      try {
        refuseIfBanned(id, processEnvironment());
        const told = settled && knownContextWarnings(contextOf(settled, minContextSize));
        if (told !== undefined) return told;
        const limit = AbortSignal.any([signal, AbortSignal.timeout(CHECK_MS)]);
        // A request that is under way finds out where the server is and which model: that is not asked twice.
        const place = settled ?? (await untilAborted(limit, settling ?? settle(limit)));
        const { asking } = place.connection;
        return await untilAborted(limit, checkContext({ ...contextOf(place, minContextSize), asking }));
      } catch {
        // The run's own request reports what is wrong, and the next agent looks again.
        return [];
      }
    },
  };
  rememberSecrets(chat, () => source.known(), options);
  rememberEndpoint(chat, () => circuitName(source.known(), model, options));
  return chat;
}

/** The reply with pending notes about its server, each of which is reported once. */
function withUnsaid(reply: ModelReply, unsaid: Set<string>): ModelReply {
  if (unsaid.size === 0) return reply;
  const warnings = [...unsaid, ...(reply.warnings ?? [])];
  unsaid.clear();
  return { ...reply, warnings };
}

function knownOf(
  endpoint: Endpoint | undefined,
  model: string | undefined,
  client: object | undefined,
): EndpointMemory | undefined {
  return endpoint === undefined || model === undefined ? undefined : recallEndpoint(endpoint.baseURL, model, client);
}

/** What rests together: a model at an endpoint, by the key that is used. A model with its own client rests by itself. */
function circuitName(
  endpoint: Endpoint | undefined,
  model: string | undefined,
  { fetch, client }: ChatModelOptions,
): string | undefined {
  if (endpoint === undefined || model === undefined || fetch !== undefined || client !== undefined) return undefined;
  return `${endpoint.baseURL} ${model} ${endpoint.apiKey ?? ''}`;
}

function contextOf({ connection, name, memory }: Place, minContextSize: number) {
  return { endpoint: connection.endpoint, model: name, minContextSize, memory };
}

function idOf(endpoint: Endpoint | undefined, model: string | undefined): string {
  if (endpoint === undefined) return 'discovered';
  const place = endpoint.preset?.name ?? new URL(endpoint.baseURL).host;
  return model === undefined ? place : `${place}:${model}`;
}

/**
 * The model that an agent's option means: a `Model` as it is, `'ollama'` or `'ollama:qwen2.5:7b'` by preset, nothing
 * by the environment or, failing that, discovered when first used. The environment is read now. Throws a `TypeError` that
 * lists the presets for an unknown name.
 */
export function resolveModel(spec: string | Model | undefined, env: Environment): Model {
  if (spec === undefined) return configuredModel({}, env);
  if (typeof spec !== 'string') return spec;
  const { preset, model } = parseModelName(spec);
  return configuredModel(model === undefined ? { preset: preset.name } : { preset: preset.name, model }, env);
}
