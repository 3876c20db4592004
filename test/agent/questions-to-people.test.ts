import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

/** An agent that asks a person about whatever its tool cannot do; what the tool throws is the question. */
function asking(name: string, replies: readonly ScriptedReply[], ...questions: readonly string[]) {
  const journal = memoryJournal();
  const tool = fakeTool(
    'puzzle',
    questions.map((question) => new Error(question)),
    { onError: { executionError: recover.escalate() } },
  );
  const model = scriptedModel(replies);
  const agent = createAgent({
    name,
    model,
    tools: [tool],
    confirm: 'wait',
    onEscalation: ({ reason }, to) => to.askHuman(reason),
    silent: true,
    journal,
  });
  return { agent, model };
}

async function until(run: AsyncIterable<RunEvent>, asked: number): Promise<void> {
  let count = 0;
  for await (const event of run) if (event.type === 'approval.requested' && ++count === asked) return;
}

const lastUser = (messages: readonly { readonly role: string; readonly content: unknown }[] = []) =>
  String(messages.findLast(({ role }) => role === 'user')?.content);

test('two questions of one run are told apart', async () => {
  const { agent, model } = asking('agent', [calls(['puzzle']), calls(['puzzle', { n: 2 }]), 'ok'], 'Which?', 'Why?');
  const run = agent.run('Go');
  await until(run, 1);
  const [first] = run.pending;
  expect(await run.approve(first?.callId ?? '', { args: { answer: 'this' } })).toBe(true);
  await until(run, 2);
  const [second] = run.pending;
  expect(second?.callId).not.toBe(first?.callId);
  expect(await run.approve(first?.callId ?? '')).toBe(false);
  expect(await run.reject(second?.callId ?? '', 'ask me tomorrow')).toBe(true);
  expect(await run).toMatchObject({ status: 'answered' });
  expect(lastUser(model.requests[1]?.messages)).toMatch(/They answered: this$/);
  expect(lastUser(model.requests[2]?.messages)).toMatch(/They answered: no: ask me tomorrow$/);
});

test('an answer to a question of a parked run that is answered already is none to the next', async () => {
  const { agent, model } = asking('agent', [calls(['puzzle']), calls(['puzzle', { n: 2 }]), 'ok'], 'Which?', 'Why?');
  const { runId, pending: [asked] = [] } = await agent.run('Go', { park: true });
  const first = asked?.callId ?? '';
  expect(await agent.approve(runId, first, { args: { answer: 'this' } })).toBe(true);
  const second = (await agent.resume(runId, { park: true })).pending?.[0]?.callId ?? '';
  expect(await agent.approve(runId, first)).toBe(false);
  expect(await agent.reject(runId, first)).toBe(false);
  expect(await agent.approve(runId, second, { args: { answer: 'so' } })).toBe(true);
  expect(await agent.resume(runId)).toMatchObject({ status: 'answered' });
  expect(lastUser(model.requests[2]?.messages)).toMatch(/They answered: so$/);
});

test('the questions of two agents below are told apart, each with its agent', async () => {
  const one = asking('one', [calls(['puzzle']), 'ok'], 'Which?');
  const two = asking('two', [calls(['puzzle']), 'ok'], 'Why?');
  const agent = createAgent({
    model: scriptedModel([calls(['one', { task: 'x' }], ['two', { task: 'y' }]), 'ok']),
    children: [one.agent, two.agent],
    silent: true,
  });
  const run = agent.run('Go');
  await until(run, 2);
  expect(run.pending.map(({ callId, args }) => [callId, args])).toEqual([
    ['c1.q1', { question: expect.stringContaining('Which?') }],
    ['c2.q1', { question: expect.stringContaining('Why?') }],
  ]);
  expect(await run.approve('c2.q1', { args: { because: 'so', sure: true } })).toBe(true);
  expect(await run.reject('c1.q1')).toBe(true);
  expect(await run).toMatchObject({ status: 'answered' });
  expect(lastUser(one.model.requests[1]?.messages)).toMatch(/They answered: no$/);
  expect(lastUser(two.model.requests[1]?.messages)).toMatch(/They answered: \{"because":"so","sure":true\}$/);
});
