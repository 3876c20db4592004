import type { RunEvent, RunEventBody } from '../../../../machines/events/run-events.ts';
import type { RunResult } from '../../../../machines/contract/run-result.ts';
import type { Json } from '../../../../json/json.ts';
import type { ToolResult } from '../../../../tools/result.ts';
import type { ToolSource } from '../../../../tools/server-tool.ts';

/** One event with its place: when it was said, and after which step (a position in the session's steps). */
export interface Told {
  readonly event: RunEvent;
  readonly at: number;
  readonly step: number;
}

/** Where a step of a plan stands. */
export interface PlannedStep {
  readonly tool: string;
  readonly args: Json;
  readonly status: 'waiting' | 'running' | 'done' | 'failed' | 'dropped';
  readonly callId: string | null;
}

/** How a call of a tool stands; `waiting` is for a person. */
export type CallStatus = 'waiting' | 'running' | 'ok' | 'failed' | 'denied';

/** What a model's turn has come to: its reply, or what has arrived of it. */
export type ModelReplied = Omit<Extract<RunEventBody, { readonly type: 'model.replied' }>, 'type'>;

/** One entry of the conversation. `step` is the position at which it began, `last` the one at which it changed last. */
export type TalkItem = { readonly at: number; readonly step: number; readonly last: number } & (
  | { readonly kind: 'task'; readonly text: string; readonly agent: string; readonly maxSteps: number }
  | { readonly kind: 'turn'; readonly number: number; readonly limit: number; readonly of: 'model' | 'plan' }
  | {
      readonly kind: 'model';
      readonly thought: string;
      readonly goal: string;
      /** What has arrived while it streams: the answer so far, and the raw text. */
      readonly answer: string;
      readonly raw: string;
      readonly attempt: number;
      readonly retries: readonly { readonly attempt: number; readonly code: string; readonly message: string }[];
      readonly replied: ModelReplied | null;
      readonly endedAt: number | null;
    }
  | { readonly kind: 'plan'; readonly iteration: number; readonly steps: readonly PlannedStep[] }
  | {
      readonly kind: 'call';
      readonly callId: string;
      readonly tool: string;
      readonly args: Json;
      readonly status: CallStatus;
      readonly reason: string;
      /** Whose tool it is, where a person is asked about a tool of an MCP server. */
      readonly source: ToolSource;
      readonly result: ToolResult | null;
      readonly durationMs: number | null;
      readonly recovery: readonly string[];
    }
  | { readonly kind: 'note'; readonly tone: 'info' | 'caution' | 'danger'; readonly text: string }
  | { readonly kind: 'answer'; readonly text: string }
  | { readonly kind: 'end'; readonly result: RunResult }
);

/** The conversation, in order. An entry that changes is replaced by a new value in its place. */
export interface Talk {
  readonly items: readonly TalkItem[];
}

/** The calls of a conversation that wait for a person. */
export function waitingCalls(talk: Talk): readonly Extract<TalkItem, { kind: 'call' }>[] {
  return talk.items.flatMap((item) => (item.kind === 'call' && item.status === 'waiting' ? [item] : []));
}
