/**
 * Owns: the MCP servers of one agent: which there are, what their tools are called, who answers a call. Does not own: the
 * connections' lifecycles, and connections that were made elsewhere.
 */
import { wrongOption } from '../json/known-options.ts';
import { defined } from '../json/json.ts';
import { waitAtMost } from '../actors/deadline.ts';
import { type McpCalls, McpError, type McpTool } from '../actors/mcp/mcp-calls.ts';
import type { Effects, Policy, ToolIdentity } from '../tools/spec.ts';
import type { McpConnection, McpConnectionNews, McpConnectionOptions, McpState } from './connection-types.ts';
import type { McpLogin } from '../actors/mcp/mcp-auth.ts';
import type { McpResolvedSettings, McpServerConfig, McpToolOverride } from './config/config.ts';
import { type ServerIdentity, serverIdentity, toolFacts } from './policies/tool-identity.ts';
import { createListeners } from './connection-news.ts';
import { type ServerToolNames, createServerToolNames } from './policies/server-tool-names.ts';
import { createMcpConnection, secretsOfConnection } from './create-connection.ts';
import { effectsOf, policyFromAnnotations } from './policies/annotations.ts';

/** A tool of a server as an agent registers it. */
export interface McpToolEntry {
  /** What models call it: `server_tool`, unique in the hub. */
  readonly name: string;
  readonly server: string;
  /** The tool as the server lists it, under the server's own name. */
  readonly tool: McpTool;
  /** Null if neither configuration nor annotations decide: the agent's default applies. */
  readonly policy: Policy | null;
  readonly effects: Effects;
  readonly timeoutMs: number;
  readonly polling: boolean;
  /** What the configuration checks of arguments. */
  readonly checks: Pick<McpToolOverride, 'needsApproval' | 'validateArgs'>;
  /** Recovery steps of the configuration, as they were given. */
  readonly onError: unknown;
  /** What permissions hold it by. */
  readonly identity: ToolIdentity;
}

/** A server as the hub sees it now. */
interface McpServerStatus {
  readonly name: string;
  readonly state: McpState;
  readonly required: boolean;
  /** Made elsewhere, and closed there. */
  readonly shared: boolean;
  readonly tools: number;
  readonly instructions: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  /** What exceeded the limits. */
  readonly warnings: readonly string[];
}

/** A server that waits for a person to sign in. */
export interface McpPendingLogin extends McpLogin {
  readonly server: string;
}

/** What a hub reports: the news of its connections, and that a server came or went. */
export type McpHubNews =
  | McpConnectionNews
  | { readonly type: 'mcp.added'; readonly server: string }
  | { readonly type: 'mcp.removed'; readonly server: string };

/** The MCP servers of one agent, by name. */
export interface McpHub extends McpCalls {
  servers(): readonly McpServerStatus[];
  /** Adds a server, not connected yet unless it is a connection that is. Throws for a name that is taken or a wrong configuration. */
  add(server: string, config: McpServerConfig | McpConnection): void;
  /** Takes a server out; its calls are cancelled and its processes ended, unless it is shared. False when there is none. */
  remove(server: string): Promise<boolean>;
  /** Connects one server. True when its tools are listed, false when the try failed. */
  connect(server: string): Promise<boolean>;
  /** Connects all and waits until each is READY or has failed, at most `timeoutMs`. Never rejects. */
  connectAll(options?: {
    readonly timeoutMs?: number;
    readonly signal?: AbortSignal;
  }): Promise<readonly McpServerStatus[]>;
  /** The tools of all servers, those of servers that are away included as they were listed last. */
  tools(): readonly McpToolEntry[];
  /** The connection of a server, for `readResource` and `getPrompt`; null when there is none. */
  server(name: string): McpConnection | null;
  /** The connected servers' instructions for the system prompt. */
  instructions(): readonly { readonly server: string; readonly text: string }[];
  /** The sign-ins that wait for a person. */
  logins(): readonly McpPendingLogin[];
  /** The tokens and codes of all connections. */
  secrets(): readonly string[];
  /** Listens to all changes until the returned function is called. */
  onChange(listener: (news: McpHubNews) => void): () => void;
  /** Ends all connections that the hub made, and their processes. */
  close(): Promise<void>;
}

type Times = Pick<McpServerConfig, 'timeoutMs' | 'connectTimeoutMs'>;

/** `times`: for the servers that have none of their own. */
type McpHubOptions = McpConnectionOptions & { readonly times?: Times | undefined };

interface Member {
  readonly connection: McpConnection;
  readonly shared: boolean;
  readonly identity: ServerIdentity;
  readonly release: () => void;
}

const CONNECTION_NEWS = ['mcp.changed', 'mcp.tools', 'mcp.list', 'mcp.log', 'mcp.warning'] as const;
const NEWS = [...CONNECTION_NEWS, 'mcp.added', 'mcp.removed'] as const;

/**
 * Makes a hub over the servers of `mcpServers`. Entries with `disabled: true` are left out; nothing is connected yet.
 *
 * @example
 * const hub = createMcpHub({ files: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '.'] } });
 * await hub.connectAll();
 * for (const { name } of hub.tools()) console.log(name);
 */
export function createMcpHub(
  servers: Readonly<Record<string, McpServerConfig | McpConnection>> = {},
  options: McpHubOptions = {},
): McpHub {
  const hub = new Hub(options);
  for (const [server, config] of Object.entries(servers)) hub.add(server, config);
  return hub;
}

class Hub implements McpHub {
  readonly #options: McpConnectionOptions;
  readonly #times: Times;
  readonly #members = new Map<string, Member>();
  readonly #news = createListeners<McpHubNews>();
  readonly #names = createServerToolNames();

  constructor({ times = {}, ...options }: McpHubOptions) {
    this.#options = options;
    this.#times = times;
  }

  servers(): readonly McpServerStatus[] {
    return [...this.#members].map(statusOf);
  }

  add(server: string, config: McpServerConfig | McpConnection): void {
    if (this.#members.has(server))
      throw wrongOption(`There is an MCP server '${server}' already. Disconnect it first.`);
    const shared = isConnection(config);
    const connection = shared ? config : createMcpConnection(server, this.#timed(config), this.#options);
    if (connection.server.settings.disabled) return;
    const stops = CONNECTION_NEWS.map((type) => connection.on(type, (event) => this.#news.emit({ ...event, server })));
    const identity = serverIdentity(connection.server.target);
    this.#members.set(server, { connection, shared, identity, release: () => stops.forEach((stop) => stop()) });
    this.#names.add(server);
    this.#news.emit({ type: 'mcp.added', server });
  }

  #timed(config: McpServerConfig): McpServerConfig {
    const { timeoutMs = this.#times.timeoutMs, connectTimeoutMs = this.#times.connectTimeoutMs } = config;
    return { ...config, timeoutMs, connectTimeoutMs };
  }

  async remove(server: string): Promise<boolean> {
    const member = this.#members.get(server);
    if (member === undefined) return false;
    this.#members.delete(server);
    this.#names.remove(server);
    if (!member.shared) await member.connection.disconnect();
    member.release();
    this.#news.emit({ type: 'mcp.removed', server });
    return true;
  }

  connect(server: string): Promise<boolean> {
    return this.#members.get(server)?.connection.connect() ?? Promise.resolve(false);
  }

  async connectAll({ timeoutMs = 30_000, signal }: Parameters<McpHub['connectAll']>[0] = {}) {
    const all = Promise.all([...this.#members.values()].map(({ connection }) => connection.connect()));
    await waitAtMost(timeoutMs, signal, all);
    return this.servers();
  }

  tools(): readonly McpToolEntry[] {
    return entriesOf(this.#members, this.#names);
  }

  server(name: string): McpConnection | null {
    return this.#members.get(name)?.connection ?? null;
  }

  instructions(): ReturnType<McpHub['instructions']> {
    return this.servers().flatMap(({ name, instructions }) =>
      instructions === null ? [] : [{ server: name, text: instructions }],
    );
  }

  logins(): readonly McpPendingLogin[] {
    return [...this.#members].flatMap(([server, { connection }]) =>
      connection.pendingLogin === null ? [] : [{ server, ...connection.pendingLogin }],
    );
  }

  secrets(): readonly string[] {
    return [...this.#members.values()].flatMap(({ connection }) => secretsOfConnection(connection));
  }

  callTool(...[server, tool, args, io]: Parameters<McpHub['callTool']>): ReturnType<McpHub['callTool']> {
    const member = this.#members.get(server);
    if (member !== undefined) return member.connection.call(tool, args, io);
    const message = `There is no MCP server '${server}' (any more); '${tool}' was not called.`;
    return Promise.reject(new McpError('not-connected', server, message));
  }

  onChange(listener: (news: McpHubNews) => void): () => void {
    const stops = NEWS.map((type) => this.#news.on(type, listener));
    return () => stops.forEach((stop) => stop());
  }

  async close(): Promise<void> {
    await Promise.all([...this.#members.keys()].map((server) => this.remove(server)));
  }
}

function statusOf([name, { connection, shared }]: readonly [string, Member]): McpServerStatus {
  const { error } = connection;
  return {
    name,
    state: connection.state,
    required: connection.server.settings.required,
    shared,
    tools: connection.tools.length,
    instructions: connection.info?.instructions ?? null,
    error: error === null ? null : { code: error.code, message: error.message },
    warnings: connection.warnings,
  };
}

function entriesOf(members: ReadonlyMap<string, Member>, names: ServerToolNames): readonly McpToolEntry[] {
  return [...members].flatMap(([server, { connection, identity }]) => {
    const { tools } = connection;
    const called = names.of(
      server,
      tools.map((tool) => tool.name),
    );
    return tools.map((tool, index) => ({
      name: called[index] ?? tool.name,
      server,
      tool,
      identity: { ...identity, ...toolFacts(tool) },
      ...traitsOf(tool, connection.server.settings),
    }));
  });
}

function traitsOf(
  tool: McpTool,
  settings: McpResolvedSettings,
): Omit<McpToolEntry, 'name' | 'server' | 'tool' | 'identity'> {
  const override = Object.hasOwn(settings.overrides, tool.name) ? settings.overrides[tool.name] : undefined;
  const fromServer = settings.policy === 'by-annotations' ? policyFromAnnotations(tool) : (settings.policy ?? null);
  const asked = override?.needsApproval === undefined || fromServer === 'deny' ? fromServer : 'confirm';
  return {
    policy: override?.policy ?? asked,
    checks: override ?? {},
    effects: effectsOf(defined({ annotations: tool.annotations, override })),
    timeoutMs: override?.timeoutMs ?? settings.timeoutMs,
    polling: override?.polling ?? false,
    onError: override?.onError ?? null,
  };
}

function isConnection(config: McpServerConfig | McpConnection): config is McpConnection {
  return 'callTool' in config && typeof config.callTool === 'function';
}
