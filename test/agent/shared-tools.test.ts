import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { createToolRegistry } from '../../src/agent/tools/registry.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { type Tool, tool } from '../../src/tools/tool.ts';
import { calls } from '../support/replies.ts';

const look = () => tool({ name: 'look', description: 'Looks.', execute: () => 'seen' });

/** What the model of an agent with this tool is told of a call. */
async function told(made: Tool, options: AgentOptions = {}) {
  const model = scriptedModel([calls([made.name]), 'Done.']);
  await createAgent({ model, tools: [made], silent: true, ...options }).run('Go');
  return String(model.requests[1]?.messages.find(({ role }) => role === 'tool')?.content);
}

test('a tool of two agents has in each the policy and the time that this one gives it', async () => {
  const made = look();
  expect(await told(made)).toContain('seen');
  expect(await told(made, { defaultPolicy: 'deny' })).toContain("Tool 'look' is denied by policy");
  expect(await told(made, { defaultPolicy: 'confirm', confirm: () => 'deny' })).toContain('denied by user');
  expect(await told(made)).toContain('seen');
  const endless = tool({ name: 'wait', description: 'Waits.', execute: () => new Promise(() => undefined) });
  expect(await told(endless, { timeouts: { toolMs: 5 } })).toContain('did not finish within 5 ms');
  expect(await told(endless, { timeouts: { toolMs: 6 } })).toContain('did not finish within 6 ms');
});

const oddAnswers: boolean[] = JSON.parse('[null, 1, "yes", {}]');
test.each(oddAnswers)('a store that answers %j allows nothing', async (answer) => {
  const options: AgentOptions = {
    permissions: { isAlwaysAllowed: () => answer, add: () => undefined },
    defaultPolicy: 'confirm',
    confirm: () => 'deny',
  };
  expect(await told(look(), options)).toContain('denied by user');
});

test('a store is asked about tools that need a person, and about no others', async () => {
  const asked: string[] = [];
  const permissions = { isAlwaysAllowed: (name: string) => asked.push(name) > 0, add: () => undefined };
  const tools = [look(), fakeTool('pay', [1], { policy: 'confirm' }), fakeTool('wipe', [1], { policy: 'deny' })];
  const model = scriptedModel([calls(['pay']), 'Done.']);
  const { toolsUsed } = await createAgent({ model, tools, permissions, silent: true }).run('Go');
  expect([toolsUsed, [...new Set(asked)]]).toEqual([['pay'], ['pay']]);
});

test('the size of a result is counted in bytes', async () => {
  const limits = { resultBytes: 1000 };
  expect(await told(fakeTool('look', ['€'.repeat(300)]), { limits })).toContain('€€€');
  expect(await told(fakeTool('look', ['€'.repeat(400)]), { limits })).toContain('larger than the limit');
  expect(await told(fakeTool('look', ['e'.repeat(900)]), { limits })).toContain('eee');
});

test('a call by code that is given up stops its tool', async () => {
  const stopped = Promise.withResolvers<string>();
  const wait = tool({
    name: 'wait',
    description: 'Waits.',
    execute: (_args, { signal }) => {
      signal.addEventListener('abort', () => stopped.resolve('stopped'));
      giveUp.abort();
      return new Promise(() => undefined);
    },
  });
  const giveUp = new AbortController();
  const registry = createToolRegistry();
  registry.register(wait);
  expect(await registry.execute('wait', {}, { signal: giveUp.signal })).toMatchObject({ status: 'error' });
  expect(await stopped.promise).toBe('stopped');
});

test("a call by code is denied where a run's would wait for a person", async () => {
  const pay = fakeTool('pay', [1], { policy: 'confirm' });
  const agent = createAgent({ model: scriptedModel([]), tools: [pay], confirm: 'wait', silent: true });
  expect(await agent.tools.execute('pay')).toEqual({
    status: 'error',
    error: "Tool 'pay' requires confirmation but no callback is set",
    denied: true,
  });
});
