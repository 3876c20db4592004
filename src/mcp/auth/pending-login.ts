import { randomBytes } from 'node:crypto';
import type { McpLogin } from '../../actors/mcp/mcp-auth.ts';
import { AuthFault, type AuthNet, isLoopback } from './auth-fetch.ts';
import { type AuthServer, checkLogin, isSame } from './find-server.ts';
import type { KeptClient, KeptLogin } from './kept-login.ts';
import { type AuthClient, register, startLogin } from './oauth-client.ts';
import type { OAuthSettings } from './options.ts';
import { type RedirectListener, type TakeRedirect, listenForRedirect } from './redirect-listener.ts';

/**
 * A sign-in that waits for its redirect.
 *
 * I1 A redirect with another `state` is none of ours: it changes nothing.
 * I2 One of another issuer (RFC 9207), or without one where the server promises it, ends the sign-in; its code is not used.
 * I3 The first redirect of ours is the last.
 */
export interface PendingLogin {
  readonly login: McpLogin;
  readonly server: AuthServer;
  readonly client: AuthClient;
  readonly redirectUrl: string;
  readonly verifier: string;
  /** Resolves with the code; rejects with an {@link AuthFault}. */
  readonly code: Promise<string>;
  /** Takes the address on which the browser has ended. */
  readonly take: TakeRedirect;
  close(): void;
}

interface PendingOptions {
  readonly server: AuthServer;
  readonly settings: OAuthSettings;
  readonly scopes: readonly string[];
  readonly kept: KeptLogin;
}

/** Listens where the browser will come back to, finds or makes our registration, and prepares the address to open. */
export async function prepareLogin(
  { server, settings, scopes, kept }: PendingOptions,
  net: AuthNet,
): Promise<PendingLogin> {
  checkLogin(server);
  const state = randomBytes(32).toString('base64url');
  const { promise: code, resolve, reject } = Promise.withResolvers<string>();
  code.catch(() => undefined);
  let isOver = false;
  const take: TakeRedirect = ({ searchParams }) => {
    if (isOver || searchParams.get('state') !== state) return 'foreign';
    isOver = true;
    const verdict = readRedirect(searchParams, server);
    if (verdict instanceof AuthFault) {
      reject(verdict);
      return 'refused';
    }
    resolve(verdict);
    return 'taken';
  };
  const before = settings.clientId === undefined ? await kept.client(server.issuer) : null;
  const { redirectUrl, listener } = await openRedirect(
    settings.redirect ?? 'loopback',
    before?.redirectUrl ?? null,
    take,
  );
  try {
    const client = await clientOf({ server, settings, scopes, kept, before, redirectUrl }, net);
    const { url, verifier } = await startLogin(server, { client, redirectUrl, scopes, state });
    if (net.signal.aborted) throw new AuthFault('unreachable', 'it was given up');
    const login: McpLogin = { url, scopes, answer: listener === null ? 'paste' : 'loopback' };
    return { login, server, client, redirectUrl, verifier, code, take, close: () => listener?.close() };
  } catch (error) {
    listener?.close();
    throw error;
  }
}

/** The code of a redirect, or why it has none that may be used. */
function readRedirect(answer: URLSearchParams, { issuer, metadata }: AuthServer): string | AuthFault {
  const iss = answer.get('iss');
  const promised =
    metadata !== null && Reflect.get(metadata, 'authorization_response_iss_parameter_supported') === true;
  if (iss === null ? promised : !isSame(iss, issuer))
    return new AuthFault('unsafe', `the answer to the sign-in does not come from ${issuer}`);
  const error = answer.get('error');
  if (error !== null) {
    const shown = /^[a-z_]{1,40}$/.test(error) ? error : 'an error';
    return new AuthFault('invalid-grant', `the sign-in was refused (${shown})`);
  }
  return answer.get('code') ?? new AuthFault('wrong', 'the answer to the sign-in has no code');
}

/** A listener for the browser, or none where the browser ends somewhere else. */
async function openRedirect(
  redirect: string,
  before: string | null,
  take: TakeRedirect,
): Promise<{ readonly redirectUrl: string; readonly listener: RedirectListener | null }> {
  if (redirect === 'loopback') {
    // The port of the registration, if it is free: not every server takes another one.
    const port = before !== null && isLoopback(before) ? Number(new URL(before).port) : 0;
    const listener = await listenForRedirect({ host: '127.0.0.1', port, path: '/callback', exact: false }, take);
    return { redirectUrl: listener.redirectUrl, listener };
  }
  const { protocol, hostname, port, pathname } = new URL(redirect);
  if (protocol !== 'http:' || !isLoopback(redirect) || port === '') return { redirectUrl: redirect, listener: null };
  const listener = await listenForRedirect(
    { host: hostname, port: Number(port), path: pathname, exact: true },
    take,
  ).catch((error: unknown) => {
    throw new AuthFault('unreachable', `nothing can listen at ${redirect}`, error);
  });
  return { redirectUrl: redirect, listener };
}

interface ClientOptions extends PendingOptions {
  readonly before: KeptClient | null;
  readonly redirectUrl: string;
}

/** Our registration: the configured one, a metadata document, the one that is kept, or a new one. */
async function clientOf(options: ClientOptions, net: AuthNet): Promise<AuthClient> {
  const { server, settings, scopes, kept, before, redirectUrl } = options;
  const { clientId, clientSecret } = settings;
  const isDocument = clientId !== undefined && URL.canParse(clientId) && new URL(clientId).protocol === 'https:';
  const takesDocuments = server.metadata?.client_id_metadata_document_supported === true;
  if (clientId !== undefined && (!isDocument || takesDocuments))
    return { client_id: clientId, ...(clientSecret === undefined ? {} : { client_secret: clientSecret }) };
  const again = before ?? (await kept.client(server.issuer));
  if (again !== null && again.redirectUrl === redirectUrl && !hasExpired(again)) return again;
  const made = await register(server, { redirectUrl, scopes }, net);
  const { client_id, client_secret, token_endpoint_auth_method, client_secret_expires_at } = made;
  const client = { client_id, client_secret, token_endpoint_auth_method, client_secret_expires_at };
  await kept.saveClient(server.issuer, { ...client, redirectUrl });
  return client;
}

function hasExpired({ client_secret_expires_at: seconds = 0 }: AuthClient): boolean {
  return seconds > 0 && seconds * 1000 <= Date.now();
}
