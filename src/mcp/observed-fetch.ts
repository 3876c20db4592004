import type { JsonObject } from '../parsing/json.ts';
import { readChallenge } from './auth/challenge.ts';
import { LinkFault } from './link.ts';

/** What an HTTP link learns of its traffic, beside the answers themselves. */
export interface TrafficListener {
  /** The link has been given up: nothing is asked any more. */
  readonly isOver: () => boolean;
  /** Bytes came in. */
  readonly onTraffic: () => void;
  /** The stream that carries the answer to a request has ended or broken. */
  readonly onStreamEnd: (requestId: unknown) => void;
  /** A stream for messages that the server starts has ended, or could not be opened, and why. */
  readonly onListenEnd: (fault: LinkFault) => void;
  /** A stream could not be taken up again where it broke. `final`: it will not be tried once more. */
  readonly onResumeFailed: (resumeAt: string, final: boolean) => void;
}

/** Error codes of a connection that was never made: the request did not leave. */
const NEVER_SENT: ReadonlySet<unknown> = new Set(
  (
    'ECONNREFUSED ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH ENETDOWN EHOSTDOWN EADDRNOTAVAIL UND_ERR_CONNECT_TIMEOUT ' +
    'CERT_HAS_EXPIRED DEPTH_ZERO_SELF_SIGNED_CERT ERR_TLS_CERT_ALTNAME_INVALID'
  ).split(' '),
);

const BODY_CHARS = 2000;

/**
 * A `fetch` that says in {@link LinkFault}s what went wrong and whether the server can have got the request, and that
 * tells when a stream ends: the SDK keeps a request waiting whose stream has died.
 */
export function observedFetch(listener: TrafficListener, inner: typeof fetch = fetch): typeof fetch {
  return async (url, init) => {
    const method = init?.method ?? 'GET';
    // "No such stream" is the one answer after which the SDK does not try again.
    if (method === 'GET' && listener.isOver()) return new Response(null, { status: 405 });
    const resumeAt = new Headers(init?.headers).get('last-event-id');
    const onGetFailed = (fault: LinkFault, final: boolean): void =>
      resumeAt === null ? listener.onListenEnd(fault) : listener.onResumeFailed(resumeAt, final);
    const response = await inner(url, init).catch((cause: unknown) => {
      const fault = unreachable(url instanceof Request ? url.url : url, cause);
      if (method === 'GET') onGetFailed(fault, false);
      throw fault;
    });
    listener.onTraffic();
    if (method === 'POST' && response.status >= 400) throw await statusFault(response, init);
    if (method === 'GET' && response.status >= 400) {
      const offersNoStream = response.status === 405;
      if (!offersNoStream || resumeAt !== null) onGetFailed(await statusFault(response.clone(), init), offersNoStream);
    }
    if (!response.ok || response.body === null) return response;
    if (!isEventStream(response)) {
      if (method === 'POST') refuseForeignAnswer(response);
      return response;
    }
    const requestId = method === 'POST' ? idOf(init?.body) : undefined;
    const body = watch(response.body, listener.onTraffic, () => {
      if (method === 'POST') listener.onStreamEnd(requestId);
      else listener.onListenEnd(new LinkFault('unreachable', 'the stream of its messages ended', { delivered: true }));
    });
    return new Response(body, { status: response.status, statusText: response.statusText, headers: response.headers });
  };
}

/** A web page in place of an answer: the address is not that of an MCP server. */
function refuseForeignAnswer(response: Response): void {
  const type = response.headers.get('content-type') ?? '';
  if (!type.toLowerCase().startsWith('text/html')) return;
  void response.body?.cancel();
  throw new LinkFault('protocol', `it answered with ${type}, so its address is not that of an MCP server`, {
    delivered: false,
  });
}

function unreachable(url: string | URL, cause: unknown): LinkFault {
  const aborted = cause instanceof Error && cause.name === 'AbortError';
  const code = codeOf(cause);
  const { origin } = new URL(url);
  if (aborted) return new LinkFault('aborted', 'the request was given up', { delivered: true, cause });
  const message = NEVER_SENT.has(code)
    ? `${origin} cannot be reached (${code})`
    : `the connection to ${origin} broke (${code})`;
  return new LinkFault('unreachable', message, { delivered: !NEVER_SENT.has(code), data: { errno: code }, cause });
}

/**
 * The code of a network error. Node hides it in `cause`, and in a list of errors when it tried several addresses. An error
 * without one, as for a port that no browser would ask, gives its innermost words.
 */
function codeOf(error: unknown): string {
  let words = 'no code';
  for (let at = error, depth = 0; at instanceof Error && depth < 5; depth += 1) {
    if ('code' in at && typeof at.code === 'string') return at.code;
    words = at.message;
    at = at.cause ?? (at instanceof AggregateError ? at.errors[0] : undefined);
  }
  return words;
}

async function statusFault(response: Response, init: RequestInit | undefined): Promise<LinkFault> {
  const { status } = response;
  const text = (await response.text().catch(() => '')).slice(0, BODY_CHARS);
  const inSession = new Headers(init?.headers).has('mcp-session-id');
  const data = { status, body: text, ...challengeData(response) };
  if (status === 403 && data.scopes !== undefined) {
    const message = `it wants a token with more scopes (${data.scopes.join(', ')})`;
    return new LinkFault('scope', message, { delivered: false, data });
  }
  if (status === 401 || status === 403) {
    return new LinkFault('auth', `it asks for authorization (HTTP ${status})`, { delivered: false, data });
  }
  if (status === 404 && inSession) {
    return new LinkFault('session', 'it does not know our session any more (HTTP 404)', { delivered: false, data });
  }
  // A refusal with 4xx comes before the work; a 5xx may come out of the middle of it.
  return new LinkFault('refused', `it answered with HTTP ${status}`, {
    delivered: status >= 500 && status !== 503,
    data,
  });
}

/** What the server wants, for who can get a token; `scopes` where it misses some of them. */
function challengeData({ headers }: Response): {
  readonly challenge?: JsonObject;
  readonly scopes?: readonly string[];
} {
  const challenge = readChallenge(headers);
  if (challenge === null) return {};
  const { error, scopes } = challenge;
  return { challenge: { ...challenge }, ...(error === 'insufficient_scope' && scopes.length > 0 ? { scopes } : {}) };
}

function idOf(body: unknown): unknown {
  if (typeof body !== 'string') return undefined;
  const message: unknown = JSON.parse(body);
  return typeof message === 'object' && message !== null && 'id' in message ? message.id : undefined;
}

function isEventStream(response: Response): boolean {
  return response.headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') === true;
}

function watch(body: ReadableStream<Uint8Array>, onTraffic: () => void, onEnd: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          controller.close();
          onEnd();
          return;
        }
        onTraffic();
        controller.enqueue(value);
      } catch (error) {
        controller.error(error);
        onEnd();
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
