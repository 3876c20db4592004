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
  readonly seal: <T>(value: T) => T;
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
export function mcpBinding({ servers, registry, answers, agent, limits, seal, hide }: BindingOptions): McpBinding {
  const listeners: ((news: McpHubNews) => void)[] = [];
  let hub: McpHub | null = null;
  let loading: Promise<McpHub> | null = null;
  let registered: readonly string[] = [];
  let unsent: readonly string[] = [];
  const shown = shownConnections({ agent, seal, connections: () => hub });

  const load = (): Promise<McpHub> => {
    loading ??= import('../../mcp/hub.ts').then(({ createMcpHub }) => {
      const made = createMcpHub(servers, { ...answers(), limits: { mcp: limits } });
      made.onChange((news) => {
        if (news.type !== 'mcp.oddity' && news.type !== 'mcp.log') synchronize();
        if (news.type === 'mcp.added' || news.type === 'mcp.removed') shown.update();
        for (const listener of listeners) listener(news);
      });
      hub = made;
      shown.update();
      return made;
    });
    return loading;
  };

  /** Brings the registry in line with what the servers offer now. */
  const synchronize = (): void => {
    const entries = hub?.tools() ?? [];
    const names = entries.map(({ name, tool, identity }) => `${name}:${identity.serverId}:${JSON.stringify(tool)}`);
    if (names.length === registered.length && names.every((name, index) => name === registered[index])) return;
    registered = names;
    const share = sharedOut(entries, limits.toolsSent ?? DEFAULT_MCP_LIMITS.toolsSent);
    unsent = share.warning;
    const owned = new Set(registry.list().flatMap(({ name }) => [name, sentName(name)]));
    registry.replaceServerTools(
      entries
        .filter((entry) => !owned.has(entry.name) || registry.isFromServer(entry.name))
        .map((entry) => ({
          server: entry.server,
          serverTool: entry.tool.name,
          identity: entry.identity,
          tool: toolOf(entry, share.sent.has(entry)),
        })),
    );
  };

  const toolOf = (entry: McpToolEntry, enabled: boolean): Tool => ({
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
    execute: (args, { signal }) => binding.callTool(entry.server, entry.tool.name, args, { signal }),
  });

  const unready = () =>
    (hub?.servers() ?? []).filter(({ name, state }) => state !== 'READY' && !asksForMore(hub?.server(name) ?? null));

  const binding: McpBinding = {
    ready: async ({ timeoutMs, signal }) => {
      if (hub === null && Object.keys(servers).length === 0) return;
      await (await load()).connectAll(signal === undefined ? { timeoutMs } : { timeoutMs, signal });
      synchronize();
    },
    notes: () =>
      (hub?.servers() ?? []).map(({ name, state, instructions, error }) => ({
        server: name,
        instructions: instructions ?? '',
        ready: state === 'READY' || asksForMore(hub?.server(name) ?? null),
        ...(error?.code === 'login-required' ? { needs: 'login' as const } : {}),
      })),
    warnings: () => [
      ...unready().map(
        ({ name, state, error }) =>
          `The MCP server '${name}' is not ready (${state})${error === null ? '' : `: ${error.message}`}`,
      ),
      ...(hub?.servers() ?? []).flatMap(({ name, warnings }) =>
        warnings.map((warning) => `MCP server '${name}': ${warning}.`),
      ),
      ...unsent,
    ],
    logins: () => hub?.logins() ?? [],
    secrets: () => hub?.secrets() ?? [],
    missing: () => {
      const server = unready().find(({ required }) => required);
      if (server === undefined) return null;
      return {
        code: server.error?.code ?? 'not-connected',
        message: `the required MCP server '${server.name}' is not ready${server.error === null ? '' : `: ${server.error.message}`}`,
      };
    },
    connect: async (name, config) => {
      const made = await load();
      made.add(name, config);
      const connected = await made.connect(name);
      synchronize();
      return connected;
    },
    disconnect: async (name) => {
      const removed = (await hub?.remove(name)) ?? false;
      synchronize();
      return removed;
    },
    disconnectAll: async () => {
      await hub?.close();
      synchronize();
    },
    connection: (name) => hub?.server(name) ?? null,
    titled: ({ server, tool }) => {
      const title = hub?.server(server)?.tools.find(({ name }) => name === tool)?.title;
      return title === undefined ? {} : { title };
    },
    names: () => [...new Set([...Object.keys(servers), ...(hub?.servers() ?? []).map((server) => server.name)])],
    showOn: shown.on,
    onNews: (listener) => void listeners.push(listener),
    callTool: (server, tool, args, io) =>
      hub === null
        ? Promise.reject(
            new McpError(
              'not-connected',
              server,
              `The MCP server '${server}' is not connected; '${tool}' was not called.`,
            ),
          )
        : hub.callTool(server, tool, args, { ...io, onHidden: hide }),
    close: async () => {
      await hub?.close();
    },
  };
  return binding;
}

/** Which tools of servers are sent to the model, and what to warn of when that is not all of them. */
export interface SharedOut {
  readonly sent: ReadonlySet<McpToolEntry>;
  readonly warning: readonly string[];
}

/**
 * Chooses at most so many tools of servers, one of each server in turn, so that a server with a thousand of them takes
 * nothing from the others. Each server's tools count in its own order; denied ones are not sent anyway.
 */
export function sharedOut(entries: readonly McpToolEntry[], most: number): SharedOut {
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

/** The connections of an agent as inspectors are told of them. Without an inspector there is nothing to do. */
export interface ShownConnections {
  on(port: RunPort): void;
  /** There may be other connections now. */
  update(): void;
}

interface ShownOptions {
  readonly agent: string;
  readonly seal: <T>(value: T) => T;
  readonly connections: () => McpHub | null;
}

/** Keeps every inspector's view of the connections in line with those that there are. */
export function shownConnections({ agent, seal, connections }: ShownOptions): ShownConnections {
  const ports = new Map<RunPort, Map<McpConnection, () => void>>();

  const update = (): void => {
    const hub = connections();
    const now = (hub?.servers() ?? []).flatMap(({ name }) => hub?.server(name) ?? []);
    for (const [port, shown] of ports) {
      for (const [connection, leave] of shown) {
        if (now.includes(connection)) continue;
        shown.delete(connection);
        leave();
      }
      for (const connection of now) {
        if (shown.has(connection)) continue;
        const leave = port.attachActor?.({ title: `MCP ${connection.name}`, agent, actor: connection.actor, seal });
        if (leave !== undefined) shown.set(connection, leave);
      }
    }
  };

  return {
    update,
    on: (port) => {
      if (ports.has(port)) return;
      ports.set(port, new Map());
      update();
    },
  };
}
