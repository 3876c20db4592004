import type { JsonObject } from '../../json/json.ts';
import type { UsableEntry } from './mcp-servers.ts';

/** One thing that is wrong with a server, in words for a person and with a kind for programs. */
export interface Finding {
  readonly kind: FindingKind;
  /** What is wrong, in whole sentences. */
  readonly what: string;
  /** What to do about it. */
  readonly fix: string;
  /** Lines to go by: what the server wrote. */
  readonly evidence: readonly string[];
}

/** Every kind of a finding. */
export type FindingKind =
  | 'mcp-config'
  | 'missing-variable'
  | 'command-not-found'
  | 'command-not-startable'
  | 'folder-not-found'
  | 'process-ended'
  | 'no-answer'
  | 'not-mcp'
  | 'wrong-version'
  | 'auth-required'
  | 'login-required'
  | 'auth-failed'
  | 'unreachable'
  | 'http-status'
  | 'limit-exceeded'
  | 'server-error'
  | 'not-connected'
  | 'unknown-tool';

/** What a diagnosis goes by. */
export interface Symptoms {
  readonly entry: UsableEntry;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly error: { readonly code: string; readonly message: string; readonly data: JsonObject };
  /** What came on the server's stdout and is not an MCP message. */
  readonly noise: readonly string[];
}

const LINES = 10;

/** The last lines of a text, and what stream they are of. */
export function lastLines(stream: string, text: unknown): readonly string[] {
  if (typeof text !== 'string' || text.trim() === '') return [];
  const lines = text.trimEnd().split('\n').slice(-LINES);
  return lines.map((line) => `${stream}: ${line.slice(0, 300)}`);
}
