import { McpError } from '../../actors/mcp/mcp-calls.ts';
import { LinkFault, toMcpError } from '../wire/faults.ts';
import type { ToolResult } from '../../tools/result.ts';
import type { CallTimes } from './call-time.ts';

/** How a call was lost, in the words that a model needs to continue safely. */
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

/** The caller gave up. */
export function cancelled(server: string, what: string): McpError {
  return new McpError('cancelled', server, `The call of ${what} on MCP server '${server}' was cancelled.`);
}

/** The server was disconnected on purpose while a call was under way that does more than read: it may have taken effect. */
export function cutCall({ code, server, message }: McpError, what: string): McpError {
  const doubt = `${message} Whether ${what} was or will be carried out is unknown.`;
  return new McpError(code, server, doubt, undefined, { causeCode: 'unknown-outcome' });
}

/** Too many calls wait already. */
export function queueFull(server: string, what: string, most: number): McpError {
  const message = `${most} calls wait for MCP server '${server}' already; ${what} was not sent. Try again when it is connected.`;
  return new McpError('queue-full', server, message);
}

/** The connection did not come up in the call's time. */
export function waitedTooLong(server: string, what: string, ms: number, last: McpError | null): McpError {
  const why = last === null ? '' : ` ${last.message}`;
  const message = `MCP server '${server}' was not connected within ${ms / 1000} s; ${what} was not sent.${why}`;
  return new McpError('not-connected', server, message, last ?? undefined, last?.data);
}

/** The server refused the request itself, or failed at it; with 403, it is not allowed. One in a session that it forgot was sent in a new one. */
export function refusedCall(server: string, what: string, fault: LinkFault, mayBeDone = false): McpError {
  const again = fault.kind === 'session' ? ', and answered the same in a new one. It was not carried out' : '';
  const [how, doubt] = mayBeDone ? ['failed at', ' Whether it was carried out is unknown.'] : ['refused', ''];
  return new McpError(
    fault.kind === 'auth' ? 'forbidden' : 'protocol-error',
    server,
    `MCP server '${server}' ${how} the request for ${what}: ${fault.message}${again}.${doubt}`,
    fault,
    mayBeDone ? { ...fault.data, causeCode: 'unknown-outcome' } : fault.data,
  );
}

/** The error of a call after which nothing is tried any more. */
export function failedCall({ server, what, readOnly }: Parameters<typeof lostCall>[0], thrown: unknown): McpError {
  const isRefusal =
    thrown instanceof LinkFault && reactionTo(thrown) !== 'refused' && ['refused', 'auth'].includes(thrown.kind);
  return isRefusal ? refusedCall(server, what, thrown, thrown.delivered && !readOnly) : toMcpError(server, thrown);
}

/** The server gave no answer in the call's time: `ms` is the limit that was met. */
export function timedOut(
  call: { readonly server: string; readonly what: string; readonly times: CallTimes; readonly readOnly: boolean },
  ms: number,
): McpError {
  const { server, what, times, readOnly } = call;
  const silent = ms === times.silenceMs ? '' : ', though it was at work';
  const doubt = readOnly ? '' : ' Whether it was or will be carried out is unknown.';
  return new McpError(
    'timeout',
    server,
    `${what} on MCP server '${server}' gave no answer within ${ms / 1000} s${silent}.${doubt}`,
  );
}

/** Whether an error alone determines the outcome of a call that was sent. */
export function isPlain({ code }: McpError, delivered: boolean): boolean {
  return code === 'cancelled' || (!delivered && (code === 'login-required' || code === 'auth-required'));
}

/** What a fault of one request means for its link. */
export function reactionTo(fault: LinkFault): 'final' | 'lost' | 'later' | 'doubt' | 'refused' {
  const status = Number(fault.data.status);
  switch (fault.kind) {
    case 'auth':
      // 403 refuses this request, 401 all of them.
      return status === 403 ? 'final' : 'refused';
    case 'scope':
      return 'refused';
    case 'session':
    case 'exited':
      return 'lost';
    case 'unreachable':
    case 'aborted':
      return 'doubt';
    case 'refused':
      if (typeof fault.data.retryAfterMs === 'number') return 'later';
      // 400 and 404 may mean a session that is gone, gateways say 502 to 504 for a server that is, Cloudflare 520 to 530; a ping decides.
      return [400, 404, 502, 503, 504].includes(status) || status >= 520 ? 'doubt' : 'final';
    case 'not-found':
    case 'protocol':
    case 'answer':
    case 'limit':
      return 'final';
  }
}
