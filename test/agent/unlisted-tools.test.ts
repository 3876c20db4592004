import { setImmediate as nextTick } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { createMcpConnection } from '../../src/mcp/index.ts';
import { LinkFault } from '../../src/mcp/wire/faults.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { scriptedWorld } from '../support/mcp/scripted-dial.ts';

const journal = memoryJournal();

/** An agent of a new process, with a server that lists all its tools, or all but one. */
function process(replies: Parameters<typeof scriptedModel>[0], unlisted?: string) {
  const world = scriptedWorld();
  if (unlisted !== undefined) world.unlist(unlisted);
  const bank = createMcpConnection('bank', { command: 'x', policy: 'confirm' }, { dial: world.dial });
  const model = scriptedModel(replies);
  const agent = createAgent({ silent: true, confirm: 'wait', journal, model, mcpServers: { bank } });
  return { world, agent, model };
}

const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await nextTick();
};

test.each([
  ['pay', 1, 'Nobody knows whether'],
  ['put', 2, '"status":"success"'],
])(
  'a call of %s whose server does not list it any more when its run is resumed is sent %i times',
  async (tool, times, said) => {
    const before = process([calls([`bank_${tool}`])]);
    const { runId } = await before.agent.run('Do it.', { park: true });
    const { world, agent, model } = process(['Done.'], tool);
    const run = agent.resume(runId);
    await until(() => run.pending.length > 0);
    await run.approve(run.pending[0]?.callId ?? '');
    await until(() => world.arrived.length === 1);
    world.arrived[0]?.fail(new LinkFault('unreachable', 'cut', { delivered: true }));
    await until(() => world.arrived.length === times);
    world.arrived[1]?.answer();
    expect(await run).toMatchObject({ status: 'answered' });
    expect(JSON.stringify(model.requests[0]?.messages.at(-1)).replaceAll('\\', '')).toContain(said);
    expect(world.arrived).toHaveLength(times);
  },
);
