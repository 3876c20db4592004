import type { JsonObject } from '../../json/json.ts';
import { checkPlace, OptionError, optionsOf, wrongOption } from '../../json/known-options.ts';
import { processEnvironment, readVariable, runsOnNode, type Environment } from './environment.ts';
import type { Model } from '../../actors/model.ts';
import { readModelName, findPreset, presetNames, PRESETS, type Preset, type PresetName } from './presets.ts';

/** A function like the platform's `fetch`. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** The part of an instance of the `openai` package's `OpenAI` or `AzureOpenAI` that is used. */
export interface OpenAIClient {
  readonly baseURL: string;
  readonly apiKey?: string | null;
  get(path: string, options: ClientRequestOptions): { asResponse(): Promise<Response> };
  post(path: string, options: ClientRequestOptions): { asResponse(): Promise<Response> };
}

/** What a request through an {@link OpenAIClient} is given. */
export interface ClientRequestOptions {
  readonly body?: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Options of `chatModel`. What is left out comes from the environment, then from discovery. */
export interface ChatModelOptions {
  /** A server that Signalbox knows by name. */
  readonly preset?: PresetName | undefined;
  /** Where the server listens, up to and including `/v1`. */
  readonly baseURL?: string | undefined;
  /** The model's name. Default: `SIGNALBOX_MODEL`, the one loaded, the first listed that is not an embedding model. */
  readonly model?: string | undefined;
  /** Default: the server's own environment variable, such as `OPENAI_API_KEY`. */
  readonly apiKey?: string | undefined;
  /** Headers for every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Replaces the HTTP client. `connectMs` then has no effect. */
  readonly fetch?: Fetch | undefined;
  /**
   * What sends the requests: the `openai` package, or (`'direct'`, Node only) a small client of Signalbox that takes less
   * CPU. Default `'openai'`.
   */
  readonly transport?: 'openai' | 'direct' | undefined;
  /**
   * Your own `OpenAI` or `AzureOpenAI` instance: its address, key, retries and time limits apply, and `connectMs` has no
   * effect. Instead of `preset`, `baseURL`, `apiKey`, `fetch` and `transport`.
   */
  readonly client?: OpenAIClient | undefined;
  /** Whether the model accepts images: those in tool results are then sent to it. Default false: it gets their type and size. */
  readonly images?: boolean | undefined;
  /** Whether the model takes files in a user's message: PDF, and audio as WAV or MP3. Default false. */
  readonly files?: boolean | undefined;
  /** How many tokens the model's context holds. Default: what its server reports, once it was asked. */
  readonly contextSize?: number | undefined;
  /** Added to every request unchanged: `top_p`, `reasoning_effort` … */
  readonly body?: JsonObject | undefined;
  /**
   * Whether the model gets its own reasoning back with its tool calls. Default: those that are known to need it do
   * (docs/models.md).
   */
  readonly sendReasoning?: boolean | undefined;
  /** Time limit for connecting, in milliseconds, where the run gives none. Default 30 000. */
  readonly connectMs?: number | undefined;
  /** The longest silence in milliseconds, where the run gives none. Default 120 000; 600 000 for the first reply of a local preset. */
  readonly responseMs?: number | undefined;
}

const checkNames = optionsOf<ChatModelOptions>('chatModel', 'docs/models.md', {
  preset: true,
  baseURL: true,
  model: true,
  apiKey: true,
  headers: true,
  fetch: true,
  transport: true,
  client: true,
  body: true,
  images: true,
  files: true,
  contextSize: true,
  sendReasoning: true,
  connectMs: true,
  responseMs: true,
});

/** Refuses options of `chatModel` that are not known or exclude each other. Throws an {@link OptionError}. */
export function checkModelOptions(options: ChatModelOptions): void {
  checkNames(options);
  const { transport, client, fetch, model } = options;
  if (model !== undefined) checkPlace('chatModel: the model must be its name', model);
  if (transport !== undefined && transport !== 'openai' && transport !== 'direct')
    throw wrong(`transport: '${String(transport)}' is unknown. It is 'openai' or 'direct'.`);
  if (transport === 'direct' && fetch !== undefined)
    throw wrong("transport: 'direct' has an HTTP client of its own. Leave out 'fetch' or 'transport'.");
  if (transport === 'direct' && !runsOnNode()) throw wrong("transport: 'direct' needs Node. Leave it out here.");
  if (client === undefined) return;
  const other = SETTLED_BY_CLIENT.find((name) => options[name] !== undefined);
  if (other !== undefined)
    throw wrong(`${other}: with 'client' there is no '${other}', the client has its own. Leave one of them out.`);
  if (typeof client?.post !== 'function' || typeof client.get !== 'function' || !URL.canParse(client.baseURL))
    throw wrong("client: it must be an instance of the openai package's OpenAI or AzureOpenAI.");
}

/** What a client of the caller's own settles. */
const SETTLED_BY_CLIENT = ['preset', 'baseURL', 'apiKey', 'fetch', 'transport'] as const;

function wrong(text: string): OptionError {
  return wrongOption(`chatModel: ${text} See docs/models.md.`);
}

/** Where requests go, settled. */
export interface Endpoint {
  readonly preset: Preset | undefined;
  readonly baseURL: string;
  readonly apiKey: string | undefined;
  /** The user and the password that its address held: they are sent where there is no key. */
  readonly user?: Pick<URL, 'username' | 'password'>;
  /** The environment variable that could hold the key, for error texts. */
  readonly keyVariable: string | undefined;
  /** The configured model; undefined: the server is asked. */
  readonly model: string | undefined;
  /** Where else a preset's server may listen, tried if no address was given. */
  readonly alternatives: readonly string[];
  /** The caller named an address and says that it is OpenAI's API, as behind a gateway. */
  readonly isOpenAI?: true;
  /** The caller's own client, through which everything that needs a key is sent. */
  readonly client?: OpenAIClient;
}

/** Where requests go; undefined where neither options nor environment say. A key of the environment goes only to its own server. */
export function settleEndpoint(
  options: ChatModelOptions,
  env: Environment = processEnvironment(),
): Endpoint | undefined {
  const fromEnvironment = readVariable(env, 'SIGNALBOX_MODEL');
  const named = fromEnvironment === undefined ? undefined : readModelName(fromEnvironment);
  const plainName = named === undefined ? fromEnvironment : undefined;

  if (options.client !== undefined) {
    const { client } = options;
    const endpoint = plainEndpoint(client.baseURL, 'client.baseURL', options, env, plainName ?? named?.model);
    return { ...endpoint, apiKey: client.apiKey ?? undefined, keyVariable: undefined, client };
  }
  if (options.preset !== undefined) {
    const preset = findPreset(options.preset);
    if (preset === undefined) throw wrong(`preset: '${options.preset}' is unknown. The presets are ${presetNames()}.`);
    const defaultModel = plainName ?? (named?.preset === preset ? named.model : undefined);
    return presetEndpoint(preset, options, env, defaultModel);
  }
  if (options.baseURL !== undefined)
    return plainEndpoint(options.baseURL, 'baseURL', options, env, plainName ?? named?.model);
  if (named !== undefined) return presetEndpoint(named.preset, options, env, named.model);
  if (readVariable(env, 'LEMONADE_BASE_URL') !== undefined)
    return presetEndpoint(PRESETS.lemonade, options, env, plainName);
  const openaiURL = readVariable(env, 'OPENAI_BASE_URL');
  return openaiURL === undefined ? undefined : plainEndpoint(openaiURL, 'OPENAI_BASE_URL', options, env, plainName);
}

function presetEndpoint(preset: Preset, options: ChatModelOptions, env: Environment, model?: string): Endpoint {
  const variable = options.baseURL === undefined ? preset.urlVariable : undefined;
  const given = options.baseURL ?? readVariable(env, variable);
  return {
    preset,
    ...(given === undefined ? { baseURL: preset.baseURL } : placeOf(given, variable ?? 'baseURL', preset)),
    apiKey: keyOf(options, env, preset.keyVariable),
    keyVariable: preset.keyVariable,
    model: options.model ?? model,
    alternatives: given === undefined ? preset.alsoAt : [],
    ...(preset === PRESETS.openai && options.baseURL !== undefined ? { isOpenAI: true } : {}),
  };
}

function plainEndpoint(
  url: string,
  source: string,
  options: ChatModelOptions,
  env: Environment,
  model: string | undefined,
): Endpoint {
  const { origin } = checkedURL(url, source);
  const preset = Object.values(PRESETS).find((known) => !known.local && new URL(known.baseURL).origin === origin);
  const openaiURL = readVariable(env, 'OPENAI_BASE_URL');
  const ownKey = openaiURL !== undefined && trimmed(openaiURL) === trimmed(url) ? 'OPENAI_API_KEY' : undefined;
  const keyVariable = preset?.keyVariable ?? ownKey;
  return {
    preset,
    ...placeOf(url, source, preset),
    apiKey: keyOf(options, env, keyVariable),
    keyVariable,
    model: options.model ?? model,
    alternatives: [],
  };
}

/** The key of the options, else of the environment; a blank one counts as not set. */
function keyOf({ apiKey }: ChatModelOptions, env: Environment, variable: string | undefined): string | undefined {
  return readVariable({ apiKey }, 'apiKey') ?? readVariable(env, variable);
}

function checkedURL(text: string, source: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw wrongOption(`${source}: '${text}' is not a server address. Write it like 'http://localhost:8080/v1'.`);
  return url;
}

/** An address without slashes at its end, and its user apart; a preset's address without a path gets the preset's own. */
function placeOf(text: string, source: string, preset: Preset | undefined): Pick<Endpoint, 'baseURL' | 'user'> {
  const url = checkedURL(text, source);
  const { username, password } = url;
  if (preset !== undefined && url.pathname === '/') url.pathname = new URL(preset.baseURL).pathname;
  else if (username + password === '') return { baseURL: trimmed(text) };
  url.username = '';
  url.password = '';
  return { baseURL: trimmed(url.href), ...(username + password === '' ? {} : { user: { username, password } }) };
}

/** The header for the user and the password of an address; undefined where it has none. */
export function basicOf({ username, password }: Pick<URL, 'username' | 'password'>): string | undefined {
  if (username + password === '') return undefined;
  // A percent sign that begins no code stands for itself.
  const pair = `${username}:${password}`.replaceAll(/%([0-9a-f]{2})/gi, (_code, byte: string) =>
    String.fromCharCode(Number.parseInt(byte, 16)),
  );
  return `Basic ${btoa(pair)}`;
}

/** What proves to an endpoint who asks: the key, else the user of its address. */
export function authorizationOf({ apiKey, user }: Endpoint): string | undefined {
  return apiKey === undefined ? user && basicOf(user) : `Bearer ${apiKey}`;
}

/** An address below that of the endpoint, whose query stays at the end. */
export function addressBelow(baseURL: string, path: string): string {
  const url = new URL(baseURL);
  url.pathname = url.pathname.replace(/\/*$/, path);
  return url.href;
}

function trimmed(url: string): string {
  return url.trim().replace(/\/+$/, '');
}

/** Which variable or option holds the key; never the key itself. */
export function howToSetKey({ keyVariable, client }: Endpoint): string {
  if (client !== undefined) return 'give the client another one';
  return keyVariable === undefined ? 'set the option apiKey' : `set ${keyVariable} or the option apiKey`;
}

/** An endpoint's address for error texts: without a user name, a password or a query. */
export function endpointText({ baseURL, preset }: Endpoint): string {
  const url = new URL(baseURL);
  const address = `${url.origin}${url.pathname}`;
  return preset === undefined ? address : `${preset.title} at ${address}`;
}

const secrets = new WeakMap<Model, () => readonly string[]>();

const SECRET_HEADER = /auth|key|token|secret|cookie|password/i;

/** What people write where a server needs no key: hidden, the word would be missing from what they say of that server. */
const PLACEHOLDER =
  /^(?:ollama|lm[-_ ]?studio|lemonade|llama[-_. ]?cpp|vllm|(?:sk-)?no[-_ ]?key(?:[-_ ]?(?:required|needed))?|not[-_ ]?(?:needed|required|used)|none|empty|dummy|unused|placeholder|local|.{0,3})$/i;

/** The key, unless it only fills the field for a server that needs none. */
export function secretKey(apiKey: string | undefined): string | undefined {
  return apiKey === undefined || PLACEHOLDER.test(apiKey) ? undefined : apiKey;
}

/** Registers a model's secrets: its key, the password of its address, and the headers that carry one. */
export function rememberSecrets(model: Model, endpoint: () => Endpoint | undefined, options: ChatModelOptions): void {
  const inHeaders = Object.entries(options.headers ?? {}).flatMap(([name, value]) =>
    SECRET_HEADER.test(name) ? parts(value).filter((text) => text !== '') : [],
  );
  secrets.set(model, () => {
    const { apiKey = options.apiKey, user } = endpoint() ?? {};
    const own = [apiKey, ...ofUser(user)].flatMap((text) => secretKey(text) ?? []);
    return [...new Set([...own, ...inHeaders])];
  });
}

function ofUser(user: Endpoint['user']): readonly string[] {
  if (user === undefined) return [];
  const [basic = '', pair = ''] = parts(basicOf(user) ?? '');
  const said = new TextDecoder().decode(Uint8Array.from(atob(pair), (byte) => byte.charCodeAt(0)));
  return [basic, pair, user.password, said.slice(said.indexOf(':') + 1)];
}

/** The secrets that a model made by `chatModel` holds; empty for every other model. They live outside of the object. */
export function secretsOf(model: Model): readonly string[] {
  return secrets.get(model)?.() ?? [];
}

/** `Bearer abc` is a secret whole and in its second word. */
function parts(value: string): readonly string[] {
  const [, token] = /^\w+\s+(\S+)$/.exec(value) ?? [];
  return token === undefined ? [value] : [value, token];
}
