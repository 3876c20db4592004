import { memberOf } from '../../json/json.ts';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { McpLogin } from '../../actors/mcp/mcp-auth.ts';
import { type AuthServer, checkLogin, isSame } from './find-server.ts';
import { register, startLogin } from './oauth-client.ts';
import { type OAuthSettings, isLoopback, type AuthClient } from '../config/auth.ts';
import type { KeptClient, KeptLogin } from './token-store.ts';
import { AuthFault, type AuthNet } from './auth-fetch.ts';

/**
 * A sign-in that waits for its redirect.
 *
 * I1 A redirect with another `state` is none of ours: it changes nothing.
 * I2 One of another issuer (RFC 9207), or without one where the server promises it, ends the sign-in; its code is not used.
 * I3 The first redirect of ours is the last.
 */
export interface PreparedLogin {
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
  /** A person wants to sign in now; otherwise it is only offered. */
  readonly isWanted: boolean;
}

/** Listens where the browser will come back to, finds or makes our registration, and prepares the address to open. */
export async function prepareLogin(
  { server, settings, scopes, kept, isWanted }: PendingOptions,
  net: AuthNet,
): Promise<PreparedLogin> {
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
    const client = await clientOf({ server, settings, scopes, kept, isWanted, before, redirectUrl }, net);
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
  const promised = memberOf(metadata, 'authorization_response_iss_parameter_supported') === true;
  // RFC 9207: compared letter by letter with what the server calls itself.
  if (iss === null ? promised : metadata === null ? !isSame(iss, issuer) : iss !== metadata.issuer)
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
  const { server, settings, scopes, kept, isWanted, before, redirectUrl } = options;
  const { clientId, clientSecret } = settings;
  const isDocument = clientId !== undefined && URL.canParse(clientId) && new URL(clientId).protocol === 'https:';
  const takesDocuments = server.metadata?.client_id_metadata_document_supported === true;
  if (clientId !== undefined && (!isDocument || takesDocuments))
    return { client_id: clientId, client_secret: clientSecret };
  const again = before ?? (await kept.client(server.issuer));
  // A server that has forgotten this client says so to the person alone.
  const led = again?.isUnproved !== true || !isWanted;
  if (again !== null && led && again.redirectUrl === redirectUrl && !hasExpired(again) && mayAskFor(scopes, again)) {
    if (isWanted) await kept.saveClient(server.issuer, { ...again, isUnproved: true });
    return again;
  }
  const made = await register(server, { redirectUrl, scopes }, net);
  const { client_id, client_secret, token_endpoint_auth_method, client_secret_expires_at, scope } = made;
  const client = { client_id, client_secret, token_endpoint_auth_method, client_secret_expires_at, scope };
  await kept.saveClient(server.issuer, { ...client, redirectUrl, isUnproved: isWanted });
  return client;
}

function hasExpired({ client_secret_expires_at: seconds = 0 }: AuthClient): boolean {
  return seconds > 0 && seconds * 1000 <= Date.now();
}

/** Strict servers let a client ask for no more than it was registered for: for the scopes of another server, or of a call. */
function mayAskFor(scopes: readonly string[], { scope }: KeptClient): boolean {
  const registered = scope?.split(' ');
  return registered === undefined || scopes.every((one) => registered.includes(one));
}

/** Where the browser returns to after signing in. */
export interface RedirectListener {
  /** The address to be registered and sent along. */
  readonly redirectUrl: string;
  close(): void;
}

/** What a redirect turned out to be: it ends the waiting, or is none of ours. */
export type TakeRedirect = (address: URL) => 'taken' | 'foreign' | 'refused';

const PAGES: Readonly<Record<ReturnType<TakeRedirect>, readonly [status: number, text: string]>> = {
  taken: [200, 'Thank you: the program continues. You can close this page.'],
  refused: [400, 'The sign-in failed; the program says why. You can close this page.'],
  foreign: [400, 'This answer does not belong to a pending sign-in.'],
};

/**
 * Listens on 127.0.0.1 for one redirect. `port` 0, or a port that is taken: a free one is used.
 * What does not belong to this sign-in is answered with 400 and changes nothing; what does closes the listener.
 */
export async function listenForRedirect(
  {
    host,
    port,
    path,
    exact,
  }: { readonly host: string; readonly port: number; readonly path: string; readonly exact: boolean },
  take: TakeRedirect,
): Promise<RedirectListener> {
  const server = createServer({ requestTimeout: 10_000 }, (request, response) => {
    // Any page that is open in the browser may ask for anything, also for what is no address, such as `//`.
    const address = request.method === 'GET' ? URL.parse(request.url ?? '/', origin()) : null;
    const [status, text] = address?.pathname === path ? PAGES[take(address)] : [404, 'Nothing is here.'];
    const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', connection: 'close' };
    response.writeHead(status, { ...headers, 'referrer-policy': 'no-referrer' }).end(`${text}\n`);
  });
  const origin = (): string => `http://${host}:${portOf(server.address())}`;
  const listen = (at: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(at, host === 'localhost' ? '127.0.0.1' : host.replaceAll(/[[\]]/g, ''), () => {
        server.off('error', reject);
        resolve();
      });
    });
  await listen(port).catch((error: unknown) => {
    if (exact || port === 0) throw error;
    return listen(0);
  });
  // A pending login does not keep the process alive, nor does a connection that a browser opens in advance.
  server.unref().on('connection', (socket) => void socket.unref());
  return {
    redirectUrl: `${origin()}${path}`,
    close: () => {
      server.close();
    },
  };
}

function portOf(address: AddressInfo | string | null): number {
  return typeof address === 'object' && address !== null ? address.port : 0;
}
