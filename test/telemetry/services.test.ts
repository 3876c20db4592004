import { context, metrics, trace } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { expect, onTestFinished, test } from 'vitest';
import type { Model } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { openTelemetry } from '../../src/telemetry/index.ts';
import { calls } from '../support/replies.ts';
import { program, traceContexts, within } from './spans.ts';

traceContexts();

const SECRET = 'sk-live-0123456789abcdef';

/** An agent that asks its child agent, which looks. */
function office(telemetry: ReturnType<typeof openTelemetry>) {
  const clerk = createAgent({
    name: 'clerk',
    description: 'Looks.',
    instructions: 'Look well.',
    model: scriptedModel([calls(['look', { where: 'here' }]), `Seen, ${SECRET}`]),
    tools: [fakeTool('look', ['seen'])],
    silent: true,
  });
  const model = scriptedModel([calls(['clerk', { task: 'Look about' }]), `Done, ${SECRET}`]);
  return createAgent({ name: 'boss', model, children: [clerk], silent: true, secrets: [SECRET], telemetry });
}

const texts = (value: unknown): unknown => JSON.parse(String(value));
const said = (role: string, content: string) => ({ role, parts: [{ type: 'text', content }] });

test('a list of traces shows what a run was asked and what it answered, and that of its child agents', async () => {
  const app = program({ content: true });
  await office(app.telemetry).run(`Find ${SECRET}`);
  const boss = app.span('invoke_agent boss').attributes;
  const clerk = app.span('invoke_agent clerk').attributes;
  expect(texts(boss['gen_ai.input.messages'])).toEqual([said('user', 'Find «secret:1»')]);
  expect(texts(boss['gen_ai.output.messages'])).toEqual([
    { ...said('assistant', 'Done, «secret:1»'), finish_reason: 'stop' },
  ]);
  expect(texts(clerk['gen_ai.input.messages'])).toEqual([said('user', 'Look about')]);
  expect(texts(clerk['gen_ai.output.messages'])).toEqual([
    { ...said('assistant', 'Seen, «secret:1»'), finish_reason: 'stop' },
  ]);
  expect(texts(clerk['gen_ai.system_instructions'])).toEqual([{ type: 'text', content: 'Look well.' }]);
  expect(texts(clerk['gen_ai.tool.definitions'])).toMatchObject([{ name: 'look' }, { name: 'make_plan' }]);
});

test('without content, no span of a run has any', async () => {
  const app = program();
  await office(app.telemetry).run('Find it');
  for (const { attributes } of app.spans())
    for (const name of Object.keys(attributes))
      expect(name).not.toMatch(/messages|instructions|definitions|arguments|result$/);
});

test('arguments of calls in messages are values, and text where a model wrote no JSON', async () => {
  const app = program({ content: true });
  const model = scriptedModel([calls(['look', '{"where": "here"}']), calls(['look', 'here {']), 'Done.']);
  await createAgent({ model, tools: [fakeTool('look', ['a', 'b'])], silent: true, telemetry: app.telemetry }).run('Go');
  const replies = app.spans().filter(({ name }) => name === 'chat scripted');
  const given = replies.map(({ attributes }) => texts(attributes['gen_ai.output.messages']));
  expect(given.slice(0, 2)).toMatchObject([
    [{ parts: [{ type: 'tool_call', arguments: { where: 'here' } }] }],
    [{ parts: [{ type: 'tool_call', arguments: 'here {' }] }],
  ]);
});

test('a question with images and files, and what a model thinks, are told without the data of a file', async () => {
  const app = program({ content: true });
  const complete = async () => ({ content: 'A cat.', reasoning: 'It has whiskers.' });
  const model: Model = { id: 'eye', takesImages: true, takesFiles: true, complete };
  const data = `data:application/pdf;base64,${btoa('secret'.repeat(50))}`;
  await createAgent({ model, silent: true, telemetry: app.telemetry }).run([
    { type: 'text', text: 'What is it?' },
    { type: 'image', url: 'https://example.com/cat.png' },
    { type: 'file', url: data, mediaType: 'application/pdf' },
  ]);
  const { attributes } = app.span('chat eye');
  expect(texts(attributes['gen_ai.input.messages'])).toEqual([
    {
      role: 'user',
      parts: [
        { type: 'text', content: 'What is it?' },
        { type: 'uri', modality: 'image', uri: 'https://example.com/cat.png' },
        { type: 'blob', modality: 'application' },
      ],
    },
  ]);
  expect(texts(attributes['gen_ai.output.messages'])).toEqual([
    {
      role: 'assistant',
      parts: [
        { type: 'reasoning', content: 'It has whiskers.' },
        { type: 'text', content: 'A cat.' },
      ],
      finish_reason: 'stop',
    },
  ]);
});

test('an SDK that is set up after the agent was made gets its spans and its metrics', async () => {
  const agent = createAgent({ model: scriptedModel(['Done.']), silent: true, telemetry: openTelemetry() });
  const spans = new InMemorySpanExporter();
  const points = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: points, exportIntervalMillis: 3_600_000 });
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }));
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  onTestFinished(() => {
    trace.disable();
    metrics.disable();
  });
  await agent.run('Go');
  await reader.forceFlush();
  expect(spans.getFinishedSpans().map(({ name }) => name)).toEqual(['chat scripted', 'invoke_agent agent']);
  expect(points.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics)).toHaveLength(1);
});

test.each([
  ['no trace', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`],
  ['no span', `00-0af7651916cd43dd8448eb211c80319c-${'0'.repeat(16)}-01`],
  ['no version', '01'],
])('a traceparent that names %s leaves the run in the span that is active', async (_what, traceparent) => {
  const app = program();
  const agent = createAgent({ model: scriptedModel(['Done.']), silent: true, telemetry: app.telemetry });
  await within(app, 'job', () => agent.run('Go', { traceparent }));
  expect(trace.getSpan(context.active())).toBeUndefined();
  expect(app.tree()).toEqual(['job', '  invoke_agent agent', '    chat scripted']);
});
