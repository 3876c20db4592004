import { type JsonObject, lazyMembers } from '../../json/json.ts';
import { copyOf, describeThrown, isError, toJson } from '../../json/to-json.ts';
import { type ToolResult, toToolResult } from '../../tools/result.ts';
import type { Effects, ToolOrigin } from '../../tools/spec.ts';
import { Deadline } from '../deadline.ts';
import { type LeafIo, leaf } from '../leaf.ts';
import type { McpCalls, McpQuestion } from '../mcp/mcp-calls.ts';
import { retryHint } from '../retry-after.ts';

/** What a tool's function gets besides its arguments. */
export interface ToolIo {
  /** Aborts at the tool's timeout and when the run is cancelled. */
  readonly signal: AbortSignal;
  /** The same for every repetition of this call, also after a crash: pass it to services that accept idempotency keys. */
  readonly idempotencyKey: string;
  readonly callId: string;
  /** The value given to `run(input, { context })`. */
  readonly context: unknown;
  /** What the person who approved the call said. */
  readonly approvalReason?: string;
}

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
  readonly local: (tool: string, agent: string) => ((args: JsonObject, io: ToolIo) => unknown) | undefined;
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
      try {
        const value = await Promise.race([work(ports, input, toolIo(input, io, limit)), limit.passed]);
        const json = toJson(value, { maxBytes: input.maxResultBytes });
        if (!json.ok)
          throw failure('not-json', 'ToolResultError', `the result of '${input.tool}' is not usable: ${json.reason}`);
        return toToolResult(json.value);
      } finally {
        limit.clear();
      }
    },
  );

type RunIo = Omit<LeafIo, 'id'>;

/** What a tool's function receives, as own properties: functions spread it. */
function toolIo({ callId, approvalReason }: CallToolInput, io: LeafIo, limit: Deadline): ToolIo & RunIo {
  const { note, context, traceparent } = io;
  return withLazyIo(
    {
      note,
      context,
      callId,
      ...(approvalReason === undefined ? {} : { approvalReason }),
      ...(traceparent === undefined ? {} : { traceparent }),
    },
    { limit, io },
  );
}

/** Few tools ask for them. */
const withLazyIo = lazyMembers<
  { readonly limit: Deadline; readonly io: LeafIo },
  Pick<LeafIo, 'signal' | 'idempotencyKey'>
>({ signal: ({ limit }) => limit.signal, idempotencyKey: ({ io }) => io.idempotencyKey });

async function work(ports: CallToolPorts, input: CallToolInput, io: ToolIo & RunIo): Promise<unknown> {
  const args = copyOf(input.args);
  if (input.origin.kind === 'mcp') {
    return ports.mcp(input.agent).callTool(input.origin.server, input.origin.tool, args, {
      signal: io.signal,
      timeoutMs: input.timeoutMs,
      effects: input.effects,
      ...(io.traceparent === undefined ? {} : { traceparent: io.traceparent }),
      ...serverNotes(io.note),
    });
  }
  const execute = ports.local(input.tool, input.agent);
  if (execute === undefined)
    throw failure('execution', 'Error', `'${input.tool}' was removed before its call could start`);
  try {
    const value = await execute(args, io);
    if (isError(value)) throw value;
    return value;
  } catch (thrown) {
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

/** Progress that arrives faster than this is dropped: a server may send thousands of messages a second. */
const PROGRESS_MS = 100;

/** Turns a server's messages during a call into notes: progress, questions, and their answers. */
export function serverNotes(
  note: LeafIo['note'],
): Pick<Parameters<McpCalls['callTool']>[3], 'onProgress' | 'onQuestion'> {
  let lastMs = -Infinity;
  return {
    onProgress: ({ progress, total, message }) => {
      const now = performance.now();
      if (now - lastMs < PROGRESS_MS) return;
      lastMs = now;
      note({ note: 'progress', progress, total: total ?? null, message: message ?? null });
    },
    onQuestion: (question) => note({ note: 'question', ...plain(question) }),
  };
}

function plain(question: McpQuestion) {
  if (question.phase === 'asked') return question;
  return { ...question, usage: question.usage === null ? null : { ...question.usage } };
}
