import type { MessageToolCall, ReplyStats, Usage } from '../../actors/model.ts';
import type { Json, JsonObject } from '../../json/json.ts';
import type { PlanStep } from '../../parsing/calls/call-forms.ts';
import type { Repair } from '../../parsing/repair/repairs.ts';
import type { ToolResult } from '../../tools/result.ts';
import type { Policy, ToolChange } from '../../tools/spec.ts';
import type { AgentState, AnyResult } from '../contract/run-result.ts';

/** An event without its number. */
export type RunEventBody =
  | {
      readonly type: 'run.started';
      readonly runId: string;
      readonly agent: string;
      readonly task: string;
      readonly maxSteps: number;
    }
  /** `kind`: a turn of the model, or a step of a plan. */
  | { readonly type: 'step.started'; readonly step: number; readonly limit: number; readonly kind: 'model' | 'plan' }
  | {
      readonly type: 'state.changed';
      readonly from: AgentState;
      readonly to: AgentState;
      readonly event: string;
      /** The question of an escalation that was waited for, and how that ended; `none`: no one answered. */
      readonly callId?: string;
      readonly answer?: 'yes' | 'no' | 'none';
    }
  /**
   * A piece of a reply. `seq` is that of the event before it; a new `attempt` voids the pieces of the one before.
   * `thought` and `answer` are the reply so far, without its envelope.
   */
  | {
      readonly type: 'model.token';
      readonly kind: 'text' | 'reasoning' | 'arguments';
      readonly text: string;
      readonly attempt: number;
      readonly index: number;
      readonly thought: string;
      readonly answer: string;
    }
  /**
   * The part so far of an answer that has a schema (with `streaming`): a snapshot with members still missing. Like the
   * tokens, it has the `seq` of the event before it, and a new `attempt` or turn voids it.
   */
  | { readonly type: 'output.partial'; readonly output: Json; readonly attempt: number }
  /** An element of an answer that is a list: complete, and it fits the schema of the items. */
  | { readonly type: 'output.element'; readonly element: Json; readonly index: number; readonly attempt: number }
  | {
      readonly type: 'model.replied';
      readonly text: string;
      readonly toolCalls: readonly MessageToolCall[];
      readonly usage: Usage | null;
      readonly stats: ReplyStats | null;
      /** The model that answered, if it has an id. */
      readonly model?: string;
      readonly attempts: number;
      /** How the reply was read: `native`, or the parser's strategy. */
      readonly strategy: string;
      readonly repairs: readonly Repair[];
      /** An answer after which the run continues, because a person had sent a message meanwhile. */
      readonly answer?: string;
    }
  /** Voids what was streamed of the reply so far. `next`: the model that is asked now, if there are several. */
  | {
      readonly type: 'model.retrying';
      readonly attempt: number;
      readonly error: { readonly code: string; readonly message: string };
      readonly next?: string;
    }
  /** A person's message to the run while it worked: for the model's next turn, or (`queue`) for the next run. */
  | { readonly type: 'message.received'; readonly id: string; readonly text: string; readonly kind: 'steer' | 'queue' }
  /** The model receives it with this step's request. */
  | { readonly type: 'message.delivered'; readonly id: string; readonly text: string; readonly step: number }
  | { readonly type: 'thought'; readonly text: string }
  | { readonly type: 'goal'; readonly text: string }
  | { readonly type: 'plan.made'; readonly steps: readonly PlanStep[]; readonly iteration: number }
  | { readonly type: 'tool.started'; readonly callId: string; readonly tool: string; readonly args: Json }
  | {
      readonly type: 'tool.finished';
      readonly callId: string;
      readonly tool: string;
      readonly args: Json;
      readonly result: ToolResult;
      readonly ok: boolean;
      /** Milliseconds that the tool ran; 0 for a call that never did. */
      readonly durationMs: number;
    }
  /** A tool or its MCP server reports the progress of a call; `total` null: unknown. At most ten a second. */
  | {
      readonly type: 'tool.progress';
      readonly callId: string;
      readonly tool: string;
      readonly progress: number;
      readonly total: number | null;
      readonly message: string | null;
    }
  /** An MCP server asks a person (elicitation), or your model (sampling), while this call is under way. */
  | {
      readonly type: 'question.asked';
      readonly callId: string;
      readonly tool: string;
      readonly server: string;
      readonly kind: 'elicitation' | 'sampling';
      readonly message: string;
      /** The page that a person is to open, and its origin, where that is what it asks. */
      readonly url?: string;
      readonly origin?: string;
    }
  /**
   * The answer it received. `content` is what was sent with `accept`, with marks for secrets that were typed; `usage` the
   * tokens that a model's reply cost.
   */
  | {
      readonly type: 'question.answered';
      readonly callId: string;
      readonly tool: string;
      readonly server: string;
      readonly kind: 'elicitation' | 'sampling';
      readonly action: 'accept' | 'decline' | 'cancel';
      readonly content: Json;
      readonly usage: Usage | null;
    }
  | {
      readonly type: 'tool.denied';
      readonly callId: string;
      readonly tool: string;
      readonly args: Json;
      readonly reason: string;
    }
  | {
      readonly type: 'approval.requested';
      readonly callId: string;
      readonly tool: string;
      readonly args: Json;
      readonly reason: string;
      /** The tool's policy; absent for a question of an escalation. */
      readonly policy?: Policy;
      /** How long it may wait, in milliseconds; absent where it may wait for ever. */
      readonly limitMs?: number;
      /** For an MCP tool: its server, the server's description of it, and what has changed since it was always allowed. */
      readonly server?: string;
      readonly address?: string;
      readonly serverTool?: string;
      readonly title?: string;
      readonly description?: string;
      readonly annotations?: JsonObject;
      readonly changes?: readonly ToolChange[];
    }
  /** An MCP tool was always allowed and has changed since: it is asked about again. Emitted once per run and change. */
  | {
      readonly type: 'permission.outdated';
      readonly tool: string;
      readonly server: string;
      readonly serverTool: string;
      readonly changes: readonly ToolChange[];
    }
  | {
      readonly type: 'recovery.step';
      readonly callId: string;
      readonly tool: string;
      readonly step: string;
      readonly attempt: number;
      /** What had gone wrong. */
      readonly error: string;
    }
  | { readonly type: 'escalation.raised'; readonly source: string; readonly reason: string; readonly severity: string }
  | {
      readonly type: 'loop.suspected';
      readonly callId: string;
      readonly tool: string;
      readonly verdict: 'nudge' | 'refuse';
    }
  /** `step`: in AUTHORIZING, how far a sign-in is; with AWAITING_USER its address stands in `run.pending`. */
  | {
      readonly type: 'mcp.changed';
      readonly server: string;
      readonly state: string;
      readonly step: string | null;
      readonly tools: number;
    }
  /** An MCP server wrote to its log. `grave`: a warning or worse; `leftOut`: how many messages before it were dropped. */
  | {
      readonly type: 'mcp.log';
      readonly server: string;
      readonly level: 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency';
      readonly grave: boolean;
      readonly logger: string | null;
      readonly message: string;
      readonly leftOut: number;
    }
  | { readonly type: 'answer'; readonly text: string }
  /** `code` is stable; absent: there is nothing that code could do about it. */
  | { readonly type: 'warning'; readonly message: string; readonly code?: 'text-call-not-run' }
  | { readonly type: 'run.finished'; readonly result: AnyResult };

/**
 * Something that happened in a run. `seq` counts what the machines made and is the same in every replay; `replayed` is
 * true while a recording is played back.
 */
export type RunEvent = RunEventBody & {
  readonly seq: number;
  readonly replayed: boolean;
  /** Set on events of a child agent: the tools that lead to it from the root, joined with `/`. */
  readonly child?: string;
};

/**
 * What a reply's text so far adds to an earlier one, null where it does not continue that. Compared as wholes: over the pieces
 * of a long reply, `startsWith` takes 30 times as long.
 */
export function addedTo(before: string, now: string): string | null {
  return now.slice(0, before.length) === before ? now.slice(before.length) : null;
}

/** One transition of one machine: which actor, on which event, from where to where. */
export interface Transition {
  readonly actor: string;
  readonly event: string;
  readonly from: string;
  readonly to: string;
}
