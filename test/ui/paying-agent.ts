import { z } from 'zod';
import { type AgentOptions, type JournalStore, createAgent, tool } from '../../src/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';

/** Asks before it runs, and takes at most 100 euros. */
export const pay = tool({
  name: 'pay',
  description: 'Pays.',
  policy: 'confirm',
  effects: 'once',
  inputSchema: z.object({ to: z.string(), euros: z.number().max(100) }),
  execute: ({ to, euros }) => `paid ${euros} to ${to}`,
});

/** A call of `pay`. */
export const payCall = (to: string) => ({ name: 'pay', arguments: { to, euros: 40 } });

/** A reply that calls it once. */
export const PAY = { content: '', toolCalls: [payCall('printer')] };

/** An agent that waits for a person before it pays. */
export function payingAgent(
  journal: JournalStore,
  replies: Parameters<typeof scriptedModel>[0] = [PAY, 'Paid.'],
  options: AgentOptions = {},
) {
  return createAgent({
    model: scriptedModel(replies),
    tools: [pay],
    silent: true,
    confirm: 'wait',
    journal,
    ...options,
  });
}
