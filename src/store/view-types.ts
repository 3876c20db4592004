import type { StartRun } from '../agent/agent-types.ts';
import type { Run, SomeRun } from '../agent/run/run.ts';
import type { JsonObject } from '../json/json.ts';
import type { AgentPath, RunStatus, RunUsage } from '../machines/contract/run-result.ts';
import type { RunEvent } from '../machines/events/run-events.ts';

/** The runs of an agent, or a run itself: from which `useRun<typeof agent>` infers names, arguments and output. */
export type RunOf<TSource> = TSource extends SomeRun
  ? TSource
  : TSource extends { readonly run: StartRun<infer _TContext, infer TRun> }
    ? TRun
    : SomeRun;

type EventOf<TSource> = RunOf<TSource> extends AsyncIterable<infer TEvent> ? TEvent : RunEvent;

type OutputOfRun<TSource> = RunOf<TSource> extends Run<infer _TEvent, infer _TLast, infer TOutput> ? TOutput : unknown;

/** A call that has begun, one that waits for a person, and how calls end. `stopped`: the run ended before the call did. */
type CallOf<TEvent> = TEvent extends { readonly type: 'tool.started' }
  ? Pick<TEvent, Named<TEvent>> & { readonly status: 'running' | 'stopped' }
  : TEvent extends { readonly type: 'approval.requested' }
    ? Pick<TEvent, Named<TEvent> | Extract<keyof TEvent, 'reason'>> & { readonly status: 'waiting' | 'stopped' }
    : TEvent extends { readonly type: 'tool.finished' }
      ? Pick<TEvent, Named<TEvent> | Extract<keyof TEvent, 'result' | 'ok'>> & { readonly status: 'finished' }
      : TEvent extends { readonly type: 'tool.denied' }
        ? Pick<TEvent, Named<TEvent> | Extract<keyof TEvent, 'reason'>> & { readonly status: 'denied' }
        : never;

type Named<TEvent> = Extract<keyof TEvent, 'callId' | 'tool' | 'args'>;

/** A tool call in a message, by `status`. */
export type CallView<TSource = SomeRun> = CallOf<EventOf<TSource>>;

/** One message: a person's, or one turn of the model with its calls. */
export interface MessageView<TSource = SomeRun> {
  readonly id: string;
  readonly role: 'user' | 'assistant';
  readonly text: string;
  readonly thought: string;
  readonly calls: readonly CallView<TSource>[];
  /** The model is still writing it. */
  readonly isPartial: boolean;
  /** It was sent while the run was working, and the model has not received it yet. */
  readonly isWaiting: boolean;
}

type Asked<TEvent> = TEvent extends { readonly type: 'approval.requested' }
  ? Omit<TEvent, 'type' | 'seq' | 'replayed'> & {
      readonly runId: string;
      /** The digest of the arguments that are shown: an answer over the network must name it. */
      readonly digest?: string;
    }
  : never;

/** A call that waits for a person. `child`: the tools that lead to the agent below that made it. */
export type PendingView<TSource = SomeRun> = Asked<EventOf<TSource>>;

/** Why something failed: a stable code, and a sentence. */
export interface ViewError {
  readonly code: string;
  readonly message: string;
}

/** What a user interface shows of a run, or of a chat with its runs one after the other. */
export interface RunSnapshot<TSource = SomeRun> {
  /** The live run, or the last; null before the first. */
  readonly runId: string | null;
  /** `idle` before the first run; `waiting`: a call waits for a person; `answered`, `stopped`, `failed`, `cancelled`: how the run ended. */
  readonly status: 'idle' | 'working' | RunStatus;
  /** The machine's state as a path, such as `PLANNING.ASKING`. */
  readonly state: AgentPath;
  /** The current step of the run, from 1, and the maximum. */
  readonly step: number;
  readonly limit: number;
  readonly messages: readonly MessageView<TSource>[];
  readonly pending: readonly PendingView<TSource>[];
  /** The tokens of the run so far, agents below included. */
  readonly usage: RunUsage;
  /** The typed answer; while it streams, of a run of the same process, the part so far. */
  readonly output: OutputOfRun<TSource> | null;
  /** Why the run did not end with an answer, why the last request was refused, or why the connection was closed for good. */
  readonly error: ViewError | null;
  /** `closed`: no run is live, or reconnecting has failed. It opens again with the next request. */
  readonly connection: 'connecting' | 'open' | 'retrying' | 'closed';
}

/** The arguments of a call, to be edited before it runs. */
type EditedArgs<TPending> = TPending extends { readonly args: infer TArgs } ? Extract<TArgs, JsonObject> : never;

/** The actions of a person on a run. Each resolves false if it did not take effect; the view's `error` then says why. */
export interface RunActions<TSource = SomeRun> {
  /** Approves a call of `pending`, optionally with other arguments, which are validated again. */
  approve(callId: string, edited?: EditedArgs<PendingView<TSource>>): Promise<boolean>;
  /** Denies a call of `pending`; the model receives the reason. */
  reject(callId: string, reason?: string): Promise<boolean>;
  /** Starts the next run of the chat with this text, queued behind a live one; refused while a run waits for a person. */
  send(text: string): Promise<boolean>;
  /** Sends a message to the live run, for the model's next turn. */
  steer(text: string): Promise<boolean>;
  /** Ends the run as cancelled. Closing the page does not. */
  stop(): Promise<boolean>;
}
