import type { McpConnection } from '../connection-types.ts';

const secrets = new WeakMap<McpConnection, () => readonly string[]>();

/** Notes what a connection has of tokens and codes, so that agents that use it can keep them out of what they show. */
export function noteSecrets(connection: McpConnection, read: () => readonly string[]): void {
  secrets.set(connection, read);
}

/** The tokens and codes that a connection has used. */
export function secretsOfConnection(connection: McpConnection): readonly string[] {
  return secrets.get(connection)?.() ?? [];
}
