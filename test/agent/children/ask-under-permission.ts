import { createAgent } from '../../../src/agent/create-agent.ts';
import { chatModel } from '../../../src/models/chat/chat-model.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';

// What is said where Node forbids to start programs and to open connections. The address is given by the test.
const [, , origin = ''] = process.argv;
const servers = [{ command: process.execPath, args: ['server.js'] }, { url: `${origin}/mcp` }];
for (const server of servers) {
  const mcpServers = { tools: { ...server, required: true } };
  const agent = createAgent({ model: scriptedModel(['Done.']), silent: true, mcpServers });
  console.log(JSON.stringify((await agent.run('Go')).error));
  await agent.close();
}
const model = chatModel({ baseURL: `${origin}/v1`, model: 'm' });
console.log(JSON.stringify((await createAgent({ model, silent: true }).run('Go')).error));
