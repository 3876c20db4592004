import type { McpGeneration } from './connect-mcp.ts';
import { leaf } from '../leaf.ts';

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
