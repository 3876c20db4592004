/**
 * Owns: the tasks of a server without sessions (the extension `io.modelcontextprotocol/tasks`), in the form that tasks had in
 * MCP 2025-11-25. Does not own: when a task is polled and given up.
 *
 * I1 A request of a task for input is answered once on a link, however often the task is polled.
 * I2 A task that needs input is working as long as its requests are answered here.
 */
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import { LinkFault } from '../wire/faults.ts';
import type { RequestIo } from '../wire/link.ts';
import type { Ask } from './list-tools.ts';

/** What a client says of itself that takes tasks. */
export const TASKS = 'io.modelcontextprotocol/tasks';

interface StatelessTasksOptions {
  readonly ask: Ask;
  readonly answer: (request: Json, signal: AbortSignal) => Promise<JsonObject>;
}

/** The tasks of one link. */
export class StatelessTasks {
  readonly #options: StatelessTasksOptions;
  /** How those that are over ended, until that is fetched. */
  readonly #ends = new Map<Json, JsonObject>();
  readonly #answered = new Set<string>();

  constructor(options: StatelessTasksOptions) {
    this.#options = options;
  }

  /** Where a task stands. What it needs is answered before. */
  async status(params: JsonObject, io: RequestIo): Promise<JsonObject> {
    const told = await this.#options.ask('tasks/get', params, io);
    const { taskId = '' } = params;
    if (told.status === 'input_required') {
      await this.#update(taskId, told.inputRequests, io);
      return taskIn({ ...told, status: 'working' });
    }
    if (isJsonObject(told.result) || isJsonObject(told.error)) this.#ends.set(taskId, told);
    return taskIn(told);
  }

  /** The result of a task that is over. Rejects with the error that it ended with. */
  async result(params: JsonObject, io: RequestIo): Promise<JsonObject> {
    const { taskId = '' } = params;
    const { result, error } = this.#ends.get(taskId) ?? (await this.#options.ask('tasks/get', params, io));
    this.#ends.delete(taskId);
    if (isJsonObject(result)) return result;
    const data: JsonObject = isJsonObject(error) ? error : {};
    const { message = 'its task has no result' } = data;
    throw new LinkFault('answer', typeof message === 'string' ? message : 'its task failed', { delivered: true, data });
  }

  async #update(taskId: Json, requests: Json | undefined, io: RequestIo): Promise<void> {
    const inputResponses: Record<string, Json> = {};
    const open = Object.entries(isJsonObject(requests) ? requests : {}).filter(
      ([key]) => !this.#answered.has(JSON.stringify([taskId, key])),
    );
    for (const [key, request] of open) inputResponses[key] = await this.#options.answer(request, io.signal);
    if (open.length === 0) return;
    await this.#options.ask('tasks/update', { taskId, inputResponses }, io);
    for (const [key] of open) this.#answered.add(JSON.stringify([taskId, key]));
  }
}

/** A task as the older version of the protocol writes it. */
export function taskIn({ taskId, status, statusMessage, pollIntervalMs }: JsonObject): JsonObject {
  return {
    taskId: taskId ?? null,
    status: status ?? null,
    ...(statusMessage === undefined ? {} : { statusMessage }),
    ...(pollIntervalMs === undefined ? {} : { pollInterval: pollIntervalMs }),
  };
}
