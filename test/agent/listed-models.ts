import { onTestFinished } from 'vitest';
import {
  type Model,
  ModelError,
  type ModelErrorCode,
  type ModelReply,
  type ModelRequest,
} from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { recover } from '../../src/recovery/recover.ts';

type Said = string | ModelReply | Error;

/** A model that says this, and keeps what it was asked. Beyond the list it says `over`. */
export function model(id: string, said: readonly Said[], facts: Partial<Model> = {}) {
  const requests: ModelRequest[] = [];
  const complete: Model['complete'] = async (request, { signal, onToken }) => {
    signal.throwIfAborted();
    requests.push(request);
    const reply = said[requests.length - 1] ?? 'over';
    if (reply instanceof Error) throw reply;
    const whole = typeof reply === 'string' ? { content: reply } : reply;
    if (request.stream) onToken?.({ kind: 'text', text: whole.content });
    return whole;
  };
  return { id, requests, complete, ...facts };
}

/** A failure with this code. */
export const fails = (code: ModelErrorCode, more: ConstructorParameters<typeof ModelError>[2] = {}): ModelError =>
  new ModelError(code, `it failed: ${code}`, more);

/** An agent with these models, closed with the test. */
export function agentOf(models: readonly Model[], options: AgentOptions = {}) {
  const agent = createAgent({ model: models, silent: true, retry: { backoff: recover.constant(1) }, ...options });
  onTestFinished(() => agent.close());
  return agent;
}

/** How often each was asked. */
export const asked = (...models: readonly { readonly requests: readonly unknown[] }[]): readonly number[] =>
  models.map(({ requests }) => requests.length);
