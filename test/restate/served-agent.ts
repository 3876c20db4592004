import { createEndpointHandler } from '@restatedev/restate-sdk';
import { once } from 'node:events';
import { createServer } from 'node:http2';
import type { Model, ModelReply, ModelRequest } from '../../src/actors/model.ts';
import { type RestateClient, restateClient } from '../../src/restate/index.ts';
import type { RestateServer } from '../support/restate-server.ts';

/** An endpoint of the SDK in this process, known to the server. Disposing it drops all its connections. */
export async function served(
  server: RestateServer,
  services: Parameters<typeof createEndpointHandler>[0]['services'],
  { bidirectional = true, port = 0 }: { readonly bidirectional?: boolean; readonly port?: number } = {},
): Promise<AsyncDisposable> {
  const http = createServer(createEndpointHandler({ services, bidirectional, logger: () => undefined }));
  const sessions = new Set<{ destroy(): void }>();
  http.on('session', (session) => void sessions.add(session));
  http.listen(port, '127.0.0.1');
  await once(http, 'listening');
  const address = http.address();
  await server.register(`http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`);
  return {
    [Symbol.asyncDispose]: async () => {
      for (const session of sessions) session.destroy();
      http.close();
    },
  };
}

/** The client of an agent that a server runs. */
export function clientOf(server: RestateServer, agent: { readonly name: string }): RestateClient {
  return restateClient({ url: server.ingress, name: agent.name });
}

/**
 * A model without memory: its reply follows from how many it has given in the conversation, so that it is the same in each
 * attempt and each process.
 */
export function modelByTurn(
  ...replies: readonly (string | ModelReply | ((request: ModelRequest) => ModelReply))[]
): Model {
  return {
    id: 'by-turn',
    complete: async (request) => {
      const turn = request.messages.filter(({ role }) => role === 'assistant').length;
      const reply = replies[Math.min(turn, replies.length - 1)] ?? '';
      if (typeof reply === 'function') return reply(request);
      return typeof reply === 'string' ? { content: reply } : reply;
    },
  };
}

/** Waits until a value is there. */
export async function until<T>(
  look: () => Promise<T | null | undefined | false>,
  ms = 60_000,
  everyMs = 20,
): Promise<T> {
  const end = performance.now() + ms;
  for (;;) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false) return found;
    if (performance.now() > end) throw new Error('It did not come.');
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

/** Waits until a call of this tool waits for a person, and gives its id. */
export async function waitingCall(
  client: RestateClient,
  runId: string,
  tool: string,
  ms?: number,
  everyMs?: number,
): Promise<string> {
  const look = async () => (await client.state(runId))?.pending.find((one) => one.tool === tool);
  return (await until(look, ms, everyMs)).callId;
}
