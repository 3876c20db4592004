import { defined } from '../../json/json.ts';
import type { Model } from '../../actors/model.ts';
import { configuredModel } from '../../models/chat/chat-model.ts';
import { type Discovery, discoverEndpoint } from '../../models/discovery/discover-endpoint.ts';
import { settleEndpoint, type ChatModelOptions, type Endpoint, endpointText } from '../../models/endpoint/endpoint.ts';
import { readVariable, type Environment } from '../../models/endpoint/environment.ts';
import { readModelName, PRESETS } from '../../models/endpoint/presets.ts';
import { UsageError } from '../command/command.ts';
import type { AgentChoices } from './agent-flags.ts';

/**
 * The model that a command uses, what there is to say about the choice, in lines as long as they come, and how to end what
 * was started for it.
 */
export interface ChosenModel {
  readonly model: Model;
  readonly said: string;
  close(): Promise<void>;
}

/**
 * Chooses the model: what the options say, else the environment (LEMONADE_BASE_URL, OPENAI_BASE_URL, OPENAI_API_KEY,
 * ANTHROPIC_API_KEY), else a server on this machine, else the practice model. Throws a {@link UsageError} for options
 * that name no server.
 */
export async function selectModel(choices: AgentChoices, env: Environment): Promise<ChosenModel> {
  const asked = choices.model ?? readVariable(env, 'SIGNALBOX_MODEL');
  if (asked === PRACTICE && choices.baseURL === undefined) return practiceModel('As asked for, ');
  const options = orUsage(() => optionsOf(choices, env));
  const endpoint = orUsage(() => settleEndpoint(options, env));
  if (endpoint !== undefined)
    return connected(configuredModel(options, env), endpoint, sourceOf(choices, options, env));
  const discovery = await discoverEndpoint({ env: asked === undefined ? env : { ...env, SIGNALBOX_MODEL: asked } });
  if (discovery.kind === 'found') return discovered(discovery, options, env);
  // A model that was named is not replaced by a stand-in: its run reports what is missing.
  if (asked !== undefined) return { model: configuredModel(options, env), said: '', close: nothing };
  return practiceModel(nothingFound(discovery));
}

const PRACTICE = 'practice';

function optionsOf({ model, baseURL, apiKey }: AgentChoices, env: Environment): ChatModelOptions {
  const named = model === undefined || baseURL !== undefined ? undefined : readModelName(model);
  const name = named === undefined ? model : named.model;
  const preset = named?.preset.name ?? presetOfKey({ baseURL }, env);
  return defined({ preset, model: name, baseURL, apiKey });
}

/** A key alone names its server, where nothing else names one. */
function presetOfKey({ baseURL }: { readonly baseURL: string | undefined }, env: Environment) {
  if (baseURL !== undefined || orUsage(() => settleEndpoint({}, env)) !== undefined) return undefined;
  if (readVariable(env, 'OPENAI_API_KEY') !== undefined) return 'openai' as const;
  return readVariable(env, 'ANTHROPIC_API_KEY') === undefined ? undefined : ('claude' as const);
}

function orUsage<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message);
    throw error;
  }
}

function sourceOf({ model, baseURL }: AgentChoices, { preset }: ChatModelOptions, env: Environment): string {
  if (baseURL !== undefined) return '--base-url';
  if (model !== undefined && readModelName(model) !== undefined) return '--model';
  const named = readModelName(readVariable(env, 'SIGNALBOX_MODEL') ?? '') !== undefined;
  const variables = [...(named ? ['SIGNALBOX_MODEL'] : []), 'LEMONADE_BASE_URL', 'OPENAI_BASE_URL'];
  const key = preset === undefined ? undefined : PRESETS[preset].keyVariable;
  return [...variables, key].find((name) => readVariable(env, name) !== undefined) ?? 'the environment';
}

function connected(model: Model, endpoint: Endpoint, source: string): ChosenModel {
  const name = endpoint.model === undefined ? '' : `${endpoint.model} from `;
  return { model, said: `Model: ${name}${endpointText(endpoint)} (${source}).`, close: nothing };
}

function discovered(
  { endpoint, model }: Extract<Discovery, { kind: 'found' }>,
  options: ChatModelOptions,
  env: Environment,
): ChosenModel {
  const { preset, baseURL } = endpoint;
  const settled = { ...options, model, baseURL, ...(preset === undefined ? {} : { preset: preset.name }) };
  return connected(configuredModel(settled, env), { ...endpoint, model }, 'found on this machine');
}

function nothingFound({ tried }: Discovery): string {
  const width = Math.max(...tried.map(({ baseURL }) => baseURL.length)) + 2;
  const places = tried.map(
    ({ preset, baseURL, outcome }) => `  ${preset.padEnd(10)}${baseURL.padEnd(width)}${OUTCOME[outcome]}`,
  );
  return ['No model server was found. Looked at:', ...places, 'So '].join('\n');
}

const OUTCOME = {
  'no-answer': 'no answer',
  'no-model-server': 'answers, but is not a model server',
  'no-model': 'has no chat model installed',
  'model-server': 'found',
} as const;

async function practiceModel(why: string): Promise<ChosenModel> {
  const { startPracticeModel } = await import('../practice/start-practice-model.ts');
  const practice = await startPracticeModel();
  const said = [
    `${why}the practice model answers, at ${practice.baseURL}.`,
    'It is not an LLM but a small set of rules that does real work with real tools, so that you can see how an agent runs. ' +
      'For a real model start a local server, such as `ollama serve` or `lemonade-server serve`, or set OPENAI_API_KEY, ' +
      'ANTHROPIC_API_KEY or OPENAI_BASE_URL, or use --base-url.',
  ].join('\n');
  return { model: practice.model, said, close: () => practice.close() };
}

async function nothing(): Promise<void> {}
