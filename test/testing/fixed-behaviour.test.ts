import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { normalizedRecording } from '../../src/testing/recordings/runs-on-recordings.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import '../../src/testing/vitest.ts';
import { calls } from '../support/replies.ts';

/** The weather agent before and after it was mended; its model answers nothing, so that only a recording can. */
function weatherAgent(
  celsius: number | string,
  { instructions = 'You know the weather.', description = 'Weather.' } = {},
) {
  const tool = fakeTool('get_weather', [{ celsius }], { description });
  return { tool, agent: createAgent({ instructions, tools: [tool], model: scriptedModel([]), silent: true }) };
}

/** What production has kept: a run that asked for the same city until it was stopped. */
async function failingRun(): Promise<string> {
  const { agent } = weatherAgent('unknown');
  const again = calls(['get_weather', { city: 'austin' }]);
  agent.configure({ model: scriptedModel([again, again, again, again]) });
  const run = agent.run('How warm is it in austin?');
  await expect(run).toEndWith('loop');
  return normalizedRecording(run.recording(), 'austin-loop.jsonl');
}

describe('a recording of a failing run', () => {
  test('reproduces the failure on the agent as it was', async () => {
    const { agent, tool } = weatherAgent('unknown');
    await expect(replay(await failingRun(), agent)).toEndWith('loop');
    expect(tool.calls).toEqual([]);
  });

  test('and on the mended agent too, because a replay calls no tool', async () => {
    await expect(replay(await failingRun(), weatherAgent(31).agent)).toEndWith('loop');
  });
});

describe('with until and then it is a test of what should have happened', () => {
  const upToTheCall = (model: ReturnType<typeof scriptedModel>) =>
    ({ until: 'DIRECT_EXECUTION', then: model }) as const;

  test('the tool runs live from there, and the scripted model gets what it gives now', async () => {
    const model = scriptedModel(['It is 31 °C.']);
    const { agent, tool } = weatherAgent(31);
    const run = replay(await failingRun(), agent, upToTheCall(model));
    await expect(run).toEndWith('answer', '31 °C');
    await expect(run).toHaveCalledTool('get_weather', { city: 'austin' }, { times: 1, result: { celsius: 31 } });
    expect(tool.calls).toEqual([{ city: 'austin' }]);
    expect(model.requests[0]?.messages.at(-1)?.content).toContain('31');
    model.assertComplete();
  });

  test('it fails as long as the tool is not mended', async () => {
    const model = scriptedModel([({ messages }) => String(messages.at(-1)?.content)]);
    const run = replay(await failingRun(), weatherAgent('unknown').agent, upToTheCall(model));
    await expect(run).toEndWith('answer', 'unknown');
  });

  test('what came of it is a recording too, and replays', async () => {
    const { agent } = weatherAgent(31);
    const run = replay(await failingRun(), agent, upToTheCall(scriptedModel(['It is 31 °C.'])));
    await run;
    await expect(replay(run.recording(), agent)).toMatchTransitions(run);
  });

  test.each([
    ['the prompt', 'prompt', { instructions: 'You know the weather. Cities begin with a capital.' }],
    ['a tool', 'tools', { description: 'Weather. Cities begin with a capital.' }],
  ] as const)('when %s is what was mended, that difference is allowed by name', async (_what, allow, edit) => {
    const recording = await failingRun();
    const mended = () => weatherAgent(31, edit).agent;
    await expect(replay(recording, mended())).rejects.toThrow(/capital/);
    await expect(replay(recording, mended(), { allow: [allow] })).toEndWith('loop');
    const model = scriptedModel([calls(['get_weather', { city: 'Austin' }]), 'It is 31 °C.']);
    const run = replay(recording, mended(), { ...upToTheCall(model), allow: [allow] });
    await expect(run).toHaveCalledTool('get_weather', { city: 'Austin' });
    await expect(run).toEndWith('answer');
  });
});
