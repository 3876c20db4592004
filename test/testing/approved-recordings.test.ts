import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { type ActorModes, useRecording } from '../../src/testing/recordings/use-recording.ts';
import { calls } from '../support/replies.ts';
import { testFolder } from '../support/test-folder.ts';

afterEach(() => vi.unstubAllEnvs());

function payer() {
  const pay = fakeTool('pay', ['paid'], { policy: 'confirm' });
  const model = scriptedModel([calls(['pay']), 'Paid.']);
  const options: AgentOptions = { tools: [pay], model, silent: true, confirm: 'wait' };
  return { pay, model, agent: createAgent(options) };
}

async function answered(run: ReturnType<ReturnType<typeof payer>['agent']['run']>, answer: 'approve' | 'reject') {
  for await (const event of run) if (event.type === 'approval.requested') await run[answer](event.callId);
  return run;
}

async function recorded(): Promise<string> {
  for (const name of ['CI', 'SIGNALBOX_RECORD', 'SIGNALBOX_LIVE']) vi.stubEnv(name, '');
  const path = join(testFolder(), 'pay.jsonl');
  await answered(useRecording(path).run(payer().agent, 'Pay.'), 'approve');
  return path;
}

test.each<[ActorModes, number, number]>([
  [{ tools: 'live' }, 1, 0],
  [{ model: 'live' }, 0, 2],
  [{ checks: 'live' }, 0, 0],
])('a recording of a call that a person approved can be partly live: %j', async (live, paid, asked) => {
  const path = await recorded();
  const { pay, model, agent } = payer();
  const run = useRecording(path, live).run(agent, 'Pay.');
  expect(await answered(run, 'approve')).toMatchObject({ status: 'answered', result: 'Paid.' });
  expect([pay.calls.length, model.requests.length]).toEqual([paid, asked]);
});

test('a call that the person refuses this time does not run live', async () => {
  const path = await recorded();
  const { pay, agent } = payer();
  const run = useRecording(path, { tools: 'live' }).run(agent, 'Pay.');
  await expect(answered(run, 'reject')).rejects.toThrow(/asks for what is not recorded/);
  expect(pay.calls).toEqual([]);
});
