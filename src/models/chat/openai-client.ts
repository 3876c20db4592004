import { parsedText } from '../../json/json.ts';
import type { OpenAI } from 'openai/client';
import type { ClientRequestOptions, Fetch, OpenAIClient } from '../endpoint/endpoint.ts';
import { isOpenAIHost } from '../endpoint/presets.ts';
import { processEnvironment, readVariable } from '../endpoint/environment.ts';
import { readBeside, readBody, type BodyReading } from '../http/fetch.ts';
import type { RefusedRequest, ResponseHeaders } from './failure.ts';
import type { ChatClient, ResponseListener } from './send-request.ts';

/** What a client needs to know of an endpoint. */
export interface ClientSettings {
  readonly baseURL: string;
  readonly apiKey: string | undefined;
  readonly authorization: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

const NO_TIMEOUT_MS = 2_147_483_647;

/**
 * Makes a client on the `openai` package, which is loaded by the first request that needs it and is known to this file
 * alone. It retries nothing and logs nothing: both are decided elsewhere.
 */
export async function openPackageClient(
  settings: ClientSettings,
  given: Fetch | undefined,
  own: () => Promise<Fetch>,
): Promise<ChatClient> {
  const [packaged, fetch] = await Promise.all([import('openai/client'), given ?? own()]);
  const isOpenAI = isOpenAIHost(settings.baseURL);
  // A caller's own `fetch` gets headers that it may change.
  const Client = given === undefined ? preparedOnce(packaged.OpenAI, withWholeErrors(fetch)) : packaged.OpenAI;
  const client = new Client({
    baseURL: settings.baseURL,
    // The package insists on a key; without one the header is taken out below.
    apiKey: settings.apiKey ?? 'none',
    // What the package would read from the environment belongs to OpenAI's own servers.
    adminAPIKey: null,
    ...(isOpenAI ? {} : { organization: null, project: null }),
    defaultHeaders: {
      ...(isOpenAI ? {} : withoutForeignHeaders()),
      ...(isOpenAI && settings.apiKey !== undefined ? {} : { authorization: settings.authorization ?? null }),
      'x-stainless-timeout': null,
      ...settings.headers,
    },
    fetch: withWholeErrors(fetch),
    maxRetries: 0,
    timeout: NO_TIMEOUT_MS,
    logLevel: 'off',
    // Whether a key may live in a browser is the embedding program's decision: it passed the key.
    dangerouslyAllowBrowser: true,
  });
  const headers = { 'content-type': 'application/json' };
  return {
    isOpenAI,
    send: (body, listener) => post(client, { body, headers }, listener),
  };
}

type Built = Awaited<ReturnType<OpenAI['buildRequest']>>;

/** The package's client, for requests that differ in body and signal alone: it puts address and headers together once. */
function preparedOnce(Package: typeof OpenAI, fetch: Fetch): typeof OpenAI {
  return class extends Package {
    #built: Built | undefined;

    override async buildRequest(...asked: Parameters<OpenAI['buildRequest']>): Promise<Built> {
      const [{ body, signal = null }] = asked;
      if (this.#built === undefined) {
        const { req, ...built } = await super.buildRequest(...asked);
        this.#built = { ...built, req: { method: req.method ?? 'post', headers: req.headers } };
      }
      const { req, ...built } = this.#built;
      return { ...built, req: { ...req, signal, body: typeof body === 'string' ? body : null } };
    }

    /** Timeouts are handled elsewhere, and the caller has a single signal. */
    override fetchWithTimeout(...[url, { method, ...init } = {}]: Parameters<OpenAI['fetchWithTimeout']>) {
      return fetch(url, { ...init, method: method?.toUpperCase() ?? 'POST' });
    }
  };
}

/** Makes a client on the caller's own instance, whose settings apply. */
export function openOwnClient(client: OpenAIClient, headers: Readonly<Record<string, string>>): ChatClient {
  return {
    isOpenAI: isOpenAIHost(client.baseURL),
    send(text, listener) {
      // Azure's class finds the deployment in the body, and takes no text.
      const body: unknown = JSON.parse(text);
      return post(client, { body, headers }, listener);
    },
  };
}

/** A `fetch` for the list of models, through the client: with its key and its headers. */
export function fetchList(client: OpenAIClient): Fetch {
  return async (_url, init = {}) => {
    const headers = Object.fromEntries(new Headers(init.headers));
    const signal = init.signal ?? new AbortController().signal;
    try {
      return await client.get('/models', { headers, signal }).asResponse();
    } catch (error) {
      const refused = refusalIn(error);
      if (refused === undefined) throw reasonOf(error);
      return Response.json(refused.body, { status: refused.status });
    }
  };
}

function post(
  client: Pick<OpenAIClient, 'post'>,
  request: { readonly body: unknown; readonly headers: Readonly<Record<string, string>> },
  listener: ResponseListener,
): (reason: unknown) => void {
  const controller = new AbortController();
  const { signal } = controller;
  let reading: BodyReading | undefined;
  const read = async () => {
    const response = await answerOf(client, { ...request, signal }, listener);
    if (response === undefined) return;
    listener.onHead(response.status, response.headers);
    reading = readBody(response, (text) => listener.onText(text));
    if (signal.aborted) reading.stop();
    await reading.ended;
    listener.onEnd();
  };
  read().catch((error: unknown) => listener.onFailure(error));
  return (reason) => {
    controller.abort(reason);
    reading?.stop();
  };
}

/** The response to read; undefined when the listener has received why there is none. */
async function answerOf(
  client: Pick<OpenAIClient, 'post'>,
  request: ClientRequestOptions,
  listener: ResponseListener,
): Promise<Response | undefined> {
  try {
    return await client.post('/chat/completions', request).asResponse();
  } catch (error) {
    const refused = refusalIn(error);
    if (refused === undefined) listener.onFailure(reasonOf(error));
    else listener.onRefused(refused);
    return undefined;
  }
}

/**
 * The error response in an error of the package. It is known by its fields, not by its class: the caller's client may
 * come from another copy of the package.
 */
function refusalIn(error: unknown): RefusedRequest | undefined {
  if (!(error instanceof Error) || !('status' in error) || typeof error.status !== 'number') return undefined;
  const headers = 'headers' in error && hasHeaders(error.headers) ? error.headers : undefined;
  const body: unknown = 'error' in error ? error.error : undefined;
  return { kind: 'refused', status: error.status, headers, body: body ?? plainText(error.status, error.message) };
}

function hasHeaders(value: unknown): value is ResponseHeaders {
  return typeof value === 'object' && value !== null && 'get' in value && typeof value.get === 'function';
}

/** A body that is not JSON reaches us inside of the package's message, behind the status. */
function plainText(status: number, message: string): string {
  const text = message.slice(`${String(status)} `.length);
  return text === 'status code (no body)' ? '' : text;
}

/** Why the package got no response: its own errors wrap the cause. */
function reasonOf(error: unknown): unknown {
  return error instanceof Error && 'status' in error && error.cause !== undefined ? error.cause : error;
}

/** The package keeps only the member `error` of an error body; other forms are wrapped into one. */
function withWholeErrors(fetch: Fetch): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.ok || response.status < 300 || response.status === 304) return response;
    const { status, headers } = response;
    let text = '';
    // An error keeps its status where its body breaks off, too.
    await readBeside(response, (piece) => (text += piece)).catch(() => undefined);
    return new Response(JSON.stringify({ error: parsedText(text) ?? text }), { status, headers });
  };
}

/** The package adds the headers of `OPENAI_CUSTOM_HEADERS` to every client; they are meant for OpenAI's own servers. */
function withoutForeignHeaders(): Record<string, null> {
  return Object.fromEntries(Object.keys(customHeaders()).map((name) => [name, null]));
}

/** The headers of `OPENAI_CUSTOM_HEADERS`, a line each. */
export function customHeaders(): Record<string, string> {
  const lines = readVariable(processEnvironment(), 'OPENAI_CUSTOM_HEADERS')?.split('\n') ?? [];
  const pairs = lines.map((line) => ({ line, colon: line.indexOf(':') })).filter(({ colon }) => colon >= 0);
  return Object.fromEntries(
    pairs.map(({ line, colon }) => [line.slice(0, colon).trim(), line.slice(colon + 1).trim()]),
  );
}
