/**
 * Owns: getting a token without a person. Does not own: that one at a time does so (the caller locks).
 *
 * I1 A token is dropped only when its own refresh token was refused with `invalid_grant`, a registration only with
 *    `invalid_client`.
 * I2 A token is kept before it is used.
 */
import { type TokenHolder, isExpired, tokenHolder } from './token-holder.ts';
import type { KeptLogin, KeptTokens } from './token-store.ts';
import { AuthFault, type AuthNet, loginRequired, tokenFrom } from './auth-fetch.ts';
import type { AuthServer } from './find-server.ts';
import type { McpAuthStep } from '../../actors/mcp/mcp-auth.ts';
import type { GivenTokens } from './oauth-client.ts';
import {
  type CheckedAuth,
  type ClientCredentialsSettings,
  type OAuthSettings,
  isLoopback,
  type AuthClient,
} from '../config/auth.ts';

/** Not used for so long before its end. */
const MARGIN_MS = 5000;
/** Earlier tokens than these are not redacted. */
const MOST_SECRETS = 200;

/** The owner of the tokens. `scopes`: those that were asked for. */
type TokenSubject = Pick<KeptTokens, 'issuer' | 'clientId' | 'client'> & { readonly scopes: readonly string[] };

interface RenewalOptions {
  readonly server: string;
  readonly url: string;
  readonly resource: string;
  readonly auth: CheckedAuth;
  readonly kept: KeptLogin;
}

/** What gets tokens for one connection without a person, and has them. */
export class Renewal {
  readonly holder: TokenHolder;
  /** Every token and code that was in use. */
  readonly secrets = new Set<string>();
  readonly #options: RenewalOptions;
  readonly #settings: OAuthSettings | null;
  #granted: readonly string[] = [];

  constructor(options: RenewalOptions) {
    const { auth, url } = options;
    this.#options = options;
    this.#settings = auth.type === 'oauth' ? auth : null;
    this.holder = tokenHolder({ origin: new URL(url).origin, find: () => this.#findHeld() });
  }

  /** Gets a token: from the store, by a refresh token, or with what was configured. */
  async renew(step: McpAuthStep, signal: AbortSignal): Promise<'stored' | 'fetched'> {
    const { auth } = this.#options;
    if (auth.type === 'oauth') return this.#renewKept(step, signal);
    if (auth.type === 'source') this.holder.hold({ access: await tokenFrom(auth.get), expiresAt: null });
    else await this.#fetch(auth, step, signal);
    return 'fetched';
  }

  remember(secret: string): void {
    this.secrets.add(secret);
    const [oldest] = this.secrets;
    if (this.secrets.size > MOST_SECRETS && oldest !== undefined) this.secrets.delete(oldest);
  }

  /** Forgets the token and its scopes, here. */
  forget(): void {
    this.#granted = [];
    this.holder.hold(null);
  }

  /** The tokens in the store; null where they are not for this configuration. */
  async readKept(): Promise<KeptTokens | null> {
    const settings = this.#settings;
    const tokens = settings === null ? null : await this.#options.kept.read();
    if (tokens === null || (settings?.issuer !== undefined && settings.issuer !== tokens.issuer)) return null;
    if (tokens.refresh !== null) this.remember(tokens.refresh);
    this.#granted = tokens.scopes;
    return tokens;
  }

  netOf(signal: AbortSignal): AuthNet {
    return { signal, allowsLoopback: isLoopback(this.#options.url) };
  }

  async find(signal: AbortSignal): Promise<AuthServer> {
    const { auth, resource } = this.#options;
    const { holder } = this;
    const { askForChallenge, findServer } = await import('./find-server.ts');
    // A token with a known expiry was not refused, and a login may be wanted before any request.
    if (holder.challenge() === null) holder.heard(await askForChallenge(resource, this.netOf(signal)));
    const only = auth.type === 'source' ? undefined : auth.issuer;
    const resourceMetadata = holder.challenge()?.resourceMetadata ?? null;
    return findServer({ serverUrl: resource, resourceMetadata, issuer: only }, this.netOf(signal));
  }

  /** What is asked for: what was configured or the server names, what was granted, what was lacking, and to be renewed. */
  scopesFor(at: AuthServer, { scopes }: McpAuthStep): readonly string[] {
    const { auth } = this.#options;
    const own = auth.type === 'source' ? undefined : auth.scopes;
    const named = this.holder.challenge()?.scopes ?? [];
    const first = own ?? (named.length > 0 ? named : at.scopes);
    const offline = this.#settings !== null && at.metadata?.scopes_supported?.includes('offline_access') === true;
    return [...new Set([...first, ...this.#granted, ...scopes, ...(offline ? ['offline_access'] : [])])];
  }

  async keep(given: GivenTokens, about: TokenSubject): Promise<KeptTokens> {
    const tokens = tokensOf(given, about);
    for (const secret of [tokens.access, tokens.refresh]) if (secret !== null) this.remember(secret);
    this.#granted = tokens.scopes;
    try {
      // Stored before it is used, so that it survives a crash in between.
      if (this.#settings !== null) await this.#options.kept.save(tokens);
    } finally {
      this.holder.hold(tokens);
    }
    return tokens;
  }

  /** Whether kept tokens are of use now: not if they were refused or lack a scope. */
  isUsable(tokens: KeptTokens, step: McpAuthStep): boolean {
    return tokens.access !== this.holder.current()?.access && !isExpired(tokens) && hasScopes(tokens, step);
  }

  /** Looks for a token before a request that has none, or an expired one. */
  async #findHeld(): Promise<void> {
    const { auth } = this.#options;
    if (auth.type === 'source') return this.holder.hold({ access: await tokenFrom(auth.get), expiresAt: null });
    const tokens = await this.readKept().catch(() => null);
    if (tokens !== null) this.holder.hold(tokens);
  }

  async #fetch(auth: ClientCredentialsSettings, step: McpAuthStep, signal: AbortSignal): Promise<void> {
    const { credentialTokens } = await import('./oauth-client.ts');
    const at = await this.find(signal);
    const scopes = this.scopesFor(at, step);
    const given = await credentialTokens(at, auth, scopes, this.netOf(signal));
    await this.keep(given, { issuer: at.issuer, clientId: auth.clientId, scopes });
  }

  async #renewKept(step: McpAuthStep, signal: AbortSignal): Promise<'stored' | 'fetched'> {
    const { server, kept } = this.#options;
    const tokens = await this.readKept();
    if (tokens !== null && this.isUsable(tokens, step)) {
      this.holder.hold(tokens);
      return 'stored';
    }
    if (tokens === null) throw loginRequired(server, 'nobody has signed in yet');
    if (!hasScopes(tokens, step)) throw loginRequired(server, 'its login lacks a scope');
    if (tokens.refresh === null) throw loginRequired(server, 'its login has ended');
    const at = await this.find(signal);
    if (at.issuer !== tokens.issuer) throw loginRequired(server, 'it has another authorization server now');
    const client = await clientOf(tokens, this.#settings, kept);
    if (client === null) throw loginRequired(server, 'its login was made by another client');
    const { refresh } = await import('./oauth-client.ts');
    try {
      // Not aborted with the step: the server may have replaced the token already, and then it must be kept.
      const net = this.netOf(new AbortController().signal);
      const given = await refresh(at, { client, refreshToken: tokens.refresh }, net);
      await this.keep(given, tokens);
      return 'fetched';
    } catch (error) {
      if (!(error instanceof AuthFault)) throw error;
      if (error.kind === 'invalid-grant') await kept.drop(tokens);
      // Someone who signs in has other tokens, whatever is wrong with these.
      if (error.kind === 'refused') throw loginRequired(server, error.message);
      if (error.kind === 'invalid-client' && this.#settings?.clientId === undefined) await kept.dropClient(at.issuer);
      throw error;
    }
  }
}

/** Tokens as they are kept. They are not used to their very end: they must still hold when they arrive. */
function tokensOf({ access, refresh, expiresInS, scopes }: GivenTokens, about: TokenSubject): KeptTokens {
  const { issuer, clientId, client } = about;
  const usableMs = expiresInS === null ? 0 : expiresInS * 1000 - Math.min(MARGIN_MS, expiresInS * 100);
  const expiresAt = usableMs > 0 ? Date.now() + usableMs : null;
  return { access, refresh, expiresAt, scopes: [...(scopes ?? about.scopes)], clientId, client, issuer };
}

/** The client that tokens were given to; null where it is none of ours any more. */
async function clientOf(
  { issuer, clientId, client: own }: KeptTokens,
  settings: OAuthSettings | null,
  kept: KeptLogin,
): Promise<AuthClient | null> {
  if (settings?.clientId === clientId) return { client_id: clientId, client_secret: settings.clientSecret };
  const client = own ?? (await kept.client(issuer));
  return client?.client_id === clientId ? client : null;
}

/** Whether tokens have what the server asked for, where it was scopes that it asked for. */
function hasScopes(tokens: KeptTokens, { scopes, forScopes }: McpAuthStep): boolean {
  return !forScopes || scopes.every((scope) => tokens.scopes.includes(scope));
}
