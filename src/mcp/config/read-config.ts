import { isJsonObject, defined } from '../../json/json.ts';
import type { ShapeIssue } from '../../json/shape.ts';
import { type Environment, processEnvironment } from '../../models/endpoint/environment.ts';
import {
  type CheckedEntry,
  FOREIGN_KEYS,
  McpConfigError,
  type McpServer,
  type McpTarget,
  httpSchema,
  overrideSchema,
  stdioSchema,
} from './config.ts';
import { shownAddress, splitAddress, expandVariables } from './environment-variables.ts';
import { type CheckedAuth, expandAuth, isLoopback } from './auth.ts';

/**
 * Reads the `mcpServers` object: checks each entry, expands its variables, fills in the defaults. Entries with
 * `disabled: true` are left out. Throws a {@link McpConfigError} that names the server and the key.
 *
 * @example readMcpServers({ files: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '.'] } });
 */
export function readMcpServers(servers: unknown, env: Environment = processEnvironment()): readonly McpServer[] {
  if (!isJsonObject(servers)) {
    throw new McpConfigError(`mcpServers must be an object of servers by name, not ${describe(servers)}.`);
  }
  return Object.entries(servers)
    .map(([name, entry]) => readMcpServer(name, entry, env))
    .filter(({ settings }) => !settings.disabled);
}

/** Reads one entry of `mcpServers`. Throws a {@link McpConfigError} that names the server and the key. */
export function readMcpServer(name: string, entry: unknown, env: Environment = processEnvironment()): McpServer {
  if (name.trim() === '')
    throw new McpConfigError('An MCP server has an empty name. Give it one: tools are called server_tool.');
  const checked = check(name, entry);
  // A variable that only a switched-off server needs may well be missing.
  const source: Environment | null = checked.disabled === true ? null : env;
  const expand = (key: string, text: string): string => (source === null ? text : expanded(name, key, text, source));
  return { name, target: targetOf(name, checked, expand), settings: settingsOf(checked, expand) };
}

function check(server: string, entry: unknown): CheckedEntry {
  if (!isJsonObject(entry))
    throw new McpConfigError(`MCP server '${server}' must be an object, not ${describe(entry)}.`, { server });
  const own = Object.fromEntries(Object.entries(entry).filter(([key]) => !FOREIGN_KEYS.has(key)));
  const [command, url] = [own.command !== undefined, own.url !== undefined];
  if (command && url) {
    const message = `MCP server '${server}' has both 'command' and 'url'. Keep one: a server is started or reached.`;
    throw new McpConfigError(message, { server, key: 'url' });
  }
  if (!command && !url) {
    const known = { ...stdioSchema.shape, ...httpSchema.shape };
    const unknown = Object.keys(own).find((key) => !Object.hasOwn(known, key));
    const foreign = unknown === undefined ? '' : ` '${unknown}' is not a known key.`;
    const message = `MCP server '${server}' needs 'command' (a program to start) or 'url' (a server to reach); it has neither.${foreign}`;
    throw new McpConfigError(message, { server, key: 'command' });
  }
  const result = command ? stdioSchema.safeParse(own) : httpSchema.safeParse(own);
  if (!result.success) throw describeIssue(server, result.error.issues[0], command);
  checkOverrides(server, result.data);
  return result.data;
}

function describeIssue(server: string, issue: ShapeIssue | undefined, stdio: boolean): McpConfigError {
  const [unknownKey] = issue?.kind === 'unrecognized_keys' ? issue.keys : [];
  const key = [...(issue?.path ?? []), ...(unknownKey === undefined ? [] : [unknownKey])].join('.');
  const { shape } = issue?.path[0] === 'overrides' ? overrideSchema : stdio ? stdioSchema : httpSchema;
  const known = Object.keys(shape).join(', ');
  const reason =
    unknownKey === undefined ? (issue?.message ?? 'is not valid') : `is not a known key. Known are: ${known}`;
  return new McpConfigError(`MCP server '${server}': '${key}' ${reason}.`, { server, key });
}

function targetOf(server: string, entry: CheckedEntry, expand: (key: string, text: string) => string): McpTarget {
  const each = (key: string, values: Readonly<Record<string, string>> = {}): Record<string, string> =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, expand(`${key}.${name}`, value)]));
  const version = entry.protocolVersion === undefined ? {} : { protocolVersion: entry.protocolVersion };
  if ('command' in entry) {
    return {
      kind: 'stdio',
      ...version,
      command: expand('command', entry.command),
      args: (entry.args ?? []).map((arg, index) => expand(`args.${index}`, arg)),
      env: each('env', entry.env),
      ...(entry.cwd === undefined ? {} : { cwd: expand('cwd', entry.cwd) }),
      killTree: entry.killTree ?? true,
    };
  }
  const { url, authorization } = splitAddress(expand('url', entry.url));
  if (entry.disabled !== true) checkUrl(server, url);
  const transport = entry.type === 'sse' ? 'sse' : entry.type === undefined ? 'auto' : 'streamable';
  if (transport === 'sse' && entry.protocolVersion !== undefined) {
    const message = `MCP server '${server}': 'protocolVersion' does not go with type 'sse', which is that of older servers. Leave one out.`;
    throw new McpConfigError(message, { server, key: 'protocolVersion' });
  }
  const headers = each('headers', entry.headers);
  const signed = authorization === null || Object.keys(headers).some((name) => /^authorization$/i.test(name));
  const sent = signed ? headers : { ...headers, Authorization: authorization };
  const auth = entry.auth === undefined ? {} : { auth: expandAuth(entry.auth, expand) };
  if (auth.auth !== undefined && entry.disabled !== true) checkAuth(server, url, sent, auth.auth);
  return { kind: 'http', ...version, url, headers: sent, transport, ...auth };
}

/** Refuses what would send one token in the place of another, or one in the clear. */
function checkAuth(
  server: string,
  url: string,
  headers: Readonly<Record<string, string>>,
  { type }: CheckedAuth,
): void {
  const header = Object.keys(headers).find((name) => name.toLowerCase() === 'authorization');
  if (header !== undefined) {
    const message = `MCP server '${server}' has both 'auth' and the header '${header}'. Keep one: both say which token is sent.`;
    throw new McpConfigError(message, { server, key: 'auth' });
  }
  const { protocol } = new URL(url);
  if (type === 'source' || protocol === 'https:' || isLoopback(url)) return;
  const message = `MCP server '${server}': 'url' must be https where 'auth' is used: a token is not sent in the clear.`;
  throw new McpConfigError(message, { server, key: 'url' });
}

/** Refuses an override that decides by a function what its policy has decided. */
function checkOverrides(server: string, { overrides = {} }: CheckedEntry): void {
  for (const [tool, { policy = 'confirm', needsApproval }] of Object.entries(overrides)) {
    if (needsApproval === undefined || policy === 'confirm') continue;
    const message = `MCP server '${server}': 'overrides.${tool}.policy' must be 'confirm' where needsApproval says which calls a person must approve.`;
    throw new McpConfigError(message, { server, key: `overrides.${tool}.policy` });
  }
}

function settingsOf(entry: CheckedEntry, expand: (key: string, text: string) => string): McpServer['settings'] {
  return {
    ...defined({
      policy: entry.policy,
      tools: entry.tools,
      maxTotalMs: entry.maxTotalMs,
      roots: entry.roots?.map((root, index) => expand(`roots.${index}`, root)),
      logLevel: entry.logLevel,
    }),
    exclude: entry.exclude ?? [],
    required: entry.required ?? false,
    connectTimeoutMs: entry.connectTimeoutMs ?? 30_000,
    timeoutMs: entry.timeoutMs ?? 180_000,
    sampling: entry.sampling ?? false,
    overrides: entry.overrides ?? {},
    retryAfterLoss: entry.retryAfterLoss ?? 'unless-destructive',
    disabled: entry.disabled ?? false,
  };
}

/** What VS Code asks its user, or looks up, itself. */
const FOREIGN_VARIABLE = /\$\{((?:input|command|config):[^}]*)\}/;

function expanded(server: string, key: string, text: string, env: Environment): string {
  const [, foreign] = FOREIGN_VARIABLE.exec(text) ?? [];
  if (foreign !== undefined) {
    const message = `MCP server '${server}': '${key}' needs \${${foreign}}, which only VS Code knows. Write an environment variable in its place, as \${NAME}.`;
    throw new McpConfigError(message, { server, key });
  }
  const result = expandVariables(text, env);
  if (result.ok) return result.text;
  const { missing } = result;
  const lacks = `MCP server '${server}': '${key}' needs the environment variable ${missing}, which is not set.`;
  throw new McpConfigError(`${lacks} Set it, or write \${${missing}:-default}.`, { server, key });
}

function checkUrl(server: string, url: string): void {
  const protocol = URL.canParse(url) ? new URL(url).protocol : '';
  if (protocol === 'http:' || protocol === 'https:') return;
  const message = `MCP server '${server}': 'url' must be an http or https address, not '${shownAddress(url)}'.`;
  throw new McpConfigError(message, { server, key: 'url' });
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`;
}
