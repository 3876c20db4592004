import type { ServerTool, ShownTool } from '../tools/server-tool.ts';

/** What one agent may do without a question. */
export interface AgentPermissions {
  /** Tools of the program, by name. */
  readonly tools: ReadonlySet<string>;
  /** Tools of MCP servers: at most one for a tool of a server. */
  readonly serverTools: readonly ServerTool[];
}

/** The always-allowed tools of each agent. A map, so that names like `__proto__` are names like any other. */
export type Permissions = ReadonlyMap<string, AgentPermissions>;

/** What a text turned out to be. */
export type ParsedPermissions =
  | { readonly kind: 'ok'; readonly permissions: Permissions }
  | { readonly kind: 'newer'; readonly version: number }
  | { readonly kind: 'corrupt' };

/** The permissions of an agent that has none. */
export const NO_PERMISSIONS: AgentPermissions = { tools: new Set(), serverTools: [] };

/** The version that is written. Version 1 had names alone, and is read. */
export const PERMISSIONS_VERSION = 2;

const CORRUPT = { kind: 'corrupt' } as const;

/** Reads a permission file's text; `null` is a file that does not exist. Anything that is not exactly the format is corrupt. */
export function parsePermissions(text: string | null): ParsedPermissions {
  if (text === null) return { kind: 'ok', permissions: new Map() };
  const file = parseJson(text);
  if (!isRecord(file)) return CORRUPT;
  const { version, agents } = file;
  if (typeof version === 'number' && version > PERMISSIONS_VERSION) return { kind: 'newer', version };
  if ((version !== 1 && version !== 2) || !isRecord(agents)) return CORRUPT;
  const permissions = new Map<string, AgentPermissions>();
  for (const [agent, kept] of Object.entries(agents)) {
    const read = version === 1 ? readNames(kept) : readAgent(kept);
    if (read === null) return CORRUPT;
    permissions.set(agent, read);
  }
  return { kind: 'ok', permissions };
}

/** Writes permissions as text: two spaces, agents and tools sorted by name, agents without tools left out. */
export function printPermissions(permissions: Permissions): string {
  const agents = [...permissions.entries()]
    .filter(([, { tools, serverTools }]) => tools.size + serverTools.length > 0)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([agent, { tools, serverTools }]) => [
      agent,
      { tools: [...tools].toSorted(), serverTools: sortedServerTools(serverTools) },
    ]);
  return `${JSON.stringify({ version: PERMISSIONS_VERSION, agents: Object.fromEntries(agents) }, null, 2)}\n`;
}

/** By server, then tool. */
export function sortedServerTools(serverTools: readonly ServerTool[]): readonly ServerTool[] {
  const key = ({ server, serverId, tool }: ServerTool): string => [server, serverId, tool].join('\n');
  return serverTools.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** Version 1. Which of the names belonged to tools of MCP servers is not known; none of them grants such a tool. */
function readNames(kept: unknown): AgentPermissions | null {
  return isListOfNames(kept) ? { tools: new Set(kept), serverTools: [] } : null;
}

function readAgent(kept: unknown): AgentPermissions | null {
  if (!isRecord(kept) || !isListOfNames(kept.tools) || !Array.isArray(kept.serverTools)) return null;
  const serverTools = kept.serverTools.map(readServerTool);
  return serverTools.every((tool) => tool !== null) ? { tools: new Set(kept.tools), serverTools } : null;
}

function readServerTool(kept: unknown): ServerTool | null {
  if (!isRecord(kept)) return null;
  const { server, serverId, tool, name, fingerprint } = kept;
  const shown = readShown(kept.shown);
  if (!isName(server) || !isName(serverId) || !isName(tool) || !isName(name) || !isName(fingerprint)) return null;
  return shown === null ? null : { server, serverId, tool, name, fingerprint, shown };
}

function readShown(kept: unknown): ShownTool | null {
  if (!isRecord(kept)) return null;
  const { title, description, inputSchema, annotations } = kept;
  if (typeof title !== 'string' || typeof description !== 'string') return null;
  if (typeof inputSchema !== 'string' || typeof annotations !== 'string') return null;
  return { title, description, inputSchema, annotations };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isListOfNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isName);
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
