import { ModelError, type Model } from '../../actors/model.ts';
import { askModel } from './ask-model.ts';
import { checkContext } from '../discovery/check-context.ts';
import { createConnection, type Connection } from './model-connection.ts';
import { recallEndpoint } from '../endpoint/endpoint-memory.ts';
import { checkModelOptions, settleEndpoint, type ChatModelOptions, type Endpoint } from '../endpoint/endpoint.ts';
import { processEnvironment, readVariable, type Environment } from '../endpoint/environment.ts';
import { rememberSecrets } from '../endpoint/model-secrets.ts';
import { discoveredSource, settledSource, type EndpointSource } from '../discovery/discover-endpoint.ts';
import { refuseIfBanned } from '../endpoint/live-guard.ts';
import { untilAborted } from '../http/fetch.ts';
import { parseModelName } from '../endpoint/presets.ts';

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

/** A check that takes longer is given up. */
const CHECK_MS = 1000;

/** The server of a local preset may have to load the model before it says anything. */
const FIRST_LOCAL_RESPONSE_MS = 600_000;

/** A model at an endpoint that is settled or still to be found. */
export function createChatModel(source: EndpointSource, options: ChatModelOptions, env: Environment): Model {
  let opened: Connection | undefined;
  let model = source.known()?.model;
  let hasReplied = false;
  const unsaid = new Set<string>();
  let settling: ReturnType<typeof settle> | undefined;
  const memoryOf = ({ baseURL }: Endpoint, name: string) => recallEndpoint(baseURL, name, options.fetch);
  const settle = async (signal: AbortSignal) => {
    const { endpoint, warning: found } = await source.locate(signal);
    if (found !== undefined) unsaid.add(found);
    const connection = opened?.endpoint === endpoint ? opened : createConnection(endpoint, options, env);
    opened = connection;
    const { name, warning: chosen } = await connection.model(signal);
    if (chosen !== undefined) unsaid.add(chosen);
    model = name;
    return { connection, name };
  };

  const chat: Model = {
    keepsTime: true,
    takesImages: options.images === true,
    get id() {
      return idOf(source.known(), model);
    },
    get toolCalling() {
      const endpoint = source.known();
      const tools = endpoint === undefined || model === undefined ? 'unknown' : memoryOf(endpoint, model).tools;
      return tools === 'refused' || tools === 'doubted' ? 'json' : 'native';
    },
    get callsNatively() {
      const endpoint = source.known();
      return endpoint !== undefined && model !== undefined && memoryOf(endpoint, model).callsNatively;
    },
    async complete(request, io) {
      if (io.signal.aborted) throw new ModelError('aborted', 'The request was aborted before it was sent.');
      refuseIfBanned(idOf(source.known(), model), processEnvironment());
      settling = settle(io.signal);
      const { connection, name } = await settling;
      const { endpoint } = connection;
      const silence = endpoint.preset?.local === true && !hasReplied ? FIRST_LOCAL_RESPONSE_MS : DEFAULT_RESPONSE_MS;
      const destination = {
        connection,
        model: name,
        memory: memoryOf(endpoint, name),
        extra: options.body,
        connectMs: options.connectMs,
        responseMs: io.responseMs ?? options.responseMs ?? silence,
      };
      const reply = await askModel(destination, request, io);
      hasReplied = true;
      if ((reply.toolCalls ?? []).length > 0) destination.memory.callsNatively = true;
      const warnings = [...unsaid, ...(reply.warnings ?? [])];
      unsaid.clear();
      return warnings.length === 0 ? reply : { ...reply, warnings };
    },
    async check({ minContextSize, signal }) {
      try {
        refuseIfBanned(idOf(source.known(), model), processEnvironment());
        const limit = AbortSignal.any([signal, AbortSignal.timeout(CHECK_MS)]);
        // A request that is under way finds out where the server is and which model: that is not asked twice.
        const { connection, name } = await untilAborted(limit, settling ?? settle(limit));
        const memory = memoryOf(connection.endpoint, name);
        return await untilAborted(
          limit,
          checkContext({
            endpoint: connection.endpoint,
            asking: connection.asking,
            model: name,
            minContextSize,
            memory,
          }),
        );
      } catch {
        // The run's own request tells what is wrong, and the next agent looks again.
        return [];
      }
    },
  };
  rememberSecrets(chat, () => source.known(), options);
  return chat;
}

function idOf(endpoint: Endpoint | undefined, model: string | undefined): string {
  if (endpoint === undefined) return model ?? 'discovered';
  const place = endpoint.preset?.name ?? new URL(endpoint.baseURL).host;
  return model === undefined ? place : `${place}:${model}`;
}

/**
 * The model that an agent's option means: a `Model` as it is, `'ollama'` or `'ollama:qwen2.5:7b'` by preset, nothing
 * by the environment or, failing that, discovered when first used. The environment is read now. Throws a `TypeError`
 * that lists the presets for a name that is none.
 */
export function resolveModel(spec: string | Model | undefined, env: Environment): Model {
  if (spec === undefined) return configuredModel({}, env);
  if (typeof spec !== 'string') return spec;
  const { preset, model } = parseModelName(spec);
  return configuredModel(model === undefined ? { preset: preset.name } : { preset: preset.name, model }, env);
}
