import type { Json, JsonObject } from '../json/json.ts';
import type { ModelRequest } from './model.ts';

/**
 * Follows the runs of an agent while they work: the option `telemetry`. What is played from a recording is not followed.
 * One that throws never breaks a run. `openTelemetry` of `signalbox/telemetry` makes one.
 */
export interface Telemetry {
  /** A run begins or continues in this process; null: it is not followed. Called in the caller's own asynchronous context. */
  follow(run: FollowedRun): RunTelemetry | null;
}

/** A run that is followed. */
export interface FollowedRun {
  readonly runId: string;
  readonly agent: string;
  /** Milliseconds since 1970: when `run` was called, before the run waited for servers. */
  readonly startedAt: number;
  /** The option `version` of the agent. */
  readonly version?: string;
  /** The name of its conversation, where it has one. */
  readonly conversation?: string;
  /** The trace that it belongs to, as its caller gave it. */
  readonly traceparent?: string;
}

/** Follows one run. */
export interface RunTelemetry {
  /** A piece of work begins. */
  begin(work: FollowedWork): WorkTelemetry;
  /** The run is over, parked or released. */
  end(result: {
    readonly status: string;
    readonly reason: string;
    readonly error?: { readonly message: string };
  }): void;
}

/** Follows one piece of work. */
export interface WorkTelemetry {
  /** The trace for those that the work calls, which MCP servers get with each call. */
  readonly traceparent?: string;
  /** Calls `work` and returns what it returns: everything that `work` starts belongs to this piece of work. */
  run<T>(work: () => T): T;
  /** The work is done, or no one needs it any more (`aborted`): a question that was answered elsewhere, a call of a cancelled run. */
  end(outcome: WorkOutcome): void;
}

/** What came of a piece of work. Secrets are marks. */
export type WorkOutcome =
  | { readonly ok: true; readonly value: Json }
  | {
      readonly ok: false;
      readonly error: { readonly code: string; readonly message: string };
      readonly aborted: boolean;
    };

/**
 * A piece of work that a run has done outside of its machines. `id` is its actor path and number; `agents` are the child
 * agents that it belongs to, from the outermost, each with the actor path of this one call of it. Secrets are marks.
 */
export type FollowedWork = {
  readonly id: string;
  readonly agents: readonly { readonly id: string; readonly name: string }[];
} & (
  | { readonly kind: 'model'; readonly model: string | undefined; readonly request: ModelRequest }
  | {
      readonly kind: 'tool';
      readonly tool: string;
      readonly callId: string;
      readonly args: JsonObject;
      /** The MCP server that has the tool. */
      readonly server?: string;
    }
  /** A person is asked about a call. */
  | { readonly kind: 'approval'; readonly tool: string; readonly callId: string }
  /** Your own code: prompts, checks, repairs. */
  | { readonly kind: 'code'; readonly name: string }
);
