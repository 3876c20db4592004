import { z } from 'zod';
import type { AuthClient } from './oauth-client.ts';
import type { TokenStore } from '../config/auth.ts';

const keptTokens = z.object({
  access: z.string(),
  refresh: z.string().nullable(),
  /** Until when it is used, in milliseconds since 1970; null: it does not say. */
  expiresAt: z.number().nullable(),
  scopes: z.array(z.string()),
  clientId: z.string(),
});
const keptLogin = z.object({ issuer: z.string(), resource: z.string() });
const keptClient = z.object({
  client_id: z.string(),
  client_secret: z.string().optional(),
  token_endpoint_auth_method: z.string().optional(),
  client_secret_expires_at: z.number().optional(),
  redirectUrl: z.string(),
});

/** The tokens of one login, and who gave them. */
export interface KeptTokens extends z.infer<typeof keptTokens> {
  readonly issuer: string;
}

/** A registration, and the redirect address that it was made for. */
export interface KeptClient extends AuthClient {
  readonly redirectUrl: string;
}

/** The login of one identity at one MCP server, in a store. */
export interface KeptLogin {
  /** What is locked while its tokens are changed. */
  readonly key: string;
  read(): Promise<KeptTokens | null>;
  save(tokens: KeptTokens): Promise<void>;
  /** Forgets the tokens, unless others have taken their place. */
  drop(tokens: KeptTokens): Promise<void>;
  client(issuer: string): Promise<KeptClient | null>;
  saveClient(issuer: string, client: KeptClient): Promise<void>;
  dropClient(issuer: string): Promise<void>;
}

/**
 * The part of a store that belongs to one server and identity. Tokens are kept by issuer, resource and identity, so that
 * none is ever sent to another authorization server; which issuer is meant now stands beside them. Registrations belong
 * to issuer and identity.
 */
export function keptLoginIn(
  store: TokenStore,
  { resource, identity }: { readonly resource: string; readonly identity: string },
): KeptLogin {
  const who = encodeURIComponent(identity);
  const key = `login ${resource} ${who}`;
  const tokensKey = (issuer: string): string => `tokens ${issuer} ${resource} ${who}`;
  const clientKey = (issuer: string): string => `client ${issuer} ${who}`;
  const read = async (): Promise<KeptTokens | null> => {
    const login = parsed(keptLogin, await store.get(key));
    if (login === null || login.resource !== resource) return null;
    const tokens = parsed(keptTokens, await store.get(tokensKey(login.issuer)));
    return tokens === null ? null : { ...tokens, issuer: login.issuer };
  };
  return {
    key,
    read,
    save: async ({ issuer, ...tokens }) => {
      await store.set(tokensKey(issuer), JSON.stringify(tokens));
      await store.set(key, JSON.stringify({ issuer, resource }));
    },
    drop: async ({ issuer, access, refresh }) => {
      const now = parsed(keptTokens, await store.get(tokensKey(issuer)));
      if (now?.access === access && now.refresh === refresh) await store.delete(tokensKey(issuer));
    },
    client: async (issuer) => parsed(keptClient, await store.get(clientKey(issuer))),
    saveClient: (issuer, client) => store.set(clientKey(issuer), JSON.stringify(client)),
    dropClient: (issuer) => store.delete(clientKey(issuer)),
  };
}

/** A value of ours; null for anything else. */
function parsed<T>(schema: z.ZodType<T>, text: string | null): T | null {
  if (text === null) return null;
  try {
    const result = schema.safeParse(JSON.parse(text));
    return result.success ? result.data : null;
  } catch {
    return null;
  }
}
