import type { ActorRefFrom } from 'xstate';
import { type LinkFault, toMcpError } from './wire/faults.ts';
import { McpError } from '../actors/mcp/mcp-calls.ts';
import { GIVEN_UP, type McpConnection, loginStep, topLevel } from './connection-types.ts';
import type { mcpConnectionMachine } from '../machines/mcp/mcp-connection.ts';
import { type Authorizer, createAuthorizer } from './auth/authorizer.ts';
import type { McpServer } from './config/config.ts';
import type { McpClock } from './wire/link.ts';
import {
  awaitLogin,
  discoverAuth,
  exchangeCode,
  refreshToken,
  registerClient,
  watchLogin,
} from '../actors/mcp/mcp-auth.ts';

interface SignInOptions {
  readonly server: string;
  readonly actor: ActorRefFrom<typeof mcpConnectionMachine>;
  readonly authorizer: Authorizer | null;
}

/** What signs a connection in; null for servers that are given no token. */
export function authorizerOf(
  { name, target, settings }: McpServer,
  options: { readonly clock: McpClock; readonly offersLogin: boolean },
): Authorizer | null {
  if (target.kind !== 'http' || target.auth === undefined) return null;
  const { url, auth } = target;
  return createAuthorizer({ server: name, url, auth, timeoutMs: settings.connectTimeoutMs, ...options });
}

/** The leaves of the machine that sign in. */
export function authLeaves(authorizer: Authorizer) {
  return {
    refreshToken: refreshToken(authorizer),
    discoverAuth: discoverAuth(authorizer),
    registerClient: registerClient(authorizer),
    awaitLogin: awaitLogin(authorizer),
    exchangeCode: exchangeCode(authorizer),
    watchLogin: watchLogin(authorizer),
  };
}

/** Makes the part of a connection that is about signing in. */
export function createSignIn({ server, actor, authorizer }: SignInOptions) {
  const stateNow = () => topLevel(actor.getSnapshot().value);
  const byPerson = (): boolean => ['login', 'stored-login'].includes(actor.getSnapshot().context.auth);
  const goesOn = (): boolean => stateNow() === 'AUTHORIZING' && actor.getSnapshot().context.greeting !== null;
  return {
    /** A person signs in for more scopes, and calls continue meanwhile. */
    goesOn,
    api: {
      answerLogin: (address) => authorizer?.answer(address) ?? false,
      cancelLogin: () => actor.send({ type: 'login.cancelled' }),
      loginStatus: async () => (authorizer === null || !byPerson() ? null : authorizer.status()),
    } satisfies Pick<McpConnection, 'answerLogin' | 'cancelLogin' | 'loginStatus'>,
    /** What to do about a token that was refused. */
    onRefused(generation: number, fault: LinkFault): 'again' | 'wait' | 'final' {
      if (authorizer?.holder.isOld(fault) === true) return 'again';
      const { code, message, data } = toMcpError(server, fault);
      const type = fault.kind === 'scope' ? 'scope.missing' : 'link.lost';
      actor.send({ type, generation, error: { code, message, data } });
      return stateNow() === 'REFRESHING' ? 'wait' : 'final';
    },
    /** Why nothing can be called: someone has to sign in. Null otherwise. */
    required(): McpError | null {
      const { value, context } = actor.getSnapshot();
      const waits = stateNow() === 'NEEDS_LOGIN' || (loginStep(value) === 'AWAITING_USER' && !goesOn());
      if (!waits) return null;
      const why = context.error === null ? '' : ` ${context.error.message}`;
      const where =
        stateNow() === 'NEEDS_LOGIN' ? 'Run' : 'The address stands in the pending question of the run; or run';
      const how = `${where} 'signalbox mcp login ${server}'.`;
      const message = `MCP server '${server}' cannot be used before somebody signs in. ${how}${why}`;
      return new McpError('login-required', server, message);
    },
    async login(until: <T>(look: () => T | null) => Promise<T>): Promise<boolean> {
      // A login that is kept already is not the one that is wanted.
      if (byPerson() && stateNow() !== 'AUTHORIZING') await authorizer?.holder.find();
      const before = authorizer?.holder.current()?.access;
      authorizer?.want();
      actor.send({ type: byPerson() ? 'login.wanted' : 'connection.wanted' });
      await until(() => (stateNow() === 'READY' || GIVEN_UP.has(stateNow()) ? true : null));
      if (stateNow() !== 'READY') return false;
      return !byPerson() || authorizer?.holder.current()?.access !== before;
    },
  };
}
