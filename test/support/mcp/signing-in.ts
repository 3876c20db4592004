import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import {
  type McpConnection,
  type TokenStore,
  createMcpConnection,
  fileTokenStore,
  oauth,
} from '../../../src/mcp/index.ts';
import type { OAuthOptions } from '../../../src/mcp/index.ts';
import { type AuthServer, type Misbehaviour, authServer } from './auth-server.ts';
import { type GuardedServer, guardedServer } from './guarded-server.ts';

/** An authorization server, an MCP server behind it, and an empty file for tokens. */
export interface Guarded {
  readonly auth: AuthServer;
  readonly server: GuardedServer;
  readonly path: string;
  readonly store: TokenStore;
}

export async function guarded(
  wrong: Misbehaviour = {},
  options: Parameters<typeof guardedServer>[1] = {},
): Promise<Guarded> {
  const auth = await authServer(wrong);
  const server = await guardedServer(auth, options);
  const folder = await mkdtemp(join(tmpdir(), 'tokens-'));
  const path = join(folder, 'deep', 'tokens.json');
  onTestFinished(async () => {
    await server[Symbol.asyncDispose]();
    await auth[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });
  return { auth, server, path, store: fileTokenStore({ path }) };
}

/** A connection to it, which the test leaves behind in no case. Its waits are short. */
export function desk(
  { server, store }: Guarded,
  options: OAuthOptions = {},
  more: { readonly loginMs?: number; readonly connectTimeoutMs?: number } = {},
): McpConnection {
  const config = {
    url: server.url,
    auth: oauth({ store, ...options }),
    connectTimeoutMs: more.connectTimeoutMs ?? 5000,
  };
  const backoff = { kind: 'constant', ms: 20 } as const;
  const connection = createMcpConnection('desk', config, {
    seed: 1,
    limits: { backoff, maxFailures: 3, loginMs: more.loginMs ?? 60_000 },
  });
  onTestFinished(() => connection.disconnect());
  return connection;
}

/** Resolves when a condition holds, which is looked at again and again. */
export async function until(holds: () => unknown): Promise<void> {
  while (holds() !== true) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** What a person does with an address: opens it, agrees, and is sent back. Gives where that ended, without going there. */
export async function agree(url: string): Promise<string> {
  const page = await fetch(url, { redirect: 'manual' });
  return page.headers.get('location') ?? '';
}

/** Connects, and has a person sign in. */
export async function signIn(connection: McpConnection): Promise<void> {
  await connection.connect();
  await until(() => connection.pendingLogin !== null);
  await fetch(await agree(connection.pendingLogin?.url ?? ''));
  await until(() => connection.state === 'READY');
}
