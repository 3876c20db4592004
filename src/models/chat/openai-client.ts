import type { Fetch } from '../endpoint/endpoint.ts';
import { processEnvironment, readVariable } from '../endpoint/environment.ts';

/** What the client needs to know of an endpoint. */
export interface ClientSettings {
  readonly baseURL: string;
  readonly apiKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: Fetch;
}

/** What came back of a request. Only `replied` has a body that is still to be read. */
export type Answer =
  | { readonly kind: 'replied'; readonly response: Response }
  | { readonly kind: 'refused'; readonly status: number; readonly headers: Headers | undefined; readonly body: unknown }
  | { readonly kind: 'unreachable'; readonly cause: unknown };

/** Sends Chat Completions requests. */
export interface ChatClient {
  /** True for OpenAI's own servers, which have names of their own for some fields. */
  readonly isOpenAI: boolean;
  /** Never rejects. */
  send(body: string, signal: AbortSignal): Promise<Answer>;
}

const NO_TIMEOUT_MS = 2_147_483_647;

/**
 * Makes a client on the `openai` package, which is loaded by the first request that needs it and is known to this file
 * alone. It retries nothing and logs nothing: both are decided elsewhere.
 */
export async function openClient(settings: ClientSettings): Promise<ChatClient> {
  const { OpenAI, APIError } = await loadPackage();
  const isOpenAI = new URL(settings.baseURL).hostname === 'api.openai.com';
  const client = new OpenAI({
    baseURL: settings.baseURL,
    // The package insists on a key; without one the header is taken out below.
    apiKey: settings.apiKey ?? 'none',
    // What the package would read from the environment belongs to OpenAI's own servers.
    adminAPIKey: null,
    ...(isOpenAI ? {} : { organization: null, project: null }),
    defaultHeaders: {
      ...(isOpenAI ? {} : withoutForeignHeaders()),
      ...(settings.apiKey === undefined ? { authorization: null } : {}),
      'x-stainless-timeout': null,
      ...settings.headers,
    },
    fetch: settings.fetch,
    maxRetries: 0,
    timeout: NO_TIMEOUT_MS,
    logLevel: 'off',
    // Whether a key may live in a browser is the embedding program's decision: it passed the key.
    dangerouslyAllowBrowser: true,
  });
  const headers = { 'content-type': 'application/json' };
  return {
    isOpenAI,
    async send(body, signal) {
      try {
        const response = await client.post('/chat/completions', { body, headers, signal }).asResponse();
        return { kind: 'replied', response };
      } catch (error) {
        if (error instanceof APIError && typeof error.status === 'number') {
          const said: unknown = error.error ?? plainText(error.status, error.message);
          return { kind: 'refused', status: error.status, headers: error.headers, body: said };
        }
        return { kind: 'unreachable', cause: error instanceof APIError ? (error.cause ?? error) : error };
      }
    },
  };
}

/** A body that is no JSON reaches us inside of the package's message, behind the status. */
function plainText(status: number, message: string): string {
  const text = message.slice(`${String(status)} `.length);
  return text === 'status code (no body)' ? '' : text;
}

/** The package adds the headers of `OPENAI_CUSTOM_HEADERS` to every client; they are meant for OpenAI's own servers. */
function withoutForeignHeaders(): Record<string, null> {
  const lines = readVariable(processEnvironment(), 'OPENAI_CUSTOM_HEADERS')?.split('\n') ?? [];
  const names = lines.filter((line) => line.includes(':')).map((line) => line.slice(0, line.indexOf(':')).trim());
  return Object.fromEntries(names.map((name) => [name, null]));
}

async function loadPackage() {
  const [{ OpenAI }, { APIError }] = await Promise.all([import('openai/client'), import('openai/core/error')]);
  return { OpenAI, APIError };
}
