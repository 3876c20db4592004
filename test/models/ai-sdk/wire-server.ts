import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { createAgent } from '../../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../../src/agent/options/agent-options.ts';
import { fromAiSdk, type AiSdkOptions } from '../../../src/models/ai-sdk/from-ai-sdk.ts';
import type { AiSdkLanguageModel } from '../../../src/models/ai-sdk/language-model.ts';
import { recover } from '../../../src/recovery/recover.ts';

/** What a model says, whatever the format. */
export interface Said {
  readonly thinking?: string;
  readonly text?: string;
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly args: unknown }[];
  readonly end?: 'length' | 'refusal' | 'filter';
}

/** What a server does with a request: an answer of its model, or something else. */
export type Answer =
  | Said
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body: unknown }
  /** A stream that reports an error after some text, and stays open. */
  | { readonly failsWith: 'overloaded' | 'rate' }
  /** The connection breaks in the middle of this. */
  | { readonly breaks: Said }
  | { readonly hangs: true }
  /** A stream that ends in the middle of this. */
  | { readonly cut: Said }
  /** The beginning of a stream, and then nothing more. */
  | { readonly stalls: Said };

/** A format in which a provider's server speaks. */
export interface Wire {
  readonly name: string;
  /** The id that a model of it has with Signalbox. */
  readonly id: string;
  model(origin: string): AiSdkLanguageModel;
  /** The events of a streamed reply, each as the text that is sent; `cut` ends in the middle. */
  events(said: Said): readonly string[];
  whole(said: Said): unknown;
  /** An event that reports an error. */
  errorEvent(what: 'overloaded' | 'rate'): string;
  /** The results of tools in a request, by the name or id of their call. */
  resultsIn(body: unknown): readonly string[];
  /** The images in a request, as base64. */
  imagesIn(body: unknown): readonly string[];
  readonly tokens: { readonly cached: number; readonly reasoning: number | undefined };
}

/** One request as it arrived. */
export interface Arrived {
  readonly path: string;
  readonly text: string;
  readonly body: unknown;
}

/** A server on loopback that speaks the format of a provider and answers each request with the next of the list. */
export async function startWireServer(wire: Wire, answers: readonly Answer[]) {
  const requests: Arrived[] = [];
  const queue = [...answers];
  let abandoned = 0;
  const server = createServer((incoming, response) => {
    void (async () => {
      const text = await readText(incoming);
      const path = incoming.url ?? '';
      const body: unknown = JSON.parse(text);
      requests.push({ path, text, body });
      response.once('close', () => {
        if (!response.writableFinished) abandoned += 1;
      });
      const isStream = path.includes('streamGenerateContent') || /"stream":true/.test(text);
      write(response, wire, queue.shift(), isStream);
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { origin: `http://127.0.0.1:${String(port)}`, requests, abandoned: () => abandoned };
}

function write(response: ServerResponse, wire: Wire, answer: Answer | undefined, isStream: boolean): void {
  const given = answer ?? { status: 500, body: { error: { message: 'this request was not expected' } } };
  const begin = () => response.writeHead(200, { 'content-type': 'text/event-stream' });
  if ('status' in given) {
    response.writeHead(given.status, { 'content-type': 'application/json', ...given.headers });
    response.end(JSON.stringify(given.body));
  } else if ('failsWith' in given) {
    begin();
    for (const event of wire.events({ text: 'Well, I think that' }).slice(0, -2)) response.write(event);
    response.write(wire.errorEvent(given.failsWith));
  } else if ('cut' in given) {
    begin();
    const events = wire.events(given.cut);
    response.end(events.slice(0, events.length - 3).join(''));
  } else if ('breaks' in given) {
    begin();
    response.write(wire.events(given.breaks).slice(0, -3).join(''), () => response.destroy());
  } else if ('hangs' in given) {
    // Nothing is said, and the connection stays.
  } else if ('stalls' in given) {
    begin();
    response.write(wire.events(given.stalls).slice(0, -3).join(''));
  } else if (isStream) {
    begin();
    for (const event of wire.events(given)) response.write(event);
    response.end();
  } else {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(wire.whole(given)));
  }
}

/** An agent over a real provider of the AI SDK, whose server answers with this list; both end with the test. */
export async function agentOver(
  wire: Wire,
  answers: readonly Answer[],
  options: AgentOptions & { readonly sdk?: AiSdkOptions } = {},
) {
  const server = await startWireServer(wire, answers);
  const { sdk, ...rest } = options;
  const model = fromAiSdk(wire.model(server.origin), sdk);
  const agent = createAgent({ model, silent: true, streaming: true, retry: { backoff: recover.constant(1) }, ...rest });
  onTestFinished(() => agent.close());
  return { agent, server, model };
}

/** Every value under a name, at any depth. */
export function valuesOf(body: unknown, name: string): readonly unknown[] {
  if (typeof body !== 'object' || body === null) return [];
  return Object.entries(body).flatMap(([key, value]) => [
    ...(key === name && !Array.isArray(body) ? [value] : []),
    ...valuesOf(value, name),
  ]);
}

/** Every object of a type, at any depth. */
export function ofType(body: unknown, type: string): readonly object[] {
  if (typeof body !== 'object' || body === null) return [];
  const own = Reflect.get(body, 'type') === type ? [body] : [];
  return [...own, ...Object.values(body).flatMap((value) => ofType(value, type))];
}
