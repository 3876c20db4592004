import { join } from 'node:path';
import { createAgent } from '../../../src/agent/create-agent.ts';
import type { Agent } from '../../../src/agent/agent-types.ts';
import type { AgentOptions } from '../../../src/agent/options/agent-options.ts';
import type { RunEvent } from '../../../src/machines/events/run-events.ts';
import type { McpServerConfig, McpServerSettings } from '../../../src/mcp/config/config.ts';
import { testFolder } from '../test-folder.ts';
import { type Memory, modernEntry, readMemory, startModernHttp } from './modern-server.ts';
import { onTestFinished } from '../beside.ts';

/** The modern server over one transport, ended with the test. */
export interface Modern {
  readonly config: McpServerConfig;
  readonly memory: () => Memory;
  /** The params of each message of a method that reached the server, in order. */
  readonly received: (method: string) => readonly Memory['received'][number]['params'][];
}

/** Starts the server, or prepares its start. */
export async function modern(
  transport: 'stdio' | 'HTTP' | 'HTTP without tasks',
  settings: McpServerSettings = {},
): Promise<Modern> {
  const of = (memory: () => Memory, config: McpServerConfig): Modern => ({
    config: { ...config, ...settings },
    memory,
    received: (method) => memory().received.flatMap((one) => (one.method === method ? [one.params] : [])),
  });
  if (transport === 'stdio') {
    const file = join(testFolder(), 'memory.json');
    return of(() => readMemory(file), modernEntry(file));
  }
  const server = await startModernHttp({ tasks: transport === 'HTTP' });
  onTestFinished(server.stop);
  return of(() => server.memory, { url: server.url });
}

/** An agent with that server as `lab`, with all that it tells; closed with the test. */
export function agentWith(
  lab: McpServerConfig,
  options: AgentOptions,
): { readonly agent: Agent; readonly events: RunEvent[] } {
  const events: RunEvent[] = [];
  const onEvent = (event: RunEvent): void => void events.push(event);
  const agent = createAgent({ mcpServers: { lab }, silent: true, onEvent, ...options });
  onTestFinished(() => agent.close());
  return { agent, events };
}

/** What the model was told by tools, message by message. */
export async function toldBy(agent: Agent, task = 'Go'): Promise<readonly string[]> {
  const { messages } = await agent.run(task);
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content));
}
