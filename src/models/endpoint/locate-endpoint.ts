import { ModelError } from '../../actors/model.ts';
import { discoverEndpoint, type Discovery, type DiscoverOptions } from './discover-endpoint.ts';
import type { Endpoint } from './endpoint.ts';
import { readVariable, type Environment } from './environment.ts';
import { placeOf } from '../chat/failure.ts';
import { PRESETS } from './presets.ts';

/** Where requests go: settled from the start, or to be found when first needed. */
export interface EndpointSource {
  /** The endpoint, once it is known. */
  known(): Endpoint | undefined;
  /** The endpoint, found if need be. `warning` tells once what was found. Rejects with `no-model`. */
  locate(signal: AbortSignal): Promise<{ readonly endpoint: Endpoint; readonly warning?: string }>;
}

/** Where the servers of presets were found, by the places where they may be. */
const foundAt = new Map<string, string>();

/**
 * An endpoint that options or environment have settled. Where its server may listen at one of several places, it is the
 * first where it does, else the usual one.
 */
export function settledSource(endpoint: Endpoint, options: DiscoverOptions): EndpointSource {
  const { preset, alternatives } = endpoint;
  const place = [endpoint.baseURL, ...alternatives].join(' ');
  const isShared = options.fetch === undefined;
  let known = endpoint;
  let isFound = preset === undefined || alternatives.length === 0;
  const takeUp = (baseURL: string) => {
    known = { ...endpoint, baseURL };
    isFound = true;
    if (isShared) foundAt.set(place, baseURL);
  };
  return {
    known: () => known,
    async locate(signal) {
      if (isFound || preset === undefined) return { endpoint: known };
      const before = isShared ? foundAt.get(place) : undefined;
      if (before !== undefined) takeUp(before);
      if (isFound) return { endpoint: known };
      const presets = [{ ...preset, baseURL: endpoint.baseURL, alsoAt: alternatives }];
      const discovery = await discoverEndpoint({ ...options, presets, signal });
      if (discovery.kind === 'found') takeUp(discovery.endpoint.baseURL);
      return { endpoint: known };
    },
  };
}

/** An endpoint that is looked for on this machine when first needed, and again until there is one. */
export function discoveredSource(options: DiscoverOptions, model: string | undefined): EndpointSource {
  let known: Endpoint | undefined;
  return {
    known: () => known,
    async locate(signal) {
      if (known !== undefined) return { endpoint: known };
      const discovery = await discoverEndpoint({ ...options, signal });
      if (signal.aborted)
        throw new ModelError('aborted', 'The request was aborted while a model was being looked for.');
      if (discovery.kind === 'nothing') throw nothingFound(discovery, options.env);
      known = model === undefined ? discovery.endpoint : { ...discovery.endpoint, model };
      return { endpoint: known, warning: whatWasFound(known) };
    },
  };
}

function whatWasFound(endpoint: Endpoint): string {
  const model = endpoint.model === undefined ? '' : ` with the model '${endpoint.model}'`;
  return `No model was configured, so ${placeOf(endpoint)} is used${model}. Set the option model to choose another.`;
}

function nothingFound({ tried }: Discovery, env: Environment): ModelError {
  const places = tried.map(({ preset, baseURL, outcome }) => `${preset} at ${baseURL} (${WHY[outcome]})`).join(', ');
  const withKey = Object.values(PRESETS)
    .filter(({ name, keyVariable }) => name !== 'anthropic' && readVariable(env, keyVariable) !== undefined)
    .map(({ name }) => `'${name}'`);
  const hint = withKey.length === 0 ? '' : ` The environment holds a key for ${withKey.join(' and ')}.`;
  const text =
    'No model is configured and none was found on this machine. Start a local server, set LEMONADE_BASE_URL or ' +
    `OPENAI_BASE_URL, or give the option model, such as 'ollama:qwen2.5:7b' or 'openai:gpt-5-mini'.${hint} Looked at: ${places}.`;
  return new ModelError('no-model', text, { data: { tried: tried.map((one) => ({ ...one })) } });
}

const WHY = {
  'no-answer': 'no answer',
  'no-model-server': 'something else is there',
  'no-model': 'no chat model installed',
  'model-server': 'found',
} as const;
