/** An authorization server on loopback, which can be told to misbehave. Its people agree to everything at once. */
import { createHash, randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What it does wrong, or otherwise than most. All of it may be changed at any time. */
export interface Misbehaviour {
  /** Methods of PKCE that it says it knows; null: it says nothing. Default S256. */
  pkce?: readonly string[] | null;
  /** What it calls itself in its description. */
  issuer?: string;
  /** `iss` of its redirects; null: it sends none. Default: none. */
  iss?: string | null;
  /** It promises to send `iss`. */
  promisesIss?: boolean;
  /** The `state` of its redirects. Default: the one that it was given. */
  state?: string;
  /** What its token endpoint answers, instead of tokens. */
  tokens?: 'invalid_grant' | 'invalid_client' | 'unauthorized_client' | 429 | 500 | 'redirect' | 'hang' | 'drop';
  tokenEndpoint?: string;
  /** Where its token endpoint redirects to, with `tokens: 'redirect'`. */
  redirectTo?: string;
  /** It lets no client register itself. */
  refusesRegistration?: boolean;
  /** As with the Python SDK, clients have a secret and stand in the body of a request for tokens, whatever their method. */
  wantsSecret?: boolean;
  /** How clients prove who they are, where that is said. */
  authMethods?: readonly string[];
  /** The person refuses. */
  denies?: boolean;
  /** What kind of tokens it gives. Default Bearer. */
  tokenType?: string;
  /** How long a token holds, in seconds. Default 3600. */
  expiresIn?: number;
  /** It takes a while to answer at the token endpoint, in milliseconds. */
  slowMs?: number;
  /** Its endpoints have moved, and it redirects there. */
  hasMoved?: boolean;
  /** What its answers have besides, by path. */
  adds?: Readonly<Record<string, object>>;
  /** What it answers with instead, by path. */
  answers?: Readonly<Record<string, readonly [status: number, body: string]>>;
}

interface Grant {
  readonly scope: string;
  readonly resource: string | null;
  readonly client: string;
}

/** An authorization server that runs. */
export interface AuthServer extends AsyncDisposable {
  readonly url: string;
  readonly wrong: Misbehaviour;
  /** Requests by path, in order: `POST /token refresh_token`. */
  readonly requests: string[];
  /** What the last request to the token endpoint held. */
  lastToken(): URLSearchParams;
  /** Id and secret in the header of that request, as RFC 6749 has them read. */
  lastClient(): readonly string[];
  /** What the last request to the authorization endpoint held. */
  lastAuthorize(): URLSearchParams;
  /** Every secret that it gave away: codes, tokens, secrets of clients. */
  readonly secrets: string[];
  grantOf(token: string): Grant | undefined;
  /** All access tokens of now hold no more. */
  expire(): void;
  /** All refresh tokens hold no more. */
  revoke(): void;
  count(request: string): number;
}

/** Starts an authorization server. */
export async function authServer(wrong: Misbehaviour = {}): Promise<AuthServer> {
  const requests: string[] = [];
  const secrets: string[] = [];
  const codes = new Map<string, Grant & { readonly challenge: string; readonly redirect: string }>();
  const access = new Map<string, Grant>();
  const refresh = new Map<string, Grant>();
  const clients = new Map<string, string | undefined>();
  let [authorized, asked] = [new URLSearchParams(), new URLSearchParams()];
  let inHeader: readonly string[] = [];

  const send = (response: ServerResponse, status: number, body: object): void => {
    const path = response.req.url?.split('?')[0] ?? '';
    const usual = [status, JSON.stringify({ ...body, ...wrong.adds?.[path] })] as const;
    const [code, text] = wrong.answers?.[path] ?? usual;
    response.writeHead(code, { 'content-type': 'application/json' }).end(text);
  };
  const make = (kind: string): string => {
    const secret = `${kind}-${randomUUID()}`;
    secrets.push(secret);
    return secret;
  };
  const describe = () => ({
    issuer: wrong.issuer ?? url,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: wrong.tokenEndpoint ?? `${url}/token`,
    ...(wrong.refusesRegistration === true ? {} : { registration_endpoint: `${url}/register` }),
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
    token_endpoint_auth_methods_supported:
      wrong.authMethods ??
      (wrong.wantsSecret === true ? ['client_secret_basic', 'client_secret_post'] : ['none', 'client_secret_basic']),
    ...(wrong.pkce === null ? {} : { code_challenge_methods_supported: wrong.pkce ?? ['S256'] }),
    ...(wrong.promisesIss === true ? { authorization_response_iss_parameter_supported: true } : {}),
  });
  const authorize = (query: URLSearchParams, response: ServerResponse): void => {
    authorized = query;
    const registered = clients.get(query.get('client_id') ?? '')?.split(' ');
    const isBeyond = query
      .get('scope')
      ?.split(' ')
      .some((scope) => registered?.includes(scope) === false);
    const back = new URL(query.get('redirect_uri') ?? 'http://nowhere.invalid');
    const code = make('code');
    codes.set(code, {
      scope: query.get('scope') ?? 'read',
      resource: query.get('resource'),
      client: query.get('client_id') ?? '',
      challenge: query.get('code_challenge') ?? '',
      redirect: back.href,
    });
    if (wrong.denies === true) back.searchParams.set('error', 'access_denied');
    else if (isBeyond === true) back.searchParams.set('error', 'invalid_scope');
    else back.searchParams.set('code', code);
    back.searchParams.set('state', wrong.state ?? query.get('state') ?? '');
    if (wrong.iss != null) back.searchParams.set('iss', wrong.iss);
    response.writeHead(302, { location: back.href }).end();
  };
  const give = (grant: Grant, response: ServerResponse, renews: boolean): void => {
    const [token, renewal] = [make('access'), make('refresh')];
    access.set(token, grant);
    if (renews) refresh.set(renewal, grant);
    send(response, 200, {
      access_token: token,
      token_type: wrong.tokenType ?? 'Bearer',
      expires_in: wrong.expiresIn ?? 3600,
      scope: grant.scope,
      ...(renews ? { refresh_token: renewal } : {}),
    });
  };
  const token = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    asked = new URLSearchParams(await textOf(request));
    const basic = Buffer.from(request.headers.authorization?.split(' ')[1] ?? '', 'base64').toString();
    inHeader = basic.split(':').map((part) => decodeURIComponent(part.replaceAll('+', ' ')));
    const grantType = asked.get('grant_type') ?? '';
    requests.push(`POST /token ${grantType}`);
    if (wrong.slowMs !== undefined) await new Promise((resolve) => setTimeout(resolve, wrong.slowMs));
    switch (wrong.tokens) {
      case 'hang':
        return;
      case 'redirect':
        return void response.writeHead(307, { location: wrong.redirectTo ?? 'http://localhost:9/token' }).end();
      case 429:
      case 500:
        return send(response, wrong.tokens, { error: 'invalid_grant' });
      case 'unauthorized_client':
        return send(response, 401, { error: wrong.tokens, error_description: 'Invalid client_id' });
      case 'invalid_grant':
      case 'invalid_client':
        return send(response, 400, { error: wrong.tokens, error_description: `not this: ${asked.toString()}` });
    }
    if (wrong.wantsSecret === true && !clients.has(asked.get('client_id') ?? ''))
      return send(response, 401, { error: 'unauthorized_client', error_description: 'Missing client_id' });
    const taken = takeGrant(grantType);
    // The other side is gone before it hears of the tokens that took the place of the old ones.
    if (wrong.tokens === 'drop') return void response.destroy();
    if (taken === null) return send(response, 400, { error: 'invalid_grant' });
    give(taken, response, ['authorization_code', 'refresh_token'].includes(grantType));
  };
  const takeGrant = (grantType: string): Grant | null => {
    if (grantType === 'client_credentials' || grantType.endsWith(':jwt-bearer'))
      return { scope: asked.get('scope') ?? 'read', resource: asked.get('resource'), client: 'program' };
    if (grantType === 'refresh_token') {
      const old = asked.get('refresh_token') ?? '';
      const grant = refresh.get(old) ?? null;
      refresh.delete(old);
      return grant;
    }
    const code = codes.get(asked.get('code') ?? '');
    codes.delete(asked.get('code') ?? '');
    const proved = createHash('sha256')
      .update(asked.get('code_verifier') ?? '')
      .digest('base64url');
    return code?.challenge === proved && code.redirect === asked.get('redirect_uri') ? code : null;
  };

  const server = createServer((request, response) => {
    const { pathname: given, searchParams } = new URL(request.url ?? '/', url);
    if (wrong.hasMoved === true && given !== '/authorize' && !given.startsWith('/new/'))
      return void response.writeHead(307, { location: `/new${given}` }).end('<h1>Moved</h1>');
    const pathname = given.replace(/^\/new/, '');
    if (pathname !== '/token') requests.push(`${request.method} ${pathname}`);
    if (pathname === '/.well-known/oauth-authorization-server') return send(response, 200, describe());
    if (pathname === '/authorize') return authorize(searchParams, response);
    if (pathname === '/token') return void token(request, response);
    if (pathname === '/register' && wrong.refusesRegistration !== true) {
      return void textOf(request).then((body) => {
        const told: { application_type?: string; redirect_uris: string[]; scope?: string } = JSON.parse(body);
        // As OpenID Connect has it: a client on the web returns to https, and one that says nothing is on the web.
        const isNative = told.redirect_uris.every((address) => address.startsWith('http://127.0.0.1'));
        if ((told.application_type ?? 'web') !== (isNative ? 'native' : 'web'))
          return send(response, 400, { error: 'invalid_redirect_uri' });
        const client = `client-${clients.size + 1}`;
        clients.set(client, told.scope);
        const secret = wrong.wantsSecret === true ? { client_secret: make('secret') } : {};
        send(response, 201, { ...told, client_id: client, ...secret });
      });
    }
    send(response, 404, {});
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${portOf(server.address())}`;
  return {
    url,
    wrong,
    requests,
    secrets,
    lastToken: () => asked,
    lastClient: () => inHeader,
    lastAuthorize: () => authorized,
    grantOf: (one) => access.get(one),
    expire: () => access.clear(),
    revoke: () => refresh.clear(),
    count: (wanted) => requests.filter((request) => request === wanted).length,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of request) text += String(piece);
  return text;
}

function portOf(address: AddressInfo | string | null): number {
  return typeof address === 'object' && address !== null ? address.port : 0;
}
