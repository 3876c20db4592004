import { isTerminal } from '../options/agent-settings.ts';
import { type AnsweringAgent, serverAnswers } from './server-answers.ts';
import { type ShownConnections, shownConnections } from './shown-connections.ts';
import { type McpCalls, McpError } from '../../actors/mcp/mcp-calls.ts';
import type { RunPort } from '../../inspector/frames/run-port.ts';
import { type Json, type JsonObject, type JsonSchema, defined, isJsonObject } from '../../json/json.ts';
import { DEFAULT_SETTINGS, type ServerNote } from '../../machines/contract/agent-setup.ts';
import type { McpServerConfig } from '../../mcp/config/config.ts';
import { mcpLimits } from '../../mcp/config/server-limits.ts';
import type { McpConnection } from '../../mcp/connection-types.ts';
import type { McpHub, McpHubNews, McpPendingLogin, McpToolEntry } from '../../mcp/hub.ts';
import { issuesOf } from '../../parsing/schema/fit.ts';
import { checkOnError } from '../../recovery/plan-data.ts';
import type { OnError } from '../../recovery/steps.ts';
import { sentName } from '../../tools/lookup.ts';
import { type Tool, checkedBy } from '../../tools/tool.ts';
import type { AgentOptions } from '../options/agent-options.ts';
import type { OwnRegistry } from '../tools/registry.ts';

/** The agent that has the servers. */
interface ServersOf extends AnsweringAgent {
  readonly name: string;
  readonly registry: OwnRegistry;
  /** Receives what people typed as secrets for servers. */
  readonly redaction: { hide(text: string): void };
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

const NOTHING: readonly string[] = [];
const NO_SERVERS: NonNullable<AgentOptions['mcpServers']> = {};

/**
 * The MCP servers of one agent: their tools stand in its registry while they are connected. The MCP part of the package is
 * loaded when it is first needed.
 */
export class McpBinding implements McpCalls {
  readonly #agent: ServersOf;
  #shown: ShownConnections | null = null;
  #listeners: readonly ((news: McpHubNews) => void)[] = [];
  #hub: McpHub | null = null;
  #loading: Promise<McpHub> | null = null;
  #isEnded = false;
  /** What the registry was last brought in line with. */
  #registered = NOTHING;
  #unsent = NOTHING;

  constructor(agent: ServersOf) {
    this.#agent = agent;
  }

  get #servers(): NonNullable<AgentOptions['mcpServers']> {
    return this.#agent.options.mcpServers ?? NO_SERVERS;
  }

  /** Waits until each server is ready or has failed, at most `timeoutMs`; then their tools are registered. */
  async ready({ timeoutMs, signal }: { readonly timeoutMs: number; readonly signal?: AbortSignal }): Promise<void> {
    if (this.#isEnded || (this.#hub === null && Object.keys(this.#servers).length === 0)) return;
    await (await this.#load()).connectAll(signal === undefined ? { timeoutMs } : { timeoutMs, signal });
    this.#synchronize();
  }

  /** The servers as described to the model. */
  notes(): readonly ServerNote[] {
    return (this.#hub?.servers() ?? []).map(({ name, state, instructions, error }) => ({
      server: name,
      instructions: instructions ?? '',
      ready: state === 'READY' || asksForMore(this.connection(name)),
      ...(error?.code === 'login-required' ? { needs: 'login' as const } : {}),
    }));
  }

  /** What to warn of: servers that are not ready, and why. */
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

  /** The servers that wait for a person to sign in. */
  logins(): readonly McpPendingLogin[] {
    return this.#hub?.logins() ?? [];
  }

  /** The tokens and codes of the servers. */
  secrets(): readonly string[] {
    return this.#hub?.secrets() ?? [];
  }

  /** The first required server that is not ready. */
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
    if (this.#isEnded) return false;
    hub.add(name, config);
    this.#agent.registry.forgetRemoved(name);
    const connected = await hub.connect(name);
    this.#synchronize();
    return connected;
  }

  async disconnect(name: string): Promise<boolean> {
    return this.names().includes(name) && (await this.#load()).remove(name);
  }

  connection(name: string): McpConnection | null {
    return this.#hub?.server(name) ?? null;
  }

  /** A server's display name for one of its tools, if it has one. */
  titled({ server, tool }: { readonly server: string; readonly tool: string }): { readonly title?: string } {
    const title = this.connection(server)?.tools.find(({ name }) => name === tool)?.title;
    return title === undefined ? {} : { title };
  }

  names(): readonly string[] {
    const connected = (this.#hub?.servers() ?? []).map(({ name }) => name);
    return [...new Set([...Object.keys(this.#servers), ...connected])];
  }

  /** Shows the connections there, those that are made later too, for as long as the agent has them. */
  showOn(port: RunPort): void {
    const { name, redactor } = this.#agent;
    this.#shown ??= shownConnections({ agent: name, redact: redactor.redact, connections: () => this.#hub });
    this.#shown.on(port);
  }

  /** Returns a function that stops listening. */
  onNews(listener: (news: McpHubNews) => void): () => void {
    this.#listeners = [...this.#listeners, listener];
    return () => {
      this.#listeners = this.#listeners.filter((one) => one !== listener);
    };
  }

  callTool(...[server, tool, args, io]: Parameters<McpCalls['callTool']>): ReturnType<McpCalls['callTool']> {
    const lost = `The MCP server '${server}' is not connected; '${tool}' was not called.`;
    if (this.#hub === null) return Promise.reject(new McpError('not-connected', server, lost));
    return this.#hub.callTool(server, tool, args, { ...io, onHidden: (text) => this.#agent.redaction.hide(text) });
  }

  /** Disconnects all servers. */
  async close(): Promise<void> {
    await (await this.#loading)?.close();
  }

  /** The same for good: what connects later would have nobody who ends it. */
  end(): Promise<void> {
    this.#isEnded = true;
    return this.close();
  }

  #unready() {
    return (this.#hub?.servers() ?? []).filter(
      ({ name, state }) => state !== 'READY' && !asksForMore(this.connection(name)),
    );
  }

  #load(): Promise<McpHub> {
    this.#loading ??= import('../../mcp/hub.ts').then(({ createMcpHub }) => {
      const { toolMs: timeoutMs, connectMs = 0 } = this.#agent.options.timeouts ?? {};
      // A run that waits less begins without the server, and the attempt continues.
      const connectTimeoutMs = connectMs > DEFAULT_SETTINGS.connectMs ? connectMs : undefined;
      const hub = createMcpHub(this.#servers, {
        ...serverAnswers(this.#agent, isTerminal()),
        limits: { mcp: this.#agent.options.limits?.mcp },
        times: { timeoutMs, connectTimeoutMs },
      });
      hub.onChange((news) => {
        if (news.type !== 'mcp.warning' && news.type !== 'mcp.log') this.#synchronize();
        if (news.type === 'mcp.added' || news.type === 'mcp.removed') this.#shown?.update();
        for (const listener of this.#listeners) listener(news);
      });
      this.#hub = hub;
      this.#shown?.update();
      return hub;
    });
    return this.#loading;
  }

  /** Brings the registry in line with what the servers offer now. */
  #synchronize(): void {
    const { registry } = this.#agent;
    const entries = this.#hub?.tools() ?? [];
    const names = entries.map(({ name, tool, identity }) => `${name}:${identity.serverId}:${JSON.stringify(tool)}`);
    if (names.length === this.#registered.length && names.every((name, index) => name === this.#registered[index]))
      return;
    this.#registered = names;
    const share = sharedOut(entries, mcpLimits(this.#agent.options.limits?.mcp).toolsSent);
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
      inputSchema: usable(entry.tool.inputSchema),
      policy: entry.policy ?? undefined,
      effects: entry.effects,
      atomic: false,
      polling: entry.polling,
      enabled,
      timeoutMs: entry.timeoutMs,
      ...checkedBy(entry.checks),
      onError: onErrorOf(entry),
      execute: (args, { signal }) => this.callTool(entry.server, entry.tool.name, args, { signal }),
    };
  }
}

/**
 * A schema without what would refuse all that its server takes: defaults that do not fit, such as `null` for Python's
 * `text: str = None`, and FastMCP's `additionalProperties: false` of a map or beside alternatives, which leaves no member.
 */
function usable(schema: JsonSchema): JsonSchema {
  const { $defs, definitions }: JsonObject = isJsonObject(schema) ? schema : {};
  const read: JsonSchema = JSON.parse(JSON.stringify(schema), (key, value: Json) => {
    // Among properties `default` is the name of one.
    if (key === 'properties' || !isJsonObject(value)) return value;
    const { additionalProperties, ...open } = value;
    const form = additionalProperties === false && isMeantOpen(open) ? open : value;
    const { default: given, ...rest } = form;
    const isUsed = given === undefined || issuesOf(given, { ...rest, ...defined({ $defs, definitions }) }).length === 0;
    return isUsed ? form : rest;
  });
  return read;
}

function isMeantOpen({ properties, patternProperties, propertyNames, anyOf, oneOf, allOf }: JsonObject): boolean {
  return (properties ?? patternProperties) === undefined && (propertyNames ?? anyOf ?? oneOf ?? allOf) !== undefined;
}

/** Which tools of servers are sent to the model, and what to warn of when that is not all of them. */
interface SharedOut {
  readonly sent: ReadonlySet<McpToolEntry>;
  readonly warning: readonly string[];
}

/**
 * Chooses at most this many tools of servers, one of each server in turn, so that a server with a thousand of them takes
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
