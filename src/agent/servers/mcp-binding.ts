import { type ShownConnections, shownConnections } from './shown-connections.ts';
import { type McpCalls, McpError } from '../../actors/mcp/mcp-calls.ts';
import type { RunPort } from '../../inspector/frames/run-port.ts';
import type { ServerNote } from '../../machines/contract/agent-setup.ts';
import type { McpAnswers } from '../../mcp/config/answers.ts';
import type { McpServerConfig } from '../../mcp/config/config.ts';
import { DEFAULT_MCP_LIMITS, type McpLimits } from '../../mcp/config/server-limits.ts';
import type { McpConnection } from '../../mcp/connection-types.ts';
import type { McpHub, McpHubNews, McpPendingLogin, McpToolEntry } from '../../mcp/hub.ts';
import { checkOnError } from '../../recovery/plan-data.ts';
import type { OnError } from '../../recovery/steps.ts';
import { sentName } from '../../tools/lookup.ts';
import type { Tool } from '../../tools/tool.ts';
import type { OwnRegistry } from '../tools/registry.ts';

/** The MCP servers of one agent: their tools stand in its registry while they are connected. */
export interface McpBinding extends McpCalls {
  /** Waits until each server is ready or has failed, at most `timeoutMs`; then their tools are registered. */
  ready(options: { readonly timeoutMs: number; readonly signal?: AbortSignal }): Promise<void>;
  /** The servers as the model is told of them. */
  notes(): readonly ServerNote[];
  /** What to warn of: servers that are not ready, and why. */
  warnings(): readonly string[];
  /** The servers that wait for a person to sign in. */
  logins(): readonly McpPendingLogin[];
  /** The tokens and codes of the servers. */
  secrets(): readonly string[];
  /** The first required server that is not ready. */
  missing(): { readonly code: string; readonly message: string } | null;
  connect(name: string, config: McpServerConfig | McpConnection): Promise<boolean>;
  disconnect(name: string): Promise<boolean>;
  disconnectAll(): Promise<void>;
  connection(name: string): McpConnection | null;
  /** What a server calls one of its tools for people, where it does. */
  titled(of: { readonly server: string; readonly tool: string }): { readonly title?: string };
  names(): readonly string[];
  onNews(listener: (news: McpHubNews) => void): void;
  /** Shows the connections there, those that are made later too, for as long as the agent has them. */
  showOn(port: RunPort): void;
  close(): Promise<void>;
}

interface BindingOptions {
  readonly servers: { readonly [name: string]: McpServerConfig | McpConnection };
  readonly registry: OwnRegistry;
  /** What the servers get that ask something; asked for when the first is connected. */
  readonly answers: () => McpAnswers;
  readonly agent: string;
  readonly limits: Partial<McpLimits>;
  /** Puts marks in the place of secrets, for who looks at the connections. */
  readonly redact: <T>(value: T) => T;
  /** Told what people typed as secrets for servers. */
  readonly hide: (text: string) => void;
}

function onErrorOf({ server, tool, onError }: McpToolEntry): OnError | undefined {
  const given: unknown = onError ?? undefined;
  checkOnError(`mcpServers.${server}.overrides.${tool.name}`, given);
  return given;
}

/** A person is asked to sign in for more, and the server can be used meanwhile. */
function asksForMore(connection: McpConnection | null): boolean {
  return connection?.state === 'AUTHORIZING' && connection.isConnected();
}

/** Binds servers to a registry. The MCP part of the package is loaded when it is first needed. */
export function mcpBinding(options: BindingOptions): McpBinding {
  return new ServerBinding(options);
}

class ServerBinding implements McpBinding {
  readonly #options: BindingOptions;
  readonly #shown: ShownConnections;
  readonly #listeners: ((news: McpHubNews) => void)[] = [];
  #hub: McpHub | null = null;
  #loading: Promise<McpHub> | null = null;
  /** What the registry was last brought in line with. */
  #registered: readonly string[] = [];
  #unsent: readonly string[] = [];

  constructor(options: BindingOptions) {
    this.#options = options;
    const { agent, redact } = options;
    this.#shown = shownConnections({ agent, redact, connections: () => this.#hub });
  }

  async ready({ timeoutMs, signal }: Parameters<McpBinding['ready']>[0]): Promise<void> {
    if (this.#hub === null && Object.keys(this.#options.servers).length === 0) return;
    await (await this.#load()).connectAll(signal === undefined ? { timeoutMs } : { timeoutMs, signal });
    this.#synchronize();
  }

  notes(): readonly ServerNote[] {
    return (this.#hub?.servers() ?? []).map(({ name, state, instructions, error }) => ({
      server: name,
      instructions: instructions ?? '',
      ready: state === 'READY' || asksForMore(this.connection(name)),
      ...(error?.code === 'login-required' ? { needs: 'login' as const } : {}),
    }));
  }

  warnings(): readonly string[] {
    return [
      ...this.#unready().map(
        ({ name, state, error }) =>
          `The MCP server '${name}' is not ready (${state})${error === null ? '' : `: ${error.message}`}`,
      ),
      ...(this.#hub?.servers() ?? []).flatMap(({ name, warnings }) =>
        warnings.map((warning) => `MCP server '${name}': ${warning}.`),
      ),
      ...this.#unsent,
    ];
  }

  logins(): readonly McpPendingLogin[] {
    return this.#hub?.logins() ?? [];
  }

  secrets(): readonly string[] {
    return this.#hub?.secrets() ?? [];
  }

  missing(): { readonly code: string; readonly message: string } | null {
    const server = this.#unready().find(({ required }) => required);
    if (server === undefined) return null;
    return {
      code: server.error?.code ?? 'not-connected',
      message: `the required MCP server '${server.name}' is not ready${server.error === null ? '' : `: ${server.error.message}`}`,
    };
  }

  async connect(name: string, config: McpServerConfig | McpConnection): Promise<boolean> {
    const hub = await this.#load();
    hub.add(name, config);
    const connected = await hub.connect(name);
    this.#synchronize();
    return connected;
  }

  async disconnect(name: string): Promise<boolean> {
    const removed = (await this.#hub?.remove(name)) ?? false;
    this.#synchronize();
    return removed;
  }

  async disconnectAll(): Promise<void> {
    await this.#hub?.close();
    this.#synchronize();
  }

  connection(name: string): McpConnection | null {
    return this.#hub?.server(name) ?? null;
  }

  titled({ server, tool }: { readonly server: string; readonly tool: string }): { readonly title?: string } {
    const title = this.connection(server)?.tools.find(({ name }) => name === tool)?.title;
    return title === undefined ? {} : { title };
  }

  names(): readonly string[] {
    const connected = (this.#hub?.servers() ?? []).map(({ name }) => name);
    return [...new Set([...Object.keys(this.#options.servers), ...connected])];
  }

  showOn(port: RunPort): void {
    this.#shown.on(port);
  }

  onNews(listener: (news: McpHubNews) => void): void {
    this.#listeners.push(listener);
  }

  callTool(...[server, tool, args, io]: Parameters<McpCalls['callTool']>): ReturnType<McpCalls['callTool']> {
    const text = `The MCP server '${server}' is not connected; '${tool}' was not called.`;
    if (this.#hub === null) return Promise.reject(new McpError('not-connected', server, text));
    return this.#hub.callTool(server, tool, args, { ...io, onHidden: this.#options.hide });
  }

  async close(): Promise<void> {
    await this.#hub?.close();
  }

  #unready() {
    return (this.#hub?.servers() ?? []).filter(
      ({ name, state }) => state !== 'READY' && !asksForMore(this.connection(name)),
    );
  }

  #load(): Promise<McpHub> {
    const { servers, answers, limits } = this.#options;
    this.#loading ??= import('../../mcp/hub.ts').then(({ createMcpHub }) => {
      const hub = createMcpHub(servers, { ...answers(), limits: { mcp: limits } });
      hub.onChange((news) => {
        if (news.type !== 'mcp.oddity' && news.type !== 'mcp.log') this.#synchronize();
        if (news.type === 'mcp.added' || news.type === 'mcp.removed') this.#shown.update();
        for (const listener of this.#listeners) listener(news);
      });
      this.#hub = hub;
      this.#shown.update();
      return hub;
    });
    return this.#loading;
  }

  /** Brings the registry in line with what the servers offer now. */
  #synchronize(): void {
    const { registry, limits } = this.#options;
    const entries = this.#hub?.tools() ?? [];
    const names = entries.map(({ name, tool, identity }) => `${name}:${identity.serverId}:${JSON.stringify(tool)}`);
    if (names.length === this.#registered.length && names.every((name, index) => name === this.#registered[index]))
      return;
    this.#registered = names;
    const share = sharedOut(entries, limits.toolsSent ?? DEFAULT_MCP_LIMITS.toolsSent);
    this.#unsent = share.warning;
    const owned = new Set(registry.list().flatMap(({ name }) => [name, sentName(name)]));
    registry.replaceServerTools(
      entries
        .filter((entry) => !owned.has(entry.name) || registry.isFromServer(entry.name))
        .map((entry) => ({
          server: entry.server,
          serverTool: entry.tool.name,
          identity: entry.identity,
          tool: this.#toolOf(entry, share.sent.has(entry)),
        })),
    );
  }

  #toolOf(entry: McpToolEntry, enabled: boolean): Tool {
    return {
      name: entry.name,
      description: entry.tool.description ?? '',
      inputSchema: entry.tool.inputSchema,
      policy: entry.policy ?? undefined,
      effects: entry.effects,
      atomic: false,
      polling: entry.polling,
      enabled,
      timeoutMs: entry.timeoutMs,
      check: undefined,
      onError: onErrorOf(entry),
      execute: (args, { signal }) => this.callTool(entry.server, entry.tool.name, args, { signal }),
    };
  }
}

/** Which tools of servers are sent to the model, and what to warn of when that is not all of them. */
interface SharedOut {
  readonly sent: ReadonlySet<McpToolEntry>;
  readonly warning: readonly string[];
}

/**
 * Chooses at most so many tools of servers, one of each server in turn, so that a server with a thousand of them takes
 * nothing from the others. Each server's tools count in its own order; denied ones are not sent anyway.
 */
function sharedOut(entries: readonly McpToolEntry[], most: number): SharedOut {
  const open = entries.filter(({ policy }) => policy !== 'deny');
  if (open.length <= most) return { sent: new Set(entries), warning: [] };
  const rows = [...Map.groupBy(open, ({ server }) => server).values()];
  const longest = Math.max(...rows.map((row) => row.length));
  const inTurn = Array.from({ length: longest }, (_, at) => rows.flatMap((row) => row[at] ?? [])).flat();
  const sent = new Set(inTurn.slice(0, most));
  const left = rows
    .map((row) => ({ server: row[0]?.server ?? '', count: row.filter((entry) => !sent.has(entry)).length }))
    .filter(({ count }) => count > 0);
  const counts = left.map(({ server, count }) => `${count} of '${server}'`).join(', ');
  return {
    sent,
    warning: [
      `MCP servers offer ${open.length} tools, more than limits.mcp.toolsSent allows (${most}); not sent to the model: ${counts}. Name those that are needed in \`tools\` of the server.`,
    ],
  };
}
