import type { IncomingMessage } from 'node:http';
import { processEnvironment, readVariable, type Environment } from '../endpoint/environment.ts';
import { findRoute } from '../http/http-routes.ts';
import { bodyOf, NodeRequest } from '../http/node-request.ts';
import type { ResponseHeaders } from './failure.ts';
import { addressBelow } from '../endpoint/endpoint.ts';
import { isOpenAIHost } from '../endpoint/presets.ts';
import { customHeaders, type ClientSettings } from './openai-client.ts';
import type { ChatClient, ResponseListener } from './send-request.ts';

/**
 * Makes a client on Node's own HTTP client, without the `openai` package: what all its requests share is prepared once, and
 * replies are read without a `Response` in between. It keeps connections and honours the proxy variables. Node only.
 */
export function openDirectClient(settings: ClientSettings, env: Environment, connectMs: number): ChatClient {
  const { baseURL } = settings;
  const isOpenAI = isOpenAIHost(baseURL);
  const route = findRoute(new URL(addressBelow(baseURL, '/chat/completions')), env);
  const headers = headerList(settings, isOpenAI);
  return {
    isOpenAI,
    send(body, listener) {
      try {
        const request = new NodeRequest(
          { route, method: 'POST', headers, body, connectMs },
          {
            onResponse: (message) => readMessage(message, listener),
            onError: (error) => listener.onFailure(error),
          },
        );
        return (reason) => request.destroy(reason);
      } catch (error) {
        // A header that cannot be sent.
        listener.onFailure(error);
        return () => undefined;
      }
    },
  };
}

function readMessage(message: IncomingMessage, listener: ResponseListener): void {
  listener.onHead(message.statusCode ?? 0, headersOf(message));
  const body = bodyOf(message);
  body.setEncoding('utf8');
  body.on('data', (text: string) => listener.onText(text));
  body.once('end', () => listener.onEnd());
  // A connection that breaks off is an error of the body, too.
  body.on('error', (error) => listener.onFailure(error));
}

function headersOf(message: IncomingMessage): ResponseHeaders {
  return {
    get(name) {
      const value = message.headers[name];
      return typeof value === 'string' ? value : (value?.join(', ') ?? null);
    },
  };
}

/** Name, value, name, value …; the caller's headers replace ours, whatever their case. */
function headerList({ authorization, headers }: ClientSettings, isOpenAI: boolean): readonly string[] {
  const all = new Map<string, string>();
  const add = (more: Readonly<Record<string, string | undefined>>) => {
    for (const [name, value] of Object.entries(more))
      // oxlint-disable-next-line no-unnecessary-type-conversion -- Programs in JavaScript give numbers.
      if (value !== undefined) all.set(name.toLowerCase(), String(value).trim());
  };
  add({ accept: 'application/json', 'content-type': 'application/json', 'user-agent': 'signalbox', authorization });
  if (isOpenAI) add(accountHeaders());
  add(headers);
  return [...all].flat();
}

/** What the environment holds for OpenAI's own servers, as the `openai` package reads it. */
function accountHeaders(): Readonly<Record<string, string | undefined>> {
  const env = processEnvironment();
  return {
    'openai-organization': readVariable(env, 'OPENAI_ORG_ID'),
    'openai-project': readVariable(env, 'OPENAI_PROJECT_ID'),
    ...customHeaders(),
  };
}
