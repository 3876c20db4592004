import { onTestFinished } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { OutputSchema } from '../../src/agent/options/output-options.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import { recover } from '../../src/recovery/recover.ts';
import { type ModelServerOptions, type Scripted, startModelServer } from '../support/model-server.ts';
import { modelAt } from '../support/transports.ts';

/** An agent whose model is a scripted server on loopback, over the transport of the test; both end with the test. */
export async function agentOn<TSchema extends OutputSchema | undefined = undefined>(
  script: readonly Scripted[],
  options: AgentOptions<unknown, TSchema> = {},
  serving: ModelServerOptions = {},
) {
  const server = await startModelServer(script, serving);
  onTestFinished(server.close);
  const model = modelAt({ baseURL: server.baseURL, model: 'scripted', apiKey: 'none' });
  const agent = createAgent({ model, silent: true, retry: { backoff: recover.constant(1) }, ...options });
  onTestFinished(() => agent.close());
  return { server, agent };
}

/** All events of a run. */
export async function eventsOf(run: AsyncIterable<RunEvent>): Promise<readonly RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const event of run) events.push(event);
  return events;
}
