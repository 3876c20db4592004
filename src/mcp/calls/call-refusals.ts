import { McpError } from '../../actors/mcp/mcp-calls.ts';
import { toMcpError } from './call-errors.ts';
import type { CallTimes } from './call-limits.ts';
import { LinkFault } from '../link/link.ts';

/** The caller gave up. */
export function cancelled(server: string, what: string): McpError {
  return new McpError('cancelled', server, `The call of ${what} on MCP server '${server}' was cancelled.`);
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

/** The server said no to the request itself, and with 403 that we may not. */
export function refusedCall(server: string, what: string, fault: LinkFault): McpError {
  return new McpError(
    fault.kind === 'auth' ? 'forbidden' : 'protocol-error',
    server,
    `MCP server '${server}' refused the request for ${what}: ${fault.message}.`,
    fault,
    fault.data,
  );
}

/** The error of a call after which nothing is tried any more. */
export function finalError(server: string, what: string, thrown: unknown): McpError {
  const refused = thrown instanceof LinkFault && (thrown.kind === 'refused' || thrown.kind === 'auth');
  return refused ? refusedCall(server, what, thrown) : toMcpError(server, thrown);
}

/** The server gave no answer in the call's time: `ms` is the limit that was met. */
export function timedOut(
  server: string,
  { what, times, readOnly }: { readonly what: string; readonly times: CallTimes; readonly readOnly: boolean },
  ms: number,
): McpError {
  const silent = ms === times.silenceMs ? '' : ', though it was at work';
  const doubt = readOnly ? '' : ' Whether it was or will be carried out is unknown.';
  return new McpError(
    'timeout',
    server,
    `${what} on MCP server '${server}' gave no answer within ${ms / 1000} s${silent}.${doubt}`,
  );
}
