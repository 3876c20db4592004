import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import type { Agent } from '../../src/agent/agent-types.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { Message, Model, ModelReply } from '../../src/actors/model.ts';
import { ModelError } from '../../src/actors/model.ts';
import { isJsonObject } from '../../src/json/json.ts';
import { type Tool, tool } from '../../src/tools/tool.ts';
import { recover } from '../../src/recovery/recover.ts';
import { calls } from '../support/replies.ts';

/** What a process notes of its work, on disk before it goes on: kills leave it whole. */
export interface Log {
  note(line: string): void;
  has(line: string): boolean;
  lines(): readonly string[];
}

/** The log in a file; `life` numbers the processes that write it, one after the other. */
export function logIn(path: string, life: string): Log {
  const lines = (): readonly string[] => (existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []);
  return {
    note: (line) => appendFileSync(path, `${life} ${line}\n`),
    has: (line) => lines().some((one) => one.endsWith(` ${line}`)),
    lines,
  };
}

const STEERED = 'In French, please.';

/**
 * An agent with all that can be interrupted: parallel calls, some `once`, a model that fails and is asked again after a
 * while, a child agent, an approval and a message from outside. Its runs are told apart by what they are asked.
 */
export function killedAgent(log: Log, boundary: (place: string) => void): Agent {
  const doing = (name: string, effects: 'once' | 'idempotent', policy: 'allow' | 'confirm' = 'allow'): Tool =>
    tool({
      name,
      description: `Does ${name}.`,
      effects,
      policy,
      inputSchema: { type: 'object', properties: { run: { type: 'string' } } },
      execute: async ({ run }: { readonly run?: string }, { idempotencyKey }) => {
        boundary(`before ${name}`);
        log.note(`begin ${String(run)} ${name} ${effects} ${idempotencyKey}`);
        boundary(`in ${name}`);
        await new Promise((resolve) => setTimeout(resolve, 2));
        log.note(`end ${String(run)} ${name}`);
        boundary(`behind ${name}`);
        return `${name} done`;
      },
    });
  const told = (messages: readonly Message[]): string => /run-[\w-]+/.exec(JSON.stringify(messages))?.[0] ?? '';
  const model = (replies: (run: string, messages: readonly Message[]) => readonly (string | ModelReply)[]): Model => ({
    id: 'killed',
    complete: async ({ messages }) => {
      boundary('in the model');
      const turn = messages.filter(({ role }) => role === 'assistant').length;
      const run = told(messages);
      if (turn === 1 && !log.has(`failed ${run}`)) {
        log.note(`failed ${run}`);
        throw new ModelError('server-error', 'It is out of order.');
      }
      const reply = replies(run, messages)[turn] ?? 'Over.';
      return typeof reply === 'string' ? { content: reply } : reply;
    },
  });
  const digger = createAgent({
    name: 'digger',
    description: 'Digs.',
    silent: true,
    tools: [doing('dig', 'once')],
    model: model((run) => [calls(['dig', { run }]), 'Gold.']),
  });
  return createAgent({
    name: 'clerk',
    silent: true,
    confirm: 'wait',
    seed: 7,
    children: [digger],
    retry: { maxAttempts: 5, backoff: recover.constant(20) },
    tools: [doing('look', 'idempotent'), doing('pay', 'once'), doing('mail', 'once', 'confirm')],
    model: model((run, messages) => [
      calls(['look', { run }], ['pay', { run }]),
      calls(['digger', { task: `Dig for ${run}` }]),
      calls(['mail', { run }]),
      `Heard ${JSON.stringify(messages).split(STEERED).length - 1} time(s).`,
    ]),
    onEvent: (event) => {
      if (event.replayed) return;
      boundary(event.type);
      if (event.type === 'tool.finished' && isJsonObject(event.args))
        log.note(`told ${String(event.args['run'])} ${event.tool}`);
    },
  });
}

/** What is said to each run while it waits, beside the approval. */
export const STEER = { type: 'steer', text: STEERED, id: 'steer-1' } as const;
