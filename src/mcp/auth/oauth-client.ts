/**
 * Owns: what is asked of an authorization server, by the SDK's own functions. Does not own: where tokens are kept, and
 * when any of it happens.
 *
 * I1 A code or token goes to the endpoints of one server alone, which {@link findServer} has checked.
 * I2 Only a 400 or 401 that says `invalid_grant`, `invalid_client` or `unauthorized_client` counts as such.
 * I3 No error holds a code, a token or a secret.
 */
import {
  type AuthClient,
  type ClientCredentialsSettings,
  type IdentityProviderOptions,
  isLoopback,
} from '../config/auth.ts';
import {
  type AddClientAuthentication,
  type OAuthTokens,
  RegistrationRejectedError,
  createPrivateKeyJwtAuth,
  exchangeAuthorization,
  fetchToken,
  refreshAuthorization,
  registerClient,
  selectClientAuthMethod,
  startAuthorization,
} from '@modelcontextprotocol/client';
import { attempt, type AuthServer, codeText, shownWords } from './find-server.ts';
import { AuthFault, type AuthFetch, type AuthNet, authFetch, checkAddress, objectIn, tokenFrom } from './auth-fetch.ts';
import { scopesOf } from '../http/challenge.ts';
import { isJsonObject, parsedText } from '../../json/json.ts';

/** Tokens as they came. */
export interface GivenTokens {
  readonly access: string;
  readonly refresh: string | null;
  readonly expiresInS: number | null;
  /** Null: those that were asked for. */
  readonly scopes: readonly string[] | null;
}

/** Registers this client. */
export async function register(
  server: AuthServer,
  { redirectUrl, scopes }: { readonly redirectUrl: string; readonly scopes: readonly string[] },
  net: AuthNet,
): Promise<AuthClient & { readonly scope?: string | undefined }> {
  const { url, metadata } = server;
  if (metadata !== null && metadata.registration_endpoint === undefined)
    throw new AuthFault(
      'wrong',
      `the authorization server ${url} lets no client register itself: register one there and give its clientId`,
    );
  const methods = metadata?.token_endpoint_auth_methods_supported ?? ['none'];
  // Servers of the Python SDK promise `basic` and want the client's id in the body all the same.
  const method =
    ['none', 'client_secret_post', 'client_secret_basic'].find((known) => methods.includes(known)) ?? 'none';
  return attempt(
    () =>
      registerClient(url, {
        ...(metadata === null ? {} : { metadata }),
        clientMetadata: {
          client_name: 'Signalbox',
          redirect_uris: [redirectUrl],
          // Servers of OpenID Connect take a client without it for one on the web, which may not return to loopback.
          application_type: isLoopback(redirectUrl) ? 'native' : 'web',
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
          token_endpoint_auth_method: method,
        },
        ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
        fetchFn: endpointFetch(net, { redirect_uris: [redirectUrl] }),
      }).catch((error: unknown) => {
        throw error instanceof RegistrationRejectedError ? refusedRegistration(server, error) : error;
      }),
    [],
  );
}

function refusedRegistration({ url, metadata }: AuthServer, { status, body }: RegistrationRejectedError): AuthFault {
  if (metadata === null && status === 404)
    return new AuthFault('wrong', `it names no authorization server, and ${url} is none (HTTP 404)`);
  const answer = parsedText(body);
  const { error, error_description: words } = isJsonObject(answer) ? answer : {};
  const why = `HTTP ${status}${codeText(error)}${typeof words === 'string' ? `: ${shownWords(words)}` : ''}`;
  return new AuthFault(
    'wrong',
    `the authorization server ${url} does not let this client register itself (${why}): register one there and give its clientId`,
  );
}

/** A `fetch` for an endpoint of OAuth, where not every server repeats or says what is clear. */
function endpointFetch(net: AuthNet, clear: object): AuthFetch {
  return async (url, init) => {
    const response = await authFetch(net)(url, init);
    const answer = await objectIn(response);
    const { status, headers } = response;
    return answer === null ? response : Response.json({ ...clear, ...answer }, { status, headers });
  };
}

/** What a login is begun with. */
interface LoginRequest {
  readonly client: AuthClient;
  readonly redirectUrl: string;
  readonly scopes: readonly string[];
  readonly state: string;
}

/** Makes the address at which a person signs in, and what the code will be exchanged with. */
export async function startLogin(
  { url, metadata, resource }: AuthServer,
  { client, redirectUrl, scopes, state }: LoginRequest,
): Promise<{ readonly url: string; readonly verifier: string }> {
  const started = await attempt(
    () =>
      startAuthorization(url, {
        ...(metadata === null ? {} : { metadata }),
        clientInformation: client,
        redirectUrl,
        state,
        ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
        ...(resource === null ? {} : { resource }),
      }),
    [],
  );
  return { url: started.authorizationUrl.href, verifier: started.codeVerifier };
}

/** Exchanges a code for tokens. */
export async function exchangeLoginCode(
  server: AuthServer,
  grant: {
    readonly client: AuthClient;
    readonly code: string;
    readonly verifier: string;
    readonly redirectUrl: string;
  },
  net: AuthNet,
): Promise<GivenTokens> {
  const { client, code, verifier, redirectUrl } = grant;
  const secrets = [code, verifier, client.client_secret];
  const tokens = await attempt(
    () =>
      exchangeAuthorization(server.url, {
        ...common(server, client, net),
        // The code's issuer was checked when the redirect came.
        ...(server.metadata === null ? {} : { iss: server.metadata.issuer }),
        authorizationCode: code,
        codeVerifier: verifier,
        redirectUri: redirectUrl,
      }),
    secrets,
  );
  return given(tokens);
}

/** Exchanges a refresh token for tokens. */
export async function refresh(
  server: AuthServer,
  { client, refreshToken }: { readonly client: AuthClient; readonly refreshToken: string },
  net: AuthNet,
): Promise<GivenTokens> {
  const secrets = [refreshToken, client.client_secret];
  return given(
    await attempt(() => refreshAuthorization(server.url, { ...common(server, client, net), refreshToken }), secrets),
  );
}

function common({ metadata, resource }: AuthServer, client: AuthClient, net: AuthNet) {
  return {
    ...(metadata === null ? {} : { metadata }),
    ...(resource === null ? {} : { resource }),
    clientInformation: forHeader(client, metadata),
    fetchFn: tokenFetch(net),
  };
}

/** A `fetch` for the token endpoint, whose refusals are OAuth's. */
function tokenFetch(net: AuthNet): AuthFetch {
  const ask = endpointFetch(net, { token_type: 'Bearer' });
  return async (url, init) => {
    const response = await ask(url, init);
    if (response.status < 400 || typeof (await objectIn(response))?.error === 'string') return response;
    const { origin, pathname } = new URL(url);
    throw new AuthFault('refused', `${origin}${pathname} answered with HTTP ${response.status}, which is not OAuth`);
  };
}

/** In a header, id and secret are encoded as in a form (RFC 6749, 2.3.1), where servers would read something else. The SDK does not. */
function forHeader(client: AuthClient, metadata: AuthServer['metadata']): AuthClient {
  const { client_id, client_secret: secret } = client;
  const methods = metadata?.token_endpoint_auth_methods_supported ?? [];
  if (secret === undefined || selectClientAuthMethod(client, methods) !== 'client_secret_basic') return client;
  const encoded = (text: string): string => text.replaceAll(/[%+]|[^ -~]/gu, encodeURIComponent);
  return { ...client, client_id: encoded(client_id).replaceAll(':', '%3A'), client_secret: encoded(secret) };
}

/** Gets tokens with the credentials of a program. */
export async function credentialTokens(
  server: AuthServer,
  settings: ClientCredentialsSettings,
  scopes: readonly string[],
  net: AuthNet,
): Promise<GivenTokens> {
  const { clientId, clientSecret, privateKey, algorithm = 'RS256', identityProvider } = settings;
  const { url, metadata, resource } = server;
  const assertion = identityProvider && (await vouchedFor(server, identityProvider, scopes, net));
  const grant = assertion === undefined ? { grant_type: 'client_credentials' } : { grant_type: JWT_BEARER, assertion };
  const scope = scopes.join(' ');
  const client = { client_id: clientId, client_secret: clientSecret };
  const tokens = await attempt(
    () =>
      fetchToken(
        {
          redirectUrl: undefined,
          clientMetadata: { redirect_uris: [] },
          clientInformation: () => ({ ...forHeader(client, metadata), issuer: url }),
          tokens: () => undefined,
          saveTokens: () => undefined,
          redirectToAuthorization: () => undefined,
          saveCodeVerifier: () => undefined,
          codeVerifier: () => '',
          prepareTokenRequest: () => new URLSearchParams({ ...grant, ...(scope === '' ? {} : { scope }) }),
          ...(privateKey === undefined ? {} : { addClientAuthentication: signedWith(clientId, privateKey, algorithm) }),
        },
        url,
        {
          ...(metadata === null ? {} : { metadata }),
          ...(resource === null ? {} : { resource: new URL(resource) }),
          fetchFn: tokenFetch(net),
        },
      ),
    [clientSecret, privateKey, assertion],
  );
  return given(tokens);
}

function signedWith(clientId: string, privateKey: string, alg: string): AddClientAuthentication {
  const sign = createPrivateKeyJwtAuth({ issuer: clientId, subject: clientId, privateKey, alg });
  return async (...request) => {
    try {
      await sign(...request);
    } catch {
      throw new AuthFault(
        'wrong',
        `the private key cannot sign with ${alg}: it must be PKCS #8 in PEM, and fit \`algorithm\``,
      );
    }
  };
}

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token';
const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag';

/** Has an identity provider vouch for its user at an authorization server (RFC 8693, cross-app access). */
async function vouchedFor(
  { issuer, resource }: AuthServer,
  { tokenEndpoint, clientId, clientSecret, idToken }: IdentityProviderOptions,
  scopes: readonly string[],
  net: AuthNet,
): Promise<string> {
  checkAddress('the identity provider', tokenEndpoint, net);
  const body = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    requested_token_type: ID_JAG,
    audience: issuer,
    ...(resource === null ? {} : { resource }),
    ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
    subject_token: typeof idToken === 'string' ? idToken : await tokenFrom(idToken),
    subject_token_type: ID_TOKEN,
    client_id: clientId,
    ...(clientSecret === undefined ? {} : { client_secret: clientSecret }),
  });
  const response = await authFetch(net)(tokenEndpoint, {
    method: 'POST',
    body,
    headers: { accept: 'application/json' },
  });
  const { access_token: assertion, issued_token_type: type, error } = (await objectIn(response)) ?? {};
  if (response.ok && type === ID_JAG && typeof assertion === 'string') return assertion;
  throw new AuthFault('invalid-grant', `the identity provider refused (HTTP ${response.status}${codeText(error)})`);
}

function given({ access_token, refresh_token, expires_in, scope, token_type }: OAuthTokens): GivenTokens {
  if (token_type.toLowerCase() !== 'bearer')
    throw new AuthFault('wrong', 'the authorization server gives tokens of another kind than Bearer');
  return {
    access: access_token,
    refresh: refresh_token ?? null,
    expiresInS: expires_in ?? null,
    scopes: scope === undefined ? null : scopesOf(scope),
  };
}
