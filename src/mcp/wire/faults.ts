import { type JsonObject, isJsonObject } from '../../json/json.ts';
import { McpError, type McpErrorCode } from '../../actors/mcp/mcp-calls.ts';
import type { LeafError } from '../../actors/journal.ts';
import type { McpLimits } from '../config/server-limits.ts';

/** Why a link failed. The words are for people; programs look at `kind` and `delivered`. */
export type LinkFaultKind =
  | 'not-found' // there is no such command, or it may not be started
  | 'exited' // the server's process ended
  | 'unreachable' // no connection, or it broke
  | 'auth' // 401 or 403
  | 'scope' // 403: our token lacks a scope, which `data.scopes` names
  | 'session' // the server no longer knows our session
  | 'refused' // an HTTP status that refuses this request
  | 'protocol' // not MCP, or a version that we do not support
  | 'answer' // the server answered with a JSON-RPC error, or with something that is not an answer
  | 'limit' // what it sent is larger than the configuration allows
  | 'aborted'; // we gave up ourselves

/** A failure on a link. `delivered: false` promises that the server cannot have begun to carry out the request. */
export class LinkFault extends Error {
  override readonly name = 'LinkFault';
  readonly kind: LinkFaultKind;
  readonly delivered: boolean;
  readonly data: JsonObject;

  constructor(
    kind: LinkFaultKind,
    message: string,
    more: { readonly delivered: boolean; readonly data?: JsonObject; readonly cause?: unknown },
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.kind = kind;
    this.delivered = more.delivered;
    this.data = more.data ?? {};
  }
}

const CODES: Readonly<Record<LinkFaultKind, McpErrorCode>> = {
  'not-found': 'spawn-failed',
  exited: 'not-connected',
  unreachable: 'not-connected',
  auth: 'auth-required',
  scope: 'insufficient-scope',
  session: 'not-connected',
  refused: 'not-connected',
  protocol: 'protocol-error',
  answer: 'protocol-error',
  limit: 'limit-exceeded',
  aborted: 'cancelled',
};

const KNOWN: readonly McpErrorCode[] = [...Object.values(CODES), 'timeout', 'login-required', 'auth-failed'];

/** The failure that a connection's machine has kept, as an error again. */
export function keptError(server: string, { code, message, data }: LeafError): McpError {
  const known = KNOWN.find((one) => one === code) ?? 'not-connected';
  return new McpError(known, server, message, undefined, isJsonObject(data) ? data : {});
}

/** Turns whatever a link threw into the error that the rest of the program knows. */
export function toMcpError(server: string, thrown: unknown): McpError {
  if (thrown instanceof McpError) return thrown;
  if (!(thrown instanceof LinkFault)) {
    const what = thrown instanceof Error ? thrown.message : String(thrown);
    return new McpError('protocol-error', server, `MCP server '${server}': ${what}`, thrown);
  }
  return new McpError(
    CODES[thrown.kind],
    server,
    `MCP server '${server}': ${thrown.message.replace(/\.?$/, '.')}${lastWords(thrown.data)}`,
    thrown,
    thrown.data,
  );
}

/** The error of an attempt to connect that took too long. */
export function connectTimeout(server: string, ms: number, cause: unknown): McpError {
  const data = cause instanceof LinkFault ? cause.data : {};
  const message = `MCP server '${server}' was not ready after ${ms / 1000} s; raise connectTimeoutMs if it needs longer.${lastWords(data)}`;
  return new McpError('timeout', server, message, cause, data);
}

/** What a server last wrote to stderr, as a sentence; empty when it wrote nothing. */
function lastWords({ stderr }: JsonObject): string {
  const lines = endsOf(stderr);
  return lines.length === 0 ? '' : ` It last wrote to stderr:\n${lines.join('\n')}`;
}

/**
 * How a text begins and ends, without the frames of stacks: why a program ended often stands above them, or above its
 * usage. Each line says what stream it is of, if that is given.
 */
export function endsOf(text: unknown, stream = ''): readonly string[] {
  const all = typeof text === 'string' ? text.split('\n') : [];
  const lines = all
    .filter((line) => !/^\s*$|^\s+at /.test(line))
    .map((line) => `${stream === '' ? '' : `${stream}: `}${line.slice(0, 300)}`);
  return lines.length <= 9 ? lines : [...lines.slice(0, 4), '…', ...lines.slice(-4)];
}

/** The fault of a server that went past a limit. `what` ends in a comparison: `its answer is larger`. */
export function pastLimit(limit: keyof McpLimits, what: string, limits: McpLimits): LinkFault {
  const most = limits[limit];
  return new LinkFault('limit', `${what} than limits.mcp.${limit} allows (${most})`, {
    delivered: true,
    data: { limit, most },
  });
}

/** What is read only where there are not more objects and lists than these: each takes some ten times its two characters. */
const MOST_PARTS = 500_000;

/** The fault of a message whose text is small enough but would take too much memory; null for all others. */
export function tooIntricate(text: string): LinkFault | null {
  if (text.length < 2 * MOST_PARTS || partsOf(text) <= MOST_PARTS) return null;
  return new LinkFault('limit', `its answer holds more than ${MOST_PARTS} objects and lists`, {
    delivered: true,
    data: { limit: 'messageBytes', most: MOST_PARTS },
  });
}

/** Counts the brackets outside of strings; enough to know before anything is parsed. */
function partsOf(text: string): number {
  let parts = 0;
  let inText = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (inText && code === BACKSLASH) at += 1;
    else if (code === QUOTE) inText = !inText;
    else if (!inText && (code === BRACE || code === BRACKET)) parts += 1;
  }
  return parts;
}

const [QUOTE, BACKSLASH, BRACE, BRACKET] = [0x22, 0x5c, 0x7b, 0x5b];

/**
 * The fault of a server whose answer to the first request we cannot use, or that refused what follows it, as `error` tells;
 * `supported` are the protocol versions that we support.
 */
export function notOurProtocol(
  answer: JsonObject,
  {
    greeting,
    supported,
    error,
  }: { readonly greeting: string; readonly supported: readonly string[]; readonly error: unknown },
): LinkFault {
  const result = isJsonObject(answer.result) ? answer.result : {};
  const version = typeof result.protocolVersion === 'string' ? result.protocolVersion : null;
  const { code, message } = isJsonObject(answer.error) ? answer.error : {};
  // A program that does not know `initialize`, or that echoes what it reads, speaks another protocol.
  const refused = typeof message === 'string' && code !== METHOD_NOT_FOUND;
  const what =
    version === null
      ? refused
        ? `it refused \`${greeting}\`: ${message}`
        : `it did not answer \`${greeting}\` as an MCP server does`
      : supported.includes(version)
        ? unusable(result, error)
        : `it speaks MCP version ${version}, which is not supported`;
  return new LinkFault('protocol', what, { delivered: false, data: { answer, version, supported }, cause: error });
}

export const METHOD_NOT_FOUND = -32_601;

function unusable(result: JsonObject, error: unknown): string {
  if (error instanceof LinkFault) return `after its answer to \`initialize\` it failed: ${error.message}`;
  const lacks = ['capabilities', 'serverInfo'].filter((name) => !isJsonObject(result[name]));
  return `its answer to \`initialize\` lacks ${lacks.join(' and ') || 'something'}`;
}

/** True if a server answered with 4xx: an older one may support only the SSE transport. */
export function isRefusal(fault: unknown): boolean {
  const status = fault instanceof LinkFault && fault.kind === 'refused' ? Number(fault.data.status) : 0;
  return status >= 400 && status < 500 && status !== 429;
}

/** The same fault with more to go by. */
export function withEvidence(fault: LinkFault, evidence: JsonObject): LinkFault {
  const data = { ...fault.data, ...evidence };
  return new LinkFault(fault.kind, fault.message, { delivered: fault.delivered, data, cause: fault });
}
