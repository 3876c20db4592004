import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll } from 'vitest';
import { type OpenTelemetryOptions, openTelemetry } from '../../src/telemetry/index.ts';

/**
 * Sets up the context of the process for the tests of a file, as a program does once, and puts it back. Each file calls it: a worker loads this
 * module once, so hooks at its top would be those of the first file only.
 */
export function traceContexts(): void {
  beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
  afterAll(() => context.disable());
}

/** A program with OpenTelemetry's SDK that keeps what it is told. */
export function program(options: Pick<OpenTelemetryOptions, 'content' | 'semconv'> = {}) {
  const spans = new InMemorySpanExporter();
  const begun: string[] = [];
  const nothing = () => Promise.resolve();
  const order: SpanProcessor = {
    onStart: (span) => void begun.push(span.spanContext().spanId),
    onEnd: () => undefined,
    forceFlush: nothing,
    shutdown: nothing,
  };
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [order, new SimpleSpanProcessor(spans)] });
  const points = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: points, exportIntervalMillis: 3_600_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const place = (span: ReadableSpan): number => begun.indexOf(span.spanContext().spanId);
  const all = (): readonly ReadableSpan[] => spans.getFinishedSpans().toSorted((a, b) => place(a) - place(b));
  return {
    telemetry: openTelemetry({ ...options, tracerProvider, meterProvider }),
    tracer: tracerProvider.getTracer('the program'),
    spans: all,
    /** The spans as a tree, each with its children below it, in the order in which they were begun. */
    tree: () => treeOf(all()),
    span: (name: string): ReadableSpan => {
      const found = all().find((span) => span.name === name);
      if (found === undefined)
        throw new Error(
          `No span '${name}': ${all()
            .map((span) => span.name)
            .join(', ')}`,
        );
      return found;
    },
    /** The values of a metric by what they belong to; of a histogram how many, and their sum. */
    measured: async (metric: string) => {
      await reader.forceFlush();
      const [last] = points.getMetrics().slice(-1);
      const found = last?.scopeMetrics
        .flatMap(({ metrics }) => metrics)
        .find(({ descriptor }) => descriptor.name === metric);
      return (found?.dataPoints ?? []).map(({ attributes, value }) => ({
        attributes,
        value,
        unit: found?.descriptor.unit,
      }));
    },
  };
}

function treeOf(spans: readonly ReadableSpan[], below?: string, indent = ''): string[] {
  return spans
    .filter(({ parentSpanContext }) =>
      below === undefined
        ? !spans.some((span) => span.spanContext().spanId === parentSpanContext?.spanId)
        : parentSpanContext?.spanId === below,
    )
    .flatMap((span) => [`${indent}${span.name}`, ...treeOf(spans, span.spanContext().spanId, `${indent}  `)]);
}

/** Does something within a span of the program. */
export async function within<T>(
  given: ReturnType<typeof program>,
  name: string,
  work: () => T | Promise<T>,
): Promise<T> {
  const span = given.tracer.startSpan(name);
  try {
    return await context.with(trace.setSpan(context.active(), span), work);
  } finally {
    span.end();
  }
}
