import type { Json } from '../parsing/json.ts';

/** What an agent is to those who only want work done: a fixer, a child, a reroute's target. */
export interface Runnable {
  readonly name: string;
  /** Does one task and resolves with the answer's text; rejects when there is none. */
  perform(task: Json, io: { readonly signal: AbortSignal; readonly idempotencyKey: string }): Promise<Json>;
}
