import {
  TerminalError,
  type WorkflowContext,
  type WorkflowSharedContext,
  handlers,
  workflow,
} from '@restatedev/restate-sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { assertEngineConformance } from '../../src/journal/conformance/assert-conformance.ts';
import { type EngineBody, type TestedEngine } from '../../src/journal/conformance/tested-engine.ts';
import { sampleHead } from '../../src/journal/conformance/sample-run.ts';
import type { RunRecord } from '../../src/journal/format/record.ts';
import { type Json, isJsonObject } from '../../src/json/json.ts';
import { restateJournal } from '../../src/restate/index.ts';
import type { EngineContext, SentEvent } from '../../src/restate/restate-journal.ts';
import { sendEvent } from '../../src/restate/restate-messages.ts';
import { RestateServer, restateBinary } from '../support/restate-server.ts';
import { served, until } from './served-agent.ts';

const bodies = new Map<string, EngineBody>();

/** A workflow that does what this process says, on the journal of an agent. */
const rules = workflow({
  name: 'rules',
  handlers: {
    run: async (ctx: WorkflowContext): Promise<Json> => {
      const body = bodies.get(ctx.key);
      if (body === undefined) throw new TerminalError('There is nothing to do.');
      const head = await ctx.run<RunRecord>('head', () => sampleHead(ctx.key));
      const journal = restateJournal(ctx as EngineContext, {
        head,
        accepts: () => true,
        waiting: () => undefined,
        view: () => ({ path: 'PLANNING', stepsTaken: 0, pending: [] }),
        redact: (value) => value,
        reserve: () => undefined,
      });
      return body(journal);
    },
    send: handlers.workflow.shared((ctx: WorkflowSharedContext, said: Omit<SentEvent, 'at'>) => sendEvent(ctx, said)),
  },
  options: { explicitCancellation: true, retryPolicy: { initialInterval: 10, maxInterval: 50 } },
});

const missing = restateBinary() === null;
if (missing) console.warn('Skipped: npm has installed no Restate server for this platform.');

describe.skipIf(missing)('the journal of Restate', () => {
  let server: RestateServer;
  beforeAll(async () => {
    server = await RestateServer.start();
  });
  afterAll(async () => server[Symbol.asyncDispose]());

  const post = async (path: string, body?: unknown): Promise<Json> => {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${server.ingress}/rules/${path}`, { method: 'POST', headers, ...sent });
    const value: Json = JSON.parse(await answer.text());
    if (!answer.ok) throw new Error(isJsonObject(value) ? String(value.message) : 'refused');
    return value;
  };
  const engine = (): TestedEngine => ({
    run: (runId, body) => {
      bodies.set(runId, body);
      return post(`${runId}/run`);
    },
    // A run takes what is said as soon as it has begun.
    send: async (runId, event) =>
      until(() =>
        post(`${runId}/send`, { event }).then(
          (taken) => ({ taken }),
          () => null,
        ),
      ).then(({ taken }) => taken === true),
    cancel: (runId) => server.cancel('rules', runId),
  });

  test('keeps the rules of an engine', async () => {
    await using _ = await served(server, [rules]);
    const { kept, skipped } = await assertEngineConformance(engine(), { timeoutMs: 20_000 });
    expect(skipped).toEqual([]);
    expect(kept).toHaveLength(8);
  });
});
