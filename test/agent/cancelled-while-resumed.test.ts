import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

/** A run that is kept: over, or waiting for an approval. */
async function kept(end: 'over' | 'waits') {
  const journal = memoryJournal();
  const pay = fakeTool('pay', ['paid'], { policy: 'confirm' });
  const agentOf = (options: AgentOptions = {}) =>
    createAgent({
      name: 'payer',
      tools: [pay],
      silent: true,
      confirm: 'wait',
      journal,
      model: scriptedModel(end === 'over' ? ['Done.'] : [calls(['pay'])]),
      ...options,
    });
  const { runId } = await agentOf().run('Pay.', { park: true });
  const lines = async () => (await journal.read?.(runId))?.lines ?? [];
  return { runId, agentOf, lines, pay };
}

test('a run that had ended, and is being resumed, was not cancelled', async () => {
  const { runId, agentOf, lines } = await kept('over');
  const before = await lines();
  const agent = agentOf();
  const run = agent.resume(runId);
  expect(await Promise.all([agent.cancel(runId), run.cancel()])).toEqual([false, false]);
  expect(await run).toMatchObject({ status: 'answered' });
  expect(await lines()).toEqual(before);
});

test('a run that waits, and is being resumed, is cancelled, once', async () => {
  const { runId, agentOf, pay } = await kept('waits');
  const agent = agentOf();
  const run = agent.resume(runId);
  expect(await agent.cancel(runId, 'enough')).toBe(true);
  expect(await run).toMatchObject({ status: 'cancelled' });
  expect(pay.calls).toEqual([]);
  expect(await agent.cancel(runId)).toBe(false);
});

test('a run that ended as cancelled is not cancelled again while it is resumed', async () => {
  const { runId, agentOf } = await kept('waits');
  expect(await agentOf().cancel(runId)).toBe(true);
  const agent = agentOf();
  const run = agent.resume(runId);
  expect(await agent.cancel(runId)).toBe(false);
  expect(await run).toMatchObject({ status: 'cancelled' });
});

test('a run that cannot be resumed, or is not there, was not cancelled by a cancel meanwhile', async () => {
  const { runId, agentOf, lines } = await kept('waits');
  const before = await lines();
  const other = agentOf({ tools: [], onUpgrade: 'refuse' });
  for (const [agent, id] of [
    [other, runId],
    [agentOf(), 'no-such-run'],
  ] as const) {
    const run = agent.resume(id);
    const ended = expect(run).rejects.toThrow();
    expect(await run.cancel()).toBe(false);
    await ended;
  }
  expect(await lines()).toEqual(before);
});
