import type { McpAuthStep, McpAuthorizer } from '../../actors/mcp/mcp-auth.ts';
import { AuthFault } from './auth-fetch.ts';
import type { AuthServer } from './find-server.ts';
import type { KeptLogin } from './kept-login.ts';
import { loginError, loginRequired } from './login-errors.ts';
import type { CheckedAuth, OAuthSettings } from './options.ts';
import type { PendingLogin } from './pending-login.ts';
import type { Renewal } from './renewal.ts';

/** The steps of a sign-in that a person takes part in. */
export interface LoginSteps extends Pick<McpAuthorizer, 'register' | 'awaitLogin' | 'exchange'> {
  /** Takes the address on which a person's browser has ended. False: it belongs to no login that is waited for. */
  answer(address: string): boolean;
}

interface LoginStepsOptions {
  readonly server: string;
  readonly auth: CheckedAuth;
  readonly renewal: Renewal;
  readonly kept: KeptLogin;
  readonly within: <T>(outer: AbortSignal, work: (signal: AbortSignal) => Promise<T>) => Promise<T>;
  /** Waits for a login that is made elsewhere. */
  readonly elsewhere: (step: McpAuthStep, signal: AbortSignal) => Promise<{ readonly by: 'elsewhere' }>;
  /** The authorization server that was found last. */
  readonly found: () => AuthServer | null;
}

/** Makes the steps of a sign-in. What was prepared in one is used in the next. */
export function loginSteps({ server, auth, renewal, kept, within, elsewhere, found }: LoginStepsOptions): LoginSteps {
  const settings: OAuthSettings | null = auth.type === 'oauth' ? auth : null;
  const { readKept, netOf, find, scopesFor, keep, remember } = renewal;
  let pending: PendingLogin | null = null;
  return {
    register: (step, outer) =>
      within(outer, async (signal) => {
        if (settings === null) throw loginRequired(server, 'nobody can sign in at it');
        const { prepareLogin } = await import('./pending-login.ts');
        const at = found() ?? (await find(signal));
        pending?.close();
        pending = await prepareLogin({ server: at, settings, scopes: scopesFor(at, step), kept }, netOf(signal));
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
        // Whoever answers now answers nobody.
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
        if (done === null || code === undefined) return { scopes: (await readKept())?.scopes ?? [] };
        remember(code);
        const { exchange } = await import('./oauth-client.ts');
        const { server: at, client, verifier, redirectUrl, login } = done;
        try {
          const given = await exchange(at, { client, code, verifier, redirectUrl }, netOf(signal));
          const { scopes } = await keep(given, { issuer: at.issuer, clientId: client.client_id, scopes: login.scopes });
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
