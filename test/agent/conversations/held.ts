import { createAgent } from '../../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../../src/agent/options/agent-options.ts';
import type { Message, Model, ModelReply, ModelRequest } from '../../../src/actors/model.ts';

/** What a person said in a conversation, and what was answered. */
export function spoken(messages: readonly Message[]): readonly string[] {
  return messages
    .filter(({ role }) => role === 'user' || role === 'assistant')
    .map(({ content }) => (typeof content === 'string' ? content : ''));
}

/** A model that says what the user said last, and how many messages of users there were; holds what `hold` matches. */
export class Echo implements Model {
  readonly id = 'echo';
  readonly requests: ModelRequest[] = [];
  readonly #held = new Map<string, PromiseWithResolvers<void>>();
  readonly #asked = new Map<string, PromiseWithResolvers<void>>();

  async complete(request: ModelRequest): Promise<ModelReply> {
    this.requests.push(request);
    const users = request.messages.filter(({ role }) => role === 'user');
    const last = String(users.at(-1)?.content);
    this.#of(this.#asked, last).resolve();
    if (last.startsWith('hold')) await this.#of(this.#held, last).promise;
    if (last.startsWith('fail')) throw new Error('down');
    return { content: `${last}/${users.length}` };
  }

  /** Resolves when the model is asked what ends in this text. */
  asked(text: string): Promise<void> {
    return this.#of(this.#asked, text).promise;
  }

  free(text: string): void {
    this.#of(this.#held, text).resolve();
  }

  #of(map: Map<string, PromiseWithResolvers<void>>, text: string): PromiseWithResolvers<void> {
    const known = map.get(text) ?? Promise.withResolvers<void>();
    map.set(text, known);
    return known;
  }
}

/** An agent whose model echoes. */
export function echoing(options: AgentOptions = {}) {
  const model = new Echo();
  return { model, agent: createAgent({ model, silent: true, retry: { maxAttempts: 1 }, ...options }) };
}
