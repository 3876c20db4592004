import { pickModel, askModels, readModels, type AskOptions, type ListedModel } from './list-models.ts';
import { type Endpoint, type Fetch, endpointText } from '../endpoint/endpoint.ts';
import { readVariable, type Environment } from '../endpoint/environment.ts';
import { loadFetch } from '../http/fetch.ts';
import { misspeltPreset, PRESETS, type Preset, readModelName } from '../endpoint/presets.ts';
import { ModelError } from '../../actors/model.ts';

/** One address that was looked at. */
export interface Tried {
  readonly preset: string;
  readonly baseURL: string;
  readonly outcome: 'no-answer' | 'no-model-server' | 'no-model' | 'model-server';
}

/** What a search for a model server came to. */
export type Discovery =
  | { readonly kind: 'found'; readonly endpoint: Endpoint; readonly model: string; readonly tried: readonly Tried[] }
  | { readonly kind: 'nothing'; readonly tried: readonly Tried[] };

/** Options of {@link discoverEndpoint}. */
export interface DiscoverOptions {
  readonly env: Environment;
  readonly signal?: AbortSignal;
  /** Where to look, best first. Default: every local preset. */
  readonly presets?: readonly Preset[];
  readonly fetch?: Fetch;
}

const PROBE_MS = 300;

/**
 * Looks for a model server on this machine's own ports, all at once, and takes the best by preference, not the
 * fastest. What answers there and is not a model server is left alone. It starts no server, loads no model, never throws.
 */
export async function discoverEndpoint(options: DiscoverOptions): Promise<Discovery> {
  const { env } = options;
  const presets = options.presets ?? Object.values(PRESETS).filter((preset) => preset.local);
  const fetch = options.fetch ?? (await loadFetch(PROBE_MS, env));
  const named = readVariable(env, 'SIGNALBOX_MODEL');
  const wanted = named === undefined || readModelName(named) !== undefined ? undefined : named;
  const candidates = presets.flatMap((preset) =>
    [preset.baseURL, ...preset.alsoAt].map((url) => candidate(preset, url)),
  );
  const probes = await Promise.all(candidates.map((endpoint) => probe(endpoint, fetch, options.signal)));
  const tried = probes.map(({ endpoint, outcome }) => ({
    preset: endpoint.preset?.name ?? '',
    baseURL: endpoint.baseURL,
    outcome,
  }));
  const usable = probes.filter((found) => found.model !== undefined);
  const best = usable.find((found) => found.models.some((model) => model.id === wanted)) ?? usable[0];
  if (best?.model === undefined) return { kind: 'nothing', tried };
  const model = wanted ?? best.model;
  return { kind: 'found', endpoint: { ...best.endpoint, model }, model, tried };
}

function candidate(preset: Preset, baseURL: string): Endpoint {
  return { preset, baseURL, apiKey: undefined, keyVariable: preset.keyVariable, model: undefined, alternatives: [] };
}

interface Probe {
  readonly endpoint: Endpoint;
  readonly outcome: Tried['outcome'];
  readonly models: readonly ListedModel[];
  readonly model: string | undefined;
}

async function probe(endpoint: Endpoint, fetch: Fetch, signal: AbortSignal | undefined): Promise<Probe> {
  const limit = AbortSignal.timeout(PROBE_MS);
  const asking: AskOptions = {
    fetch,
    headers: {},
    signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
  };
  const asked = await askModels(endpoint, asking);
  const models = readModels(asked);
  if (models === undefined) {
    const outcome = asked.kind === 'unreachable' ? 'no-answer' : 'no-model-server';
    return { endpoint, outcome, models: [], model: undefined };
  }
  const model = await pickModel(endpoint, models, asking);
  return { endpoint, outcome: model === undefined ? 'no-model' : 'model-server', models, model };
}

/** Where requests go: settled from the start, or to be found when first needed. */
export interface EndpointSource {
  /** The endpoint, once it is known. */
  known(): Endpoint | undefined;
  /** True once it is where it will stay. */
  isFound(): boolean;
  /** The endpoint, discovered if necessary. `warning` reports once what was found. Rejects with `no-model`. */
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
  let isFound = alternatives.length === 0;
  const takeUp = (baseURL: string) => {
    known = { ...endpoint, baseURL };
    isFound = true;
    if (isShared) foundAt.set(place, baseURL);
  };
  return {
    known: () => known,
    isFound: () => isFound,
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
    isFound: () => known !== undefined,
    async locate(signal) {
      if (known !== undefined) return { endpoint: known };
      const discovery = await discoverEndpoint({ ...options, signal });
      if (signal.aborted)
        throw new ModelError('aborted', 'The request was aborted while a model was being looked for.');
      if (discovery.kind === 'nothing') throw nothingFound(discovery, options.env, model);
      known = model === undefined ? discovery.endpoint : { ...discovery.endpoint, model };
      return { endpoint: known, warning: whatWasFound(known, model) };
    },
  };
}

function whatWasFound(endpoint: Endpoint, named: string | undefined): string {
  const model = endpoint.model === undefined ? '' : ` with the model '${endpoint.model}'`;
  return `No ${named === undefined ? 'model' : 'server'} was configured, so ${endpointText(endpoint)} is used${model}. Set the option model to choose another.`;
}

function nothingFound({ tried }: Discovery, env: Environment, model: string | undefined): ModelError {
  const places = tried.map(({ preset, baseURL, outcome }) => `${preset} at ${baseURL} (${WHY[outcome]})`).join(', ');
  const withKey = Object.values(PRESETS)
    .filter(({ name, keyVariable }) => name !== 'anthropic' && readVariable(env, keyVariable) !== undefined)
    .map(({ name }) => `'${name}'`);
  const hint = withKey.length === 0 ? '' : ` The environment holds a key for ${withKey.join(' and ')}.`;
  const missing =
    model === undefined
      ? 'No model is configured and none was found on this machine.'
      : `No server is configured for the model '${model}' and none was found on this machine.${misspeltPreset(model)}`;
  const text =
    `${missing} Start a local server, set LEMONADE_BASE_URL or ` +
    `OPENAI_BASE_URL, or give the option model, such as 'ollama:qwen2.5:7b' or 'openai:gpt-5-mini'.${hint} Looked at: ${places}.`;
  return new ModelError('no-model', text, { data: { tried: tried.map((one) => ({ ...one })) } });
}

const WHY = {
  'no-answer': 'no answer',
  'no-model-server': 'something else is there',
  'no-model': 'no chat model installed',
  'model-server': 'found',
} as const;
