import { OpenAI } from 'openai';
import { beforeEach, describe } from 'vitest';
import type { Model } from '../../src/actors/model.ts';
import { chatModel } from '../../src/models/chat/chat-model.ts';
import type { ChatModelOptions } from '../../src/models/endpoint/endpoint.ts';

/** The ways in which `chatModel` sends its requests: the `openai` package, the direct client, a client of the caller's own. */
const TRANSPORTS = ['openai', 'direct', 'client'] as const;

let current: (typeof TRANSPORTS)[number] = 'openai';

/** Runs the tests once for each transport: what {@link modelAt} makes in them uses it. */
export function overEachTransport(tests: () => void): void {
  over(TRANSPORTS, tests);
}

/** The same for the two that connect by themselves: how a client of the caller's own keeps connections is its business. */
export function overOwnTransports(tests: () => void): void {
  over(['openai', 'direct'], tests);
}

function over(transports: readonly (typeof TRANSPORTS)[number][], tests: () => void): void {
  describe.each(transports)('over %s:', (transport) => {
    beforeEach(() => {
      current = transport;
    });
    tests();
  });
}

/** As in an application, there is one client for an address and a key. */
const clients = new Map<string, OpenAI>();

function clientAt(baseURL: string, apiKey = 'none'): OpenAI {
  const place = `${baseURL} ${apiKey}`;
  const client = clients.get(place) ?? new OpenAI({ baseURL, apiKey, maxRetries: 0, logLevel: 'off' });
  clients.set(place, client);
  return client;
}

/** A model at an address, over the transport of the test. */
export function modelAt({ baseURL, apiKey, ...more }: ChatModelOptions & { readonly baseURL: string }): Model {
  if (current === 'client') return chatModel({ client: clientAt(baseURL, apiKey), ...more });
  const where = { baseURL, ...more, ...(apiKey === undefined ? {} : { apiKey }) };
  return chatModel(current === 'direct' ? { ...where, transport: 'direct' } : where);
}
