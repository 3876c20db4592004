import { createHash } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readFileSync } from 'node:fs';
import { optionsOf } from '../../json/known-options.ts';
import type { TokenStore, AuthClient } from '../config/auth.ts';
import { homeFolder, makeFolder, systemCode } from '../../security/folders.ts';
import { takeRunLock } from '../../journal/stores/run-lock.ts';
import { isJsonObject, parsedText } from '../../json/json.ts';
import type { Shape, ShapeOf } from '../../json/shape.ts';
import { z } from '../../json/shapes.ts';
import { replaceFile } from '../../security/permissions-file.ts';
import { takeLock } from '../../security/lock-file.ts';

/** The tokens cannot be kept or read. `code` says why. */
export class TokenStoreError extends Error {
  override readonly name = 'TokenStoreError';
  readonly code: 'tokens-unreadable' | 'tokens-unwritable' | 'tokens-locked';

  constructor(code: TokenStoreError['code'], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

const VERSION = 1;
const POLL_MS = 25;

/** Where the file of tokens is. */
export interface FileTokenStoreOptions {
  /** Default `~/.signalbox/mcp/tokens.json`. */
  readonly path?: string | undefined;
}

const checkOptions = optionsOf<FileTokenStoreOptions>('fileTokenStore', 'docs/mcp.md', { path: true });

/**
 * Keeps tokens in one file that only its owner may read: mode 0600, in a folder of mode 0700, replaced in one step.
 * Several processes may use it. Default `~/.signalbox/mcp/tokens.json`. Nothing is read or made before it is first needed.
 *
 * @example oauth({ store: fileTokenStore({ path: '/var/lib/my-app/tokens.json' }) })
 */
export function fileTokenStore(options: FileTokenStoreOptions = {}): TokenStore {
  checkOptions(options);
  const { path: given } = options;
  const path = (): string => given ?? defaultPath();
  return {
    get: async (key) => readAll(path()).get(key) ?? null,
    set: async (key, value) => change(path(), (all) => void all.set(key, value)),
    delete: async (key) => change(path(), (all) => void all.delete(key)),
    lock: async (key, work, { signal }) => {
      const name = createHash('sha256').update(key).digest('hex').slice(0, 16);
      const file = `${path()}.${name}.lock`;
      let lock = lockFor(path(), () => takeRunLock(file));
      while (lock === null) {
        await sleep(POLL_MS, undefined, { signal });
        lock = takeRunLock(file);
      }
      try {
        return await work();
      } finally {
        lock.release();
      }
    },
  };
}

function defaultPath(): string {
  const home = homeFolder();
  if (home !== null) return resolve(home, '.signalbox', 'mcp', 'tokens.json');
  const message = 'There is no home folder to keep tokens in. Set HOME, or give a store: fileTokenStore({ path }).';
  throw new TokenStoreError('tokens-unreadable', message);
}

/** The current file. A file in another format holds nothing: its owner signs in again. */
function readAll(path: string): Map<string, string> {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (cause) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(cause))) return new Map();
    throw new TokenStoreError(
      'tokens-unreadable',
      `The token file ${path} cannot be read (${systemCode(cause)}).`,
      cause,
    );
  }
  const file = parsedText(content);
  if (!isJsonObject(file) || file.version !== VERSION || !isJsonObject(file.entries)) return new Map();
  return new Map(
    Object.entries(file.entries).flatMap(([key, value]) => (typeof value === 'string' ? [[key, value]] : [])),
  );
}

function unwritable(path: string, cause: unknown): TokenStoreError {
  const message = `The token file ${path} cannot be written (${systemCode(cause)}).`;
  return new TokenStoreError('tokens-unwritable', message, cause);
}

function change(path: string, edit: (all: Map<string, string>) => void): void {
  for (let attempt = 1; ; attempt += 1) {
    const lock = attempt > 3 ? null : lockFor(path, () => takeLock(`${path}.lock`));
    if (lock === null)
      throw new TokenStoreError('tokens-locked', `Another process keeps the token file ${path} locked. Try again.`);
    try {
      const all = readAll(path);
      edit(all);
      if (!lock.isHeld()) continue;
      const entries = Object.fromEntries([...all].toSorted(([a], [b]) => (a < b ? -1 : 1)));
      return replaceFile(path, `${JSON.stringify({ version: VERSION, entries }, null, 2)}\n`);
    } catch (cause) {
      throw cause instanceof TokenStoreError ? cause : unwritable(path, cause);
    } finally {
      lock.release();
    }
  }
}

function lockFor<T>(path: string, take: () => T): T {
  try {
    makeFolder(dirname(path), 0o700);
    return take();
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

const clientFields = {
  client_id: z.string(),
  client_secret: z.string().optional(),
  token_endpoint_auth_method: z.string().optional(),
  client_secret_expires_at: z.number().optional(),
};
const keptTokens = z.looseObject({
  access: z.string(),
  refresh: z.nullable(z.string()),
  /** Until when it is used, in milliseconds since 1970; null: it does not say. */
  expiresAt: z.nullable(z.number()),
  scopes: z.array(z.string()),
  clientId: z.string(),
  /** The registration that they were given to, if it is one of ours: the next login may make another. */
  client: z.looseObject(clientFields).optional(),
});
const keptLogin = z.looseObject({ issuer: z.string(), resource: z.string() });
const keptClient = z.looseObject({
  ...clientFields,
  redirectUrl: z.string(),
  scope: z.string().optional(),
  isUnproved: z.boolean().optional(),
});

/** The tokens of one login, and who gave them. */
export interface KeptTokens extends ShapeOf<typeof keptTokens> {
  readonly issuer: string;
}

/** A registration, the redirect address that it was made for, and the scopes that it may ask for, if its server says. */
export interface KeptClient extends AuthClient {
  readonly redirectUrl: string;
  readonly scope?: string | undefined;
  /** The last sign-in that a person wanted was made with it, and has led to no tokens. */
  readonly isUnproved?: boolean | undefined;
}

/**
 * The login of one identity at one MCP server, in a store. Tokens are kept by issuer, resource and identity, so that none is ever
 * sent to another authorization server; the current issuer is stored beside them. Registrations belong to issuer and identity.
 */
export class KeptLogin {
  /** What is locked while its tokens are changed. */
  readonly key: string;
  readonly #store: TokenStore;
  readonly #resource: string;
  readonly #who: string;

  constructor(store: TokenStore, { resource, identity }: { readonly resource: string; readonly identity: string }) {
    [this.#store, this.#resource, this.#who] = [store, resource, encodeURIComponent(identity)];
    this.key = `login ${resource} ${this.#who}`;
  }

  async read(): Promise<KeptTokens | null> {
    const login = parsed(keptLogin, await this.#store.get(this.key));
    if (login === null || login.resource !== this.#resource) return null;
    const tokens = parsed(keptTokens, await this.#store.get(this.#tokensKey(login.issuer)));
    return tokens === null ? null : { ...tokens, issuer: login.issuer };
  }

  async save({ issuer, ...tokens }: KeptTokens): Promise<void> {
    await this.#store.set(this.#tokensKey(issuer), JSON.stringify(tokens));
    await this.#store.set(this.key, JSON.stringify({ issuer, resource: this.#resource }));
  }

  /** Forgets the tokens, unless others have taken their place. */
  async drop({ issuer, access, refresh }: KeptTokens): Promise<void> {
    const now = parsed(keptTokens, await this.#store.get(this.#tokensKey(issuer)));
    if (now?.access === access && now.refresh === refresh) await this.#store.delete(this.#tokensKey(issuer));
  }

  async client(issuer: string): Promise<KeptClient | null> {
    return parsed(keptClient, await this.#store.get(this.#clientKey(issuer)));
  }

  saveClient(issuer: string, client: KeptClient): Promise<void> {
    return this.#store.set(this.#clientKey(issuer), JSON.stringify(client));
  }

  /** Notes that a registration has led to tokens. */
  async proveClient(issuer: string): Promise<void> {
    const client = await this.client(issuer);
    if (client !== null) await this.saveClient(issuer, { ...client, isUnproved: false });
  }

  dropClient(issuer: string): Promise<void> {
    return this.#store.delete(this.#clientKey(issuer));
  }

  #tokensKey(issuer: string): string {
    return `tokens ${issuer} ${this.#resource} ${this.#who}`;
  }

  #clientKey(issuer: string): string {
    return `client ${issuer} ${this.#who}`;
  }
}

/** A value of ours; null for anything else. */
function parsed<T>(shape: Shape<T>, text: string | null): T | null {
  const result = shape.safeParse(text === null ? null : parsedText(text));
  return result.success ? result.data : null;
}
