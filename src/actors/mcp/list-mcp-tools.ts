import type { McpGeneration } from './connect-mcp.ts';
import { leaf } from '../leaf.ts';
import type { McpTool } from './mcp-calls.ts';

/** All that listing tools needs of the world. */
export interface McpLister {
  /** Every page of the server's list. */
  listTools(link: McpGeneration, signal: AbortSignal): Promise<readonly McpTool[]>;
}

/** Fetches the list of tools over one link. */
export const listMcpTools = (mcp: McpLister) =>
  leaf('listMcpTools', 'none', (input: McpGeneration, { signal }): Promise<readonly McpTool[]> =>
    mcp.listTools(input, signal),
  );
