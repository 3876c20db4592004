import { type JsonObject, lazyMembers } from '../../json/json.ts';
import { copyOf, describeThrown, isError, toJson } from '../../json/to-json.ts';
import { type ToolResult, toToolResult } from '../../tools/result.ts';
import type { Effects, ToolOrigin } from '../../tools/spec.ts';
import type { ExecuteContext, ProgressReport } from '../../tools/tool.ts';
import { Deadline } from '../deadline.ts';
import { type LeafIo, leaf } from '../leaf.ts';
import type { McpCalls, McpQuestion } from '../mcp/mcp-calls.ts';
import { retryHint } from '../retry-after.ts';

/** One run of one tool. */
export interface CallToolInput {
  readonly callId: string;
  readonly tool: string;
  readonly args: JsonObject;
  readonly origin: ToolOrigin;
  readonly effects: Effects;
  readonly timeoutMs: number;
  readonly maxResultBytes: number;
  /** The agent that calls, by its path in the tree; empty for the root. */
  readonly agent: string;
  /** What the person who approved the call said; absent if nothing was said. */
  readonly approvalReason?: string;
}

/** Looks up what the machines refer to only by name. */
export interface CallToolPorts {
  readonly local: (tool: string, agent: string) => ((args: JsonObject, io: ExecuteContext) => unknown) | undefined;
  readonly mcp: (agent: string) => Pick<McpCalls, 'callTool'>;
}

/**
 * Runs a tool, local or MCP alike. Fails with `execution` (it threw), `timeout`, `not-json` (its result has no JSON form)
 * or the code of an MCP error; a result that says `error` is a result, not a failure.
 */
export const callTool = (ports: CallToolPorts) =>
  leaf<CallToolInput, ToolResult>(
    'callTool',
    {
      effects: (input) => input.effects,
      request: ({ callId, tool, args }) => ({ callId, tool, args }),
      yieldsJson: true,
    },
    async (input, io) => {
      const limit = deadlineOf(input, io.signal);
      const call: UnderWay = { limit, io, isOver: false };
      try {
        const value = await Promise.race([work(ports, input, call), limit.passed]);
        const json = toJson(value, { maxBytes: input.maxResultBytes });
        if (!json.ok)
          throw failure('not-json', 'ToolResultError', `the result of '${input.tool}' is not usable: ${json.reason}`);
        return toToolResult(json.value);
      } finally {
        call.isOver = true;
        limit.clear();
      }
    },
  );

/** A call, from its start to its end. */
interface UnderWay {
  readonly limit: Deadline;
  readonly io: LeafIo;
  isOver: boolean;
  report?: ExecuteContext['reportProgress'];
}

/** What a tool's function receives, as own properties: functions spread it. */
function toolIo({ callId, approvalReason }: CallToolInput, call: UnderWay): ExecuteContext {
  const { context, traceparent } = call.io;
  return withLazyIo(
    {
      context,
      callId,
      ...(approvalReason === undefined ? {} : { approvalReason }),
      ...(traceparent === undefined ? {} : { traceparent }),
    },
    call,
  );
}

/** Few tools ask for them. */
const withLazyIo = lazyMembers<UnderWay, Pick<ExecuteContext, 'signal' | 'idempotencyKey' | 'reportProgress'>>({
  signal: ({ limit }) => limit.signal,
  idempotencyKey: ({ io }) => io.idempotencyKey,
  reportProgress: (call) => (call.report ??= reporter(call)),
});

/** Passes on what a tool says of its progress while it is awaited. What is no report is not worth a failed call. */
function reporter(call: UnderWay): ExecuteContext['reportProgress'] {
  const tell = progressNotes(call.io.note);
  return (report) => {
    const { progress, total, message } = Object(report);
    if (call.isOver || call.io.signal.aborted || !Number.isFinite(progress)) return;
    tell({
      progress,
      ...(Number.isFinite(total) ? { total } : {}),
      ...(typeof message === 'string' ? { message } : {}),
    });
  };
}

async function work(ports: CallToolPorts, input: CallToolInput, call: UnderWay): Promise<unknown> {
  const args = copyOf(input.args);
  if (input.origin.kind === 'mcp') {
    const { note, traceparent } = call.io;
    return ports.mcp(input.agent).callTool(input.origin.server, input.origin.tool, args, {
      signal: call.limit.signal,
      timeoutMs: input.timeoutMs,
      effects: input.effects,
      ...(traceparent === undefined ? {} : { traceparent }),
      ...serverNotes(note),
    });
  }
  const execute = ports.local(input.tool, input.agent);
  if (execute === undefined)
    throw failure('execution', 'Error', `'${input.tool}' was removed before its call could start`);
  try {
    const value = await execute(args, toolIo(input, call));
    if (isError(value)) throw value;
    return value;
  } catch (thrown) {
    await Promise.resolve(); // What throws before it awaits must not overtake the results of calls before it.
    const { name, message, code } = describeThrown(thrown);
    const retryAfterMs = retryHint(thrown, Date.now());
    throw failure('execution', name, message, {
      ...(code === undefined ? {} : { causeCode: code }),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  }
}

/** A connection times its calls itself: progress extends the limit, and it pauses while a person is asked. */
function deadlineOf({ tool, timeoutMs, origin }: CallToolInput, owner: AbortSignal): Deadline {
  return new Deadline(origin.kind === 'mcp' ? null : timeoutMs, owner, () =>
    failure('timeout', 'TimeoutError', `'${tool}' did not finish within ${timeoutMs} ms`),
  );
}

/** An error of ours; what is known of the tool's own error travels in `data`. */
function failure(code: string, name: string, message: string, data: JsonObject = {}): Error {
  return Object.assign(new Error(message), { name, code, data });
}

/** Progress that arrives faster than this is dropped: it may come thousands of times a second. */
const PROGRESS_MS = 100;

function progressNotes(note: LeafIo['note']): (report: ProgressReport) => void {
  let lastMs = -Infinity;
  return ({ progress, total, message }) => {
    const now = performance.now();
    if (now - lastMs < PROGRESS_MS) return;
    lastMs = now;
    note({ note: 'progress', progress, total: total ?? null, message: message ?? null });
  };
}

/** Turns a server's messages during a call into notes: progress, questions, and their answers. */
export function serverNotes(
  note: LeafIo['note'],
): Pick<Parameters<McpCalls['callTool']>[3], 'onProgress' | 'onQuestion'> {
  return {
    onProgress: progressNotes(note),
    onQuestion: (question) => note({ note: 'question', ...plain(question) }),
  };
}

function plain(question: McpQuestion) {
  if (question.phase === 'asked') return question;
  return { ...question, usage: question.usage === null ? null : { ...question.usage } };
}
