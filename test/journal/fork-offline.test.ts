import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { fork } from '../../src/journal/replay/fork.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

const OPTIONS: AgentOptions = { name: 'watcher', silent: true, confirm: 'wait' };
const OFFLINE = { then: 'recorded', missing: 'refuse' } as const;

/** An agent that asks before `danger`; its child has a `danger` of its own. */
function team(above: readonly ScriptedReply[], below: readonly ScriptedReply[] = []) {
  const tools = [fakeTool('danger', ['done'], { policy: 'confirm' }), fakeTool('look', ['a cat'])];
  const [model, own] = [scriptedModel(above), scriptedModel(below)];
  const helper = { name: 'child', description: 'Helps.', silent: true, tools, model: own } as const;
  const agent = createAgent({ ...OPTIONS, tools, model, children: [createAgent(helper)] });
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
});
