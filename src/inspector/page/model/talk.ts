import { deltaReader } from '../../../journal/format/deltas.ts';
import type { RecordLine } from '../../../journal/format/record.ts';
import type { Json } from '../../../json/json.ts';
import type { AnyResult } from '../../../machines/contract/run-result.ts';
import type { RunEvent, RunEventBody } from '../../../machines/events/run-events.ts';
import type { ToolResult } from '../../../tools/result.ts';
import type { ToolSource } from '../../../tools/server-tool.ts';
import type { SessionInfo } from '../../frames/protocol.ts';

/** One event with its place: when it was said, and after which step (a position in the session's steps). */
export interface SaidEvent {
  readonly event: RunEvent;
  readonly at: number;
  readonly step: number;
  /** The path of the child agent that it is about; undefined for the root, for tokens and where it is not known. */
  readonly agent?: string;
}

/** A child agent that an entry of the conversation is of. */
export interface Speaker {
  /** The tools that lead to it, joined with `/`. */
  readonly child: string;
  readonly name: string;
  /** How many agents are above it. */
  readonly depth: number;
  /** Of its actor, and of the call that it works on; null where they are not known. */
  readonly path: string | null;
  readonly call: string | null;
}

/** Where a step of a plan stands. */
export interface PlannedStep {
  readonly tool: string;
  readonly args: Json;
  readonly status: 'waiting' | 'running' | 'done' | 'failed' | 'dropped';
  readonly callId: string | null;
}

/** What an MCP server asked while a call was under way; `action` null: not answered yet. */
export interface CallQuestion {
  readonly server: string;
  readonly kind: 'elicitation' | 'sampling';
  readonly message: string;
  readonly action: 'accept' | 'decline' | 'cancel' | null;
  readonly content: Json;
}

/** How a call of a tool stands; `waiting` is for a person, `dropped` had not ended when its agent did. */
export type CallStatus = 'waiting' | 'running' | 'ok' | 'failed' | 'denied' | 'dropped';

/** What a model's turn has come to: its reply, or what has arrived of it. */
type ModelReplied = Omit<Extract<RunEventBody, { readonly type: 'model.replied' }>, 'type'>;

/**
 * One entry of the conversation. `step` is the position at which it began, `last` the one at which it changed last; `by` is
 * the child agent that it is of, null for the root.
 */
export type TalkItem = {
  readonly at: number;
  readonly step: number;
  readonly last: number;
  readonly by: Speaker | null;
} & (
  | { readonly kind: 'task'; readonly text: string }
  | { readonly kind: 'turn'; readonly number: number; readonly limit: number; readonly of: 'model' | 'plan' }
  | {
      readonly kind: 'model';
      readonly thought: string;
      readonly goal: string;
      /** What has arrived while it streams: the answer so far, and the raw text. */
      readonly answer: string;
      readonly raw: string;
      readonly attempt: number;
      /** `next`: the model that was asked then, where there are several. */
      readonly retries: readonly {
        readonly attempt: number;
        readonly code: string;
        readonly message: string;
        readonly next: string | undefined;
      }[];
      readonly replied: ModelReplied | null;
      /** The position at which it replied. */
      readonly replyStep: number | null;
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
      /** The server of the tool, if a person is asked about a tool of an MCP server. */
      readonly source: ToolSource;
      readonly result: ToolResult | null;
      readonly durationMs: number | null;
      readonly recovery: readonly { readonly step: string; readonly error: string }[];
      /** What was proposed, where a person changed it before it ran. */
      readonly proposed: Json;
      readonly questions: readonly CallQuestion[];
      /** How far it was when it last told; empty where it has not. */
      readonly progress: string;
    }
  | {
      /** A person's message to the run while it worked. `delivered`: the step in which the model got it; null: not yet. */
      readonly kind: 'message';
      readonly id: string;
      readonly text: string;
      readonly way: 'steer' | 'queue';
      readonly delivered: number | null;
    }
  | { readonly kind: 'note'; readonly tone: 'info' | 'caution' | 'danger'; readonly text: string }
  | { readonly kind: 'answer'; readonly text: string }
  | { readonly kind: 'end'; readonly result: AnyResult }
);

/** The conversation, in order. An entry that changes is replaced by a new value in its place. */
export interface TalkLog {
  readonly items: readonly TalkItem[];
}

/** The calls of a conversation that wait for a person. */
export function waitingCalls(talk: TalkLog) {
  return talk.items.filter((item) => item.kind === 'call').filter(({ status }) => status === 'waiting');
}

/** Whether there may be a conversation to show, with turns and raw exchanges: actors of the user's own have transitions only. */
export function hasTalk(session: { readonly info: SessionInfo } | null): boolean {
  return session?.info.kind !== 'system';
}

/** What one turn of the model cost. */
export interface TurnCost {
  readonly turn: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly durationMs: number;
}

/** Tokens and time by turn, and in all. Turns of a server that counts no tokens count as 0. */
export function costsOf(talk: TalkLog): {
  readonly turns: readonly TurnCost[];
  readonly total: Omit<TurnCost, 'turn'>;
} {
  const turns: TurnCost[] = [];
  let turn = 0;
  for (const item of talk.items) {
    if (item.kind === 'turn') turn = item.number;
    if (item.kind !== 'model' || item.replied === null) continue;
    const { inputTokens = 0, outputTokens = 0 } = item.replied.usage ?? {};
    turns.push({ turn, inputTokens, outputTokens, durationMs: (item.endedAt ?? item.at) - item.at });
  }
  const sum = (what: keyof TurnCost): number => turns.reduce((all, cost) => all + cost[what], 0);
  const total = { inputTokens: sum('inputTokens'), outputTokens: sum('outputTokens'), durationMs: sum('durationMs') };
  return { turns, total };
}

/** One effect as it crossed the boundary: what was asked, and what came back. */
export interface RecordedExchange {
  readonly id: string;
  readonly name: string;
  /** Line of the recording on which it yielded; null while it is open. */
  readonly settled: number | null;
  readonly at: number;
  readonly durationMs: number | null;
  /** Written out in full: each may be as long as the conversation was then. */
  readonly request: () => Json;
  readonly outcome: { readonly ok: boolean; readonly value: Json } | null;
}

/** All effects of a recording, in order. */
export function exchangesOf(records: readonly (RecordLine | undefined)[]): readonly RecordedExchange[] {
  const head = records.find((record) => record?.t === 'run');
  const requestAt = (at: number): Json => {
    const read = deltaReader({ history: head?.t === 'run' ? head.history : [] });
    let request: Json = null;
    for (const one of records.slice(0, at + 1))
      if (one?.t === 'start' && one.ms === undefined) request = read(one.id, one.request ?? null);
    return request;
  };
  const open = new Map<string, number>();
  const exchanges: RecordedExchange[] = [];
  for (const [line, record] of records.entries()) {
    if (record?.t === 'start') {
      const { id, name, at, ms } = record;
      const request = (): Json => (ms === undefined ? requestAt(line) : { ms });
      open.set(id, exchanges.length);
      exchanges.push({ id, name, settled: null, at, durationMs: null, request, outcome: null });
    }
    if (record?.t === 'outcome' || record?.t === 'timer') {
      const place = open.get(record.id);
      const exchange = place === undefined ? undefined : exchanges[place];
      if (place === undefined || exchange === undefined) continue;
      const outcome =
        record.t === 'timer'
          ? { ok: true, value: null }
          : record.ok
            ? { ok: true, value: record.value }
            : { ok: false, value: { ...record.error } };
      exchanges[place] = { ...exchange, settled: line, durationMs: record.at - exchange.at, outcome };
    }
  }
  return exchanges;
}
