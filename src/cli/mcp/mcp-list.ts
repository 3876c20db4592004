import type { McpHub, McpToolEntry } from '../../mcp/hub.ts';
import { inert } from '../../output/console/inert.ts';
import { EXIT_CODE } from '../command/command.ts';
import { type Trying, withServers, complaintsOf, type McpEntry } from './mcp-servers.ts';
import { textTable } from '../command/text-layout.ts';

/** A server as `signalbox mcp list` shows it. */
interface ServerRow {
  readonly name: string;
  /** A state of the connection, `DISABLED`, or `MISCONFIGURED` for an entry that cannot be used. */
  readonly state: string;
  readonly transport: string | null;
  readonly tools: number;
  /** The server's own name and version. */
  readonly title: string | null;
  readonly version: string | null;
  readonly protocolVersion: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** Prints each server with its state. The exit code is 0 whatever the states are; `doctor` judges. */
export async function listServers(
  entries: readonly McpEntry[],
  options: Trying & { readonly json: boolean },
): Promise<number> {
  const rows = await withServers(entries, options, async (hub) => entries.map((entry) => rowOf(entry, hub)));
  if (options.json) console.log(JSON.stringify(rows));
  else {
    for (const line of textTable(rows.map(serverCells))) console.log(line);
    if (rows.length === 0) console.error('No server is configured.');
    if (rows.some(({ error }) => error !== null))
      console.error("\n'signalbox mcp doctor' explains what is wrong, and what to do.");
  }
  return EXIT_CODE.answered;
}

const NOTHING = { transport: null, tools: 0, title: null, version: null, protocolVersion: null, error: null } as const;

function rowOf(entry: McpEntry, hub: McpHub): ServerRow {
  const { name } = entry;
  if (entry.kind === 'disabled') return { ...NOTHING, name, state: 'DISABLED' };
  if (entry.kind === 'wrong') {
    const { code, message } = entry.error;
    return { ...NOTHING, name, state: 'MISCONFIGURED', error: { code, message } };
  }
  const connection = hub.server(name);
  const info = connection?.info ?? null;
  const error = connection?.error ?? null;
  return {
    name,
    state: connection?.state ?? 'IDLE',
    transport: info?.transport ?? null,
    tools: connection?.tools.length ?? 0,
    title: info?.title ?? null,
    version: info?.version ?? null,
    protocolVersion: info?.protocolVersion ?? null,
    error: error === null ? null : { code: error.code, message: error.message },
  };
}

function serverCells({ name, state, transport, tools, title, version, error }: ServerRow): readonly string[] {
  if (error !== null) return [name, state, errorLine(error.message)];
  if (transport === null) return [name, state];
  return [
    name,
    state,
    `${tools} tool${tools === 1 ? '' : 's'} over ${transport}; ${inert(title ?? '')} ${inert(version ?? '')}`,
  ];
}

/** A server's last words stand behind the first line break; some of them say enough. */
function errorLine(text: string): string {
  const line = inert(
    text
      .split('\n')
      .map((part) => part.trim())
      .filter(Boolean)
      .join(' '),
  );
  return line.length > MAX_CHARS ? `${line.slice(0, MAX_CHARS)}…` : line;
}

const MAX_CHARS = 300;

/**
 * Prints the tools of the servers with the policy and the effects that an agent would give them. Exit code 1 when the
 * list is not complete because a server is not there.
 */
export async function listTools(
  entries: readonly McpEntry[],
  options: Trying & { readonly json: boolean },
): Promise<number> {
  return withServers(entries, options, async (hub) => {
    const tools = hub.tools();
    if (options.json) console.log(JSON.stringify(tools.map(described)));
    else for (const line of tools.length === 0 ? ['No tools.'] : textTable(tools.map(toolCells))) console.log(line);
    const complaints = complaintsOf(entries, hub);
    for (const complaint of complaints) console.error(complaint);
    return complaints.length === 0 ? EXIT_CODE.answered : EXIT_CODE.failed;
  });
}

function described({ name, server, tool, policy, effects, timeoutMs }: McpToolEntry): object {
  return {
    server,
    tool: tool.name,
    name,
    title: tool.title ?? null,
    policy,
    effects,
    timeoutMs,
    description: tool.description ?? '',
    inputSchema: tool.inputSchema,
    annotations: tool.annotations ?? {},
  };
}

const DESCRIPTION_LENGTH = 100;

function toolCells({ server, tool, policy, effects }: McpToolEntry): readonly string[] {
  const words = [tool.title, tool.description].filter((text) => text !== undefined && text !== '');
  return [inert(server), inert(tool.name), policy ?? '', effects, descriptionLine(words.join(': '))];
}

function descriptionLine(text: string): string {
  const line = inert(text).replaceAll(/\s+/g, ' ').trim();
  return line.length > DESCRIPTION_LENGTH ? `${line.slice(0, DESCRIPTION_LENGTH - 1)}…` : line;
}
