import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { openTelemetry } from '../../src/telemetry/index.ts';
import type { Contender } from '../harness/job.ts';
import { signalboxAgent } from './signalbox-agent.ts';

/** The same agent with OpenTelemetry's SDK, whose exporter drops the spans: what sending them costs is the exporter's. */
export const signalboxTelemetryAgent: Contender = (job) => {
  const dropping: SpanExporter = {
    export: (_spans, done) => done({ code: 0 }),
    shutdown: () => Promise.resolve(),
  };
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(dropping)] });
  return signalboxAgent({ telemetry: openTelemetry({ tracerProvider, meterProvider: new MeterProvider() }) })(job);
};
