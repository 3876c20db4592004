import { expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { ToolError } from '../../src/json/errors.ts';
import { recover } from '../../src/recovery/recover.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { startHostileHttp } from '../support/mcp/hostile-http.ts';
import { calls } from '../support/replies.ts';

/** An agent that calls one tool of a server, which may never answer, and retries what it may. */
async function calling(
  tool: string,
  options: (url: string) => AgentOptions,
  faults: Parameters<typeof startHostileHttp>[0] = {},
) {
  const server = await startHostileHttp(faults);
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

test('a call at which its server fails with HTTP 500 may have taken effect: it is not repeated, and the model is told', async () => {
  const options = (url: string) => ({ mcpServers: { shop: { url } } });
  const { server, agent, errors, result } = await calling('pay', options, { gateway: 500 });
  expect(await agent.run('Pay')).toMatchObject({ result: 'It is over.' });
  expect(server.calls).toEqual(['pay']);
  expect(errors).toMatchObject([{ outcomeUnknown: true, cause: { code: 'unknown-outcome' } }]);
  expect(result()).toContain("failed at the request for 'pay'");
  expect(result()).toContain('Nobody knows whether the call of');
});

test.each([
  ['that only reads is repeated', 'echo', 500],
  ['that was refused is repeated, whatever it does', 'pay', 418],
])('a call %s after such an answer', async (_, tool, gateway) => {
  const options = (url: string) =>
    ({ mcpServers: { shop: { url, overrides: { echo: { effects: 'none' } } } } }) as const;
  const { server, agent, errors, result } = await calling(tool, options, { gateway });
  expect(await agent.run('Go')).toMatchObject({ result: 'It is over.' });
  expect(server.calls).toEqual([tool, tool]);
  expect(errors[0]).not.toHaveProperty('outcomeUnknown');
  expect(errors[0]).toMatchObject({ cause: { message: expect.stringContaining('refused the request') } });
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

test.each([
  ['its own', { totalMs: 80 }],
  ['a child has', { totalMs: 80 }],
  ['its own, if that is shorter', { totalMs: 20_000, connectMs: 80 }],
])('a run waits for a server that does not answer no longer than it may take: %s', async (whose, timeouts) => {
  const server = await startHostileHttp();
  server.freeze();
  const model = scriptedModel(['Hi.']);
  const mcpServers = { shop: { url: server.url } };
  const child = createAgent({ name: 'clerk', model, mcpServers });
  onTestFinished(() => child.close());
  const below = whose === 'a child has' ? { children: [child] } : { mcpServers };
  const agent = createAgent({ model, silent: true, timeouts, ...below });
  onTestFinished(() => agent.close());
  expect(await agent.run('Go')).toMatchObject({ result: 'Hi.' });
});

test.each([
  ['a longer wait of the agent', 90_000, {}, 90_000],
  ['a shorter one, after which the run begins without the server', 50, {}, 30_000],
  ['its own', 90_000, { connectTimeoutMs: 40_000 }, 40_000],
])('an attempt to connect to a server may take as long as %s', async (_, connectMs, own, expected) => {
  const server = await startHostileHttp();
  const mcpServers = { shop: { url: server.url, ...own } };
  const agent = createAgent({ model: scriptedModel([]), silent: true, timeouts: { connectMs }, mcpServers });
  onTestFinished(() => agent.close());
  await agent.ready();
  expect(agent.mcp.shop?.server.settings.connectTimeoutMs).toBe(expected);
});
