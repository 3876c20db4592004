import type { RunPort } from '../../inspector/run-port.ts';
import type { ForkOptions } from '../../journal/replay/fork.ts';
import type { JournalStore } from '../../journal/run/run-journal.ts';
import { toJson } from '../../json/to-json.ts';
import { type JsonObject, isJsonObject } from '../../json/json.ts';
import type { McpLimits } from '../../mcp/config/server-limits.ts';

/** Options of one run. */
export interface RunOptions<TContext = unknown> {
  /** Cancels the run when it aborts. One that is aborted already gives `cancelled` without a request. */
  readonly signal?: AbortSignal;
  /** Overrides the agent's for this run. */
  readonly maxSteps?: number;
  /** A value of yours for tools, `validateArgs` and `confirm`; never shown to the model nor written. */
  readonly context?: TContext;
  /**
   * The trace that the run belongs to, as the W3C header of that name: `00-<32 hex digits>-<16>-01`. MCP servers get it with
   * each call. What is not of that form is not sent.
   */
  readonly traceparent?: string;
  /** JSON in the recording's first line. */
  readonly metadata?: JsonObject;
  /** Names the run and its file. Default: a fresh id that sorts by time. */
  readonly runId?: string;
  /** Shows this run on the inspector's page: `true` by the process's own, or one of `createInspector`. */
  readonly inspect?: boolean | RunPort | Promise<RunPort>;
  /** Where this run is kept. Default: the agent's `journal`. */
  readonly journal?: JournalStore;
  /** Writes a trace: `true` by the agent's `outputDir`, or a path. */
  readonly trace?: boolean | string;
}

/** How a run of an agent is forked: one that is forked from an inspector's page is shown on that page. */
export interface ForkRunOptions extends ForkOptions, Pick<RunOptions, 'inspect'> {}

/** The metadata of a run as JSON. Throws a `TypeError` for anything else. */
export function metadataOf(metadata: unknown): JsonObject {
  const json = toJson(metadata ?? {});
  if (json.ok && isJsonObject(json.value)) return json.value;
  throw new TypeError(`agent.run: option 'metadata' must be a JSON object${json.ok ? '' : `: ${json.reason}`}.`);
}

/** How large what comes from outside may be. Bytes, unless it says otherwise. */
export interface AgentLimits {
  /** Larger arguments of a call are refused. Default 1 000 000. */
  readonly argumentBytes?: number;
  /** A larger result of a call is an error. Default 10 000 000. */
  readonly resultBytes?: number;
  /** How much each MCP server may make the agent keep and the model read. */
  readonly mcp?: Partial<McpLimits>;
}

/** A fresh run id: 10 characters of time, so that ids sort by it, and 10 of chance. Names a file on every system. */
export function newRunId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  const chance = [...bytes].map((byte) => (byte % 32).toString(32)).join('');
  return `${Date.now().toString(32).padStart(10, '0')}-${chance}`;
}
