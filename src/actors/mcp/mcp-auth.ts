import { leaf } from '../leaf.ts';
import type { McpGeneration } from './connect-mcp.ts';

/** What a step of a sign-in receives: the connection, and the scopes that its server has asked for by name. */
export interface McpAuthStep extends McpGeneration {
  readonly scopes: readonly string[];
  /** The token is good, and lacks one of them. */
  readonly forScopes: boolean;
}

/** A sign-in that waits for a person. */
export interface McpLogin {
  /** Where a person signs in. It holds no secret. */
  readonly url: string;
  /** The scopes that are asked for; none: the authorization server decides. */
  readonly scopes: readonly string[];
  /** `loopback`: a browser on this machine answers by itself. `paste`: the address that it ends on has to be handed back. */
  readonly answer: 'loopback' | 'paste';
}

/**
 * All outside operations that signing in needs. Tokens, codes and secrets stay behind this port: what it yields is shown
 * and drawn. Every method rejects with an {@link McpError}: `login-required` where only a person can help, `auth-failed`
 * where nothing helps but another configuration, `auth-required` for credentials that were refused, and any other code
 * for what may pass.
 */
export interface McpAuthorizer {
  /** Gets a token without a person: from the store, by a refresh token, or with the credentials of the configuration. */
  refresh(step: McpAuthStep, signal: AbortSignal): Promise<{ readonly how: 'stored' | 'fetched' }>;
  /** Finds the server's authorization server, and checks that it is safe to use. */
  discover(step: McpAuthStep, signal: AbortSignal): Promise<{ readonly issuer: string }>;
  /** Finds or makes our registration there, and prepares the address that a person has to open. */
  register(step: McpAuthStep, signal: AbortSignal): Promise<McpLogin>;
  /** Waits until a person has signed in, here or in another process. */
  awaitLogin(step: McpAuthStep, signal: AbortSignal): Promise<{ readonly by: 'code' | 'elsewhere' }>;
  /** Exchanges what the person brought for a token. */
  exchange(step: McpAuthStep, signal: AbortSignal): Promise<{ readonly scopes: readonly string[] }>;
  /** Waits until someone has signed in elsewhere, once no one is being asked here. */
  watchLogin(step: McpAuthStep, signal: AbortSignal): Promise<{ readonly by: 'elsewhere' }>;
}

/** Gets a token without a person. */
export const refreshToken = (auth: Pick<McpAuthorizer, 'refresh'>) =>
  leaf('refreshToken', 'once', (input: McpAuthStep, { signal }) => auth.refresh(input, signal));

/** Looks for the authorization server. */
export const discoverAuth = (auth: Pick<McpAuthorizer, 'discover'>) =>
  leaf('discoverAuth', 'none', (input: McpAuthStep, { signal }) => auth.discover(input, signal));

/** Registers this client, unless it is known there already. */
export const registerClient = (auth: Pick<McpAuthorizer, 'register'>) =>
  leaf('registerClient', 'once', (input: McpAuthStep, { signal }) => auth.register(input, signal));

/** Waits for a person. Leaving the state ends the waiting. */
export const awaitLogin = (auth: Pick<McpAuthorizer, 'awaitLogin'>) =>
  leaf('awaitLogin', 'none', (input: McpAuthStep, { signal }) => auth.awaitLogin(input, signal));

/** Exchanges a code for a token. */
export const exchangeCode = (auth: Pick<McpAuthorizer, 'exchange'>) =>
  leaf('exchangeCode', 'once', (input: McpAuthStep, { signal }) => auth.exchange(input, signal));

/** Looks for a login that is made elsewhere. */
export const watchLogin = (auth: Pick<McpAuthorizer, 'watchLogin'>) =>
  leaf('watchLogin', 'none', (input: McpAuthStep, { signal }) => auth.watchLogin(input, signal));
