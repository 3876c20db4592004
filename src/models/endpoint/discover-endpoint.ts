import { chooseModel } from '../chat/choose-model.ts';
import type { Endpoint, Fetch } from './endpoint.ts';
import { readVariable, type Environment } from './environment.ts';
import { askModels, readModels, type AskOptions, type ListedModel } from './list-models.ts';
import { loadFetch } from '../http/load-fetch.ts';
import { PRESETS, type Preset } from './presets.ts';
import { readModelName } from './model-name.ts';

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
 * fastest. What answers there and is no model server is left alone. It starts no server, loads no model, never throws.
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
  const model = await chooseModel(endpoint, models, asking);
  return { endpoint, outcome: model === undefined ? 'no-model' : 'model-server', models, model };
}
