import { isJsonObject, type JsonObject } from '../../json/json.ts';
import { didYouMean } from '../../json/nearest-name.ts';
import { findJsonError } from '../../mcp/config/config-file.ts';
import type { McpHub, McpToolEntry } from '../../mcp/hub.ts';
import { terminalElicit } from '../../mcp/questions/terminal-elicit.ts';
import type { McpProgress } from '../../mcp/wire/link.ts';
import { escaped, machineJson, oneLine } from '../../output/console/escaped.ts';
import { openTerminal } from '../../output/console/terminal.ts';
import type { ToolResult } from '../../tools/result.ts';
import { EXIT_CODE, UsageError } from '../command/command.ts';
import { counted, textTable } from '../../terminal/text-width.ts';
import { absenceOf, complain, complaintsOf, type McpEntry, type Trying, withServers } from './mcp-servers.ts';

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
  if (options.json) console.log(machineJson(rows));
  else {
    print(rows.map((row) => serverCells(row, options.at)));
    if (rows.length === 0) console.error('No server is configured.');
    if (rows.some(({ error }) => error !== null))
      complain(`\n'signalbox mcp doctor${options.at}' explains what is wrong, and what to do.`);
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
  const { transport, title, version, protocolVersion } = connection?.info ?? NOTHING;
  const error = connection?.error ? { code: connection.error.code, message: connection.error.message } : null;
  const [state, tools] = [connection?.state ?? 'IDLE', connection?.tools.length ?? 0];
  return { name, state, transport, tools, title, version, protocolVersion, error };
}

/** In lines as wide as the terminal. Names are as a file says, which may be anybody's. */
export function print(rows: readonly (readonly string[])[]): void {
  const shown = rows.map((row) => row.map(oneLine));
  for (const line of textTable(shown, openTerminal(process.stdout).columns())) console.log(line);
}

function serverCells(
  { name, state, transport, tools, title, version, error }: ServerRow,
  at: string,
): readonly string[] {
  if (error !== null) return [name, state, shortened(absenceOf(name, error, at), ERROR_CHARS)];
  if (transport === null) return [name, state];
  return [name, state, `${counted(tools, 'tool')} over ${transport}; ${title ?? ''} ${version ?? ''}`];
}

/** Also that of a server's last words, which stand behind the first line break; some of them say enough. */
const ERROR_CHARS = 300;
const DESCRIPTION_CHARS = 100;

function shortened(text: string, most: number): string {
  const line = escaped(text).replaceAll(/\s+/g, ' ').trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

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
    if (options.json) console.log(machineJson(tools.map(described)));
    else print(tools.length === 0 ? [['No tools.']] : tools.map(toolCells));
    const complaints = complaintsOf(entries, hub, options.at);
    for (const complaint of complaints) complain(complaint);
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

function toolCells({ server, tool, policy, effects }: McpToolEntry): readonly string[] {
  const words = [tool.title, tool.description].filter((text) => text !== undefined && text !== '');
  return [server, tool.name, policy ?? '', effects, shortened(words.join(': '), DESCRIPTION_CHARS)];
}

/** A call as it was typed; `args`: JSON of an object. */
type TypedCall = Readonly<Record<'server' | 'tool' | 'args', string>>;

/**
 * Calls one tool and prints its result: text as it is, everything else as JSON. Exit code 1 for an error, whether the tool's
 * or the connection's. Throws a {@link UsageError} for a tool that does not exist and for arguments that are not JSON.
 */
export async function callByHand(
  entries: readonly McpEntry[],
  call: TypedCall,
  options: Trying & { readonly json: boolean },
): Promise<number> {
  const args = readArgs(call.args);
  if (entries.some(({ kind }) => kind === 'disabled')) {
    throw new UsageError(`the server '${call.server}' is switched off: "disabled" is true in its entry.`);
  }
  const asking = process.stdin.isTTY && process.stderr.isTTY ? { ...options, elicit: terminalElicit() } : options;
  return withServers(entries, asking, async (hub) => {
    const complaints = complaintsOf(entries, hub, options.at);
    for (const complaint of complaints) complain(complaint);
    const connection = hub.server(call.server);
    if (connection === null || complaints.length > 0) return EXIT_CODE.failed;
    const result = await connection.callTool(toolName(hub, call), args, { onProgress: showProgress });
    if (options.json) console.log(machineJson(result));
    else show(result);
    return result.status === 'error' ? EXIT_CODE.failed : EXIT_CODE.answered;
  });
}

function readArgs(text: string): JsonObject {
  const wrong = findJsonError(text);
  if (wrong !== null) {
    throw new UsageError(
      `the arguments are not valid JSON, line ${wrong.line}, column ${wrong.column}: ${wrong.problem}. Write for example '{"path": "."}'.`,
    );
  }
  const value: unknown = JSON.parse(text);
  if (isJsonObject(value)) return value;
  throw new UsageError(`the arguments must be a JSON object, such as '{"path": "."}', and are ${text}.`);
}

/** The server's own name of a tool; the name that an agent uses is accepted, too. */
function toolName(hub: McpHub, { server, tool }: TypedCall): string {
  const tools = hub.tools();
  const found = tools.find((entry) => entry.tool.name === tool) ?? tools.find((entry) => entry.name === tool);
  if (found !== undefined) return found.tool.name;
  const names = tools.map((entry) => oneLine(entry.tool.name));
  const known = names.length === 0 ? 'It has none.' : `It has: ${names.join(', ')}.`;
  throw new UsageError(`the server '${server}' has no tool '${tool}'.${didYouMean(tool, names)} ${known}`);
}

/** A line for each progress message, if a person sees it. */
function showProgress({ progress, total, message }: McpProgress): void {
  if (process.stderr.isTTY !== true) return;
  const step = total === undefined ? String(progress) : `${progress} of ${total}`;
  console.error(escaped(message === undefined ? step : `${step}: ${message}`));
}

function show({ status, message, data, error, parts }: ToolResult): void {
  if (status === 'partial' && message !== undefined) console.error(escaped(message));
  if (status === 'error') console.error(escaped(error ?? 'the tool reported an error without a message'));
  for (const piece of [data, parts]) {
    if (piece === undefined) continue;
    const text = typeof piece === 'string' ? piece : JSON.stringify(piece, null, 2);
    // What goes into a file or another program stays as it is.
    console.log(process.stdout.isTTY ? escaped(text) : text);
  }
}
