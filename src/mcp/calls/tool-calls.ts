import type { McpServer, McpToolTraits } from '../config/config.ts';
import type { CallQueue } from './call-queue.ts';
import type { McpClock, McpLink, McpProgress, ProtocolWarning, ToolRequestIo } from '../wire/link.ts';
import type { Questions } from '../questions/questions.ts';
import type { McpError, McpTool } from '../../actors/mcp/mcp-calls.ts';
import type { McpConnection } from '../connection-types.ts';
import { traceMeta } from './requests.ts';
import type { JsonObject } from '../../json/json.ts';
import { type TaskCall, createTaskCall, taskOf } from './task-call.ts';
import type { McpTask } from '../../actors/mcp/mcp-task-calls.ts';
import { effectsOf, mayRepeat } from '../policies/annotations.ts';
import { checkOutput, mapResult } from './map-result.ts';

interface ToolCallsOptions {
  readonly server: McpServer;
  readonly queue: CallQueue;
  readonly clock: McpClock;
  readonly questions: Pick<Questions, 'afterPages'>;
  readonly tools: () => readonly McpTool[];
  /** Why nothing can be called at the moment; null when it can. */
  readonly refusal: () => McpError | null;
  readonly onWarning: (warning: ProtocolWarning) => void;
}

/** How long a task that nobody wants any more may take to be cancelled on another link. */
const CANCEL_MS = 10_000;

/** Makes the calling side of a connection: tools, the plain way or as tasks, whichever the server wants. */
export function createToolCalls({
  server,
  queue,
  clock,
  questions,
  tools,
  refusal,
  onWarning,
}: ToolCallsOptions): McpConnection['call'] {
  const { name, settings } = server;

  const cancelLater = async (taskId: string): Promise<void> => {
    if (refusal() !== null) return;
    await queue.submit({
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

    const raw = await queue.submit({
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
    return outputSchema === undefined ? result : checkOutput(result, { tool, raw, outputSchema, onWarning });
  };
}

/** A server that does not say so is never asked to run a task. */
function runsTasks({ info: { capabilities } }: McpLink): boolean {
  return memberOf(memberOf(memberOf(capabilities.tasks, 'requests'), 'tools'), 'call') !== undefined;
}

function memberOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
}
