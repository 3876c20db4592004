// What a library exports without writing its type: the compiler has to find a public name for all that it is made of. Only
// the root is imported, since a name that another entry exports would do as well.
import { consoleOutput, createAgent, skill, tool } from 'signalbox';
import { z } from 'zod';

const inputSchema = z.object({ order: z.string(), euros: z.number() });
export const refund = tool({ name: 'refund', description: 'Refunds.', inputSchema, execute: (args) => args });
export const refunds = skill({ name: 'refunds', instructions: 'Refund what broke.', tools: [refund] });
export const output = consoleOutput();
export const agent = createAgent({ tools: [refund], output });
export const typedAgent = createAgent({ outputSchema: inputSchema });
export const agentFor = <T extends z.ZodType>(outputSchema: T) => createAgent({ outputSchema });
export const run = agent.run('Refund it.');
export const result = async () => await typedAgent.run('Which order?');
export const conversation = agent.conversation('ann');
export const { logic, options } = agent;
