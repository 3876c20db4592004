import { once } from 'node:events';
import { createAgent } from '../../../src/agent/create-agent.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import { tool } from '../../../src/tools/tool.ts';
import { calls } from '../../support/replies.ts';
import { hostileEntry } from '../../support/mcp/hostile-entry.ts';

// An agent in the first process of a container, which listens to no signal. It asks its server twice who it is.
const wait = tool({
  name: 'wait',
  description: 'Waits until somebody writes.',
  execute: async () => {
    console.log('waiting');
    await once(process.stdin, 'data');
    process.stdin.destroy();
  },
});
const agent = createAgent({
  model: scriptedModel([calls(['hostile_pid']), calls(['wait']), calls(['hostile_pid']), 'Done.']),
  tools: [wait],
  mcpServers: { hostile: { ...hostileEntry(), policy: 'allow' } },
  silent: true,
});
const told: string[] = [];
for await (const event of agent.run('Who are you?'))
  if (event.type === 'tool.finished' && event.tool === 'hostile_pid') told.push(JSON.stringify(event.result));
await agent.close();
console.log(process.pid, told.length, new Set(told).size);
