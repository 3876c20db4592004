/**
 * Owns: finding the authorization server of an MCP server. A server's metadata is checked before it is used: the
 * resource, the issuer, PKCE with S256, https.
 */
import { memberOf } from '../../json/json.ts';
import { type Challenge, readChallenge, scopesOf } from '../http/challenge.ts';
import { AuthFault, type AuthFetch, authFetch, type AuthNet, checkAddress, objectIn } from './auth-fetch.ts';
import {
  type AuthorizationServerMetadata,
  checkResourceAllowed,
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  OAuthError,
  type OAuthProtectedResourceMetadata,
  resourceUrlFromServerUrl,
} from '@modelcontextprotocol/client';

/** An authorization server, found and checked. */
export interface AuthServer {
  readonly url: string;
  /** What it calls itself. */
  readonly issuer: string;
  /** Null for one of 2025-03-26 that describes itself nowhere. */
  readonly metadata: AuthorizationServerMetadata | null;
  /** The MCP server as a resource (RFC 8707); null where that describes itself nowhere. */
  readonly resource: string | null;
  /** The scopes that the MCP server names in its description. */
  readonly scopes: readonly string[];
}

interface Wanted {
  readonly serverUrl: string;
  /** The URL of the MCP server's metadata, as it gives it. Used only within its own origin. */
  readonly resourceMetadata: string | null;
  /** The only authorization server that will do. */
  readonly issuer: string | undefined;
}

/** Finds the authorization server of an MCP server. */
export async function findServer(
  { serverUrl, resourceMetadata, issuer: only }: Wanted,
  net: AuthNet,
): Promise<AuthServer> {
  const described = await readResource(serverUrl, resourceMetadata, net);
  const named = described?.authorization_servers ?? [];
  const url = named.find((one) => only !== undefined && isSame(one, only)) ?? named[0] ?? new URL('/', serverUrl).href;
  checkAddress('the authorization server', url, net);
  // The issuer is checked below: where it is only another way of writing the address, it is the same.
  const how = { fetchFn: descriptionFetch(net), skipIssuerValidation: true };
  const metadata = (await attempt(() => discoverAuthorizationServerMetadata(url, how), [])) ?? null;
  if (metadata === null && named.length > 0)
    throw new AuthFault('wrong', `the authorization server ${url} does not describe itself`);
  if (metadata !== null) checkMetadata(metadata, { url, isNamed: named.length > 0 }, net);
  const issuer = metadata?.issuer ?? url;
  if (only !== undefined && !isSame(issuer, only))
    throw new AuthFault('unsafe', `its authorization server is ${issuer}, and only ${only} is allowed`);
  return {
    url,
    issuer,
    metadata,
    resource: described?.resource ?? null,
    scopes: scopesOf(described?.scopes_supported?.join(' ')),
  };
}

async function readResource(
  serverUrl: string,
  given: string | null,
  net: AuthNet,
): Promise<OAuthProtectedResourceMetadata | null> {
  const own = given !== null && URL.canParse(given) && new URL(given).origin === new URL(serverUrl).origin;
  const statuses: number[] = [];
  try {
    const where = own && given !== null ? { resourceMetadataUrl: given } : {};
    const described = await discoverOAuthProtectedResourceMetadata(serverUrl, where, descriptionFetch(net, statuses));
    const requestedResource = resourceUrlFromServerUrl(serverUrl);
    const isIt = checkResourceAllowed({ requestedResource, configuredResource: described.resource });
    if (!isIt && !isSame(described.resource, serverUrl))
      throw new AuthFault('unsafe', `it describes itself as ${described.resource}, which is another resource`);
    return described;
  } catch (error) {
    if (error instanceof AuthFault) throw error;
    const status = statuses.at(-1) ?? 0;
    // Servers of 2025-03-26 have no description: they are their own authorization servers.
    if (status >= 400) return null;
    throw new AuthFault('wrong', 'what it says of its authorization cannot be read');
  }
}

/** A `fetch` for descriptions, whose statuses it notes. A site may answer every address with a page: that is none. */
function descriptionFetch(net: AuthNet, statuses: number[] = []): AuthFetch {
  return async (url, init) => {
    const answered = await authFetch(net)(url, init);
    const isPage = answered.ok && (await objectIn(answered)) === null;
    const response = isPage ? new Response(null, { status: 404 }) : answered;
    statuses.push(response.status);
    return response;
  };
}

/** What a server demands without a token: its answer to a request that does nothing. Null: nothing, or no answer. */
export async function askForChallenge(serverUrl: string, { signal }: AuthNet): Promise<Challenge | null> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'ping' }),
    redirect: 'manual' as const,
    signal: AbortSignal.any([signal, AbortSignal.timeout(CHALLENGE_MS)]),
  };
  try {
    const response = await fetch(serverUrl, init);
    await response.body?.cancel();
    return response.status === 401 ? readChallenge(response.headers) : null;
  } catch {
    return null;
  }
}

const CHALLENGE_MS = 5000;

function checkMetadata(
  metadata: AuthorizationServerMetadata,
  { url, isNamed }: { readonly url: string; readonly isNamed: boolean },
  net: AuthNet,
): void {
  const { issuer, authorization_endpoint, token_endpoint, registration_endpoint } = metadata;
  if (isNamed && !isSame(issuer, url))
    throw new AuthFault('unsafe', `the authorization server ${url} calls itself ${issuer}`);
  checkAddress('the token endpoint', token_endpoint, net);
  checkAddress('the authorization endpoint', authorization_endpoint, net);
  if (registration_endpoint !== undefined) checkAddress('the registration endpoint', registration_endpoint, net);
}

/** Throws unless a person can sign in at this server safely. */
export function checkLogin({ metadata, url }: AuthServer): void {
  if (metadata === null) return;
  if (metadata.code_challenge_methods_supported?.includes('S256') !== true)
    throw new AuthFault('unsafe', `the authorization server ${url} does not support PKCE with S256`);
}

/** Two ways of writing one address; a slash at the end makes no difference. */
export function isSame(one: string, other: string): boolean {
  const plain = (address: string): string =>
    (URL.canParse(address) ? new URL(address).href : address).replace(/\/$/, '');
  return plain(one) === plain(other);
}

const KINDS: Readonly<Record<string, AuthFault['kind']>> = {
  invalid_grant: 'invalid-grant',
  invalid_client: 'invalid-client',
  // What the Python SDK before 2.0 says of a client that it does not know.
  unauthorized_client: 'invalid-client',
  temporarily_unavailable: 'busy',
  too_many_requests: 'busy',
};

/** Does a step; what the SDK throws becomes an {@link AuthFault} without the texts in `secrets`. */
export async function attempt<T>(step: () => Promise<T>, secrets: readonly (string | undefined)[]): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof AuthFault) throw error;
    if (!(error instanceof OAuthError) || error.code === 'server_error')
      throw new AuthFault('wrong', `the authorization server answered something that is not OAuth${memberIn(error)}`);
    const told = secrets
      .flatMap((secret) => (secret ? [secret, new URLSearchParams({ secret }).toString().slice('secret='.length)] : []))
      .reduce((text, secret) => text.replaceAll(secret, '…'), error.message);
    const words = shownWords(told);
    throw new AuthFault(
      KINDS[error.code] ?? 'refused',
      `the authorization server refused${codeText(error.code)}: ${words}`,
    );
  }
}

/** The first member of an answer that is missing, or of another type. */
function memberIn(error: unknown): string {
  const issues = memberOf(error, 'issues');
  const [first]: readonly { readonly path?: readonly unknown[] }[] = Array.isArray(issues) ? issues : [];
  const [name] = first?.path ?? [];
  return typeof name === 'string' ? ` (${name})` : '';
}

/** The words of another program, for a text of ours. */
export function shownWords(words: string): string {
  return words
    .replaceAll(/[^\x20-\x7E]/g, ' ')
    .slice(0, 200)
    .replace(/\.$/, '');
}

/** An OAuth error code for a text; nothing for what is none. */
export function codeText(code: unknown): string {
  return typeof code === 'string' && /^[a-z_]{1,40}$/.test(code) ? `, ${code}` : '';
}
