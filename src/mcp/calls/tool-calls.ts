import type { McpError, McpTool } from '../../actors/mcp/mcp-calls.ts';
import type { McpTask } from '../../actors/mcp/mcp-task-calls.ts';
import { type JsonObject, type JsonSchema, isJsonObject } from '../../json/json.ts';
import { effectsOf, mayRepeat } from './after-loss.ts';
import type { CallDesk } from './call-desk.ts';
import type { McpServer, McpToolTraits } from '../config/config.ts';
import type { McpConnection } from '../connection-types.ts';
import type { McpClock, McpLink, McpOddity, McpProgress, ToolRequestIo } from '../link/link.ts';
import { mapResult } from './map-result.ts';
import type { Questions } from '../questions/questions.ts';
import { traceMeta } from './trace-context.ts';
import { type TaskCall, createTaskCall, taskOf } from './task-call.ts';
import type { Issue } from '../../json/errors.ts';
import { issuesOf } from '../../parsing/schema/fit.ts';
import type { ToolResult } from '../../tools/result.ts';

interface ToolCallsOptions {
  readonly server: McpServer;
  readonly desk: CallDesk;
  readonly clock: McpClock;
  readonly questions: Pick<Questions, 'afterPages'>;
  readonly tools: () => readonly McpTool[];
  /** Why nothing can be called at the moment; null when it can. */
  readonly refusal: () => McpError | null;
  readonly onOddity: (oddity: McpOddity) => void;
}

/** How long a task that nobody wants any more may take to be cancelled on another link. */
const CANCEL_MS = 10_000;

/** Makes the calling side of a connection: tools, the plain way or as tasks, whichever the server wants. */
export function createToolCalls({
  server,
  desk,
  clock,
  questions,
  tools,
  refusal,
  onOddity,
}: ToolCallsOptions): McpConnection['call'] {
  const { name, settings } = server;

  const cancelLater = async (taskId: string): Promise<void> => {
    if (refusal() !== null) return;
    await desk.submit({
      what: `the cancelling of task '${taskId}'`,
      mayRepeat: () => true,
      isReadOnly: () => true,
      times: { silenceMs: CANCEL_MS, totalMs: CANCEL_MS },
      perform: ({ link }, signal) => link.request('tasks/cancel', { taskId }, { signal }),
    });
  };

  return async (tool, args, io = {}) => {
    const refused = refusal();
    if (refused !== null) throw refused;
    const listed = (): McpTool | undefined => tools().find((one) => one.name === tool);
    const override = Object.hasOwn(settings.overrides, tool) ? settings.overrides[tool] : undefined;
    const traits = (): McpToolTraits => {
      const annotations = listed()?.annotations;
      return { ...(annotations === undefined ? {} : { annotations }), ...(override === undefined ? {} : { override }) };
    };
    const isTask = (): boolean => listed()?.taskSupport === 'required';
    const { onProgress, onQuestion, onHidden } = io;
    const trace = traceMeta(io.traceparent);
    const silenceMs = io.timeoutMs ?? override?.timeoutMs ?? settings.timeoutMs;
    const totalMs = settings.maxTotalMs ?? 10 * silenceMs;

    let far: McpProgress = { progress: 0 };
    const send = (link: McpLink, heard: () => void, how: ToolRequestIo): Promise<JsonObject> =>
      link.callTool(tool, args, {
        ...how,
        ...trace,
        onProgress: (progress) => {
          far = progress;
          heard();
          onProgress?.(progress);
        },
      });
    let task: TaskCall | null = null;
    const asTask = (begun: McpTask | null): TaskCall =>
      (task ??= createTaskCall({
        server: name,
        tool,
        ttl: totalMs,
        clock,
        begun,
        trace,
        begin: send,
        onStatus: (message) => onProgress?.({ ...far, message }),
        cancelLater,
      }));

    const raw = await desk.submit({
      what: `'${tool}'`,
      // The answer to a lost request would have had the task's id: what was begun goes on unseen.
      mayRepeat: () => (isTask() ? effectsOf(traits()) !== 'once' : mayRepeat(traits(), settings)),
      isReadOnly: () => effectsOf(traits()) === 'none',
      goesOn: () => task?.isBegun() === true,
      times: { silenceMs, totalMs },
      signal: io.signal,
      onQuestion,
      onHidden,
      perform: async ({ link, generation }, signal, heard) => {
        if (task !== null || (isTask() && runsTasks(link))) return asTask(null).perform(link, { signal, heard });
        const answer = await questions.afterPages({ generation, what: `'${tool}'`, signal }, () =>
          send(link, heard, { signal, lasting: signal }),
        );
        const begun = taskOf(answer);
        return begun === null ? answer : asTask(begun).perform(link, { signal, heard });
      },
    });
    const result = mapResult(raw);
    const { outputSchema } = listed() ?? {};
    return outputSchema === undefined ? result : checkOutput(result, { tool, raw, outputSchema, onOddity });
  };
}

/** A server that does not say so is never asked to run a task. */
function runsTasks({ info: { capabilities } }: McpLink): boolean {
  return memberOf(memberOf(memberOf(capabilities.tasks, 'requests'), 'tools'), 'call') !== undefined;
}

function memberOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
}

interface Output {
  readonly tool: string;
  /** What the server answered. */
  readonly raw: JsonObject;
  readonly outputSchema: JsonSchema;
  readonly onOddity: (oddity: McpOddity) => void;
}

/**
 * Holds the structured content of a result against what the tool has promised. What breaks the promise is kept, for the
 * tool has run: the result becomes `partial`, its message says what is wrong, and it is reported.
 */
function checkOutput(result: ToolResult, { tool, raw, outputSchema, onOddity }: Output): ToolResult {
  if (result.status !== 'success') return result;
  const issues = brokenPromise(raw, outputSchema);
  if (issues === null) return result;
  const message = `The server broke its promise about the output of '${tool}' (${issues}). Take the data with care.`;
  onOddity({ kind: 'bad-result', message });
  return { ...result, status: 'partial', message };
}

function brokenPromise({ structuredContent }: JsonObject, schema: JsonSchema): string | null {
  if (structuredContent === undefined) return 'it has an output schema and gave no structured content';
  if (!isJsonObject(structuredContent)) return 'its structured content is no object';
  const issues = issuesOf(structuredContent, schema);
  return issues.length === 0 ? null : issues.slice(0, MOST_ISSUES).map(textOf).join('; ');
}

const MOST_ISSUES = 3;

function textOf({ path, message }: Issue): string {
  return path === '' ? message : `${path}: ${message}`;
}
