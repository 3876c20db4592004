/**
 * Owns: the use of the MCP SDK's client over one transport; its functions for OAuth are used in auth/. Does not own: when
 * to connect or retry, and what is different for servers without sessions (stateless.ts).
 *
 * I1 A link is one client on one transport, used once.
 * I2 Every request ends with an answer or a {@link LinkFault}; no code or text of the SDK's errors decides which.
 * I3 `onDown` is called once, and never after `close`.
 */
import {
  Client,
  type ClientCapabilities,
  SUPPORTED_PROTOCOL_VERSIONS,
  type Transport,
} from '@modelcontextprotocol/client';
import { z } from 'zod';
import { type LinkIo, type McpLink, type McpList, type McpServerInfo, limitTime } from '../wire/link.ts';
import { type Wire, faultOf } from '../wire/pending-requests.ts';
import { type JsonObject, isJsonObject } from '../../json/json.ts';
import { LinkFault, isRefusal, notOurProtocol, pastLimit, withEvidence } from '../wire/faults.ts';
import { type Answer, answerRequest } from './answer-request.ts';
import { type Ask, listAllTools } from './list-tools.ts';
import { StatelessRequests } from './stateless.ts';
import { TASKS } from './stateless-tasks.ts';
import { NAME_CHARS, cutText } from '../config/server-limits.ts';
import { STATELESS_VERSION } from '../config/config.ts';

/** The first request to a server: until MCP 2025-11-25 it opens a session, from 2026-07-28 on there is none. */
export type Greeting = 'initialize' | 'server/discover';

/** How long a server that has answered may take to say whether it supports a newer version, too. */
export const DISCOVERY_MS = 2500;
const ANSWER = z.custom<JsonObject>(isJsonObject);
/** The SDK insists on its own timer; ours decide. */
const NO_TIMEOUT = 2 ** 31 - 1;
const LISTS: ReadonlyMap<string, McpList> = new Map([
  ['notifications/tools/list_changed', 'tools'],
  ['notifications/resources/list_changed', 'resources'],
  ['notifications/prompts/list_changed', 'prompts'],
]);

/**
 * Does the handshake over a wire and makes a link from it: with the first greeting, and with the second where that was
 * refused. On failure nothing that was started is left.
 */
export async function linkOver(
  server: string,
  wire: Wire<Transport>,
  io: LinkIo,
  greetings: readonly Greeting[] = ['initialize'],
): Promise<McpLink> {
  let closed = false;
  const answer: Answer = (request, signal) => {
    const { answers, onWarning } = io;
    return answerRequest(request, { server, answers, signal, onWarning });
  };
  const make = (greeting: Greeting): Client => makeClient(greeting, { io, answer, isClosed: () => closed });
  const [client, greeting] = await greet(make, wire, { io, greetings }).catch(async (error: unknown) => {
    await wire.end('at-once');
    // The SDK drops its request, whose timer would keep the process alive.
    wire.transport.onclose?.();
    throw error instanceof LinkFault ? withEvidence(error, wire.evidence()) : error;
  });
  const ask = asker(client, wire);
  const info = infoOf(server, client, { wire, io });
  const close: McpLink['close'] = async (how) => {
    closed = true;
    await wire.end(how).catch(() => undefined);
    wire.transport.onclose?.();
  };
  const notify: McpLink['notify'] = (method) => client.notification({ method }).catch(() => undefined);
  if (greeting === 'server/discover') {
    const requests = new StatelessRequests({ ask, client, info, io, answer });
    await requests.begin();
    const end: McpLink['close'] = (how) => {
      requests.end();
      return close(how);
    };
    return { info, ...requests.methods(), notify, close: end };
  }
  return { info, ...methodsOver(ask, info, io), notify, close };
}

function makeClient(
  greeting: Greeting,
  { io, answer, isClosed }: { readonly io: LinkIo; readonly answer: Answer; readonly isClosed: () => boolean },
): Client {
  const client = new Client(
    { name: 'signalbox', version: '0.1.0' },
    {
      capabilities: { ...capabilitiesOf(io), ...(greeting === 'initialize' ? {} : { extensions: { [TASKS]: {} } }) },
      ...(greeting === 'initialize' ? {} : { versionNegotiation: { mode: { pin: STATELESS_VERSION } } }),
      // Who is asked, and how often, is decided here.
      inputRequired: { autoFulfill: false },
    },
  );
  client.fallbackRequestHandler = async ({ method, params }, { mcpReq: { signal } }) => {
    const given: unknown = params ?? {};
    return answer({ method, params: isJsonObject(given) ? given : {} }, signal);
  };
  client.onerror = (error) => {
    if (!isClosed() && !(error instanceof LinkFault))
      io.onWarning({ kind: 'unexpected', message: error.message.slice(0, 500) });
  };
  client.fallbackNotificationHandler = (notification) => {
    const { method, params } = notification;
    const list = LISTS.get(method);
    if (list === undefined) io.onNotification(method, isJsonObject(params) ? params : {});
    else io.onListChanged(list);
    return Promise.resolve();
  };
  return client;
}

/** Requests in a session. */
function methodsOver(
  ask: Ask,
  { capabilities }: McpServerInfo,
  io: LinkIo,
): Pick<McpLink, 'listTools' | 'callTool' | 'request' | 'ping'> {
  return {
    listTools: (request) => (capabilities.tools === undefined ? Promise.resolve([]) : listAllTools(ask, request, io)),
    callTool: (tool, args, { task, ...request }) =>
      ask('tools/call', { name: tool, arguments: args, ...(task === undefined ? {} : { task }) }, request),
    request: ask,
    ping: async (request) => {
      await ask('ping', {}, request).catch((fault: unknown) => {
        // "I know no ping" is an answer, too.
        if (!(fault instanceof LinkFault) || fault.kind !== 'answer') throw fault;
      });
    },
  };
}

/** Does the first handshake that a server does not refuse. Rejects with the fault of the first, or with that of the second if it says more. */
async function greet(
  make: (greeting: Greeting) => Client,
  wire: Wire<Transport>,
  { greetings, io: { clock, signal } }: { readonly greetings: readonly Greeting[]; readonly io: LinkIo },
): Promise<readonly [Client, Greeting]> {
  const [first = 'initialize', second] = greetings;
  const client = make(first);
  try {
    await handshake(client, wire, { greeting: first, signal });
    return [client, first];
  } catch (fault) {
    if (second === undefined || !isRefusedGreeting(fault)) throw fault;
    const { transport } = wire;
    transport.onclose?.();
    // The next client would call those of the first, too.
    delete transport.onmessage;
    delete transport.onerror;
    delete transport.onclose;
    const other = make(second);
    const limit = limitTime(clock, DISCOVERY_MS, signal);
    try {
      await handshake(other, wire, { greeting: second, signal: limit.signal });
      return [other, second];
    } catch (next) {
      throw isTelling(next) ? next : fault;
    } finally {
      limit.release();
    }
  }
}

/** Whether the fault of the second greeting says more than that it was refused, too: a token is missing, or it is busy. */
function isTelling(fault: unknown): boolean {
  if (!(fault instanceof LinkFault)) return false;
  return fault.kind === 'auth' || fault.kind === 'unreachable' || (fault.kind === 'refused' && !isRefusal(fault));
}

/** Whether a server understood the greeting and refused it, as one does that supports only another version. */
function isRefusedGreeting(fault: unknown): boolean {
  if (!(fault instanceof LinkFault)) return false;
  const { answer, version } = fault.data;
  if (fault.kind === 'refused') return isRefusal(fault) && isJsonObject(answer);
  return (
    fault.kind === 'protocol' && (version === STATELESS_VERSION || (isJsonObject(answer) && isJsonObject(answer.error)))
  );
}

async function handshake(
  client: Client,
  wire: Wire<Transport>,
  { greeting, signal }: { readonly greeting: Greeting; readonly signal: AbortSignal },
): Promise<void> {
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
  } catch (thrown) {
    // `server/discover` is wrapped by the SDK.
    const error = thrown instanceof Error && thrown.cause instanceof LinkFault ? thrown.cause : thrown;
    // Only what refuses for good is about the answer to the greeting: a missing token or a busy server is not.
    if (error instanceof LinkFault && error.kind !== 'session' && !isRefusal(error)) throw error;
    const fault = faultOf(error, wire, wire.requests.latest(), signal);
    const answer = wire.requests.latest()?.answer;
    if (fault.kind === 'answer' && isJsonObject(answer))
      throw notOurProtocol(answer, { greeting, supported: [STATELESS_VERSION, ...SUPPORTED_PROTOCOL_VERSIONS], error });
    throw fault;
  }
}

function asker(client: Client, wire: Wire<Transport>): Ask {
  return async (method, given, { signal, onProgress, lasting, meta, headers }) => {
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
      ...(headers === undefined ? {} : { headers }),
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
      const result = pending?.answer?.result;
      // The SDK refuses results, and whole lists for one odd tool, that we can read.
      if (client.getProtocolEra() === 'modern' && !signal.aborted && isJsonObject(result)) return result;
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
  return {
    title: (said?.name ?? server).slice(0, NAME_CHARS),
    version: (said?.version ?? '').slice(0, NAME_CHARS),
    protocolVersion: client.getNegotiatedProtocolVersion() ?? '',
    ...(instructions === '' ? {} : { instructions }),
    capabilities: isJsonObject(capabilities) ? capabilities : {},
    transport: wire.kind,
  };
}
