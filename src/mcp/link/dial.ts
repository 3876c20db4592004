/** Owns: how a server is reached: over stdio, Streamable HTTP or SSE. Does not own: when to connect or retry. */
import { waitAtMost } from '../../actors/deadline.ts';
import { SSEClientTransport, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { type McpTarget, STATELESS_VERSION } from '../config/config.ts';
import { createHttpWatch } from '../http/http-watch.ts';
import { openStdioWire } from '../stdio/stdio-wire.ts';
import { LinkFault, isRefusal } from '../wire/faults.ts';
import { type Dial, type LinkIo, type McpClock, type McpLink, limitTime } from '../wire/link.ts';
import { PendingRequests } from '../wire/pending-requests.ts';
import { DISCOVERY_MS, type Greeting, linkOver } from './sdk-link.ts';

/** Connects to a server with the official SDK: stdio, Streamable HTTP, or SSE if the server supports only that. */
export const dialWithSdk: Dial = async (server, target, io) => {
  const greetings: readonly Greeting[] =
    target.protocolVersion === undefined ? ['initialize', 'server/discover'] : ['server/discover'];
  if (target.kind === 'stdio') return linkOver(server, openStdioWire(target, io), io, greetings);
  const dial = { server, target };
  if (target.transport === 'sse') return (await dialHttp(dial, io, 'sse', ['initialize'])).link;
  try {
    const { link, hasSession } = await dialHttp(dial, io, 'streamable', greetings);
    const isSettled = hasSession || link.info.protocolVersion === STATELESS_VERSION;
    return isSettled ? link : await withoutSession(dial, io, link);
  } catch (fault) {
    if (target.transport !== 'auto' || target.protocolVersion !== undefined || !isRefusal(fault)) throw fault;
    // The specification's own test for an older server: it refuses the POST with 4xx.
    return dialHttp(dial, io, 'sse', ['initialize']).then(
      ({ link }) => link,
      () => Promise.reject(fault),
    );
  }
};

/**
 * A server that opened no session may support the version of the protocol that has none: in an older one it cannot ask
 * anything, and reports no changes. The link that there is stays where the server does not support it.
 */
async function withoutSession(dial: HttpDial, io: LinkIo, link: McpLink): Promise<McpLink> {
  const limit = limitTime(io.clock, DISCOVERY_MS, io.signal);
  try {
    const limited = { ...io, signal: limit.signal };
    const { link: better } = await dialHttp(dial, limited, 'streamable', ['server/discover']);
    await link.close('at-once');
    return better;
  } catch {
    return link;
  } finally {
    limit.release();
  }
}

interface HttpDial {
  readonly server: string;
  readonly target: McpTarget & { readonly kind: 'http' };
}

const GOODBYE_MS = 1000;

async function dialHttp(
  { server, target }: HttpDial,
  io: LinkIo,
  kind: 'streamable' | 'sse',
  greetings: readonly Greeting[],
): Promise<{ readonly link: McpLink; readonly hasSession: boolean }> {
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
  const inTurn = createOutbox(watch.giveUp);
  const make = (): Transport => makeHttpTransport(kind, new URL(target.url), { ...options, waits });
  let inner = make();
  let started = false;
  let dead: LinkFault | null = null;
  const transport: Transport = {
    start: () => {
      // A transport of the SDK can be used once; the second greeting needs another.
      if (started) inner = make();
      started = true;
      inner.onmessage = (message) => {
        if (!requests.received({ ...message })) transport.onmessage?.(message);
      };
      inner.onerror = (error) => transport.onerror?.(error);
      return inner.start();
    },
    send: (message, sendOptions) => {
      const pending = requests.sent({ ...message });
      watch.requestSent();
      const leave = (): Promise<void> => inner.send(message, sendOptions);
      return (pending === null ? inTurn(leave) : leave()).catch((error: unknown) => {
        if (pending !== null && error instanceof LinkFault) pending.delivered = error.delivered;
        throw error;
      });
    },
    close: () => inner.close(),
    get sessionId() {
      return inner instanceof StreamableHTTPClientTransport ? inner.sessionId : undefined;
    },
    setProtocolVersion: (version) => inner.setProtocolVersion?.(version),
    // A request is given up by closing its own stream.
    hasPerRequestStream: kind === 'streamable',
  };
  let link: McpLink | null = null;
  const end = async (how: 'gently' | 'at-once'): Promise<void> => {
    dead ??= new LinkFault('aborted', 'the connection was closed', { delivered: true });
    watch.stop();
    if (how === 'gently' && inner instanceof StreamableHTTPClientTransport) await sayGoodbye(inner, io.clock);
    await inner.close();
    for (const wait of waits) clearTimeout(wait);
  };
  const wire = { transport, kind, requests, dead: () => dead ?? watch.dead(), evidence: () => ({}), end };
  link = await linkOver(server, wire, io, greetings);
  return { link, hasSession: transport.sessionId !== undefined };
}

/** Each answer is a request of HTTP with its own connection: more than these do not leave at a time. */
const AT_ONCE = 32;

/** A server for which so many more wait asks without end. */
const MOST_WAITING = 1000;

/**
 * Sends what answers a server, so many at a time. Where too many wait, `giveUp` is called for each more, which rejects: a
 * server that asks faster than it takes the answers would have the process open thousands of connections.
 */
function createOutbox(giveUp: (fault: LinkFault) => void): (send: () => Promise<void>) => Promise<void> {
  const waiting: (() => void)[] = [];
  let underWay = 0;
  return async (send) => {
    if (waiting.length >= MOST_WAITING) {
      const fault = new LinkFault('limit', 'it asks, but does not accept the answer', { delivered: true });
      giveUp(fault);
      throw fault;
    }
    if (underWay < AT_ONCE) underWay += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      await send();
    } finally {
      const next = waiting.shift();
      if (next === undefined) underWay -= 1;
      else next();
    }
  };
}

function makeHttpTransport(kind: 'streamable' | 'sse', url: URL, { waits, ...options }: HttpOptions): Transport {
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
async function sayGoodbye(transport: StreamableHTTPClientTransport, clock: McpClock): Promise<void> {
  const ended = transport.terminateSession().catch(() => undefined);
  await waitAtMost(GOODBYE_MS, undefined, ended, clock);
}
