import type { LeafError } from '../../actors/journal.ts';
import { McpError, type McpErrorCode } from '../../actors/mcp/mcp-calls.ts';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import type { ToolResult } from '../../tools/result.ts';
import { LinkFault, type LinkFaultKind } from '../link/link.ts';

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

/** What a connection's machine has kept of what went wrong, as an error again. */
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
    `MCP server '${server}': ${thrown.message}.${lastWords(thrown.data)}`,
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

/** The end of what a server wrote to stderr, as a sentence; empty when it wrote nothing. */
function lastWords(data: JsonObject): string {
  const text: Json | undefined = data.stderr;
  if (typeof text !== 'string' || text.trim() === '') return '';
  const lines = text.trimEnd().split('\n').slice(-5).join('\n');
  return ` It last wrote to stderr:\n${lines.slice(-800)}`;
}

/** How a call was lost, in the words that a model needs to go on safely. */
export function lostCall(
  call: { readonly server: string; readonly what: string; readonly delivered: boolean; readonly readOnly: boolean },
  cause: unknown,
): McpError {
  const { server, what, delivered, readOnly } = call;
  const why = cause instanceof Error ? cause.message.replace(/\.$/, '') : 'the connection broke';
  const data = cause instanceof LinkFault || cause instanceof McpError ? cause.data : {};
  if (!delivered) {
    const message = `The connection to MCP server '${server}' was lost before ${what} was sent (${why}). It was not carried out; it may be called again.`;
    return new McpError('lost-before-send', server, message, cause, data);
  }
  if (readOnly) {
    const message = `The connection to MCP server '${server}' was lost before the answer to ${what} came (${why}). It only reads; it may be called again.`;
    return new McpError('not-connected', server, message, cause, data);
  }
  const message =
    `It is unknown whether ${what} was carried out: the connection to MCP server '${server}' was lost after the request had been sent (${why}). ` +
    'Assume neither that it was done nor that it was not: find out how things stand before you call it again.';
  return new McpError('unknown-outcome', server, message, cause, data);
}

/** A task that its server began and does not answer for any more, in words as for a lost call. */
export function lostTask(server: string, tool: string, cause: unknown): McpError {
  const why = cause instanceof Error ? cause.message.replace(/\.$/, '') : 'no reason was given';
  const message =
    `It is unknown whether '${tool}' was carried out: MCP server '${server}' began it as a task and does not give its result (${why}). ` +
    'Assume neither that it was done nor that it was not: find out how things stand before you call it again.';
  return new McpError('unknown-outcome', server, message, cause);
}

/** A failed call as a tool result, for callers that want no exceptions. `code` is the error's. */
export function errorResult(error: McpError): ToolResult {
  return { status: 'error', error: error.message, code: error.code };
}
