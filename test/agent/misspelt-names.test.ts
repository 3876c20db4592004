import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { createToolRegistry } from '../../src/agent/tools/registry.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { recover } from '../../src/recovery/recover.ts';
import { type FakeTool, fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls, plan } from '../support/replies.ts';

async function called(wanted: string, tools: readonly FakeTool[], options: AgentOptions = {}) {
  const make = () =>
    createAgent({
      model: scriptedModel([calls([wanted, { city: 'Oslo' }, 'a']), 'Done.']),
      tools,
      silent: true,
      ...options,
    });
  const run = make().run('Go');
  const result = await run;
  const again = replay(run.recording(), make());
  await again;
  expect(again.transitions()).toEqual(run.transitions());
  return { result, told: String(result.messages.find(({ role }) => role === 'tool')?.content), run };
}

describe('a misspelt name of one tool', () => {
  test('is repaired: the tool runs, is what events and results name, and the model is told', async () => {
    const weather = fakeTool('get_weather', [{ degrees: 4 }]);
    const { result, told, run } = await called('get_wether', [weather, fakeTool('get_time')]);
    expect(weather.calls).toEqual([{ city: 'Oslo' }]);
    expect(result).toMatchObject({ status: 'answered', toolsUsed: ['get_weather'], errorHistory: [] });
    expect(JSON.parse(told)).toMatchObject({
      status: 'success',
      data: { degrees: 4 },
      repaired: expect.stringMatching(/no tool 'get_wether'.*repaired to 'get_weather'/),
    });
    const events: unknown[] = [];
    for await (const event of run) if (event.type === 'tool.started') events.push(event.tool);
    expect(events).toEqual(['get_weather']);
  });

  test('is repaired in a plan and in a registry without an agent', async () => {
    const weather = fakeTool('get_weather', [{ degrees: 4 }]);
    const model = scriptedModel([plan(['get_wether', { city: 'Oslo' }]), 'Done.']);
    const { messages } = await createAgent({ model, tools: [weather], silent: true }).run('Go');
    expect(String(messages.find(({ role }) => role === 'tool')?.content)).toContain("repaired to 'get_weather'");
    const tools = createToolRegistry();
    tools.register(weather);
    expect(await tools.execute('get_wether')).toMatchObject({ status: 'success', repaired: expect.any(String) });
    expect(await tools.execute('get_weather')).not.toHaveProperty('repaired');
    expect(await tools.execute('GET_WEATHER')).not.toHaveProperty('repaired');
  });

  test('counts as the same call for the loop guard', async () => {
    const weather = fakeTool('get_weather', [{ degrees: 4 }]);
    const model = scriptedModel([calls(['get_wether']), calls(['get_weather']), calls(['get_waether'])]);
    const agent = createAgent({ model, tools: [weather], silent: true, maxConsecutiveRepeats: 3 });
    expect(await agent.run('Go')).toMatchObject({ reason: 'loop' });
    expect(weather.calls).toHaveLength(2);
  });
});

describe('a misspelt name is not repaired, and the model gets suggestions,', () => {
  const unrepaired = async (wanted: string, tools: readonly FakeTool[], options: AgentOptions = {}) => {
    const { result, told } = await called(wanted, tools, options);
    for (const tool of tools) expect(tool.calls).toEqual([]);
    expect(result.errorHistory).toMatchObject([{ code: 'unknown-tool' }]);
    expect(result.toolsUsed).toEqual([]);
    return told;
  };

  test('where it may stand for two tools', async () => {
    const told = await unrepaired('get_item', [fakeTool('get_items'), fakeTool('get_itim')]);
    expect(told).toMatch(/Did you mean: get_it.*get_it/);
  });

  test('where the other one that it may stand for is denied', async () => {
    const told = await unrepaired('get_item', [
      fakeTool('get_items'),
      fakeTool('get_itim', [null], { policy: 'deny' }),
    ]);
    expect(told).toContain('get_items');
    expect(told).not.toContain('get_itim');
  });

  test('where the tool is denied', async () => {
    expect(await unrepaired('lunch_rocket', [fakeTool('launch_rocket', [null], { policy: 'deny' })])).not.toContain(
      'launch',
    );
  });

  test('where a person has to agree to the tool, even one who has said "always"', async () => {
    const pay = fakeTool('pay_invoice', [null], { policy: 'confirm' });
    const told = await unrepaired('pay_invoce', [pay], {
      confirm: () => 'allow-once',
      permissions: { isAlwaysAllowed: () => true, add: () => undefined },
    });
    expect(told).toContain('Did you mean: pay_invoice?');
  });

  test('where the agent handles unknown tools with steps of its own', async () => {
    const weather = fakeTool('get_weather');
    const { result } = await called('get_wether', [weather], {
      onError: { unknownTool: recover.substitute((error) => error.kind === 'unknown-tool' && [...error.suggestions]) },
    });
    expect(weather.calls).toEqual([]);
    expect(String(result.messages.find(({ role }) => role === 'tool')?.content)).toContain('"data":["get_weather"]');
  });
});
