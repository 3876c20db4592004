import { memberOf } from '../../json/json.ts';
import { Refusal } from '../../json/shape.ts';
import { z } from '../../json/shapes.ts';
import { optionsOf } from '../../json/known-options.ts';

/** How a person signs in at a server. All of it may be left out. */
export interface OAuthOptions {
  /** The scopes to ask for. Default: those that the server names. More are asked for when it asks for more. */
  readonly scopes?: readonly string[] | undefined;
  /**
   * The id of a client that was registered by hand, or the https address of a client metadata document, which is used
   * where the authorization server takes such. Default: this client registers itself.
   */
  readonly clientId?: string | undefined;
  /** The secret of that client. It is sent to the authorization server alone. */
  readonly clientSecret?: string | undefined;
  /** The only authorization server that may be used, as it names itself. Give it wherever there is a `clientSecret`. */
  readonly issuer?: string | undefined;
  /**
   * Where the browser ends: `loopback` (default), a listener on 127.0.0.1; a loopback address with a port, which is
   * listened on; or any other address, which a person then hands back.
   */
  readonly redirect?: string | undefined;
  /** The owner of the login, if several people use one store: a user's id. Default `default`. */
  readonly identity?: string | undefined;
  /** Where tokens are kept. Default: a file of mode 0600 in your home. Not in JSON. */
  readonly store?: TokenStore | undefined;
}

/** An entry of `auth` for a login by a person, as {@link oauth} makes it and as JSON writes it. */
export interface OAuthSettings extends OAuthOptions {
  readonly type: 'oauth';
}

/** Credentials of a program, for servers that no person signs in at. */
export interface ClientCredentialsOptions {
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  /** A private key (PKCS #8, PEM) that signs who we are (`private_key_jwt`), instead of a secret. */
  readonly privateKey?: string | undefined;
  /** How that key signs. Default `RS256`. */
  readonly algorithm?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
  /** The only authorization server that gets the credentials. Without it, they go to the one that the MCP server names. */
  readonly issuer?: string | undefined;
  /** Gets access by the sign-on of an organization: its identity provider vouches for the user of an ID token. */
  readonly identityProvider?: IdentityProviderOptions | undefined;
}

/** An identity provider that exchanges an ID token for a grant (cross-app access). */
export interface IdentityProviderOptions {
  readonly tokenEndpoint: string;
  /** Our client id there. */
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  /** The user's ID token, or a function that returns a currently valid one. */
  readonly idToken: string | (() => string | Promise<string>);
}

/** An entry of `auth` for credentials, as {@link clientCredentials} makes it and as JSON writes it. */
export interface ClientCredentialsSettings extends ClientCredentialsOptions {
  readonly type: 'client-credentials';
}

/** Gives a token that holds now. Asked before the first request, and again when the server refuses the last one. */
export type TokenSource = () => string | Promise<string>;

/** What `auth` of a server may be. */
export type McpAuth = 'oauth' | OAuthSettings | ClientCredentialsSettings | TokenSource;

/** The same, checked. */
export type CheckedAuth =
  | OAuthSettings
  | ClientCredentialsSettings
  | { readonly type: 'source'; readonly get: TokenSource };

/**
 * A login by a person, with OAuth 2.1. `auth: 'oauth'` is the same without options.
 *
 * @example createAgent({ mcpServers: { issues: { url, auth: oauth({ scopes: ['issues:read'] }) } } });
 */
export function oauth(options: OAuthOptions = {}): OAuthSettings {
  checkOAuth(options);
  return { ...options, type: 'oauth' };
}

/**
 * Credentials of a program: no person signs in.
 *
 * @example clientCredentials({ clientId: 'nightly', clientSecret: process.env.SECRET, issuer: 'https://auth.example.com' })
 */
export function clientCredentials(options: ClientCredentialsOptions): ClientCredentialsSettings {
  checkCredentials(options);
  return { ...options, type: 'client-credentials' };
}

const text = z.string().min(1, 'must not be empty');
const scopes = z.array(z.string().regex(/^[\x21\x23-\x5B\x5D-\x7E]+$/, 'must be a scope without spaces')).optional();

const addressSchema = z.url({ protocol: /^https?$/, error: 'must be an http or https address' });

const OAUTH = {
  scopes,
  clientId: text.optional(),
  clientSecret: text.optional(),
  issuer: addressSchema.optional(),
  redirect: z
    .union([z.literal('loopback'), addressSchema], "must be 'loopback' or an http or https address")
    .optional(),
  identity: text.optional(),
  store: z.custom<TokenStore>(isStore, 'must have get, set, delete and lock').optional(),
};
const checkOAuth = optionsOf<OAuthOptions>('oauth', 'docs/mcp.md', OAUTH);
const oauthSchema = z.strictObject({ type: z.literal('oauth'), ...OAUTH });

const CREDENTIALS = {
  clientId: text,
  clientSecret: text.optional(),
  privateKey: text.optional(),
  algorithm: text.optional(),
  scopes,
  issuer: addressSchema.optional(),
  identityProvider: z
    .strictObject({
      tokenEndpoint: addressSchema,
      clientId: text,
      clientSecret: text.optional(),
      idToken: z.union([text, z.custom<TokenSource>(isFunction)], 'must be a text or a function'),
    })
    .optional(),
};
const checkCredentials = optionsOf<ClientCredentialsOptions>('clientCredentials', 'docs/mcp.md', CREDENTIALS);
const credentialsSchema = z.strictObject({ type: z.literal('client-credentials'), ...CREDENTIALS });

const WHAT = "must be 'oauth', oauth({ … }), clientCredentials({ … }) or a function that gives a token";

/** Checks `auth`; an error names the wrong key. */
export const authSchema = z.unknown().transform((value): CheckedAuth => {
  if (value === 'oauth') return { type: 'oauth' };
  if (isFunction(value)) return { type: 'source', get: value };
  const type = memberOf(value, 'type');
  const schema = type === 'oauth' ? oauthSchema : type === 'client-credentials' ? credentialsSchema : null;
  if (schema === null) throw new Refusal(WHAT, typeof value === 'object' && value !== null ? ['type'] : []);
  const result = schema.safeParse(value);
  if (!result.success) {
    const [issue] = result.error.issues;
    if (issue?.kind !== 'unrecognized_keys') throw new Refusal(issue?.message ?? 'is not valid', issue?.path);
    const known = Object.keys(schema.shape).join(', ');
    throw new Refusal(`is not a known key. Known are: ${known}`, [...issue.path, ...issue.keys.slice(0, 1)]);
  }
  const { data } = result;
  if (data.type === 'client-credentials' && data.clientSecret === undefined && data.privateKey === undefined)
    throw new Refusal('needs clientSecret or privateKey');
  return data;
});

/** The same settings with variables replaced in every text that may name one. */
export function expandAuth(auth: CheckedAuth, expand: (key: string, text: string) => string): CheckedAuth {
  if (auth.type === 'source') return auth;
  const replace = (value: unknown, key: string): unknown => {
    if (typeof value === 'string') return expand(key, value);
    if (Array.isArray(value)) return value.map((item, index) => replace(item, `${key}.${index}`));
    return value;
  };
  const schema = auth.type === 'oauth' ? oauthSchema : credentialsSchema;
  return schema.parse(
    Object.fromEntries(Object.entries(auth).map(([key, value]) => [key, replace(value, `auth.${key}`)])),
  );
}

/** The secret texts in `auth`, checked or not. */
export function authSecrets(auth: unknown): readonly string[] {
  if (typeof auth !== 'object' || auth === null) return [];
  const { clientSecret, privateKey, identityProvider, idToken }: Readonly<Record<string, unknown>> = { ...auth };
  const own = [clientSecret, privateKey, idToken].filter((secret) => typeof secret === 'string');
  return identityProvider === undefined ? own : [...own, ...authSecrets(identityProvider)];
}

function isStore(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return ['get', 'set', 'delete', 'lock'].every((method) => isFunction(Reflect.get(value, method)));
}

function isFunction(value: unknown): value is TokenSource {
  return typeof value === 'function';
}

/**
 * Where tokens and registrations are kept: a port of four methods. Values are texts that hold secrets; keys hold none.
 * `lock` must be exclusive among all that share the store, including other processes and other machines.
 */
export interface TokenStore {
  get(key: string): Promise<string | null>;
  set(key: string, value: string): Promise<void>;
  delete(key: string): Promise<void>;
  /** Does the work while no other work runs under this key. Rejects with the signal's reason if it waits too long. */
  lock<T>(key: string, work: () => Promise<T>, options: { readonly signal: AbortSignal }): Promise<T>;
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Whether an address stays on this machine. */
export function isLoopback(address: string | URL): boolean {
  return LOOPBACK.test(new URL(address).hostname);
}

/** A login as it is kept. */
export interface McpLoginStatus {
  readonly signedIn: boolean;
  readonly issuer: string | null;
  readonly scopes: readonly string[];
  /** Milliseconds since 1970; null: it does not say. */
  readonly expiresAt: number | null;
  /** It is renewed without a person. */
  readonly renews: boolean;
}

/** This client, as an authorization server knows it. */
export interface AuthClient {
  readonly client_id: string;
  readonly client_secret?: string | undefined;
  readonly token_endpoint_auth_method?: string | undefined;
  readonly client_secret_expires_at?: number | undefined;
}
