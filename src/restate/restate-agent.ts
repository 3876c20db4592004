import type { WorkflowContext, WorkflowDefinition, WorkflowSharedContext } from '@restatedev/restate-sdk';
import { TerminalError, handlers, workflow } from '@restatedev/restate-sdk';
import { type AgentOptions, checkOptions as checkAgentOptions } from '../agent/options/agent-options.ts';
import type { RunInput } from '../agent/options/input-parts.ts';
import { type Drivable, ENGINE, type EngineView } from '../agent/run/engine-port.ts';
import type { Message } from '../actors/model.ts';
import type { RunRecord } from '../journal/format/record.ts';
import { optionsOf } from '../json/known-options.ts';
import { type JsonObject, isJsonObject } from '../json/json.ts';
import type { AnyResult, RunStatus } from '../machines/contract/run-result.ts';
import { type EngineContext, KEPT, type RecordedPart, restateJournal } from './restate-journal.ts';
import { type RestateMessage, sendMessage } from './restate-messages.ts';

/** What a run on Restate is asked: a text, or more than that. */
export type RestateRequest =
  | string
  | {
      readonly input: RunInput;
      /** The messages before. */
      readonly history?: readonly Message[];
      /** Overrides the agent's for this run. */
      readonly maxSteps?: number;
      /** JSON in the recording's first line. */
      readonly metadata?: JsonObject;
    };

/** The result of a run on Restate, secrets as marks. Its messages are left out: they stand in the recording. */
export type RestateResult = Omit<AnyResult, 'messages'>;

/** Where a run on Restate stands. */
export interface RestateState extends EngineView {
  readonly runId: string;
  /** `running` until the run has ended. */
  readonly status: RunStatus | 'running';
}

/** A piece of a recording: JSON lines, and where the next piece begins; null after the last. */
export interface RecordingPage {
  readonly text: string;
  readonly next: number | null;
}

/** The handlers of an agent on Restate. */
export type RestateHandlers = {
  /** Does a run; its id is the workflow's key. Restate refuses a second one of the same key. */
  run: (ctx: WorkflowContext, request: RestateRequest) => Promise<RestateResult>;
  /** Sends an event to a run. Resolves false if it is not accepted: the run is over, or no such call waits. */
  send: (ctx: WorkflowSharedContext, message: RestateMessage) => Promise<boolean>;
  /** The state of a run; null if it does not exist. */
  state: (ctx: WorkflowSharedContext) => Promise<RestateState | null>;
  /** The recording so far, from a piece on; null for a run that is not there. */
  recording: (ctx: WorkflowSharedContext, from?: { readonly from?: number }) => Promise<RecordingPage | null>;
};

/** How an agent runs on Restate. Times in milliseconds. */
export interface RestateAgentOptions {
  /** The name of the service. Default: the agent's. */
  readonly name?: string | undefined;
  /** Makes the context that a run's tools get, anew for each attempt: it is never stored. */
  readonly context?: ((run: { readonly runId: string; readonly request: RestateRequest }) => unknown) | undefined;
  /**
   * How long a run may wait before Restate suspends it. While it does, nothing is connected and nothing is lost. Default: a
   * minute more than the longest time limit of the agent, so that a cancel reaches a tool that is at work.
   */
  readonly suspendAfterMs?: number | undefined;
  /** How long work may take from then on before Restate aborts and restarts it. Default: an hour. */
  readonly abortAfterMs?: number | undefined;
  /** How long state and recording are kept after a run's end. Default: Restate's, a day. */
  readonly keepMs?: number | undefined;
  /** How a lost attempt is repeated. Default: Restate's, with 100 ms to 10 s between attempts. */
  readonly retry?:
    | {
        /** Attempts without progress before the run is paused. Default: Restate's. */
        readonly maxAttempts?: number | undefined;
        readonly firstWaitMs?: number | undefined;
        readonly longestWaitMs?: number | undefined;
      }
    | undefined;
}

const checkOptions = optionsOf<RestateAgentOptions>('restateAgent', 'docs/restate.md', {
  name: true,
  context: true,
  suspendAfterMs: true,
  abortAfterMs: true,
  keepMs: true,
  retry: true,
});

const checkRetry = optionsOf<NonNullable<RestateAgentOptions['retry']>>('restateAgent: retry', 'docs/restate.md', {
  maxAttempts: true,
  firstWaitMs: true,
  longestWaitMs: true,
});

const checkRequest = optionsOf<Exclude<RestateRequest, string>>('run', 'docs/restate.md', {
  input: true,
  history: true,
  maxSteps: true,
  metadata: true,
});

/** Behind this many characters a page of a recording ends. */
const PAGE = 4 * 2 ** 20;
const HOUR_MS = 3_600_000;

/**
 * Makes a workflow from an agent, to be bound to an endpoint; each run is one instance of it. Each effect is one durable
 * step, timers and events from outside are Restate's, and a run whose process is gone continues in another one. Throws a
 * `TypeError` for wrong options.
 *
 * @example restate.serve({ services: [restateAgent(agent)], port: 9080 });
 */
export function restateAgent(
  agent: Drivable & { readonly name: string; readonly options: AgentOptions },
  options: RestateAgentOptions = {},
): WorkflowDefinition<string, RestateHandlers> {
  checkOptions(options);
  checkRetry(options.retry);
  const { name = agent.name, keepMs, abortAfterMs = HOUR_MS, retry = {} } = options;
  const { maxAttempts, firstWaitMs = 100, longestWaitMs = 10_000 } = retry;
  const { suspendAfterMs = longestLimit(agent.options) + 60_000 } = options;
  const { shared } = handlers.workflow;
  // A handler that only reads leaves no journal: it would hold the recording again.
  const reading = { journalRetention: 0, enableLazyState: true };
  return workflow({
    name,
    handlers: {
      run: (ctx: WorkflowContext, request: RestateRequest) =>
        attempt(agent, ctx, { request, context: options.context }),
      send: shared({ enableLazyState: true }, sendMessage),
      state: shared(reading, stateOf),
      recording: shared(reading, recordingOf),
    },
    options: {
      explicitCancellation: true,
      enableLazyState: true,
      inactivityTimeout: suspendAfterMs,
      abortTimeout: abortAfterMs,
      ...(keepMs === undefined ? {} : { workflowRetention: keepMs }),
      retryPolicy: {
        initialInterval: firstWaitMs,
        maxInterval: longestWaitMs,
        ...(maxAttempts === undefined ? {} : { maxAttempts, onMaxAttempts: 'pause' }),
      },
    },
  });
}

/** The longest that one effect of the agent may take by its own limits. */
function longestLimit({ timeouts = {}, tools = [] }: AgentOptions): number {
  const { connectMs = 0, responseMs = 0, toolMs = 0 } = timeouts;
  return Math.max(connectMs, responseMs, toolMs, ...tools.map(({ timeoutMs = 0 }) => timeoutMs));
}

interface Asked {
  readonly request: RestateRequest;
  readonly context: RestateAgentOptions['context'];
}

/** One attempt at a run: from its beginning, with what the engine knows of it. */
async function attempt(agent: Drivable, ctx: WorkflowContext, { request, context }: Asked): Promise<RestateResult> {
  if (!hasInternals(ctx)) throw new TerminalError('This version of the Restate SDK has no explicit cancellation.');
  const runId = ctx.key;
  const { attemptCompletedSignal: ended } = ctx.request();
  let result: AnyResult | null = null;
  let broken: { readonly error: unknown } | null = null;
  await refusing(() =>
    agent[ENGINE]({
      ...requested(request),
      runId,
      context: context?.({ runId, request }),
      traceparent: traceOf(ctx),
      head: (make) => Promise.race([ctx.run<RunRecord>('head', make), over(ended)]),
      journal: (run) => {
        const journal = restateJournal(ctx, run);
        return {
          ...journal,
          next: async () => {
            try {
              return await journal.next();
            } catch (error) {
              broken = { error };
              throw error;
            }
          },
        };
      },
      replayed: () => !ctx.isProcessing(),
      onDone: (done) => {
        result = done;
      },
    }),
  );
  return resultOf(result, broken);
}

/** The trace of the attempt where the server traces, else its caller's. */
function traceOf(ctx: WorkflowContext): string | undefined {
  const { headers, attemptHeaders } = ctx.request();
  return [attemptHeaders, headers].map((all) => all.get('traceparent')).find((one) => typeof one === 'string');
}

/** What a run is asked, by whoever reaches Restate: a wrong member would fail in each attempt, or lift a limit. */
function requested(request: RestateRequest): Exclude<RestateRequest, string> {
  const given = typeof request === 'string' ? { input: request } : { ...request };
  checkRequest(given);
  const { input: _input, metadata: _metadata, ...options } = given;
  checkAgentOptions(options, 'run');
  return given;
}

/** The result for the caller. The engine retries what broke the journal, and a released attempt has no result. */
async function resultOf(result: AnyResult | null, broken: { readonly error: unknown } | null): Promise<RestateResult> {
  if (broken !== null) throw broken.error;
  if (result === null || result.status === 'waiting') return new Promise<never>(() => undefined);
  const { messages: _messages, ...rest } = result;
  return rest;
}

/** An input that cannot become a run is not retried. */
async function refusing(begin: () => PromiseLike<unknown>): Promise<void> {
  let run: PromiseLike<unknown>;
  try {
    run = begin();
  } catch (error) {
    if (error instanceof TypeError) throw new TerminalError(error.message, { errorCode: 400 });
    throw error;
  }
  await run;
}

function over(ended: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  ended.addEventListener('abort', () => reject(new Error('The attempt is over.')), { once: true });
  promise.catch(() => undefined);
  return promise;
}

function hasInternals(ctx: WorkflowContext): ctx is EngineContext {
  return 'cancellation' in ctx && 'isProcessing' in ctx;
}

/** The numbers of the parts that are kept of a run, in order; none for a run that is not there. */
async function partsOf(ctx: WorkflowSharedContext): Promise<readonly string[]> {
  const keys = await ctx.stateKeys();
  return keys.filter((key) => key.startsWith('part/')).toSorted();
}

async function stateOf(ctx: WorkflowSharedContext): Promise<RestateState | null> {
  const last = (await partsOf(ctx)).at(-1);
  const part = last === undefined ? null : await ctx.get<RecordedPart>(last);
  return part === null ? null : { runId: ctx.key, ...part.view };
}

async function recordingOf(ctx: WorkflowSharedContext, asked?: unknown): Promise<RecordingPage | null> {
  const from = isJsonObject(asked) && typeof asked.from === 'number' ? asked.from : 0;
  const keys = await partsOf(ctx);
  if (keys.length === 0) return null;
  let text = '';
  for (let at = from; at < keys.length; at += 1) {
    // No more is read than fits on the page.
    text += (await ctx.get<RecordedPart>(KEPT.part(at)))?.text ?? '';
    if (text.length > PAGE && at + 1 < keys.length) return { text, next: at + 1 };
  }
  return { text, next: null };
}
