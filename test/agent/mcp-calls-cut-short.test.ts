import { expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { ToolError } from '../../src/json/errors.ts';
import { recover } from '../../src/recovery/recover.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { startHostileHttp } from '../support/mcp/hostile-http.ts';
import { calls } from '../support/replies.ts';

/** An agent that calls one tool of a server, which may never answer, and retries what it may. */
async function calling(tool: string, options: (url: string) => AgentOptions) {
  const server = await startHostileHttp();
  const errors: ToolError[] = [];
  const executionError = (error: ToolError) => {
    errors.push(error);
    return recover.retry({ maxAttempts: 3 });
  };
  const model = scriptedModel([calls([`shop_${tool}`, {}, 'a']), 'It is over.']);
  const agent = createAgent({ model, silent: true, onError: { executionError }, ...options(server.url) });
  onTestFinished(() => agent.close());
  const result = () => JSON.stringify(model.requests[1]?.messages.find(({ toolCallId }) => toolCallId === 'a'));
  return { server, agent, errors, result };
}

test('a call that was sent when its server is disconnected may have taken effect: it is not repeated, and the model is told', async () => {
  const { server, agent, errors, result } = await calling('hang_pay', (url) => ({ mcpServers: { shop: { url } } }));
  const run = agent.run('Pay');
  await expect.poll(() => server.calls).toEqual(['hang_pay']);
  await agent.disconnectMcpServer('shop');
  expect(await run).toMatchObject({ result: 'It is over.', toolsUsed: ['shop_hang_pay'] });
  expect(errors).toMatchObject([{ outcomeUnknown: true, cause: { code: 'unknown-outcome' } }]);
  expect(result()).toContain('Nobody knows whether the call of');
  expect(result()).toContain("MCP server 'shop' was disconnected");
  expect(server.calls).toEqual(['hang_pay']);
});

test('one that only reads was cancelled, and nothing is unknown', async () => {
  const { server, agent, errors, result } = await calling('hang', (url) => ({ mcpServers: { shop: { url } } }));
  const run = agent.run('Look');
  await expect.poll(() => server.calls).toEqual(['hang']);
  await agent.disconnectMcpServer('shop');
  await run;
  expect(errors[0]).toMatchObject({ cause: { code: 'cancelled', message: "MCP server 'shop' was disconnected." } });
  expect(errors[0]).not.toHaveProperty('outcomeUnknown');
  expect(result()).not.toContain('Nobody knows');
});

test('timeouts.toolMs is the time limit of a tool of a server that has none of its own', async () => {
  const { agent, errors } = await calling('hang_pay', (url) => ({
    mcpServers: { shop: { url } },
    timeouts: { toolMs: 60 },
  }));
  expect(await agent.run('Pay')).toMatchObject({ result: 'It is over.' });
  expect(errors).toMatchObject([{ timedOut: true, cause: { message: expect.stringContaining('within 0.06 s') } }]);
});

test.each([
  ['its server', { timeoutMs: 70 }],
  ['its tool', { overrides: { hang_pay: { timeoutMs: 70 } } }],
])('the limit of %s counts where there is one', async (_, limit) => {
  const { agent, errors } = await calling('hang_pay', (url) => ({
    mcpServers: { shop: { url, ...limit } },
    timeouts: { toolMs: 50 },
  }));
  await agent.run('Pay');
  expect(errors).toMatchObject([{ cause: { message: expect.stringContaining('within 0.07 s') } }]);
});
