import type { McpHub } from '../../mcp/hub.ts';
import type { McpProgress } from '../../mcp/wire/link.ts';
import { terminalElicit } from '../../mcp/questions/terminal-elicit.ts';
import { findJsonError } from '../../mcp/config/config-file.ts';
import { inert } from '../../output/console/inert.ts';
import { type JsonObject, isJsonObject } from '../../json/json.ts';
import type { ToolResult } from '../../tools/result.ts';
import { UsageError, EXIT_CODE } from '../command/command.ts';
import { complaintsOf, type Trying, withServers, type McpEntry } from './mcp-servers.ts';
import { didYouMean } from '../../json/nearest-name.ts';

/** A call as it was typed. */
interface TypedCall {
  readonly server: string;
  readonly tool: string;
  /** JSON of an object. */
  readonly args: string;
}

/**
 * Calls one tool and prints what it gave: text as it is, everything else as JSON. Exit code 1 for an error, whether the
 * tool's or the connection's. Throws a {@link UsageError} for a tool that does not exist and for arguments that are not JSON.
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
    const complaints = complaintsOf(entries, hub);
    for (const complaint of complaints) console.error(complaint);
    const connection = hub.server(call.server);
    if (connection === null || complaints.length > 0) return EXIT_CODE.failed;
    const result = await connection.callTool(toolName(hub, call), args, { onProgress: showProgress });
    if (options.json) console.log(JSON.stringify(result));
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

/** The server's own name of a tool; the name under which an agent knows it will do as well. */
function toolName(hub: McpHub, { server, tool }: TypedCall): string {
  const tools = hub.tools();
  const found = tools.find((entry) => entry.tool.name === tool) ?? tools.find((entry) => entry.name === tool);
  if (found !== undefined) return found.tool.name;
  const names = tools.map((entry) => entry.tool.name);
  const known = names.length === 0 ? 'It has none.' : `It has: ${names.join(', ')}.`;
  throw new UsageError(inert(`the server '${server}' has no tool '${tool}'.${didYouMean(tool, names)} ${known}`));
}

/** A line for each word of progress, where a person sees it. */
function showProgress({ progress, total, message }: McpProgress): void {
  if (process.stderr.isTTY !== true) return;
  const step = total === undefined ? String(progress) : `${progress} of ${total}`;
  console.error(inert(message === undefined ? step : `${step}: ${message}`));
}

function show({ status, message, data, error, parts }: ToolResult): void {
  if (status === 'partial' && message !== undefined) console.error(inert(message));
  if (status === 'error') console.error(inert(error ?? 'the tool reported an error without a message'));
  for (const piece of [data, parts]) {
    if (piece === undefined) continue;
    const text = typeof piece === 'string' ? piece : JSON.stringify(piece, null, 2);
    // What goes into a file or another program stays as it is.
    console.log(process.stdout.isTTY ? inert(text) : text);
  }
}
