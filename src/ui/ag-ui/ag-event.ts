import type { Json } from '../../json/json.ts';
import type { Policy } from '../../tools/spec.ts';
import type { OpenApproval } from '../base/open-approvals.ts';

/** An interrupt of AG-UI: a call that waits for a person. */
export interface AgInterrupt {
  readonly id: string;
  readonly reason: 'tool_call' | 'input_required';
  readonly message: string;
  readonly toolCallId: string;
  readonly responseSchema: object;
  /** Until when it can be answered, in ISO 8601. */
  readonly expiresAt?: string;
  readonly subagentRunId?: string;
  readonly metadata: {
    readonly tool: string;
    readonly args: Json;
    readonly digest: string;
    readonly policy?: Policy;
  };
}

/** Tokens, as AG-UI counts them. */
export interface AgUsage {
  readonly model?: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
}

/** Why a run of AG-UI ended; after an interrupt another one continues it. */
type AgOutcome =
  | { readonly type: 'success' | 'cancelled' }
  | { readonly type: 'interrupt'; readonly interrupts: readonly AgInterrupt[] };

interface OfSubagent {
  readonly subagentRunId?: string;
}

/** One event of AG-UI 1.0: those of them that a run makes. */
export type AgEvent =
  | { readonly type: 'RUN_STARTED'; readonly threadId: string; readonly runId: string }
  | {
      readonly type: 'RUN_FINISHED';
      readonly threadId: string;
      readonly runId: string;
      readonly outcome?: AgOutcome;
      readonly result?: object;
      readonly usage?: readonly AgUsage[];
    }
  | { readonly type: 'RUN_ERROR'; readonly message: string; readonly code?: string }
  | { readonly type: 'STEP_STARTED' | 'STEP_FINISHED'; readonly stepName: string }
  | { readonly type: 'TEXT_MESSAGE_START'; readonly messageId: string; readonly role: 'assistant' | 'user' }
  | {
      readonly type: 'TEXT_MESSAGE_CONTENT' | 'REASONING_MESSAGE_CONTENT';
      readonly messageId: string;
      readonly delta: string;
    }
  | {
      readonly type: 'TEXT_MESSAGE_END' | 'REASONING_START' | 'REASONING_MESSAGE_END' | 'REASONING_END';
      readonly messageId: string;
    }
  | { readonly type: 'REASONING_MESSAGE_START'; readonly messageId: string; readonly role: 'reasoning' }
  | (OfSubagent & {
      readonly type: 'TOOL_CALL_START';
      readonly toolCallId: string;
      readonly toolCallName: string;
      readonly parentMessageId: string;
    })
  | (OfSubagent & { readonly type: 'TOOL_CALL_ARGS'; readonly toolCallId: string; readonly delta: string })
  | (OfSubagent & { readonly type: 'TOOL_CALL_END'; readonly toolCallId: string })
  | (OfSubagent & {
      readonly type: 'TOOL_CALL_RESULT';
      readonly messageId: string;
      readonly toolCallId: string;
      readonly content: string;
      readonly role: 'tool';
    })
  | {
      readonly type: 'SUBAGENT_STARTED';
      readonly subagentRunId: string;
      readonly name: string;
      readonly parentToolCallId: string;
      readonly parentSubagentRunId?: string;
    }
  | {
      readonly type: 'SUBAGENT_FINISHED';
      readonly subagentRunId: string;
      readonly outcome?:
        | { readonly type: 'success' }
        | { readonly type: 'suspended'; readonly interruptIds: readonly string[] };
    }
  | { readonly type: 'SUBAGENT_ERROR'; readonly subagentRunId: string; readonly message: string }
  | {
      readonly type: 'ACTIVITY_SNAPSHOT';
      readonly messageId: string;
      readonly activityType: string;
      readonly content: object;
    }
  | { readonly type: 'MESSAGES_SNAPSHOT'; readonly messages: readonly object[] }
  | { readonly type: 'STATE_SNAPSHOT'; readonly snapshot: object }
  | { readonly type: 'STATE_DELTA'; readonly delta: readonly object[] };

/** What a person is asked, as an interrupt. `editedArgs` in the answer replaces the arguments. `askedAt`: in milliseconds. */
export function interruptOf(
  asked: OpenApproval,
  { askedAt, globalId }: { readonly askedAt: number | undefined; readonly globalId: (callId: string) => string },
): AgInterrupt {
  const { id, callId, tool, args, digest, reason, policy, limitMs, child, isQuestion } = asked;
  const parent = callId.slice(0, Math.max(0, callId.lastIndexOf('.')));
  const properties = isQuestion
    ? { approved: { type: 'boolean' }, answer: { type: 'string' } }
    : { approved: { type: 'boolean' }, reason: { type: 'string' }, editedArgs: { type: 'object' } };
  return {
    id,
    reason: isQuestion ? 'input_required' : 'tool_call',
    message: reason,
    toolCallId: globalId(callId),
    responseSchema: { type: 'object', properties, required: ['approved'] },
    ...(askedAt === undefined || limitMs === undefined ? {} : { expiresAt: new Date(askedAt + limitMs).toISOString() }),
    ...(child === undefined ? {} : { subagentRunId: globalId(parent) }),
    metadata: { tool, args, digest, ...(policy === undefined ? {} : { policy }) },
  };
}
