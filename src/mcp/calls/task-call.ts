/**
 * Owns: one call that its server runs as a task, over however many links: what is asked of the server, and what the
 * answers mean. Does not own: when that happens (the machine), and the call's time limits (the queue).
 */
import { type ActorRefFrom, type SnapshotFrom, createActor } from 'xstate';
import type { McpClock, McpLink, ToolRequestIo } from '../wire/link.ts';
import { type JsonObject, isJsonObject } from '../../json/json.ts';
import {
  type McpTask,
  type McpTaskBegun,
  type McpTaskStatus,
  beginMcpTask,
  cancelMcpTask,
  fetchMcpTask,
  pollMcpTask,
} from '../../actors/mcp/mcp-task-calls.ts';
import { LinkFault } from '../wire/faults.ts';
import { mcpTaskMachine } from '../../machines/mcp/mcp-task.ts';
import { lostTask } from './call-errors.ts';

/** What a call as a task uses while it is on one link. */
interface TaskIo {
  /** Aborts when the call is settled: a task that continues then is cancelled. */
  readonly signal: AbortSignal;
  /** To be called when the server has reported that it is at work. */
  readonly heard: () => void;
}

interface TaskCallOptions {
  readonly server: string;
  readonly tool: string;
  /** How long the server is to keep the task, in milliseconds. */
  readonly ttl: number;
  readonly clock: McpClock;
  /** The task, where the server began one without being asked to. */
  readonly begun: McpTask | null;
  /** Goes with every request. */
  readonly trace: Pick<ToolRequestIo, 'meta'>;
  /** Sends the call itself. */
  readonly begin: (link: McpLink, heard: () => void, io: ToolRequestIo) => Promise<JsonObject>;
  readonly onStatus: (message: string) => void;
  /** Cancels a task on the next link, for one whose link is gone. */
  readonly cancelLater: (task: string) => Promise<void>;
}

/** A call as a task. Nothing is sent before `perform`. */
export class TaskCall {
  readonly #options: TaskCallOptions;
  readonly #actor: ActorRefFrom<typeof mcpTaskMachine>;
  #current: { readonly link: McpLink; readonly io: TaskIo } | null = null;
  /** What went wrong last on the link of now. */
  #fault: unknown = null;
  #status = '';

  constructor(options: TaskCallOptions) {
    this.#options = options;
    const { begun, clock } = options;
    const actors = {
      beginMcpTask: beginMcpTask({ begin: (signal) => this.#begin(signal) }),
      pollMcpTask: pollMcpTask({ status: (taskId, signal) => this.#poll(taskId, signal) }),
      fetchMcpTask: fetchMcpTask({ result: (taskId, signal) => this.#fetch(taskId, signal) }),
      cancelMcpTask: cancelMcpTask({ cancel: (taskId, signal) => this.#cancel(taskId, signal) }),
    };
    this.#actor = createActor(mcpTaskMachine.provide({ actors }), { input: { task: begun }, clock });
    this.#actor.start();
  }

  /** Whether the server has given it an id. */
  isBegun(): boolean {
    return this.#actor.getSnapshot().context.task !== null;
  }

  /** Begins the task on a link, or continues it there. Gives the raw result of the tool; rejects as a link does. */
  perform(link: McpLink, io: TaskIo): Promise<JsonObject> {
    this.#actor.send({ type: 'link.lost' });
    this.#current = { link, io };
    this.#fault = null;
    const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
    const cancel = (): void => {
      if (this.#actor.getSnapshot().status === 'active') this.#actor.send({ type: 'call.cancelled' });
    };
    this.#actor.send({ type: 'link.opened' });
    const look = (snapshot: SnapshotFrom<typeof mcpTaskMachine>): void => {
      const outcome = this.#outcomeOf(snapshot);
      if (outcome === null) return;
      subscription.unsubscribe();
      if ('raw' in outcome) resolve(outcome.raw);
      else reject(outcome.thrown);
    };
    const subscription = this.#actor.subscribe(look);
    look(this.#actor.getSnapshot());
    io.signal.addEventListener('abort', cancel, { once: true });
    return promise;
  }

  #begin(signal: AbortSignal): Promise<McpTaskBegun> {
    return this.#onLink(async (link, io) => {
      const how = { signal, lasting: io.signal, task: { ttl: this.#options.ttl } };
      const answer = await this.#options.begin(link, io.heard, how);
      const task = taskOf(answer);
      if (task !== null) this.#report(task);
      return task === null ? { task, result: resultOf(answer) } : { task, result: null };
    });
  }

  #poll(taskId: string, signal: AbortSignal): Promise<McpTask> {
    return this.#onLink(async (link, io) => {
      const task = readTask(await link.request('tasks/get', { taskId }, { signal, ...this.#options.trace }));
      if (task === null) throw notATask();
      io.heard();
      this.#report(task);
      return task;
    });
  }

  #fetch(taskId: string, signal: AbortSignal): Promise<JsonObject> {
    return this.#onLink(async (link) =>
      resultOf(await link.request('tasks/result', { taskId }, { signal, ...this.#options.trace })),
    );
  }

  #cancel(taskId: string, signal: AbortSignal): Promise<void> {
    return this.#onLink((link) => link.request('tasks/cancel', { taskId }, { signal })).then(
      () => undefined,
      () => {
        const isAnswered = this.#fault instanceof LinkFault && this.#fault.kind === 'answer';
        return isAnswered ? undefined : this.#options.cancelLater(taskId);
      },
    );
  }

  /** Does something on the link of now; what goes wrong is kept, and reported to the machine by its kind. */
  async #onLink<T>(work: (link: McpLink, io: TaskIo) => Promise<T>): Promise<T> {
    const asked = this.#current;
    try {
      if (asked === null) throw new LinkFault('unreachable', 'there is no connection', { delivered: false });
      return await work(asked.link, asked.io);
    } catch (thrown) {
      // What an older link reports about abandoned work no longer counts.
      if (asked === this.#current) this.#fault = thrown;
      const code = thrown instanceof LinkFault ? thrown.kind : 'error';
      throw Object.assign(new Error(thrown instanceof Error ? thrown.message : String(thrown)), { code });
    }
  }

  #report({ message }: McpTask): void {
    if (message !== '' && message !== this.#status) this.#options.onStatus(message);
    this.#status = message;
  }

  /** What has become of the call on this link; null while it is under way. */
  #outcomeOf({ value, context: { task, result } }: SnapshotFrom<typeof mcpTaskMachine>): TaskOutcome | null {
    const fault = this.#fault;
    switch (value) {
      case 'SUCCEEDED':
        // A task that the server reports as failed is an error, whatever its result says.
        return { raw: { ...result, ...(task?.status === 'failed' ? { isError: true } : {}) } };
      case 'FAILED':
        if (task === null) return { thrown: fault };
        return task.status === 'failed' || task.status === 'cancelled'
          ? { raw: failureOf(task, fault) }
          : { thrown: lostTask(this.#options.server, this.#options.tool, fault) };
      case 'UNLINKED':
      case 'CANCELLED':
        return { thrown: fault ?? new LinkFault('aborted', 'the request was given up', { delivered: true }) };
      default:
        return null;
    }
  }
}

type TaskOutcome = { readonly raw: JsonObject } | { readonly thrown: unknown };

/** The task in an answer to `tools/call`; null where it is not a task. Throws for a task that cannot be queried. */
export function taskOf(answer: JsonObject): McpTask | null {
  if (answer.task === undefined || answer.content !== undefined || answer.structuredContent !== undefined) return null;
  const task = readTask(answer.task);
  if (task === null) throw notATask();
  return task;
}

const STATUSES: readonly McpTaskStatus[] = ['working', 'input_required', 'completed', 'failed', 'cancelled'];
const POLL_MS = 1000;

function readTask(value: unknown): McpTask | null {
  if (!isJsonObject(value) || typeof value.taskId !== 'string' || value.taskId === '') return null;
  const status = STATUSES.find((known) => known === value.status);
  if (status === undefined) return null;
  const { statusMessage, pollInterval } = value;
  return {
    id: value.taskId,
    status,
    message: typeof statusMessage === 'string' ? statusMessage : '',
    pollMs: typeof pollInterval === 'number' ? pollInterval : POLL_MS,
  };
}

/** The result of a tool. A task is not one, from any server. */
function resultOf(value: unknown): JsonObject {
  if (isJsonObject(value) && taskOf(value) === null) return value;
  throw new LinkFault('answer', 'it answered with a task where the result of one was asked for', { delivered: true });
}

function notATask(): LinkFault {
  return new LinkFault('answer', 'its task does not follow the protocol', { delivered: true });
}

/** The result of a task that has none, as a tool's own error. */
function failureOf({ status, message }: McpTask, fault: unknown): JsonObject {
  const what = status === 'cancelled' ? 'The server cancelled the task of this call' : 'The task of this call failed';
  const words = [message, fault instanceof LinkFault ? fault.message : ''].filter(Boolean).join('; ');
  return { isError: true, content: [{ type: 'text', text: words === '' ? `${what}.` : `${what}: ${words}` }] };
}
