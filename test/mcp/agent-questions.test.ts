import { expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { Agent } from '../../src/agent/agent-types.ts';
import { createMcpConnection } from '../../src/mcp/index.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { realServer } from '../support/mcp/real-servers.ts';
import { calls } from '../support/replies.ts';

type Servers = NonNullable<NonNullable<Parameters<typeof createAgent>[0]>['mcpServers']>;

const ASKS = 'every_trigger-elicitation-request';

async function asking(mcpServers: Servers): Promise<Agent> {
  const model = scriptedModel([calls([ASKS, {}, 'a']), 'Done.']);
  const agent = createAgent({ model, mcpServers, silent: true });
  onTestFinished(() => agent.close());
  await agent.ready();
  await expect.poll(() => agent.tools.list().map(({ name }) => name)).toContain(ASKS);
  return agent;
}

test('a server that asks a person through an agent is told no, at once, and the model gets what it makes of that', async () => {
  const agent = await asking({ every: realServer('everything') });
  const { status, messages } = await agent.run('Ask me');
  expect(status).toBe('answered');
  expect(String(messages.find(({ role }) => role === 'tool')?.content)).toContain('declined');
});

test('an agent offers its servers neither folders nor its model', async () => {
  const agent = await asking({ every: realServer('everything') });
  const names = agent.tools.list().map(({ name }) => name);
  expect(names).not.toContain('every_get-roots-list');
  expect(names).not.toContain('every_trigger-sampling-request');
});

test('a connection of your own answers as you say, in an agent too', async () => {
  const every = createMcpConnection('every', realServer('everything'), {
    elicit: () => Promise.resolve({ action: 'accept', content: { name: 'Ada', check: true } }),
  });
  onTestFinished(() => every.disconnect());
  const agent = await asking({ every });
  const { messages } = await agent.run('Ask me');
  expect(String(messages.find(({ role }) => role === 'tool')?.content)).toContain('Ada');
});
