import { createActor, waitFor } from 'xstate';
import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { createMcpConnection } from '../../src/mcp/index.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { tool } from '../../src/tools/tool.ts';
import { stdioToolServer } from '../support/mcp/tool-server.ts';
import { calls } from '../support/replies.ts';

const namesIn = (request: { readonly tools?: readonly { readonly name: string }[] } | undefined) =>
  (request?.tools ?? []).map(({ name }) => name).filter((name) => name !== 'make_plan');

describe('a change of tools is seen from the next model turn on', () => {
  test('one that comes while the run prepares itself', async () => {
    const script = scriptedModel(['Hi.']);
    const permissions = {
      isAlwaysAllowed: async () => {
        await new Promise(setImmediate);
        if (agent.tools.find('late') === undefined) agent.tools.register(fakeTool('late'));
        return false;
      },
      add: () => Promise.resolve(),
    };
    const early = tool({ name: 'early', description: 'Early.', policy: 'confirm', execute: () => 1 });
    const agent = createAgent({ model: script, tools: [early], permissions, confirm: () => 'deny', silent: true });
    await agent.run('Go');
    expect(namesIn(script.requests[0])).toEqual(['early', 'late']);
  });

  test('one that comes at any moment before the second turn', async () => {
    for (let turns = 0; turns < 25; turns++) {
      const model = scriptedModel([calls(['early']), 'Hi.']);
      const wait = fakeTool('early', [() => new Promise((resolve) => setTimeout(resolve, 2))]);
      const agent = createAgent({ model, tools: [wait], silent: true });
      const run = agent.run('Go');
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      agent.tools.register(fakeTool('late'));
      await run;
      expect(namesIn(model.requests[1]), `registered after ${turns} turns`).toEqual(['early', 'late']);
    }
  });

  test('in a run of agent.logic too', async () => {
    const model = scriptedModel([calls(['grow']), 'Hi.']);
    const grow = fakeTool('grow', [() => agent.tools.register(fakeTool('late'))]);
    const agent = createAgent({ model, tools: [grow], silent: true });
    const actor = createActor(agent.logic, { input: { task: 'Go' } }).start();
    await waitFor(actor, ({ status }) => status === 'done');
    expect(model.requests.map(namesIn)).toEqual([['grow'], ['grow', 'late']]);
  });

  test('the system prompt of json mode is composed anew', async () => {
    const model = scriptedModel(['{"tool": "grow", "tool_args": {}}', '{"answer": "Hi."}']);
    const grow = fakeTool('grow', [
      () => agent.tools.register(tool({ name: 'late', description: 'Comes late.', execute: () => 1 })),
    ]);
    const agent = createAgent({ model, tools: [grow], toolCalling: 'json', silent: true });
    await agent.run('Go');
    const [first, second] = model.requests.map(({ messages }) => String(messages[0]?.content));
    expect(first).not.toContain('Comes late.');
    expect(second).toContain('Comes late.');
    expect(agent.systemPrompt).toBe(second);
  });

  test('what did not change is not told: an ordinary recording has no tools.changed', async () => {
    const agent = createAgent({ model: scriptedModel(['Hi.']), silent: true });
    agent.tools.register(fakeTool('look'));
    const run = agent.run('Go');
    await run;
    expect(run.recording()).not.toContain('tools.changed');
  });

  test('a switched-off tool is not offered, and says so when it is called all the same', async () => {
    const off = tool({ name: 'off', description: 'Is off.', enabled: false, execute: () => 1 });
    const model = scriptedModel([calls(['off']), 'Hm.']);
    const { messages, errorHistory } = await createAgent({ model, tools: [off, fakeTool('look')], silent: true }).run(
      'Go',
    );
    expect(namesIn(model.requests[0])).toEqual(['look']);
    expect(String(messages[2]?.content)).toContain("Tool 'off' is disabled");
    expect(errorHistory).toEqual([]);
  });

  test('an atomic tool is marked as complete in itself in what the model sees', async () => {
    const atomic = tool({ name: 'book', description: 'Books.', atomic: true, execute: () => 1 });
    const model = scriptedModel(['Hi.']);
    await createAgent({ model, tools: [atomic], silent: true }).run('Go');
    expect(model.requests[0]?.tools?.[0]?.description).toMatch(/^Books\. .*complete in itself/i);
  });
});

describe('cancelling', () => {
  test('ends a backoff at once, and a second time says false', async () => {
    const model = scriptedModel([new Error('down')]);
    const agent = createAgent({ model, silent: true, retry: { backoff: { kind: 'constant', ms: 60_000 } } });
    const run = agent.run('Go');
    for await (const { type } of run) if (type === 'model.retrying') break;
    expect(await Promise.all([run.cancel('first'), run.cancel('second')])).toEqual([true, false]);
    expect(await run).toMatchObject({ status: 'cancelled', error: { message: 'first' } });
    expect(model.requests).toHaveLength(1);
  });
});

describe('tools that a server gains by a call', () => {
  const listed = (name: string) => ({ name, description: name, inputSchema: { type: 'object' } });

  async function whileReloading(changed: readonly string[]) {
    const server = stdioToolServer([listed('reload')]);
    const model = scriptedModel([calls(['git_reload']), calls(['git_late']), 'Done.']);
    const agent = createAgent({ model, mcpServers: { git: server.entry({ policy: 'allow' }) }, silent: true });
    await agent.ready();
    server.list(changed.map(listed));
    const { reason } = await agent.run('Turn it on and use it');
    await agent.close();
    return { offered: model.requests.map(namesIn), ran: server.ran(), reason };
  }

  test('are there in the next model turn, and can be called in it', async () => {
    const { offered, ran } = await whileReloading(['reload', 'late']);
    const both = ['git_reload', 'git_late'];
    expect(offered).toEqual([['git_reload'], both, both]);
    expect(ran).toEqual(['reload', 'late']);
  });

  test('are not waited for without end', async () => {
    const { offered, ran, reason } = await whileReloading(['reload', 'late', 'mute']);
    expect(new Set(offered.flat())).toEqual(new Set(['git_reload']));
    expect({ ran, reason }).toEqual({ ran: ['reload'], reason: 'answer' });
  });

  test('are not waited for by a caller that has gone, who still gets the result', async () => {
    const server = stdioToolServer([listed('reload')]);
    await using connection = createMcpConnection('git', server.entry());
    await connection.connect();
    server.list(['reload', 'mute'].map(listed));
    const timesOut = connection.callTool('reload', {}, { timeoutMs: 300 });
    await expect(timesOut).resolves.toMatchObject({ status: 'success' });
    const gone = new AbortController();
    const begun = performance.now();
    const call = connection.callTool('reload', {}, { signal: gone.signal });
    await expect.poll(() => server.ran().length).toBe(2);
    setTimeout(() => gone.abort(), 100);
    await expect(call).resolves.toMatchObject({ status: 'success' });
    expect(performance.now() - begun).toBeLessThan(1500);
  });
});
