import type { McpTool, McpToolAnnotations } from '../actors/mcp-calls.ts';
import { type Json, type JsonObject, isJsonObject } from '../parsing/json.ts';
import { LinkFault, type McpOddity, type RequestIo } from './link.ts';

type Ask = (method: string, params: JsonObject, io: RequestIo) => Promise<JsonObject>;

const MAX_PAGES = 1000;

/**
 * Fetches every page of `tools/list`. One tool that makes no sense costs only itself; a server whose pages never end is
 * stopped after 1 000 of them or when it names a page twice.
 */
export async function listAllTools(
  ask: Ask,
  io: RequestIo,
  onOddity: (oddity: McpOddity) => void,
): Promise<readonly McpTool[]> {
  const tools = new Map<string, McpTool>();
  const seen = new Set<string>();
  for (let cursor: string | null = ''; cursor !== null;) {
    const page: JsonObject = await ask('tools/list', cursor === '' ? {} : { cursor }, io);
    if (!isList(page.tools))
      throw new LinkFault('answer', 'its list of tools is not what the protocol says', { delivered: true });
    for (const item of page.tools) {
      const tool = readTool(item);
      if (tool === null || tools.has(tool.name)) onOddity({ kind: 'bad-tool', message: describeBadTool(item, tool) });
      else tools.set(tool.name, tool);
    }
    cursor = nextPage(page.nextCursor, seen);
  }
  return [...tools.values()];
}

function nextPage(cursor: Json | undefined, seen: Set<string>): string | null {
  if (typeof cursor !== 'string' || cursor === '' || seen.has(cursor) || seen.size >= MAX_PAGES) return null;
  seen.add(cursor);
  return cursor;
}

function readTool(item: Json): McpTool | null {
  if (!isJsonObject(item) || typeof item.name !== 'string' || item.name === '') return null;
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

/** Takes a hint only where it is what the protocol says: `"true"` is not true. */
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
  return `a tool of its list was left out, it has no usable name or input schema: ${JSON.stringify(item).slice(0, 200)}`;
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}
