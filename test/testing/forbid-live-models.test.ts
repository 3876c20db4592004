import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { forbidLiveModels } from '../../src/models/endpoint/live-guard.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import '../../src/testing/vitest.ts';
import { agentOn } from '../agent/agent-on-server.ts';

afterEach(() => vi.unstubAllEnvs());

test('a live model is not connected to, not asked again, and the error says why', async () => {
  onTestFinished(forbidLiveModels());
  const { agent, server } = await agentOn([{ content: 'Hi.' }]);
  const result = await agent.run('Hello');
  expect(result).toEndWith('llm-error', /'[^']+:scripted' was not asked: .* by forbidLiveModels\(\)\. Use a scripted/);
  expect(result.error?.code).toBe('live-forbidden');
  expect([server.requests.length, server.otherPaths.length, server.sockets()]).toEqual([0, 0, 0]);
});

test('neither is one looked for, and scripted models are no live ones', async () => {
  onTestFinished(forbidLiveModels());
  expect((await createAgent({ silent: true }).run('Hello')).error?.code).toBe('live-forbidden');
  await expect(createAgent({ model: scriptedModel(['Hi.']), silent: true }).run('Hello')).toEndWith('answer');
});

test('SIGNALBOX_LIVE=never does it from outside, and a word that it does not know forbids too', async () => {
  const { agent } = await agentOn([{ content: 'Hi.' }]);
  vi.stubEnv('SIGNALBOX_LIVE', 'never');
  await expect(agent.run('Hello')).toEndWith('llm-error', 'SIGNALBOX_LIVE=never forbids live models');
  vi.stubEnv('SIGNALBOX_LIVE', 'no');
  await expect(agent.run('Hello')).toEndWith('llm-error', "SIGNALBOX_LIVE is 'no', and must be 'never' or 'allow'");
  vi.stubEnv('SIGNALBOX_LIVE', 'allow');
  await expect(agent.run('Hello')).toEndWith('answer');
});

test('a ban is lifted by the function that it gave, once', async () => {
  const [lift, liftOther] = [forbidLiveModels(), forbidLiveModels()];
  const { agent } = await agentOn([{ content: 'Hi.' }]);
  lift();
  lift();
  await expect(agent.run('Hello')).toEndWith('llm-error');
  liftOther();
  await expect(agent.run('Hello')).toEndWith('answer');
});
