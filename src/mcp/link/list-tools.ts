import { isJson, isList } from '../../json/depth.ts';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import type { LinkIo, ProtocolWarning, RequestIo } from '../wire/link.ts';
import type { McpTool, McpToolAnnotations } from '../../actors/mcp/mcp-calls.ts';
import { LinkFault, pastLimit } from '../wire/faults.ts';
import { type McpLimits, NAME_CHARS, cutText } from '../config/server-limits.ts';

/** Asks a server and gives its answer. */
export type Ask = (method: string, params: JsonObject, io: RequestIo) => Promise<JsonObject>;

/**
 * Fetches every page of `tools/list`. One tool that makes no sense costs only itself, and a server that names a page
 * twice has no more pages. Rejects with a {@link LinkFault} `limit` as soon as the list is longer than the limits allow.
 */
export async function listAllTools(
  ask: Ask,
  io: RequestIo,
  { limits, isWanted, onWarning }: Pick<LinkIo, 'limits' | 'isWanted' | 'onWarning'>,
): Promise<readonly McpTool[]> {
  const tools = new Map<string, McpTool>();
  const seen = new Set<string>();
  let bytes = 0;
  for (let cursor: string | null = ''; cursor !== null;) {
    if (seen.size >= limits.listPages) throw pastLimit('listPages', 'its list of tools has more pages', limits);
    const page: JsonObject = await ask('tools/list', cursor === '' ? {} : { cursor }, io).catch((fault: unknown) => {
      if (!(fault instanceof LinkFault) || fault.kind !== 'answer') throw fault;
      const { delivered, data, message } = fault;
      throw new LinkFault('answer', `it refused \`tools/list\`: ${message}`, { delivered, data, cause: fault });
    });
    bytes += sizeOf(page);
    if (bytes > limits.messageBytes && seen.size > 0)
      throw pastLimit('messageBytes', 'its list of tools is larger', limits);
    if (!isList(page.tools))
      throw new LinkFault('answer', 'its list of tools does not follow the protocol', { delivered: true });
    for (const item of page.tools) {
      const tool = readTool(item);
      if (tool === null || tools.has(tool.name)) onWarning({ kind: 'bad-tool', message: describeBadTool(item, tool) });
      else if (isWanted(tool.name)) {
        const kept = withinLimits(tool, limits, onWarning);
        if (kept !== null) tools.set(kept.name, kept);
      }
      if (tools.size > limits.tools) throw pastLimit('tools', 'its list holds more tools', limits);
    }
    cursor = nextPage(page.nextCursor, seen);
  }
  return [...tools.values()];
}

/** What is nested deeper cannot be recorded, with all that it stands in. */
const MOST_DEPTH = 400;

/** A tool with its description cut to size; null for one whose schemas are too large. Both are reported. */
function withinLimits(tool: McpTool, limits: McpLimits, onWarning: (warning: ProtocolWarning) => void): McpTool | null {
  const { description, ...rest } = tool;
  if (!isJson(rest, MOST_DEPTH)) {
    onWarning({ kind: 'bad-tool', message: `its tool '${tool.name}' was left out: its schema is nested too deep` });
    return null;
  }
  if (sizeOf(rest) > limits.schemaBytes) {
    const { message } = pastLimit('schemaBytes', `the schema of its tool '${tool.name}' is larger`, limits);
    onWarning({ kind: 'limit', message: `${message}; the tool was left out` });
    return null;
  }
  if (description === undefined) return tool;
  const { text, cut } = cutText(description, limits.descriptionBytes);
  if (cut === 0) return tool;
  const { message } = pastLimit('descriptionBytes', `the description of its tool '${tool.name}' is longer`, limits);
  onWarning({ kind: 'limit', message: `${message}; ${cut} bytes were cut off` });
  return { ...tool, description: text };
}

/** Bytes as JSON; without bound for what is nested too deep to be written. */
function sizeOf(value: object): number {
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Where the next page is; null when there is none, or one that was fetched already. */
function nextPage(cursor: Json | undefined, seen: Set<string>): string | null {
  if (typeof cursor !== 'string' || cursor === '' || seen.has(cursor)) return null;
  seen.add(cursor);
  return cursor;
}

function readTool(item: Json): McpTool | null {
  if (!isJsonObject(item) || typeof item.name !== 'string') return null;
  if (item.name === '' || item.name.length > NAME_CHARS) return null;
  const { name, title, description, inputSchema, outputSchema, annotations, execution } = item;
  const { taskSupport }: JsonObject = isJsonObject(execution) ? execution : {};
  if (inputSchema !== undefined && !isJsonObject(inputSchema)) return null;
  return {
    name,
    ...titleOf(title, annotations),
    ...(typeof description === 'string' ? { description } : {}),
    inputSchema: inputSchema ?? { type: 'object' },
    ...(isJsonObject(outputSchema) ? { outputSchema } : {}),
    ...(taskSupport === 'optional' || taskSupport === 'required' ? { taskSupport } : {}),
    ...(isJsonObject(annotations) ? { annotations: readAnnotations(annotations) } : {}),
  };
}

/** The title stands beside the name; servers of older protocol versions have it among the hints. */
function titleOf(title: Json | undefined, annotations: Json | undefined): Pick<McpTool, 'title'> {
  const told = [title, isJsonObject(annotations) ? annotations.title : undefined];
  const text = told.find((one) => typeof one === 'string' && one.trim() !== '');
  return typeof text === 'string' ? { title: text } : {};
}

/** Accepts a hint only if it has the protocol's type: `"true"` is not true. */
function readAnnotations(raw: JsonObject): McpToolAnnotations {
  const { title, readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = raw;
  return {
    ...(typeof title === 'string' ? { title } : {}),
    ...(typeof readOnlyHint === 'boolean' ? { readOnlyHint } : {}),
    ...(typeof destructiveHint === 'boolean' ? { destructiveHint } : {}),
    ...(typeof idempotentHint === 'boolean' ? { idempotentHint } : {}),
    ...(typeof openWorldHint === 'boolean' ? { openWorldHint } : {}),
  };
}

function describeBadTool(item: Json, tool: McpTool | null): string {
  if (tool !== null) return `it lists the tool '${tool.name}' twice; the first one counts`;
  return `a tool of its list was left out, it has no usable name or input schema: ${excerpt(item)}`;
}

function excerpt(item: Json): string {
  try {
    // Copied: a slice would keep the whole text alive.
    return Buffer.from(JSON.stringify(item).slice(0, 200)).toString();
  } catch {
    return 'nested too deep to be shown';
  }
}
