import { createAgent } from '../../src/agent/create-agent.ts';
import type { JournalStore } from '../../src/journal/run/run-journal.ts';
import { tool } from '../../src/tools/tool.ts';
import { calls } from '../support/replies.ts';

const TURNS = 6;

/** An agent of a worker: six turns of two calls each, one of which must run once; each tells what it does. */
export function workerAgent(journal: JournalStore, note: (line: string) => void) {
  const doing = (name: string, effects: 'once' | 'idempotent') =>
    tool({
      name,
      description: `Does ${name}.`,
      effects,
      inputSchema: { type: 'object', properties: { turn: { type: 'number' } } },
      execute: async ({ turn }: { turn?: unknown }, { idempotencyKey }) => {
        note(`${idempotencyKey.split(':')[0] ?? ''} ${name} ${idempotencyKey}`);
        await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 80));
        return { [name]: Number(turn) };
      },
    });
  return createAgent({
    name: 'worker',
    silent: true,
    journal,
    tools: [doing('pay', 'once'), doing('mark', 'idempotent')],
    maxSteps: TURNS + 1,
    model: {
      id: 'worker',
      complete: async ({ messages }) => {
        const turn = messages.filter(({ role }) => role === 'assistant').length;
        await new Promise((resolve) => setTimeout(resolve, 20));
        return turn < TURNS ? calls(['pay', { turn }], ['mark', { turn }]) : { content: 'Done.' };
      },
    },
  });
}
