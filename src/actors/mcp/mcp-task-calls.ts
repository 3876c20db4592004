import type { JsonObject } from '../../json/json.ts';
import { leaf } from '../leaf.ts';

/** A task's status, as its server reports it. `input_required`: it has a question, asked when the result is fetched. */
export type McpTaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

/** A task on an MCP server: work that continues after the request that began it was answered. */
export interface McpTask {
  readonly id: string;
  readonly status: McpTaskStatus;
  /** The server's status message; empty if there is none. */
  readonly message: string;
  /** How long to wait before polling its status again, in milliseconds, as the server asks. */
  readonly pollMs: number;
}

/** What the request that begins a task gives: the task, or at once the result of the tool. */
export type McpTaskBegun =
  | { readonly task: McpTask; readonly result: null }
  | { readonly task: null; readonly result: JsonObject };

/**
 * All outside operations that a task needs. Each rejects with an error whose `code` is `answer` when the server
 * refused, and anything else when the connection failed.
 */
export interface McpTaskPorts {
  begin(signal: AbortSignal): Promise<McpTaskBegun>;
  status(task: string, signal: AbortSignal): Promise<McpTask>;
  /** The raw result of the tool; it comes only when the task is over. */
  result(task: string, signal: AbortSignal): Promise<JsonObject>;
  cancel(task: string, signal: AbortSignal): Promise<void>;
}

/** Which task; empty before there is one. */
export interface McpTaskInput {
  readonly task: string;
}

/** Begins a task on a server. */
export const beginMcpTask = (mcp: Pick<McpTaskPorts, 'begin'>) =>
  leaf('beginMcpTask', { effects: 'once', yieldsJson: true }, (_: McpTaskInput, { signal }): Promise<McpTaskBegun> =>
    mcp.begin(signal),
  );

/** Asks where a task stands. */
export const pollMcpTask = (mcp: Pick<McpTaskPorts, 'status'>) =>
  leaf('pollMcpTask', 'none', ({ task }: McpTaskInput, { signal }): Promise<McpTask> => mcp.status(task, signal));

/** Fetches the result of a task. */
export const fetchMcpTask = (mcp: Pick<McpTaskPorts, 'result'>) =>
  leaf(
    'fetchMcpTask',
    { effects: 'none', yieldsJson: true },
    ({ task }: McpTaskInput, { signal }): Promise<JsonObject> => mcp.result(task, signal),
  );

/** Asks a server to cancel a task. */
export const cancelMcpTask = (mcp: Pick<McpTaskPorts, 'cancel'>) =>
  leaf('cancelMcpTask', 'idempotent', async ({ task }: McpTaskInput, { signal }): Promise<null> => {
    await mcp.cancel(task, signal);
    return null;
  });
