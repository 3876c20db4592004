import type { JsonObject } from '../../json/json.ts';
import { leaf } from '../leaf.ts';
import type { McpTool } from './mcp-calls.ts';

/** Which connection: the server's name, and the number of the link to it, counted from 1. Links are never reused. */
export interface McpGeneration {
  readonly server: string;
  readonly generation: number;
}

/** What a server reports about itself when it connects. */
export interface McpGreeting {
  readonly title: string;
  readonly version: string;
  readonly protocolVersion: string;
  readonly instructions?: string;
  readonly capabilities: JsonObject;
  readonly transport: string;
}

/** All that connecting needs of the world. */
export interface McpConnector {
  /** Makes a new link. Rejects with an {@link McpError}; after an abort nothing that was started is left. */
  connect(link: McpGeneration, signal: AbortSignal): Promise<McpGreeting>;
}

/** One attempt to connect. Leaving the state aborts it. */
export const connectMcp = (mcp: McpConnector) =>
  leaf('connectMcp', 'idempotent', (input: McpGeneration, { signal }): Promise<McpGreeting> =>
    mcp.connect(input, signal),
  );

/** All that a ping needs of the world. */
export interface McpPinger {
  /**
   * Finds out whether a link still works. `busy` means no answer in time, but calls under way that explain the silence.
   * Rejects when the link is dead.
   */
  ping(link: McpGeneration, signal: AbortSignal): Promise<'alive' | 'busy'>;
}

/** Asks a doubtful link for a sign of life. */
export const pingMcp = (mcp: McpPinger) =>
  leaf('pingMcp', 'none', (input: McpGeneration, { signal }): Promise<'alive' | 'busy'> => mcp.ping(input, signal));

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
