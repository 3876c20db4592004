import type { JsonObject } from '../../json/json.ts';
import { leaf } from '../leaf.ts';

/** Where a task stands, as its server says. `input_required`: it has a question, and asks it when the result is fetched. */
export type McpTaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

/** A task on an MCP server: work that continues after the request that began it was answered. */
export interface McpTask {
  readonly id: string;
  readonly status: McpTaskStatus;
  /** What the server says of it; empty when it says nothing. */
  readonly message: string;
  /** How long to wait before its status is asked for again, in milliseconds, as the server wants it. */
  readonly pollMs: number;
}

/** What the request that begins a task gives: the task, or at once the result of the tool. */
export type McpTaskBegun =
  | { readonly task: McpTask; readonly result: null }
  | { readonly task: null; readonly result: JsonObject };

/**
 * All that the life of a task needs of the world. Each rejects with an error whose `code` is `answer` when the server
 * said no, and anything else when the connection failed.
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

/** Asks a server to give up a task. */
export const cancelMcpTask = (mcp: Pick<McpTaskPorts, 'cancel'>) =>
  leaf('cancelMcpTask', 'idempotent', async ({ task }: McpTaskInput, { signal }): Promise<null> => {
    await mcp.cancel(task, signal);
    return null;
  });
