import { McpError } from '../../actors/mcp/mcp-calls.ts';
import { LinkFault } from '../link/link.ts';
import { AuthFault } from './auth-fetch.ts';
import type { CheckedAuth } from './options.ts';

/** Only a person can help. */
export function loginRequired(server: string, why: string): McpError {
  return new McpError('login-required', server, `MCP server '${server}': ${why}.`);
}

/** What went wrong while signing in, in the codes of MCP. Anything that is none of our faults comes back as it is. */
export function loginError(server: string, auth: CheckedAuth, error: unknown): unknown {
  const withCode = (code: McpError['code'], fault: Error): McpError =>
    new McpError(code, server, `MCP server '${server}': ${fault.message}.`, fault);
  if (error instanceof LinkFault) return withCode('auth-required', error);
  if (!(error instanceof AuthFault)) return error;
  const byPerson = auth.type === 'oauth';
  switch (error.kind) {
    case 'unsafe':
    case 'wrong':
      return withCode('auth-failed', error);
    case 'unreachable':
    case 'busy':
      return withCode('not-connected', error);
    case 'invalid-client':
      return byPerson && auth.clientId === undefined
        ? loginRequired(server, error.message)
        : withCode('auth-required', error);
    case 'invalid-grant':
      return byPerson ? loginRequired(server, error.message) : withCode('auth-required', error);
  }
}
