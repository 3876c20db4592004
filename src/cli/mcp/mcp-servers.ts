import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { McpConfigError, type McpServer, type McpServerConfig } from '../../mcp/config/config.ts';
import { readMcpConfigEntries } from '../../mcp/config/config-file.ts';
import { missingVariables } from '../../mcp/config/environment-variables.ts';
import { readMcpServer } from '../../mcp/config/read-config.ts';
import { type Environment } from '../../models/endpoint/environment.ts';
import { UsageError, shellWord } from '../command/command.ts';
import { didYouMean } from '../../json/nearest-name.ts';
import type { McpElicit } from '../../mcp/config/answers.ts';
import { type McpHub, createMcpHub } from '../../mcp/hub.ts';
import { escaped } from '../../output/console/escaped.ts';
import { openTerminal } from '../../output/console/terminal.ts';
import { wrapText } from '../../terminal/text-width.ts';

/** One server of a configuration file: one that can be tried, one that is switched off, or one that is written wrongly. */
export type McpEntry = UsableEntry | { readonly kind: 'disabled'; readonly name: string } | WrongEntry;

/** A server that can be tried. */
export interface UsableEntry {
  readonly kind: 'usable';
  readonly name: string;
  /** As it stands in the file: variables are not expanded, so it may be shown. */
  readonly config: McpServerConfig;
  /** Checked and expanded: it may hold secrets. */
  readonly server: McpServer;
}

/** A server of which nothing can be tried. */
export interface WrongEntry {
  readonly kind: 'wrong';
  readonly name: string;
  readonly error: McpConfigError;
  /** The variables that its entry names and that are not set. */
  readonly missing: readonly string[];
}

const DEFAULT_FILES = ['mcp.json', '.mcp.json'];

/** The file that was named, else the first of `mcp.json` and `.mcp.json` in a folder. Throws a {@link UsageError}. */
export function chooseMcpFile(given: string | undefined, folder: string): string {
  if (given !== undefined) return given;
  const found = DEFAULT_FILES.map((name) => join(folder, name)).find((path) => existsSync(path));
  if (found !== undefined) return relative(folder, found);
  throw new UsageError(
    `there is neither ${DEFAULT_FILES.join(' nor ')} in this folder. Name a file with 'mcpServers': --mcp <file>.`,
  );
}

/** Reads all entries of a file, each for itself. Throws a {@link UsageError} when the file as a whole cannot be used. */
export async function readMcpEntries(path: string, env: Environment): Promise<readonly McpEntry[]> {
  try {
    const entries = Object.entries(await readMcpConfigEntries(path));
    return entries.map(([name, entry]) => readEntry(name, entry, env));
  } catch (error) {
    if (error instanceof McpConfigError) throw new UsageError(error.message);
    throw error;
  }
}

/** All entries, or the one that was asked for. Throws a {@link UsageError} if none has that name. */
export function pickEntries(entries: readonly McpEntry[], name: string | undefined): readonly McpEntry[] {
  if (name === undefined) return entries;
  const picked = entries.filter((entry) => entry.name === name);
  if (picked.length > 0) return picked;
  const names = entries.map((entry) => entry.name);
  const known = names.length === 0 ? 'none is configured' : `configured are: ${names.join(', ')}`;
  throw new UsageError(`there is no server '${name}'; ${known}.${didYouMean(name, names)}`);
}

function readEntry(name: string, entry: unknown, env: Environment): McpEntry {
  try {
    const server = readMcpServer(name, entry, env);
    if (server.settings.disabled) return { kind: 'disabled', name };
    if (isConfig(entry)) return { kind: 'usable', name, config: entry, server };
    throw new McpConfigError(`MCP server '${name}' must be an object.`, { server: name });
  } catch (error) {
    if (!(error instanceof McpConfigError)) throw error;
    return { kind: 'wrong', name, error, missing: [...new Set(missingIn(entry, env))] };
  }
}

/** Only asked for what has been checked. */
export function isConfig(entry: unknown): entry is McpServerConfig {
  return typeof entry === 'object' && entry !== null && ('command' in entry || 'url' in entry);
}

function missingIn(value: unknown, env: Environment): readonly string[] {
  if (typeof value === 'string') return missingVariables(value, env);
  return typeof value === 'object' && value !== null
    ? Object.values(value).flatMap((inner) => missingIn(inner, env))
    : [];
}

/** How servers are tried. */
export interface Trying {
  /** Longest time for one attempt in milliseconds, instead of what the file says. */
  readonly timeoutMs: number | undefined;
  /** Answers what they ask a person; without it they are not offered to ask. */
  readonly elicit?: McpElicit;
  /** What a command that is suggested needs to find the file: the option `--mcp` as it was given, or nothing. */
  readonly at: string;
}

/**
 * Connects the usable servers, all at once and each once, gives them to `use` and ends them afterwards. A server
 * that does not answer is still in the hub, with its error. Tools have the policies that `signalbox run` gives them.
 */
export async function withServers<T>(
  entries: readonly McpEntry[],
  { timeoutMs, elicit }: Trying,
  use: (hub: McpHub) => Promise<T>,
): Promise<T> {
  const usable = entries.filter((entry): entry is UsableEntry => entry.kind === 'usable');
  const servers = Object.fromEntries(usable.map(({ name, config }) => [name, tried(config, timeoutMs)]));
  const hub = createMcpHub(servers, {
    limits: { maxFailures: 1 },
    offersLogin: false,
    ...(elicit === undefined ? {} : { elicit }),
  });
  try {
    await Promise.all(usable.map(({ name }) => hub.connect(name)));
    return await use(hub);
  } finally {
    await hub.close();
  }
}

/** An entry as a command tries it. */
export function tried(config: McpServerConfig, timeoutMs: number | undefined): McpServerConfig {
  const timed = timeoutMs === undefined ? config : { ...config, connectTimeoutMs: timeoutMs };
  return { ...timed, policy: config.policy ?? 'by-annotations' };
}

/** One sentence for each server that is wanted and not there. */
export function complaintsOf(entries: readonly McpEntry[], hub: McpHub, at: string): readonly string[] {
  return entries.flatMap((entry) => {
    const why = whyAbsent(entry, hub, at);
    return why === null ? [] : [`${why}\n'signalbox mcp doctor ${shellWord(entry.name)}${at}' says more.`];
  });
}

/** Prints a text to standard error, in lines as wide as the terminal. */
export function complain(text: string): void {
  console.error(wrapText(escaped(text), openTerminal(process.stderr).columns()).join('\n'));
}

/** Why a server cannot be used. How to sign in is said here, since a connection does not know its file. */
export function absenceOf(
  server: string,
  error: { readonly code: string; readonly message: string },
  at: string,
): string {
  if (error.code !== 'login-required') return error.message;
  return `Nobody is signed in at '${server}': signalbox mcp login ${shellWord(server)}${at}`;
}

function whyAbsent(entry: McpEntry, hub: McpHub, at: string): string | null {
  if (entry.kind === 'disabled') return null;
  if (entry.kind === 'wrong') return entry.error.message;
  const connection = hub.server(entry.name);
  if (connection?.isConnected() === true) return null;
  const error = connection?.error ?? null;
  return error === null ? `MCP server '${entry.name}' is not connected.` : absenceOf(entry.name, error, at);
}
