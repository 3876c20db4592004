import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { fork } from '../../src/journal/replay/fork.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

/** An agent without types, as JavaScript has it, and a run of it whose call waits. */
async function waiting() {
  const pay = fakeTool('pay', ['paid'], { policy: 'confirm' });
  const made = createAgent({
    model: scriptedModel([calls(['pay']), 'Done.']),
    tools: [pay],
    silent: true,
    confirm: 'wait',
    journal: memoryJournal(),
  });
  const call = (of: object, method: string, ...args: readonly unknown[]): unknown =>
    Reflect.apply(Reflect.get(of, method), of, args);
  const run = made.run('Pay.');
  for await (const { type } of run) if (type === 'approval.requested') break;
  return { agent: made, run, pay, call };
}

const cycle: { self?: unknown } = {};
cycle.self = cycle;

test.each<[string, unknown]>([
  ['args', 'all'],
  ['args', null],
  ['args', ['all']],
  ['args', { euros: 5n }],
  ['args', { euros: () => 5 }],
  ['args', cycle],
  ['always', 'false'],
  ['reason', 5],
])('an approval with a wrong %s is refused where it is given, and the call waits on: %o', async (name, value) => {
  const { agent, run, pay, call } = await waiting();
  const wrong = { code: 'wrong-option', message: expect.stringContaining(`option '${name}' must be`) };
  expect(() => call(run, 'approve', 'c1', { [name]: value })).toThrow(expect.objectContaining(wrong));
  expect(() => call(agent, 'approve', run.runId, 'c1', { [name]: value })).toThrow(expect.objectContaining(wrong));
  expect(run.pending).toHaveLength(1);
  await run.approve('c1');
  expect(await run).toMatchObject({ status: 'answered' });
  expect(pay.calls).toEqual([{}]);
});

test('the reason of a cancel and of a denial is a text', async () => {
  const { agent, run, call } = await waiting();
  const wrong = expect.objectContaining({ code: 'wrong-option' });
  expect(() => call(run, 'cancel', new Error('enough'))).toThrow(wrong);
  expect(() => call(run, 'reject', 'c1', { no: 1 })).toThrow(wrong);
  expect(() => call(agent, 'cancel', run.runId, new Error('enough'))).toThrow(wrong);
  expect(() => call(agent, 'reject', run.runId, 'c1', 5)).toThrow(wrong);
  await run.cancel();
});

test('a close that says wrongly what becomes of runs ends none', async () => {
  const { agent, run, call } = await waiting();
  await expect(call(agent, 'close', { runs: 'relese' })).rejects.toMatchObject({ code: 'wrong-option' });
  await expect(call(agent, 'close', { graceMs: 'long' })).rejects.toMatchObject({ code: 'wrong-option' });
  expect(run.pending).toHaveLength(1);
  await agent.close({ runs: 'release' });
  expect(await run).toMatchObject({ status: 'waiting', reason: 'released' });
});

test('what is no signal, journal or number is refused by name, and the agent is free', async () => {
  const { agent, run, call } = await waiting();
  await run.approve('c1');
  await run;
  const wrong = (name: string): unknown =>
    expect.objectContaining({ code: 'wrong-option', message: expect.stringContaining(`'${name}' must be`) });
  for (const signal of [new AbortController(), null, 'now']) {
    expect(() => call(agent, 'run', 'Pay.', { signal })).toThrow(wrong('signal'));
    expect(() => call(agent, 'resume', run.runId, { signal })).toThrow(wrong('signal'));
    expect(() => call({ fork }, 'fork', run.recording(), agent, { at: 1, signal })).toThrow(wrong('signal'));
  }
  expect(() => call(agent, 'run', 'Pay.', { journal: 'runs' })).toThrow(wrong('journal'));
  for (const [name, value] of Object.entries({ trace: 3, inspect: 'yes', park: 'yes' })) {
    expect(() => call(agent, 'run', 'Pay.', { [name]: value })).toThrow(wrong(name));
    expect(() => call(agent, 'resume', run.runId, { [name]: value })).toThrow(wrong(name));
  }
  await expect(call(agent, 'resumeOrphans', { limit: '5' })).rejects.toEqual(wrong('limit'));
  await expect(call(agent, 'resumeOrphans', { olderThan: '5 min' })).rejects.toEqual(wrong('olderThan'));
  expect(await agent.run('Again.')).toMatchObject({ reason: 'llm-error' });
});

test('what a store has read of a run, and nothing at all, are told from the text of a recording', async () => {
  const { agent, run, call } = await waiting();
  await run.cancel();
  await run;
  const missing = { code: 'bad-recording', message: expect.stringContaining('agent.recording(runId)') };
  for (const given of [{ head: {}, lines: [] }, null, undefined, 5]) {
    expect(() => call({ replay }, 'replay', given, agent)).toThrow(expect.objectContaining(missing));
    expect(() => call({ fork }, 'fork', given, agent, { at: 1 })).toThrow(expect.objectContaining(missing));
  }
  expect(await replay((await agent.recording(run.runId)) ?? '', agent)).toMatchObject({ status: 'cancelled' });
});
