import {
  type Attributes,
  type Context,
  type MeterProvider,
  type Span,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  context,
  metrics,
  trace,
} from '@opentelemetry/api';
import type {
  FollowedRun,
  FollowedWork,
  RunTelemetry,
  Telemetry,
  WorkOutcome,
  WorkTelemetry,
} from '../actors/telemetry.ts';
import { type JsonObject, isJsonObject } from '../json/json.ts';
import { optionsOf, wrongOption } from '../json/known-options.ts';
import { isErrorResult } from '../tools/result.ts';
import { Figures } from './figures.ts';
import { USAGE, whatWasSaid, spanOf, measured, partsOfId, replyContent } from './attributes.ts';

/** What {@link openTelemetry} reports, and to which SDK. */
export interface OpenTelemetryOptions {
  /** Adds what was said: prompts, replies, arguments and results, with marks in the place of secrets. Default false. */
  readonly content?: boolean | undefined;
  /**
   * `'v1.36'`: metrics have the names of that version of the conventions, `gen_ai.client.operation.duration` and
   * `gen_ai.client.token.usage`, for dashboards that were made for these. Default: today's names.
   */
  readonly semconv?: 'v1.36' | undefined;
  /** Default: the one that is registered globally. */
  readonly tracerProvider?: TracerProvider | undefined;
  /** Default: the one that is registered globally. */
  readonly meterProvider?: MeterProvider | undefined;
}

const checkOptions = optionsOf<OpenTelemetryOptions>('openTelemetry', 'docs/production.md', {
  content: true,
  semconv: true,
  tracerProvider: true,
  meterProvider: true,
});

/**
 * Traces and metrics by OpenTelemetry's conventions for generative AI: a span for each run (`invoke_agent`), child agent,
 * request to a model (`chat`), call of a tool (`execute_tool`) and question to a person; durations and tokens as
 * metrics. What your tools and clients trace by themselves lies within the span of the call. Needs `@opentelemetry/api`
 * and an SDK that your program sets up; without one, nothing is kept. Throws a `TypeError` for an unknown option.
 *
 * @example createAgent({ model: 'openai:gpt-5-mini', tools, telemetry: openTelemetry() });
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): Telemetry {
  checkOptions(options);
  const { content: withContent = false, semconv, tracerProvider = trace, meterProvider = metrics } = options;
  if (semconv !== undefined && semconv !== 'v1.36')
    throw wrongOption("openTelemetry: option 'semconv' must be 'v1.36'.");
  // Made with the first run: a program may set up its SDK after its agents.
  let instruments: Instruments | undefined;
  return {
    follow: (run) => {
      instruments ??= {
        tracer: tracerProvider.getTracer(NAME),
        figures: new Figures(meterProvider.getMeter(NAME), semconv !== undefined),
        withContent,
      };
      return new TracedRun(run, instruments);
    },
  };
}

const NAME = 'signalbox';

/** What all runs share. */
interface Instruments {
  readonly tracer: Tracer;
  readonly figures: Figures;
  readonly withContent: boolean;
}

/** The span of an agent, which others lie in. */
interface Outer {
  readonly agent: string;
  readonly startedAt: number;
  readonly span: Span;
  readonly within: Context;
  readonly outer: Outer | null;
  /** When the last that lies in it ended. */
  endedAt: number;
  /** Whether it has what its model was asked first. */
  isAsked: boolean;
  /** How many requests and calls of tools it has made itself. */
  requests: number;
  calls: number;
}

/** A run's span begins with its first work, and has the time at which the run was called. */
class TracedRun implements RunTelemetry {
  readonly #run: FollowedRun;
  readonly #instruments: Instruments;
  readonly #caller: Context;
  readonly #children = new Map<string, Outer>();
  #root: Outer | undefined;

  constructor(run: FollowedRun, instruments: Instruments) {
    this.#run = run;
    this.#instruments = instruments;
    this.#caller = callerOf(run.traceparent);
  }

  begin(work: FollowedWork): WorkTelemetry {
    const outer = this.#outerOf(work);
    if (work.kind === 'code') return { run: (execute) => context.with(outer.within, execute), end: () => undefined };
    const began = Date.now();
    const { name, kind, attributes } = spanOf(work);
    const { withContent, tracer } = this.#instruments;
    const said = withContent ? whatWasSaid(work) : {};
    if (work.kind === 'model' && !outer.isAsked) {
      outer.isAsked = true;
      outer.span.setAttributes(said);
    }
    if (work.kind === 'model') outer.requests += 1;
    if (work.kind === 'tool') outer.calls += 1;
    const span = tracer.startSpan(
      name,
      { kind, attributes: { ...attributes, ...this.#conversation(), ...said } },
      outer.within,
    );
    const within = trace.setSpan(outer.within, span);
    return {
      ...traceparentOf(span),
      run: (execute) => context.with(within, execute),
      end: (outcome) => {
        this.#finish(span, work, outcome);
        if (withContent && work.kind === 'model' && outcome.ok && isJsonObject(outcome.value)) {
          const reply = replyContent(outcome.value);
          span.setAttributes(reply);
          // The last one is what the agent answered.
          outer.span.setAttributes(reply);
        }
        const failed = outcome.ok ? {} : { 'error.type': outcome.error.code };
        if (work.kind !== 'approval') this.#instruments.figures.took(began, { ...measured(attributes), ...failed });
        span.end();
        for (let at: Outer | null = outer; at !== null; at = at.outer) at.endedAt = Date.now();
      },
    };
  }

  end({ status, reason, error }: Parameters<RunTelemetry['end']>[0]): void {
    const root = this.#rootSpan();
    const { figures } = this.#instruments;
    // The outermost were begun first.
    for (const child of [...this.#children.values()].toReversed()) {
      figures.invoked(child, child.endedAt);
      child.span.end(child.endedAt);
    }
    root.span.setAttributes({ 'signalbox.run.status': status, 'signalbox.run.reason': reason });
    const hasFailed = status === 'failed';
    if (hasFailed) fail(root.span, reason, error?.message);
    figures.invoked(root, Date.now(), hasFailed ? { 'error.type': reason } : {});
    root.span.end();
  }

  #outerOf({ agents }: FollowedWork): Outer {
    return agents.reduce((outer, { id, name }) => this.#child(outer, id, name), this.#rootSpan());
  }

  #rootSpan(): Outer {
    const { runId, agent, version, startedAt } = this.#run;
    return (this.#root ??= this.#opened(null, agent, {
      startTime: startedAt,
      attributes: { 'signalbox.run.id': runId, ...(version === undefined ? {} : { 'gen_ai.agent.version': version }) },
    }));
  }

  #child(outer: Outer, id: string, name: string): Outer {
    const known = this.#children.get(id) ?? this.#opened(outer, name, { startTime: Date.now() });
    this.#children.set(id, known);
    return known;
  }

  #opened(
    outer: Outer | null,
    agent: string,
    own: { readonly startTime: number; readonly attributes?: Attributes },
  ): Outer {
    const named = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': agent };
    const attributes = { ...named, ...this.#conversation(), ...own.attributes };
    const parent = outer?.within ?? this.#caller;
    const span = this.#instruments.tracer.startSpan(`invoke_agent ${agent}`, { ...own, attributes }, parent);
    const { startTime: startedAt } = own;
    const none = { isAsked: false, requests: 0, calls: 0 };
    return { agent, span, within: trace.setSpan(parent, span), outer, startedAt, endedAt: startedAt, ...none };
  }

  #conversation(): Attributes {
    const { conversation } = this.#run;
    return conversation === undefined ? {} : { 'gen_ai.conversation.id': conversation };
  }

  #finish(span: Span, work: FollowedWork, outcome: WorkOutcome): void {
    if (!outcome.ok) {
      // A question that was answered elsewhere has not failed.
      if (work.kind === 'approval' && outcome.aborted) return;
      return fail(span, outcome.error.code, outcome.error.message);
    }
    if (!isJsonObject(outcome.value)) return;
    if (work.kind === 'model') this.#replied(span, work, outcome.value);
    if (work.kind === 'approval' && typeof outcome.value.decision === 'string')
      span.setAttribute('signalbox.approval.decision', outcome.value.decision);
    if (work.kind !== 'tool') return;
    if (this.#instruments.withContent) span.setAttribute('gen_ai.tool.call.result', JSON.stringify(outcome.value));
    if (isErrorResult(outcome.value)) fail(span, 'tool_error', undefined);
  }

  #replied(span: Span, work: FollowedWork & { readonly kind: 'model' }, reply: JsonObject): void {
    const { usage, stats, model, finishReason } = reply;
    const about = measured(spanOf(work).attributes);
    if (typeof model === 'string') span.setAttribute('gen_ai.response.model', partsOfId(model).name);
    if (typeof finishReason === 'string') span.setAttribute('gen_ai.response.finish_reasons', [finishReason]);
    if (isJsonObject(stats) && typeof stats.timeToFirstTokenMs === 'number') {
      span.setAttribute('gen_ai.response.time_to_first_chunk', stats.timeToFirstTokenMs / 1000);
      if (work.request.stream) this.#instruments.figures.streamed(stats.timeToFirstTokenMs, about);
    }
    if (!isJsonObject(usage)) return;
    for (const [name, attribute] of USAGE) {
      const tokens = usage[name];
      if (typeof tokens !== 'number') continue;
      span.setAttribute(attribute, tokens);
      this.#instruments.figures.spent(tokens, attribute, about);
    }
  }
}

function fail(span: Span, code: string, message: string | undefined): void {
  span.setAttribute('error.type', code);
  span.setStatus({ code: SpanStatusCode.ERROR, ...(message === undefined ? {} : { message }) });
}

const TRACEPARENT = /^[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})/;

/** What the run's span lies in: the span that is active where the run was called, unless the caller names another trace. */
function callerOf(traceparent: string | undefined): Context {
  const active = context.active();
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || trace.getSpanContext(active)?.traceId === traceId) return active;
  return trace.setSpanContext(active, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags ?? '0', 16),
    isRemote: true,
  });
}

function traceparentOf(span: Span): { readonly traceparent?: string } {
  const { traceId, spanId, traceFlags } = span.spanContext();
  if (/^0*$/.test(traceId)) return {};
  return { traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}` };
}
