import { leaf } from '../leaf.ts';
import type { JsonObject } from '../../json/json.ts';

/** Which connection: the server's name, and the how many-th link to it. Links are never used again. */
export interface McpGeneration {
  readonly server: string;
  readonly generation: number;
}

/** What a server says of itself when it is connected. */
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
