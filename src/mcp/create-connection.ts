import { waitAtMost } from '../actors/deadline.ts';
import { LiveConnection } from './live-connection.ts';
import { errorResult } from './calls/call-errors.ts';
import type { McpServerConfig } from './config/config.ts';
import { readMcpServer } from './config/read-config.ts';
import { type McpConnection, type McpConnectionOptions, checkConnectionOptions } from './connection-types.ts';
import { toMcpError } from './wire/faults.ts';
import { type McpClock, REAL_CLOCK } from './wire/link.ts';

/** How long a call waits for the list of tools that its server announced before the answer. */
const RELIST_MS = 2000;

const secrets = new WeakMap<McpConnection, () => readonly string[]>();

/** The tokens and codes that a connection has used, so that agents that use it can keep them out of what they show. */
export function secretsOfConnection(connection: McpConnection): readonly string[] {
  return secrets.get(connection)?.() ?? [];
}

/**
 * Makes a connection to one MCP server. Nothing is started or opened before `connect()` or the first call. It may be used
 * in place of a configuration in any number of agents, which share it; its creator ends it with `disconnect()`. Throws an
 * {@link McpConfigError} for a wrong configuration.
 *
 * @example
 * const files = createMcpConnection('files', { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '.'] });
 * if (await files.connect()) console.log(await files.callTool('list_directory', { path: '.' }));
 * await files.disconnect();
 */
export function createMcpConnection(
  name: string,
  config: McpServerConfig,
  options: McpConnectionOptions = {},
): McpConnection {
  checkConnectionOptions(options);
  const server = readMcpServer(name, config, options.env);
  const live = new LiveConnection(server, options);
  const { actor, signIn, authorizer, requests, subscriptions, news } = live;
  const call: McpConnection['call'] = async (tool, args, io = {}) => {
    const result = await live.call(tool, args, io);
    await relisted(live, options.clock ?? REAL_CLOCK, io.signal);
    return result;
  };

  const connection: McpConnection = {
    name,
    server,
    actor,
    get state() {
      return live.state;
    },
    get error() {
      return live.lastError();
    },
    get info() {
      return live.link()?.info ?? null;
    },
    get tools() {
      return live.tools;
    },
    get warnings() {
      return live.warnings.warnings();
    },
    connect: () => live.connect(),
    disconnect: () => live.disconnect(),
    isConnected: () => live.isConnected(),
    listTools: (how = {}) => live.listTools(how),
    call,
    callTool: (tool, args = {}, io = {}) =>
      call(tool, args, io).catch((thrown: unknown) => errorResult(toMcpError(name, thrown))),
    readResource: (uri, io) => requests.readResource(uri, io),
    listResources: (io) => requests.listResources(io),
    listResourceTemplates: (io) => requests.listResourceTemplates(io),
    getPrompt: (prompt, args, io) => requests.getPrompt(prompt, args, io),
    listPrompts: (io) => requests.listPrompts(io),
    complete: (of, argument, io) => requests.complete(of, argument, io),
    subscribeResource: (uri, listener, io) => subscriptions.subscribe(uri, listener, io),
    setRoots: (folders) => live.setRoots(folders),
    get pendingLogin() {
      return actor.getSnapshot().context.login;
    },
    login: () => signIn.login((look) => live.until(look)),
    ...signIn.api,
    async logout() {
      await this.disconnect();
      await authorizer?.forget();
    },
    on: (type, listener) => news.on(type, listener),
    async [Symbol.asyncDispose]() {
      await this.disconnect();
    },
  };
  if (authorizer !== null) secrets.set(connection, authorizer.secrets);
  return connection;
}

/** Waits for tools that the server has announced: they are what a model that switched them on uses in its next turn. */
async function relisted(live: LiveConnection, clock: McpClock, signal: AbortSignal | undefined): Promise<void> {
  const isListing = (): boolean => LISTING.some((step) => live.actor.getSnapshot().matches({ READY: step }));
  if (!isListing() || signal?.aborted === true) return;
  const listed = live.until(() => (isListing() ? null : true));
  await waitAtMost(RELIST_MS, signal, listed, clock);
}

const LISTING = ['SETTLING', 'REFRESHING'] as const;
