/**
 * Owns: all use of the MCP SDK's client; its functions for OAuth are used in auth/. Does not own: when to connect or retry.
 *
 * I1 A link is one client on one transport, used once.
 * I2 Every request ends with an answer or a {@link LinkFault}; no code or text of the SDK's errors decides which.
 * I3 `onDown` is called once, and never after `close`.
 */
import {
  Client,
  type ClientCapabilities,
  SSEClientTransport,
  SUPPORTED_PROTOCOL_VERSIONS,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { z } from 'zod';
import type { Dial, LinkIo, McpLink, McpList, McpServerInfo } from '../wire/link.ts';
import { openStdioWire } from '../stdio/stdio-wire.ts';
import {
  PendingRequests,
  type Wire,
  faultOf,
  isRefusal,
  notOurProtocol,
  withEvidence,
} from '../wire/pending-requests.ts';
import { type JsonObject, isJsonObject } from '../../json/json.ts';
import type { McpTarget } from '../config/config.ts';
import { createHttpWatch } from '../http/http-watch.ts';
import { LinkFault, pastLimit } from '../wire/faults.ts';
import { answerRequest } from './answer-request.ts';
import { type Ask, listAllTools } from './list-tools.ts';
import { NAME_CHARS, cutText } from '../config/server-limits.ts';

/** Connects to a server with the official SDK: stdio, Streamable HTTP, or SSE if the server supports only that. */
export const dialWithSdk: Dial = async (server, target, io) => {
  if (target.kind === 'stdio') return linkOver(server, openStdioWire(target, io), io);
  if (target.transport === 'sse') return dialHttp(server, target, io, 'sse');
  try {
    return await dialHttp(server, target, io, 'streamable');
  } catch (fault) {
    if (target.transport !== 'auto' || !isRefusal(fault)) throw fault;
    // The specification's own test for an older server: it refuses the POST with 4xx.
    return dialHttp(server, target, io, 'sse').catch(() => Promise.reject(fault));
  }
};

const ANSWER = z.custom<JsonObject>(isJsonObject);
/** The SDK insists on its own timer; ours decide. */
const NO_TIMEOUT = 2 ** 31 - 1;
const GOODBYE_MS = 1000;
const LISTS: ReadonlyMap<string, McpList> = new Map([
  ['notifications/tools/list_changed', 'tools'],
  ['notifications/resources/list_changed', 'resources'],
  ['notifications/prompts/list_changed', 'prompts'],
]);

async function dialHttp(
  server: string,
  target: McpTarget & { readonly kind: 'http' },
  io: LinkIo,
  kind: 'streamable' | 'sse',
): Promise<McpLink> {
  const requests = new PendingRequests(io.clock);
  const watch = createHttpWatch({
    requests,
    io,
    listening: kind === 'sse' ? 'vital' : 'extra',
    ping: (signal) => link?.ping({ signal }) ?? Promise.resolve(),
  });
  const authorized = io.authorize?.(watch.fetch) ?? watch.fetch;
  const options = { requestInit: { headers: { ...target.headers } }, fetch: authorized };
  const waits = new Set<ReturnType<typeof setTimeout>>();
  const inner = await makeHttpTransport(kind, new URL(target.url), { ...options, waits });
  let dead: LinkFault | null = null;
  const transport: Transport = {
    start: () => {
      inner.onmessage = (message) => {
        if (!requests.received({ ...message })) transport.onmessage?.(message);
      };
      inner.onerror = (error) => transport.onerror?.(error);
      return inner.start();
    },
    send: (message, sendOptions) => {
      const pending = requests.sent({ ...message });
      watch.requestSent();
      return inner.send(message, sendOptions).catch((error: unknown) => {
        if (pending !== null && error instanceof LinkFault) pending.delivered = error.delivered;
        throw error;
      });
    },
    close: () => inner.close(),
    get sessionId() {
      return inner instanceof StreamableHTTPClientTransport ? inner.sessionId : undefined;
    },
    setProtocolVersion: (version) => inner.setProtocolVersion?.(version),
  };
  let link: McpLink | null = null;
  const end = async (how: 'gently' | 'at-once'): Promise<void> => {
    dead ??= new LinkFault('aborted', 'the connection was closed', { delivered: true });
    watch.stop();
    if (how === 'gently' && inner instanceof StreamableHTTPClientTransport) await sayGoodbye(inner, io);
    await inner.close();
    for (const wait of waits) clearTimeout(wait);
  };
  link = await linkOver(
    server,
    { transport, kind, requests, dead: () => dead ?? watch.dead(), evidence: () => ({}), end },
    io,
  );
  return link;
}

async function makeHttpTransport(
  kind: 'streamable' | 'sse',
  url: URL,
  { waits, ...options }: HttpOptions,
): Promise<Transport> {
  if (kind === 'sse') return new SSEClientTransport(url, options);
  return new StreamableHTTPClientTransport(url, {
    ...options,
    reconnectionScheduler: (reconnect, ms) => {
      const wait = setTimeout(() => {
        waits.delete(wait);
        reconnect();
      }, ms);
      waits.add(wait);
    },
  });
}

interface HttpOptions {
  readonly requestInit: RequestInit;
  readonly fetch: typeof fetch;
  /** Gets the waits of streams that are to be opened again: the SDK ends only the latest of them when it is closed. */
  readonly waits: Set<ReturnType<typeof setTimeout>>;
}

/** Notifies the server that the session is over; a server that does not answer is not waited for. */
async function sayGoodbye(transport: StreamableHTTPClientTransport, io: LinkIo): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = io.clock.setTimeout(resolve, GOODBYE_MS);
  await Promise.race([transport.terminateSession().catch(() => undefined), late]);
  io.clock.clearTimeout(timer);
}

/** Does the handshake over a wire and makes a link from it. On failure nothing that was started is left. */
export async function linkOver(server: string, wire: Wire<Transport>, io: LinkIo): Promise<McpLink> {
  const client = new Client({ name: 'signalbox', version: '0.1.0' }, { capabilities: capabilitiesOf(io) });
  client.fallbackRequestHandler = async ({ method, params }, { mcpReq: { signal } }) => {
    const { answers, onWarning } = io;
    const given: unknown = params ?? {};
    return answerRequest({ method, params: isJsonObject(given) ? given : {} }, { server, answers, signal, onWarning });
  };
  let closed = false;
  client.onerror = (error) => {
    if (!closed && !(error instanceof LinkFault))
      io.onWarning({ kind: 'unexpected', message: error.message.slice(0, 500) });
  };
  client.fallbackNotificationHandler = (notification) => {
    const { method, params } = notification;
    const list = LISTS.get(method);
    if (list === undefined) io.onNotification(method, isJsonObject(params) ? params : {});
    else io.onListChanged(list);
    return Promise.resolve();
  };
  const ask = asker(client, wire);
  try {
    await handshake(client, wire, io.signal);
  } catch (error) {
    await wire.end('at-once');
    // The SDK drops its request, whose timer would keep the process alive.
    wire.transport.onclose?.();
    throw error instanceof LinkFault ? withEvidence(error, wire.evidence()) : error;
  }
  const info = infoOf(server, client, { wire, io });
  return {
    info,
    listTools: (request) =>
      info.capabilities.tools === undefined ? Promise.resolve([]) : listAllTools(ask, request, io),
    callTool: (tool, args, { task, ...request }) =>
      ask('tools/call', { name: tool, arguments: args, ...(task === undefined ? {} : { task }) }, request),
    request: ask,
    ping: async (request) => {
      await ask('ping', {}, request).catch((fault: unknown) => {
        // "I know no ping" is an answer, too.
        if (!(fault instanceof LinkFault) || fault.kind !== 'answer') throw fault;
      });
    },
    notify: (method) => client.notification({ method }).catch(() => undefined),
    close: async (how) => {
      closed = true;
      await wire.end(how).catch(() => undefined);
      wire.transport.onclose?.();
    },
  };
}

async function handshake(client: Client, wire: Wire<Transport>, signal: AbortSignal): Promise<void> {
  const connecting = client.connect(wire.transport, { timeout: NO_TIMEOUT, signal });
  const aborted = new Promise<never>((_resolve, reject) => {
    const give = (): void => reject(new LinkFault('aborted', 'the attempt was given up', { delivered: false }));
    if (signal.aborted) give();
    else signal.addEventListener('abort', give, { once: true });
  });
  aborted.catch(() => undefined);
  connecting.catch(() => undefined);
  try {
    await Promise.race([connecting, aborted, wire.requests.greetingLost]);
  } catch (error) {
    // Only what refuses for good is about the answer to `initialize`: a missing token or a busy server is not.
    if (error instanceof LinkFault && error.kind !== 'session' && !isRefusal(error)) throw error;
    const fault = faultOf(error, wire, wire.requests.latest(), signal);
    const answer = wire.requests.latest()?.answer;
    if (fault.kind === 'answer' && isJsonObject(answer))
      throw notOurProtocol(answer, SUPPORTED_PROTOCOL_VERSIONS, error);
    throw fault;
  }
}

function asker(client: Client, wire: Wire<Transport>): Ask {
  return async (method, given, { signal, onProgress, lasting, meta }) => {
    const params = meta === undefined ? given : { ...given, _meta: meta };
    const dead = wire.dead();
    if (dead !== null) throw new LinkFault(dead.kind, dead.message, { delivered: false, data: dead.data, cause: dead });
    // A signal of the whole run would collect a listener of the SDK's a request.
    const own = new AbortController();
    const abort = (): void => own.abort(new LinkFault('aborted', 'the request was given up', { delivered: true }));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    const before = wire.requests.latest();
    const asked = client.request({ method, params }, ANSWER, {
      signal: own.signal,
      timeout: NO_TIMEOUT,
      onresumptiontoken: (token) => {
        if (pending !== null) pending.resumeAt = token;
      },
      // The token is the SDK's affair; what comes with it is delivered by the requests.
      ...(onProgress === undefined ? {} : { onprogress: () => undefined }),
    });
    asked.catch(() => undefined);
    const latest = wire.requests.latest();
    const pending = latest === before ? null : latest;
    if (pending !== null) {
      pending.onProgress = onProgress ?? null;
      if (lasting !== undefined) wire.requests.follow(pending, lasting);
    }
    try {
      return await (pending === null ? asked : Promise.race([asked, pending.lost]));
    } catch (error) {
      throw faultOf(error, wire, pending, signal);
    } finally {
      signal.removeEventListener('abort', abort);
      if (pending?.answer === null) {
        wire.requests.forget(pending);
        own.abort('the request is settled');
      }
    }
  };
}

function capabilitiesOf({ answers }: LinkIo): ClientCapabilities {
  return {
    ...(answers.roots === undefined ? {} : { roots: { listChanged: true } }),
    ...(answers.elicit === undefined ? {} : { elicitation: { form: { applyDefaults: true }, url: {} } }),
    ...(answers.sample === undefined ? {} : { sampling: {} }),
  };
}

function infoOf(
  server: string,
  client: Client,
  { wire, io }: { readonly wire: Wire<Transport>; readonly io: LinkIo },
): McpServerInfo {
  const said = client.getServerVersion();
  const { text: instructions, cut } = cutText(client.getInstructions() ?? '', io.limits.instructionsBytes);
  if (cut > 0) {
    const { message } = pastLimit('instructionsBytes', 'what it wants said to the model is longer', io.limits);
    io.onWarning({ kind: 'limit', message: `${message}; ${cut} bytes were cut off` });
  }
  const capabilities: unknown = client.getServerCapabilities();
  const answer = wire.requests.latest()?.answer?.result;
  const version = isJsonObject(answer) && typeof answer.protocolVersion === 'string' ? answer.protocolVersion : '';
  return {
    title: (said?.name ?? server).slice(0, NAME_CHARS),
    version: (said?.version ?? '').slice(0, NAME_CHARS),
    protocolVersion: version,
    ...(instructions === '' ? {} : { instructions }),
    capabilities: isJsonObject(capabilities) ? capabilities : {},
    transport: wire.kind,
  };
}
