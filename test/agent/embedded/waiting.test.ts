import { createActor, waitFor } from 'xstate';
import { describe, expect, test } from 'vitest';
import type { AgentLogicSnapshot } from '../../../src/agent/agent-types.ts';
import { createAgent } from '../../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../../src/agent/options/agent-options.ts';
import { recover } from '../../../src/recovery/recover.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import { calls } from '../../support/replies.ts';

const isWaiting = ({ pending }: AgentLogicSnapshot): boolean => pending.length > 0;

/** An actor of agent.logic that has stopped at a call which needs a person. */
async function waiting(more: AgentOptions = {}) {
  const pay = fakeTool('pay', ['paid'], { policy: 'confirm' });
  const model = scriptedModel([calls(['pay', { sum: 5 }]), 'Done.']);
  const agent = createAgent({ model, tools: [pay], confirm: 'wait', silent: true, ...more });
  const actor = createActor(agent.logic, { input: { task: 'Pay' } });
  const seen: AgentLogicSnapshot[] = [];
  actor.subscribe((snapshot) => void seen.push(snapshot));
  actor.start();
  const snapshot = await waitFor(actor, isWaiting);
  const done = () => waitFor(actor, ({ status }) => status !== 'active');
  return { agent, actor, model, pay, seen, snapshot, done };
}

describe('an agent in a machine that waits for a person', () => {
  test('shows in its snapshot where it is, in which step, and what waits', async () => {
    const { snapshot, seen, done, actor } = await waiting();
    expect(snapshot).toMatchObject({ value: 'DIRECT_EXECUTION.RUNNING_CALLS', step: 1, status: 'active' });
    expect(snapshot.pending).toEqual([expect.objectContaining({ runId: snapshot.runId, callId: 'c1', tool: 'pay' })]);
    actor.send({ type: 'approval.given' });
    expect((await done()).value).toBe('COMPLETION');
    const path = seen.map(({ value }) => value).filter((value, at, all) => value !== all[at - 1]);
    expect(path).toEqual([
      'PLANNING',
      'PLANNING.ASKING',
      'DIRECT_EXECUTION.RUNNING_CALLS',
      'PLANNING.ASKING',
      'COMPLETION',
    ]);
    const shown = seen.filter((one, at) => one !== seen[at - 1]).map(({ run: _run, ...rest }) => JSON.stringify(rest));
    expect(shown.filter((one, at) => one === shown[at - 1])).toEqual([]);
  });

  test.each([
    ['for the call by its id', { callId: 'c1' }],
    ['for the only one', {}],
  ])('goes on when the actor is sent an approval %s', async (_what, which) => {
    const { actor, pay, done } = await waiting();
    actor.send({ type: 'approval.given', ...which });
    expect((await done()).output).toMatchObject({ status: 'answered', toolsUsed: ['pay'] });
    expect(pay.calls).toEqual([{ sum: 5 }]);
  });

  test('keeps its snapshot while nothing that it shows is different', async () => {
    const model = scriptedModel([calls(['look'], ['look', { n: 2 }], ['look', { n: 3 }]), 'Done.']);
    const agent = createAgent({ model, tools: [fakeTool('look')], silent: true });
    const seen: AgentLogicSnapshot[] = [];
    const looking = createActor(agent.logic, { input: { task: 'Look' } });
    looking.subscribe((snapshot) => void seen.push(snapshot));
    looking.start();
    await waitFor(looking, ({ status }) => status === 'done');
    expect(new Set(seen).size).toBeLessThan(8);
    expect(seen.length).toBeGreaterThan(8);
  });

  test('runs with the arguments that the approval has', async () => {
    const { actor, pay, done } = await waiting();
    actor.send({ type: 'approval.given', args: { sum: 4 } });
    await done();
    expect(pay.calls).toEqual([{ sum: 4 }]);
  });

  test('tells the model why it was refused, and never runs the call', async () => {
    const { actor, pay, model, done } = await waiting();
    actor.send({ type: 'approval.refused', callId: 'c1', reason: 'too much' });
    expect((await done()).output).toMatchObject({ status: 'answered', toolsUsed: [] });
    expect(pay.calls).toEqual([]);
    expect(JSON.stringify(model.requests[1]?.messages)).toContain('too much');
  });

  test('stays as it is when it is sent something that is no answer', async () => {
    const { actor, pay } = await waiting();
    Reflect.apply(actor.send, actor, [{ type: 'approval.expired', callId: 'c1' }]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(actor.getSnapshot().pending).toHaveLength(1);
    expect(pay.calls).toEqual([]);
    actor.stop();
  });

  test('stays as it is when it is sent an approval for another call', async () => {
    const { actor, pay, snapshot } = await waiting();
    actor.send({ type: 'approval.given', callId: 'c9' });
    expect(await snapshot.run?.approve('c9')).toBe(false);
    expect(actor.getSnapshot().pending).toHaveLength(1);
    expect(pay.calls).toEqual([]);
    actor.stop();
  });

  test("is approved by the run's handle in the snapshot", async () => {
    const { snapshot, done } = await waiting();
    expect(await snapshot.run?.approve('c1')).toBe(true);
    expect((await done()).output).toMatchObject({ toolsUsed: ['pay'] });
  });

  test('is found, approved and refused through the agent by its run id', async () => {
    const first = await waiting();
    const { agent, snapshot } = first;
    expect(agent.pending()).toEqual(snapshot.pending);
    expect(agent.pending(snapshot.runId)).toEqual(snapshot.pending);
    expect(await agent.approve('another', 'c1')).toBe(false);
    expect(await agent.approve(snapshot.runId, 'c1')).toBe(true);
    expect((await first.done()).output).toMatchObject({ toolsUsed: ['pay'] });
    const second = await waiting();
    expect(await second.agent.reject(second.snapshot.runId, 'c1')).toBe(true);
    expect((await second.done()).output).toMatchObject({ toolsUsed: [] });
    expect(agent.pending()).toEqual([]);
  });

  test('answers nothing where several calls wait and none is named', async () => {
    const model = scriptedModel([calls(['pay', { sum: 1 }], ['pay', { sum: 2 }]), 'Done.']);
    const { actor, pay, done } = await waiting({ model });
    await waitFor(actor, ({ pending }) => pending.length === 2);
    actor.send({ type: 'approval.given' });
    actor.send({ type: 'approval.refused', callId: 'c2' });
    await waitFor(actor, ({ pending }) => pending.length === 1);
    expect(actor.getSnapshot().pending[0]?.callId).toBe('c1');
    actor.send({ type: 'approval.given' });
    await done();
    expect(pay.calls).toEqual([{ sum: 1 }]);
  });

  test('takes the answer to a question', async () => {
    const pay = fakeTool('pay', [new Error('no card')], { onError: { executionError: recover.escalate() } });
    const model = scriptedModel([calls(['pay']), 'Done.']);
    const { actor, snapshot, done } = await waiting({
      model,
      tools: [pay],
      onEscalation: (_error, to) => to.askHuman('Which card?'),
    });
    expect(snapshot).toMatchObject({
      value: 'ERROR_RECOVERY.ASKING_HUMAN',
      pending: [{ args: { question: 'Which card?' } }],
    });
    actor.send({ type: 'approval.given', args: { answer: 'the blue one' } });
    await done();
    expect(JSON.stringify(model.requests[1]?.messages)).toContain('the blue one');
  });
});
