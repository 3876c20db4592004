import { McpError, type McpTool } from '../../actors/mcp/mcp-calls.ts';
import type { McpTask } from '../../actors/mcp/mcp-task-calls.ts';
import type { JsonObject } from '../../json/json.ts';
import type { McpCallLoss } from '../../machines/mcp/mcp-call-machine.ts';
import type { ToolResult } from '../../tools/result.ts';
import type { Effects } from '../../tools/spec.ts';
import type { McpServer, McpToolOverride, McpToolTraits } from '../config/config.ts';
import { effectsOf, mayRepeat } from '../policies/annotations.ts';
import type { McpClock, McpLink, McpProgress, ProtocolWarning, ToolRequestIo } from '../wire/link.ts';
import type { CallQueue } from './call-queue.ts';
import { checkStructured, mapResult } from './map-result.ts';
import type { OpenLink } from './queued-call.ts';
import { type McpCallOptions, traceMeta } from './requests.ts';
import { TaskCall, taskOf } from './task-call.ts';

interface ToolCallsOptions {
  readonly server: McpServer;
  readonly queue: CallQueue;
  readonly clock: McpClock;
  /** Does a call, and repeats it if a person had to open pages first. */
  readonly afterPages: <T>(
    about: { readonly generation: number; readonly what: string; readonly signal: AbortSignal },
    call: () => Promise<T>,
  ) => Promise<T>;
  readonly tools: () => readonly McpTool[];
  /** Why nothing can be called at the moment; null when it can. */
  readonly refusal: () => McpError | null;
  readonly onWarning: (warning: ProtocolWarning) => void;
}

/** How long the cancellation of an abandoned task on another link may take. */
const CANCEL_MS = 10_000;

/**
 * Calls a tool by the server's own name for it: as a plain call or as a task, whichever the server requires. Rejects with
 * an {@link McpError} when there is no result.
 */
export function callServerTool(
  options: ToolCallsOptions,
  tool: string,
  args: JsonObject,
  io: McpCallOptions,
): Promise<ToolResult> {
  const refused = options.refusal();
  return refused === null ? new ToolCall(options, tool, args, io).result() : Promise.reject(refused);
}

/** One call of a tool. */
class ToolCall {
  readonly #options: ToolCallsOptions;
  readonly #tool: string;
  readonly #args: JsonObject;
  readonly #io: McpCallOptions;
  readonly #trace: Pick<ToolRequestIo, 'meta'>;
  /** The tool as its server listed it when it was called, or before it was sent. */
  #then: McpTool | undefined;
  /** The last progress that the server reported. */
  #far: McpProgress = { progress: 0 };
  #task: TaskCall | null = null;

  constructor(options: ToolCallsOptions, tool: string, args: JsonObject, io: McpCallOptions) {
    this.#options = options;
    this.#tool = tool;
    this.#args = args;
    this.#io = io;
    this.#trace = traceMeta(io.traceparent);
    this.#then = this.#listed();
  }

  async result(): Promise<ToolResult> {
    const { queue, server, onWarning } = this.#options;
    const { signal, onQuestion, onHidden, timeoutMs } = this.#io;
    const silenceMs = timeoutMs ?? this.#traits().override?.timeoutMs ?? server.settings.timeoutMs;
    const totalMs = server.settings.maxTotalMs ?? 10 * silenceMs;
    const raw = await queue.submit({
      what: `'${this.#tool}'`,
      repeat: () => this.#repeat(),
      isReadOnly: () => effectsOf(this.#traits()) === 'none',
      times: { silenceMs, totalMs },
      signal,
      onQuestion,
      onHidden,
      perform: (open, own, heard) => this.#perform(open, { signal: own, heard, ttl: totalMs }),
    });
    const result = mapResult(raw);
    const { outputSchema } = this.#listed() ?? {};
    return outputSchema === undefined
      ? result
      : checkStructured(result, { tool: this.#tool, raw, outputSchema, onWarning });
  }

  async #perform({ link, generation }: OpenLink, { signal, heard, ttl }: TaskStart): Promise<JsonObject> {
    this.#then ??= this.#listed();
    if (this.#task !== null || (this.#isTask() && runsTasks(link)))
      return this.#asTask(null, ttl).perform(link, { signal, heard });
    const answer = await this.#options.afterPages({ generation, what: `'${this.#tool}'`, signal }, () =>
      this.#send(link, heard, { signal, lasting: signal }),
    );
    const begun = taskOf(answer);
    return begun === null ? answer : this.#asTask(begun, ttl).perform(link, { signal, heard });
  }

  #send(link: McpLink, heard: () => void, how: ToolRequestIo): Promise<JsonObject> {
    return link.callTool(this.#tool, this.#args, {
      ...how,
      ...this.#trace,
      onProgress: (progress) => {
        this.#far = progress;
        heard();
        this.#io.onProgress?.(progress);
      },
    });
  }

  #asTask(begun: McpTask | null, ttl: number): TaskCall {
    const { server, clock } = this.#options;
    this.#task ??= new TaskCall({
      server: server.name,
      tool: this.#tool,
      ttl,
      clock,
      begun,
      trace: this.#trace,
      begin: (link, heard, how) => this.#send(link, heard, how),
      onStatus: (message) => this.#io.onProgress?.({ ...this.#far, message }),
      cancelLater: (taskId) => this.#cancelLater(taskId),
    });
    return this.#task;
  }

  async #cancelLater(taskId: string): Promise<void> {
    if (this.#options.refusal() !== null) return;
    await this.#options.queue.submit({
      what: `the cancelling of task '${taskId}'`,
      repeat: () => 'allowed',
      isReadOnly: () => true,
      times: { silenceMs: CANCEL_MS, totalMs: CANCEL_MS },
      perform: ({ link }, signal) => link.request('tasks/cancel', { taskId }, { signal }),
    });
  }

  #repeat(): McpCallLoss['repeat'] {
    if (this.#task?.isBegun() === true) return 'continues';
    const { retryAfterLoss } = this.#options.server.settings;
    return mayRepeat(this.#traits(), { retryAfterLoss, isTask: this.#isTask() }) ? 'allowed' : 'forbidden';
  }

  #listed(): McpTool | undefined {
    return this.#options.tools().find(({ name }) => name === this.#tool);
  }

  #isTask(): boolean {
    return this.#listed()?.taskSupport === 'required';
  }

  #traits(): McpToolTraits {
    const { overrides } = this.#options.server.settings;
    const override = Object.hasOwn(overrides, this.#tool) ? overrides[this.#tool] : undefined;
    const listed = (this.#then ??= this.#listed());
    if (listed === undefined) return traitsOfUnlisted(this.#io.effects, override);
    const { annotations } = listed;
    return { ...(annotations === undefined ? {} : { annotations }), ...(override === undefined ? {} : { override }) };
  }
}

interface TaskStart {
  readonly signal: AbortSignal;
  readonly heard: () => void;
  readonly ttl: number;
}

/** Nobody knows what the server said of it: what its caller knows counts, for lost calls too. */
function traitsOfUnlisted(effects: Effects | undefined, override: McpToolOverride | undefined): McpToolTraits {
  if (effects === undefined) return override === undefined ? {} : { override };
  return { override: { ...override, effects: override?.effects ?? effects } };
}

/** A server that does not say so is never asked to run a task. */
function runsTasks({ info: { capabilities } }: McpLink): boolean {
  return memberOf(memberOf(memberOf(capabilities.tasks, 'requests'), 'tools'), 'call') !== undefined;
}

function memberOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
}
