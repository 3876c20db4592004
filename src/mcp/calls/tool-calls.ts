import { McpError, type McpTool } from '../../actors/mcp/mcp-calls.ts';
import type { McpTask } from '../../actors/mcp/mcp-task-calls.ts';
import { type JsonObject, type Json, type JsonSchema, isJsonObject, memberOf } from '../../json/json.ts';
import type { McpCallLoss } from '../../machines/mcp/mcp-call-machine.ts';
import { issueLine } from '../../tools/error-text.ts';
import type { ToolResult } from '../../tools/result.ts';
import type { Effects } from '../../tools/spec.ts';
import type { McpServer, McpToolOverride, McpToolTraits } from '../config/config.ts';
import { effectsOf, mayRepeat } from '../policies/annotations.ts';
import type { McpClock, McpLink, McpProgress, ProtocolWarning, ToolRequestIo } from '../wire/link.ts';
import type { CallQueue } from './call-queue.ts';
import type { OpenLink } from './queued-call.ts';
import { type McpCallOptions, traceMeta } from './requests.ts';
import { TaskCall, taskOf } from './task-call.ts';
import { isList, isTooLong } from '../../json/depth.ts';
import { issuesOf } from '../../parsing/schema/fit.ts';

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

const ALL_FOR_USER = 'The result is for the user alone, who has got it; nothing of it is for you.';

/**
 * Maps the result of `tools/call` to the result format. One text part is `data` as text; several parts, images, audio and
 * resources are a list of parts; structured content wins, and what is not text then stands in `parts`. `isError` makes it
 * an error with the text as its message. What the server intends only for the user (`annotations.audience`) is in
 * `forUser`, which no model receives. Never throws.
 */
export function mapResult(raw: JsonObject): ToolResult {
  const forUser = contentOf(raw).filter(isForUser).map(toPart);
  const parts = contentOf(raw)
    .filter((item) => !isForUser(item))
    .map(toPart);
  const kept = forUser.length === 0 ? {} : { forUser };
  const textOfPart = ({ type, text: own }: JsonObject): string | null =>
    type === 'text' && typeof own === 'string' ? own : null;
  const text = parts.flatMap((part) => textOfPart(part) ?? []).join('\n');
  const others = parts.filter((part) => textOfPart(part) === null);
  const structured =
    raw.structuredContent === undefined ? undefined : structuredOf(raw.structuredContent, text, others);
  if (raw.isError === true) {
    const data = structured ?? (others.length === 0 ? undefined : others);
    const wordless = forUser.length === 0 ? 'the tool reported an error without a message' : ALL_FOR_USER;
    return { status: 'error', error: text === '' ? wordless : text, ...(data === undefined ? {} : { data }), ...kept };
  }
  if (structured !== undefined)
    return { status: 'success', data: structured, ...(others.length === 0 ? {} : { parts: others }), ...kept };
  // Servers of the first protocol version answer so.
  if (raw.toolResult !== undefined) return { status: 'success', data: raw.toolResult };
  if (parts.length === 0)
    return { status: 'success', ...(forUser.length === 0 ? {} : { message: ALL_FOR_USER, forUser }) };
  return { status: 'success', data: parts.length === 1 && others.length === 0 ? text : parts, ...kept };
}

/**
 * Structured content with what its JSON lost or holds twice. A whole number that JavaScript rounds, such as an id of 19
 * digits, is the text of the digits that the text beside it has for it, in the same order. Media that are parts too are left out.
 */
function structuredOf(data: Json, text: string, parts: readonly JsonObject[]): Json {
  const written = Map.groupBy((text.match(LONG_NUMBER) ?? []).filter(isTooLong), Number);
  const media = new Set(parts.flatMap((part) => [part.data, part.blob]));
  if (written.size + parts.length === 0) return data;
  try {
    const read: Json = JSON.parse(JSON.stringify(data), (_key, value: Json) => {
      if (typeof value === 'string') return value.length > 99 && media.has(value) ? undefined : value;
      const digits = typeof value === 'number' ? written.get(value) : undefined;
      return (digits !== undefined && digits.length > 1 ? digits.shift() : digits?.[0]) ?? value;
    });
    return read;
  } catch {
    // It is nested too deep to be written.
    return data;
  }
}

const LONG_NUMBER = /(?<![\w."-])-?\d{16,40}(?![\w.])/g;

/** The parts of a result. Some servers give one part, or a text, in the place of a list. */
function contentOf({ content = null }: JsonObject): readonly Json[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content === null ? [] : [content].flat();
}

function isForUser(item: Json): boolean {
  const annotations = isJsonObject(item) ? item.annotations : undefined;
  const audience = isJsonObject(annotations) ? annotations.audience : undefined;
  return audience !== undefined && isList(audience) && audience.length > 0 && !audience.includes('assistant');
}

/** One part of a result as data: the protocol's own form without what only clients with a screen need. */
function toPart(item: Json): JsonObject {
  if (!isJsonObject(item)) return { type: 'unknown', value: item };
  if (item.type === 'resource' && isJsonObject(item.resource)) return { type: 'resource', ...item.resource };
  const { _meta, annotations: _annotations, ...part } = item;
  // What the Python SDK says for `format="jpg"`.
  return part.mimeType === 'image/jpg' ? { ...part, mimeType: 'image/jpeg' } : part;
}

interface Output {
  readonly tool: string;
  /** What the server answered. */
  readonly raw: JsonObject;
  readonly outputSchema: JsonSchema;
  readonly onWarning: (warning: ProtocolWarning) => void;
}

/**
 * Checks the structured content of a result against the tool's output schema. A result that does not match is kept,
 * because the tool has run: it becomes `partial`, its message says what is wrong, and it is reported.
 */
export function checkStructured(result: ToolResult, { tool, raw, outputSchema, onWarning }: Output): ToolResult {
  if (result.status !== 'success') return result;
  const issues = brokenPromise(raw, outputSchema);
  if (issues === null) return result;
  const message = `The server broke its promise about the output of '${tool}' (${issues}). Take the data with care.`;
  onWarning({ kind: 'bad-result', message });
  return { ...result, status: 'partial', message };
}

function brokenPromise({ structuredContent }: JsonObject, schema: JsonSchema): string | null {
  if (structuredContent === undefined) return 'it has an output schema and gave no structured content';
  const issues = issuesOf(structuredContent, schema);
  return issues.length === 0 ? null : issues.slice(0, MOST_ISSUES).map(issueLine).join('; ');
}

const MOST_ISSUES = 3;
