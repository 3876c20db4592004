import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { fork } from '../../src/journal/replay/fork.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

const OPTIONS: AgentOptions = { name: 'watcher', silent: true, confirm: 'wait' };
const OFFLINE = { then: 'recorded', missing: 'refuse' } as const;

/** An agent that asks before `danger`; its child has a `danger` of its own. */
function team(above: readonly ScriptedReply[], below: readonly ScriptedReply[] = [], more: AgentOptions = {}) {
  const tools = [fakeTool('danger', ['done'], { policy: 'confirm' }), fakeTool('look', ['a cat'])];
  const [model, own] = [scriptedModel(above), scriptedModel(below)];
  const helper = { name: 'child', description: 'Helps.', silent: true, tools, model: own } as const;
  const agent = createAgent({ ...OPTIONS, tools, model, children: [createAgent(helper)], ...more });
  return { agent, idle: () => [...model.requests, ...own.requests, ...tools.flatMap((one) => one.calls)] };
}

/** Forks a recording from each of its lines, and expects the same ending each time with nothing asked or done. */
async function sameFromEachLine(recording: string): Promise<void> {
  const { agent, idle } = team([]);
  const { status, reason, result } = await replay(recording, agent);
  const { length } = recording.trim().split('\n');
  for (let at = 1; at < length; at++) {
    const forked = await fork(recording, agent, { at, ...OFFLINE });
    expect({ at, ...forked }).toMatchObject({ at, status, reason, result });
  }
  expect(idle()).toEqual([]);
}

describe('a fork against the rest of a recording', () => {
  test('gets what a person said to the run when it was said', async () => {
    const run = team([
      async () => {
        void run.steer('Quick.', { id: 'one' });
        for await (const event of run) if (event.type === 'message.received') break;
        return calls(['look']);
      },
      'A cat.',
    ]).agent.run('Look.');
    await run;
    expect(run.recording()).toContain('Quick.');
    await sameFromEachLine(run.recording());
  });

  test('is cancelled where the run was, also while a person was asked', async () => {
    const { agent } = team([calls(['look'], ['danger'])]);
    const run = agent.run('Do it.');
    for await (const event of run)
      if (event.type === 'tool.finished' && run.pending.length > 0) await run.cancel('enough');
    expect((await run).status).toBe('cancelled');
    await sameFromEachLine(run.recording());
  });

  test('gets the answers of people while other calls of the turn go on', async () => {
    const asks = [calls(['look'], ['danger']), calls(['look']), 'Helped.'];
    const { agent } = team([calls(['child', { task: 'Help.' }], ['danger'], ['look']), 'Done.'], asks);
    const run = agent.run('Do it.');
    for await (const event of run) if (event.type === 'approval.requested') await run.approve(event.callId);
    expect((await run).result).toBe('Done.');
    await sameFromEachLine(run.recording());
  });

  test('asks nothing that was in flight when the recording ended', async () => {
    const run = team([calls(['look']), 'A cat.']).agent.run('Look.');
    await run;
    const cut = run.recording().split('\n').slice(0, 2);
    const { agent, idle } = team(['A dog.']);
    expect(await fork(cut, agent, { at: 2, ...OFFLINE })).toMatchObject({ error: { code: 'not-recorded' } });
    expect(idle()).toEqual([]);
    expect(await fork(cut, agent, { at: 2, then: 'recorded' })).toMatchObject({ result: 'A dog.' });
  });

  test('lets the time for an answer run out where it ran out, without waiting for it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const timeouts = { approvalMs: 3_600_000 };
    const run = team([calls(['danger'], ['look']), 'Nobody answered.'], [], { timeouts }).agent.run('Do it.');
    for await (const event of run)
      if (event.type === 'approval.requested') void vi.advanceTimersByTimeAsync(timeouts.approvalMs);
    expect(await run).toMatchObject({ result: 'Nobody answered.' });
    vi.useRealTimers();
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = timers();
    await sameFromEachLine(run.recording());
    expect(timers()).toBe(before);
  });

  test('does not let time run out while something new is done', async () => {
    const run = team([calls(['look'], ['danger'])], [], { timeouts: { totalMs: 3_600_000 } }).agent;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const late = run.run('Do it.');
    for await (const event of late)
      if (event.type === 'approval.requested') void vi.advanceTimersByTimeAsync(3_600_000);
    expect(await late).toMatchObject({ reason: 'timeout' });
    vi.useRealTimers();
    const { agent } = team(['Something else.'], [], { timeouts: { totalMs: 3_600_000 } });
    expect(await fork(late.recording(), agent, { input: 'Do something else.', then: 'recorded' })).toMatchObject({
      result: 'Something else.',
    });
  });

  test('is steered and cancelled after the timers that had fired before', async () => {
    const retry = { backoff: recover.constant(5) };
    const { agent } = team([new Error('busy'), calls(['look']), new Error('busy'), calls(['danger'])], [], { retry });
    const run = agent.run('Look.');
    for await (const event of run) {
      if (event.type === 'tool.started') await run.steer('Quick.');
      if (event.type === 'approval.requested') await run.cancel('enough');
    }
    expect(await run).toMatchObject({ status: 'cancelled', stepsTaken: 2 });
    await sameFromEachLine(run.recording());
  });

  test('keeps what came after a timer behind it', async () => {
    const expired = Promise.withResolvers<string>();
    const tools = [fakeTool('danger', [], { policy: 'confirm' }), fakeTool('look', [() => expired.promise])];
    const options = { timeouts: { approvalMs: 20 }, tools };
    const { agent } = team([calls(['look'], ['danger']), 'Nobody answered.'], [], options);
    const run = agent.run('Do it.');
    for await (const event of run) if (event.type === 'tool.denied') expired.resolve('a cat');
    const forked = fork(run.recording(), agent, { at: 1, ...OFFLINE });
    await forked;
    const entries = (text: string) =>
      [...text.matchAll(/^{"t":"(?:outcome|timer)"[^}]*?"id":"([^"]*)/gm)].map(([, id]) => id);
    expect(entries(run.recording())).toEqual(expect.arrayContaining(['timer#1', 'agent/c1/callTool#1']));
    expect(entries(forked.recording())).toEqual(entries(run.recording()));
  });

  test('does not wait for a timer to say that a request is new', async () => {
    const run = team([calls(['look'], ['danger'])], [], { timeouts: { totalMs: 100 } }).agent.run('Do it.');
    expect(await run).toMatchObject({ reason: 'timeout' });
    const { agent, idle } = team([]);
    const forked = fork(run.recording(), agent, { input: 'Do something else.', ...OFFLINE });
    expect(await forked).toMatchObject({ error: { code: 'not-recorded' } });
    expect(idle()).toEqual([]);
  });
});
