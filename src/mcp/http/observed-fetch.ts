import { type PendingRequest, type PendingRequests, type WireMessage, badAnswer } from '../wire/pending-requests.ts';
import type { McpLimits } from '../config/server-limits.ts';
import { LinkFault } from '../wire/faults.ts';
import { type IsKnown, answerIn, beginning, createEventGuard, withBody } from './bodies.ts';
import { MOST_REDIRECTS, redirectWithin } from '../../actors/redirect.ts';
import { readRetryAfter } from '../../actors/retry-after.ts';
import { type JsonObject, isJsonObject, parsedText } from '../../json/json.ts';
import { readChallenge } from './challenge.ts';
import { secretValues } from '../config/environment-variables.ts';
import { isError } from '../../json/to-json.ts';

/** What an HTTP link learns of its traffic, beside the answers themselves. */
interface TrafficListener {
  readonly requests: PendingRequests;
  readonly limits: McpLimits;
  /** Requests are answered where they are posted; with the older transport, elsewhere. */
  readonly answersInPlace: boolean;
  /** The link was abandoned: no more requests. */
  readonly isOver: () => boolean;
  /** Bytes came in. */
  readonly onTraffic: () => void;
  /** The stream that carries the answer to a request has ended or broken. */
  readonly onStreamEnd: (requestId: unknown) => void;
  /** A stream for messages that the server starts has ended, or could not be opened, and why. */
  readonly onListenEnd: (fault: LinkFault) => void;
  /** A stream could not be resumed where it broke. `final`: there will be no further attempt. */
  readonly onResumeFailed: (resumeAt: string, final: boolean) => void;
}

/** Error codes of a connection that was never made: the request did not leave. */
const NEVER_SENT: ReadonlySet<unknown> = new Set(
  (
    'ECONNREFUSED ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH ENETDOWN EHOSTDOWN EADDRNOTAVAIL UND_ERR_CONNECT_TIMEOUT ' +
    'CERT_HAS_EXPIRED DEPTH_ZERO_SELF_SIGNED_CERT ERR_TLS_CERT_ALTNAME_INVALID ERR_ACCESS_DENIED'
  ).split(' '),
);

/**
 * A `fetch` that throws {@link LinkFault}s, which say what went wrong and whether the server may have received the request, and
 * that reports when a stream ends: the SDK keeps a request waiting whose stream has died. No body is read beyond the limits.
 */
export function observedFetch(listener: TrafficListener, inner: typeof fetch = fetch): typeof fetch {
  const { requests, limits, answersInPlace } = listener;
  /** Requests whose stream exceeded the limits: it is not resumed. */
  const abandoned = new Set<PendingRequest>();

  const onTooMuch = (pending: PendingRequest | null, fault: LinkFault): void => {
    if (pending === null) return listener.onListenEnd(fault);
    abandoned.add(pending);
    pending.lose(fault);
  };
  const isRefused = (message: WireMessage): boolean => requests.refused(message);
  const watched = (
    response: Response,
    pending: PendingRequest | null,
    onEnd: () => void,
    isKnown?: IsKnown,
  ): Response => {
    if (response.body === null) return response;
    const body = watch(response.body, {
      guard: createEventGuard(limits, isRefused, isKnown),
      onTraffic: listener.onTraffic,
      onEnd: (fault) => (fault === null ? onEnd() : onTooMuch(pending, fault)),
    });
    return withBody(response, body);
  };
  const onListenEnd = (): void =>
    listener.onListenEnd(new LinkFault('unreachable', 'the stream of its messages ended', { delivered: true }));
  const get = (response: Response, pending: PendingRequest | null): Response =>
    watched(response, pending, onListenEnd, pending === null ? undefined : repeatedIn(requests));
  const post = async (response: Response, init: RequestInit | undefined): Promise<Response> => {
    const requestId = requestIn(init?.body);
    if (isEventStream(response))
      return watched(response, requests.find(requestId), () => listener.onStreamEnd(requestId));
    refuseForeignAnswer(response);
    if (requestId === undefined || !answersInPlace) return response;
    const wanted = (): boolean => requests.wants(requestId);
    const text = await answerIn(response, { requestId, limits, wanted, onTraffic: listener.onTraffic });
    return withBody(response, text, 'application/json');
  };

  return async (url, init) => {
    const method = init?.method ?? 'GET';
    // "No such stream" is the one answer after which the SDK does not try again.
    if (method === 'GET' && listener.isOver()) return new Response(null, { status: 405 });
    const resumeAt = new Headers(init?.headers).get('last-event-id');
    const given = [...abandoned].find((pending) => resumeAt !== null && pending.resumeAt === resumeAt);
    if (given !== undefined) {
      abandoned.delete(given);
      return new Response(null, { status: 405 });
    }
    const resumed = requests.open().find((pending) => resumeAt !== null && pending.resumeAt === resumeAt) ?? null;
    const onGetFailed = (fault: LinkFault, final: boolean): void =>
      resumeAt === null ? listener.onListenEnd(fault) : listener.onResumeFailed(resumeAt, final);
    const response = await inner(url, init).catch((cause: unknown) => {
      const fault = unreachable(url instanceof Request ? url.url : url, cause);
      if (method === 'GET') onGetFailed(fault, false);
      throw fault;
    });
    listener.onTraffic();
    if (method === 'POST' && response.status >= 400) {
      const fault = await statusFault(response, init);
      const refusal = refusalIn(fault, init);
      if (refusal === null) throw fault;
      return Response.json(refusal);
    }
    if (method === 'POST' && response.status >= 300)
      refuseRedirect(response, new URL(url instanceof Request ? url.url : url), followed(init));
    if (method === 'GET' && response.status >= 400) {
      const offersNoStream = response.status === 405;
      if (!offersNoStream || resumeAt !== null) onGetFailed(await statusFault(response, init), offersNoStream);
    }
    if (!response.ok) {
      // The SDK wants its status and headers, and would read a body to its end.
      if (!response.bodyUsed) void response.body?.cancel().catch(() => undefined);
      return withBody(response, null);
    }
    if (method === 'POST') return post(response, init);
    return method === 'GET' && isEventStream(response) ? get(response, resumed) : response;
  };
}

/** Some servers repeat all that they have sent since; the SDK would take any answer for the end of a stream. */
function repeatedIn(requests: PendingRequests): IsKnown {
  return ({ method, id }) => method === undefined && !requests.wants(id);
}

/** How often a request was redirected: the SDK follows with the same headers, which each request has of its own. */
const redirects = new WeakMap<object, number>();

function followed(init: RequestInit | undefined): number {
  const headers = init?.headers ?? {};
  const before = redirects.get(headers) ?? 0;
  redirects.set(headers, before + 1);
  return before;
}

/** What leads elsewhere or in a circle, or would lose the request; the SDK follows the others. */
function refuseRedirect(response: Response, from: URL, before: number): void {
  const { status, headers } = response;
  const location = headers.get('location');
  const isWithin = redirectWithin(from, status, location) !== null;
  if (location === null || (isWithin && before < MOST_REDIRECTS)) return;
  void response.body?.cancel();
  if (isWithin) {
    const message = `it redirected a request ${before + 1} times, the last time from ${from.origin}${from.pathname} (HTTP ${status})`;
    throw new LinkFault('protocol', message, { delivered: false, data: { status } });
  }
  const to = URL.canParse(location, from.href) ? new URL(location, from) : null;
  const where = to === null ? 'nowhere' : `to ${to.origin}${to.pathname}`;
  throw new LinkFault(
    'protocol',
    `it redirects ${where} (HTTP ${status}), which is not followed: if that is the server, make it the url`,
    { delivered: false, data: { status } },
  );
}

/** A web page instead of an answer: the URL is not that of an MCP server. */
function refuseForeignAnswer(response: Response): void {
  const type = response.headers.get('content-type') ?? '';
  if (!type.toLowerCase().startsWith('text/html')) return;
  void response.body?.cancel();
  throw new LinkFault('protocol', `it answered with ${type}, so its address is not that of an MCP server`, {
    delivered: false,
  });
}

function unreachable(url: string | URL, cause: unknown): LinkFault {
  const aborted = isError(cause) && cause.name === 'AbortError';
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
  for (let at = error, depth = 0; isError(at) && depth < 5; depth += 1) {
    if ('code' in at && typeof at.code === 'string') return at.code;
    words = at.message;
    at = at.cause ?? (at instanceof AggregateError ? at.errors[0] : undefined);
  }
  return words;
}

async function statusFault(response: Response, init: RequestInit | undefined): Promise<LinkFault> {
  const { status, headers } = response;
  const hide = hiding(init);
  const asked = hide(headers.get('www-authenticate') ?? '').slice(0, CHALLENGE_CHARS);
  const challenge = readChallenge(headers);
  const retryAfterMs = status === 429 || status === 503 ? readRetryAfter(headers, Date.now()) : undefined;
  const body = hide(await beginning(response));
  const answer = parsedText(body) ?? null;
  const { message } = isJsonObject(answer) && isJsonObject(answer.error) ? answer.error : {};
  const data = {
    status,
    body,
    // Its reason, where it answered as an MCP server does.
    ...(typeof message === 'string' ? { answer } : {}),
    ...(asked === '' ? {} : { wwwAuthenticate: asked }),
    // For what can get a token.
    ...(challenge === null ? {} : { challenge: { ...challenge } }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
  const inSession = new Headers(init?.headers).has('mcp-session-id');
  const later = retryAfterMs === undefined ? '' : `, again in ${Math.ceil(retryAfterMs / 1000)} s`;
  const said = `HTTP ${status}${later}${asked === '' ? '' : `, ${asked}`}`;
  if (status === 401 || status === 403) {
    const what = status === 401 ? 'it asks for authorization' : 'it does not allow this';
    return new LinkFault('auth', `${what} (${said})`, { delivered: false, data });
  }
  if (status === 404 && inSession)
    return new LinkFault('session', 'it does not know our session any more (HTTP 404)', { delivered: false, data });
  // A refusal with 4xx comes before the work; a 5xx may come out of the middle of it, also the 503 of a gateway that has
  // lost the server, or waits no longer.
  const reason = typeof message === 'string' ? `: ${message.slice(0, CHALLENGE_CHARS)}` : '';
  return new LinkFault('refused', `it answered with ${said}${reason}`, {
    delivered: status >= 500,
    data,
  });
}

/** The error with which a server without sessions answers a request; its HTTP status only repeats that it is one. */
function refusalIn({ kind, data: { answer, status } }: LinkFault, init: RequestInit | undefined): JsonObject | null {
  const isStateless = new Headers(init?.headers).has('mcp-method') && (status === 400 || status === 404);
  if (kind !== 'refused' || !isStateless || !isJsonObject(answer)) return null;
  return answer.id === requestIn(init?.body) && badAnswer(answer) === null ? answer : null;
}

const CHALLENGE_CHARS = 300;

/** Leaves out of a text of the server what our own headers hold: some servers repeat the token that they refuse. */
function hiding(init: RequestInit | undefined): (text: string) => string {
  const sent = Object.fromEntries(new Headers(init?.headers));
  const [, basic = ''] = /^Basic\s+(\S+)$/i.exec(sent.authorization ?? '') ?? [];
  const password = Buffer.from(basic, 'base64').toString().split(':').slice(1).join(':');
  const secrets = [...secretValues(sent), password].filter((secret) => secret.length >= 4);
  return (text) => secrets.reduce((left, secret) => left.replaceAll(secret, '***'), text);
}

/** The id of the request in a body; undefined for a notification or an answer of ours. */
function requestIn(body: unknown): unknown {
  if (typeof body !== 'string') return undefined;
  const message: unknown = JSON.parse(body);
  return isJsonObject(message) && message.method !== undefined ? message.id : undefined;
}

function isEventStream(response: Response): boolean {
  return response.headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') === true;
}

function watch(
  body: ReadableStream<Uint8Array>,
  {
    guard,
    onTraffic,
    onEnd,
  }: {
    readonly guard: (chunk: Uint8Array) => string;
    readonly onTraffic: () => void;
    /** With the fault of a stream that is not read any further. */
    readonly onEnd: (fault: LinkFault | null) => void;
  },
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) {
            controller.close();
            return onEnd(null);
          }
          onTraffic();
          const events = guard(value);
          if (events === '') continue;
          return controller.enqueue(encoder.encode(events));
        }
      } catch (error) {
        const fault = error instanceof LinkFault ? error : null;
        if (fault !== null) void reader.cancel().catch(() => undefined);
        controller.error(error);
        onEnd(fault);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
