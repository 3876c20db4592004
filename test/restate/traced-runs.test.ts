import { SpanStatusCode } from '@opentelemetry/api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { restateAgent, restateClient } from '../../src/restate/index.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { freePort } from '../support/free-port.ts';
import { calls } from '../support/replies.ts';
import { RestateServer, restateBinary } from '../support/restate-server.ts';
import { program, traceContexts } from '../telemetry/spans.ts';
import { modelByTurn, served, until, waitingCall } from './served-agent.ts';

traceContexts();

const missing = restateBinary() === null;
if (missing) console.warn('Skipped: npm has installed no Restate server for this platform.');

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';

describe.skipIf(missing).each([
  ['a server that does not trace', {}],
  ['a server that traces', { RESTATE_TRACING_ENDPOINT: 'http://127.0.0.1:9' }],
])('the spans of a run on %s', (_title, env) => {
  let server: RestateServer;
  beforeAll(async () => {
    server = await RestateServer.start(env);
  });
  afterAll(async () => server[Symbol.asyncDispose]());

  /** A process that serves the agent, with traces of its own. */
  const life = async (port: number, look: () => unknown = () => 'seen', suspendAfterMs = 300) => {
    const app = program();
    const tools = [
      fakeTool('mail', ['sent'], { policy: 'confirm', effects: 'once' }),
      fakeTool('look', [look], { effects: 'idempotent' }),
    ];
    const model = modelByTurn(calls(['look']), calls(['mail', { to: 'Ada' }]), 'Mailed.');
    const options = { name: 'mailer', silent: true, confirm: 'wait' } as const;
    const agent = createAgent({ ...options, model, tools, telemetry: app.telemetry });
    const service = restateAgent(agent, { suspendAfterMs, retry: { firstWaitMs: 20 } });
    return { app, endpoint: await served(server, [service], { port }) };
  };
  const client = (traceparent: string) =>
    restateClient({ url: server.ingress, name: 'mailer', headers: { traceparent } });
  const released = { 'signalbox.run.id': 'moving', 'signalbox.run.reason': 'released' };

  test('are of what each attempt did itself, all in the trace of its caller, none left open', async () => {
    const port = await freePort();
    const runs = client(`00-${TRACE}-${CALLER}-01`);
    const parent = ({ parentSpanContext }: { parentSpanContext?: { traceId: string; spanId: string } | undefined }) => {
      expect(parentSpanContext?.traceId).toBe(TRACE);
      if (!('RESTATE_TRACING_ENDPOINT' in env)) expect(parentSpanContext?.spanId).toBe(CALLER);
      else expect(parentSpanContext?.spanId).not.toBe(CALLER);
    };
    let looks = 0;
    const hangs = () => {
      looks += 1;
      return new Promise<never>(() => undefined);
    };
    const first = await life(port, hangs);
    await runs.start('moving', 'Mail Ada');
    await until(async () => looks > 0);
    await first.endpoint[Symbol.asyncDispose]();
    await until(async () => first.app.tree().length === 3);
    expect(first.app.tree()).toEqual(['invoke_agent mailer', '  chat by-turn', '  execute_tool look']);
    expect(first.app.span('invoke_agent mailer').attributes).toMatchObject(released);
    parent(first.app.span('invoke_agent mailer'));

    const second = await life(port);
    const callId = await waitingCall(runs, 'moving', 'mail');
    await server.suspended('mailer', 'moving');
    await until(async () => second.app.tree().length === 4);
    expect(second.app.tree()).toEqual([
      'invoke_agent mailer',
      '  execute_tool look',
      '  chat by-turn',
      '  approve mail',
    ]);
    expect(second.app.span('invoke_agent mailer').attributes).toMatchObject(released);
    expect(second.app.span('approve mail').status).toEqual({ code: SpanStatusCode.UNSET });
    parent(second.app.span('invoke_agent mailer'));
    await second.endpoint[Symbol.asyncDispose]();

    const third = await life(port);
    await runs.send('moving', { type: 'approve', callId });
    expect(await runs.result('moving')).toMatchObject({ result: 'Mailed.' });
    expect(third.app.tree()).toEqual(['invoke_agent mailer', '  execute_tool mail', '  chat by-turn']);
    expect(third.app.span('invoke_agent mailer').attributes).toMatchObject({ 'signalbox.run.reason': 'answer' });
    parent(third.app.span('invoke_agent mailer'));
    await third.endpoint[Symbol.asyncDispose]();
  });

  test('show how long a person takes, and belong to no trace that cannot be one', async () => {
    const { app, endpoint } = await life(await freePort(), () => 'seen', 60_000);
    await using _ = endpoint;
    const runs = client('not-a-trace');
    await runs.start('asking', 'Mail Ada');
    const callId = await waitingCall(runs, 'asking', 'mail');
    // It is open as long as no one has answered.
    expect(app.spans().map(({ name }) => name)).not.toContain('approve mail');
    await runs.send('asking', { type: 'approve', callId });
    await runs.result('asking');
    expect(app.span('approve mail').status).toEqual({ code: SpanStatusCode.UNSET });
    expect(app.tree().filter((name) => name.endsWith('approve mail'))).toHaveLength(1);
    if (!('RESTATE_TRACING_ENDPOINT' in env)) expect(app.span('invoke_agent mailer').parentSpanContext).toBeUndefined();
  });
});
