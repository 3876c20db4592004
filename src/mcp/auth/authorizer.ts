/**
 * Owns: getting and renewing the token of one connection, step by step; its machine decides when. Does not own: the
 * requests to the authorization server (oauth-client.ts), or where tokens are kept (the store).
 *
 * I1 A token, code or secret leaves here only in a request, or into the store.
 * I2 Of all who share a store, one at a time refreshes a login; those that waited use what the first one got.
 */
import type { McpLoginStatus, CheckedAuth, OAuthSettings, TokenStore } from '../config/auth.ts';
import type { McpAuthStep, McpAuthorizer } from '../../actors/mcp/mcp-auth.ts';
import type { McpAuthKind } from '../../machines/mcp/mcp-connection-parts.ts';
import { type TokenHolder, isExpired } from './token-holder.ts';
import { type McpClock, limitTime } from '../wire/link.ts';
import { KeptLogin, fileTokenStore } from './token-store.ts';
import { Renewal } from './renewal.ts';
import type { AuthServer } from './find-server.ts';
import { McpError } from '../../actors/mcp/mcp-calls.ts';
import { AuthFault, loginError, loginRequired } from './auth-fetch.ts';
import type { PreparedLogin } from './pending-login.ts';

/** What signs one connection in. */
export interface Authorizer extends McpAuthorizer {
  readonly kind: McpAuthKind;
  readonly holder: TokenHolder;
  /** Takes the address on which a person's browser has ended. False: it belongs to no login that is waited for. */
  answer(address: string): boolean;
  /** Notes that a person wants the next login, which is not only offered. */
  want(): void;
  /** Forgets the tokens, here and in the store. The registration is kept. */
  forget(): Promise<void>;
  status(): Promise<McpLoginStatus>;
  /** The secret texts. */
  secrets(): readonly string[];
}

interface AuthorizerOptions {
  readonly server: string;
  readonly url: string;
  readonly auth: CheckedAuth;
  readonly clock: McpClock;
  /** Longest time for one step that waits for no person. */
  readonly timeoutMs: number;
  /** False: a login that is missing is not prepared here. */
  readonly offersLogin: boolean;
}

const WATCH_MS = 1000;

/** Makes what signs one connection in. Nothing is asked or read before it is needed. */
export function createAuthorizer(options: AuthorizerOptions): Authorizer {
  const { server, url, auth, clock, timeoutMs } = options;
  const settings: OAuthSettings | null = auth.type === 'oauth' ? auth : null;
  const resource = resourceOf(url);
  const store: TokenStore = settings?.store ?? fileTokenStore();
  const kept = new KeptLogin(store, { resource, identity: settings?.identity ?? 'default' });
  const renewal = new Renewal({ server, url, resource, auth, kept });
  const { holder, secrets } = renewal;
  let found: AuthServer | null = null;

  /** Does a step within its time; whatever goes wrong becomes an {@link McpError}. */
  const within = async <T>(outer: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const limit = limitTime(clock, timeoutMs, outer);
    try {
      return await orAborted(work(limit.signal), limit.signal);
    } catch (error) {
      const late = `Signing in at MCP server '${server}' took longer than ${timeoutMs / 1000} s.`;
      throw limit.isOver() ? new McpError('timeout', server, late) : loginError(server, auth, error);
    } finally {
      limit.release();
    }
  };
  /** Waits until others have put usable tokens into the store. */
  const elsewhere = async (step: McpAuthStep, signal: AbortSignal): Promise<{ readonly by: 'elsewhere' }> => {
    for (;;) {
      await pause(clock, WATCH_MS, signal);
      const tokens = await renewal.readKept().catch(() => null);
      if (tokens === null || !renewal.isUsable(tokens, step)) continue;
      holder.hold(tokens);
      return { by: 'elsewhere' };
    }
  };
  const steps = loginSteps({ server, auth, renewal, kept, within, elsewhere, found: () => found });

  return {
    kind: settings === null ? 'credentials' : options.offersLogin ? 'login' : 'stored-login',
    holder,
    refresh: (step, outer) =>
      within(outer, async (signal) => {
        const renew = (): Promise<'stored' | 'fetched'> => renewal.renew(step, signal);
        return { how: await (settings === null ? renew() : store.lock(kept.key, renew, { signal })) };
      }),
    discover: (_step, outer) =>
      within(outer, async (signal) => {
        found = await renewal.find(signal);
        return { issuer: found.issuer };
      }),
    ...steps,
    watchLogin: elsewhere,
    async forget() {
      const tokens = await kept.read();
      if (tokens !== null) await kept.drop(tokens);
      renewal.forget();
    },
    async status() {
      const tokens = await renewal.readKept();
      const { issuer = null, scopes = [], expiresAt = null, refresh = null } = tokens ?? {};
      return {
        signedIn: tokens !== null && (refresh !== null || !isExpired(tokens)),
        issuer,
        scopes,
        expiresAt,
        renews: refresh !== null,
      };
    },
    secrets: () => [...secrets, ...holder.seen()],
  };
}

/** The work, or a rejection as soon as it is no longer awaited. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => reject(new AuthFault('unreachable', 'it was given up')), { once: true });
  return Promise.race([work, promise]);
}

/** The server's address as a resource: without what belongs to no resource. */
function resourceOf(url: string): string {
  const address = new URL(url);
  address.hash = address.username = address.password = '';
  return address.href;
}

function pause(clock: McpClock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clock.clearTimeout(timer);
      reject(new AuthFault('unreachable', 'nobody waits any more'));
    };
    const timer = clock.setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
  });
}

/** The steps of a sign-in that a person takes part in. */
type LoginSteps = Pick<Authorizer, 'register' | 'awaitLogin' | 'exchange' | 'answer' | 'want'>;

interface LoginStepsOptions {
  readonly server: string;
  readonly auth: CheckedAuth;
  readonly renewal: Renewal;
  readonly kept: KeptLogin;
  readonly within: <T>(outer: AbortSignal, work: (signal: AbortSignal) => Promise<T>) => Promise<T>;
  readonly elsewhere: (step: McpAuthStep, signal: AbortSignal) => Promise<{ readonly by: 'elsewhere' }>;
  /** The authorization server that was found last. */
  readonly found: () => AuthServer | null;
}

/** Makes the steps of a sign-in. What was prepared in one is used in the next. */
function loginSteps({ server, auth, renewal, kept, within, elsewhere, found }: LoginStepsOptions): LoginSteps {
  const settings: OAuthSettings | null = auth.type === 'oauth' ? auth : null;
  let pending: PreparedLogin | null = null;
  let isWanted = false;
  return {
    want: () => void (isWanted = true),
    register: (step, outer) =>
      within(outer, async (signal) => {
        if (settings === null) throw loginRequired(server, 'nobody can sign in at it');
        const { prepareLogin } = await import('./pending-login.ts');
        const at = found() ?? (await renewal.find(signal));
        pending?.close();
        pending = await prepareLogin(
          { server: at, settings, scopes: renewal.scopesFor(at, step), kept, isWanted },
          renewal.netOf(signal),
        );
        isWanted = false;
        return pending.login;
      }),
    async awaitLogin(step, signal) {
      const waiting = pending;
      if (waiting === null) throw loginRequired(server, 'no sign-in was prepared');
      const own = new AbortController();
      const ended = AbortSignal.any([signal, own.signal]);
      let answered = false;
      const byCode = waiting.code.then(() => {
        answered = true;
        return { by: 'code' as const };
      });
      const end = (): void => {
        waiting.close();
        // Later answers are ignored.
        if (!answered && pending === waiting) pending = null;
      };
      ended.addEventListener('abort', end, { once: true });
      try {
        return await Promise.race([byCode, elsewhere(step, ended)]);
      } catch (error) {
        throw loginError(server, auth, error);
      } finally {
        own.abort();
      }
    },
    exchange: (_step, outer) =>
      within(outer, async (signal) => {
        const done = pending;
        pending = null;
        const code = await Promise.race([done?.code, Promise.resolve(undefined)]);
        if (done === null || code === undefined) return { scopes: (await renewal.readKept())?.scopes ?? [] };
        renewal.remember(code);
        const { exchangeLoginCode } = await import('./oauth-client.ts');
        const { server: at, client, verifier, redirectUrl, login } = done;
        try {
          const given = await exchangeLoginCode(at, { client, code, verifier, redirectUrl }, renewal.netOf(signal));
          const { scopes } = await renewal.keep(given, {
            issuer: at.issuer,
            clientId: client.client_id,
            client: client.client_id === settings?.clientId ? undefined : client,
            scopes: login.scopes,
          });
          await kept.proveClient(at.issuer);
          return { scopes };
        } catch (error) {
          if (error instanceof AuthFault && error.kind === 'invalid-client' && settings?.clientId === undefined)
            await kept.dropClient(at.issuer);
          throw error;
        }
      }),
    answer: (address) => pending !== null && URL.canParse(address) && pending.take(new URL(address)) !== 'foreign',
  };
}
