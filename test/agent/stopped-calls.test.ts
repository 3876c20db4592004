import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { Run } from '../../src/agent/run/run.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import type { AnyResult } from '../../src/machines/contract/run-result.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls, plan } from '../support/replies.ts';

const NOT_RUN = 'not run: the run ended before this call';
const UNKNOWN = 'cancelled while it ran: nobody knows whether it took effect';

/** A tool that waits for a person, and one that runs until it is stopped. */
function shop(reply: ScriptedReply) {
  const pay = fakeTool('pay', [1], { policy: 'confirm' });
  const ship = fakeTool('ship', [() => new Promise(() => {})]);
  const check = fakeTool('check', [() => ({ status: 'error', error: 'busy' })], {
    onError: { executionError: recover.retry({ maxAttempts: 2, backoff: recover.constant(60_000) }) },
  });
  const agent = createAgent({
    model: scriptedModel([reply]),
    tools: [pay, ship, check],
    confirm: 'wait',
    silent: true,
  });
  return { agent, pay };
}

async function cancelledWhenAsked(run: Run): Promise<AnyResult> {
  for await (const { type } of run) if (type === 'approval.requested') await run.cancel('enough');
  return await run;
}

const toolResults = ({ messages }: AnyResult) =>
  messages.filter(({ role }) => role === 'tool').map(({ content }) => content);

test('a call that waited for a person when the run was cancelled did not run, and the model is told so', async () => {
  const { agent, pay } = shop(calls(['pay']));
  const run = agent.run('Go');
  const result = await cancelledWhenAsked(run);
  expect(result.status).toBe('cancelled');
  expect(toolResults(result)).toEqual([NOT_RUN]);
  expect(agent.history.at(-1)?.content).toBe(NOT_RUN);
  expect(pay.calls).toEqual([]);
  expect(toolResults(await replay(run.recording(), agent))).toEqual([NOT_RUN]);
});

test('of a tool that was running beside it, or would have been called again, nobody knows', async () => {
  const { agent } = shop(calls(['ship'], ['check'], ['pay']));
  expect(toolResults(await cancelledWhenAsked(agent.run('Go')))).toEqual([UNKNOWN, UNKNOWN, NOT_RUN]);
});

test('a step of a plan that waited for a person is among those that were not run', async () => {
  const { agent } = shop(plan(['pay'], ['ship']));
  const [report] = toolResults(await cancelledWhenAsked(agent.run('Go')));
  expect(JSON.parse(String(report))).toMatchObject({ steps: [], not_run: ['pay', 'ship'] });
});

test.each(['at once', 'later'])(
  'the result of a call that was over when one beside it threw %s is kept',
  async (when) => {
    const paid = fakeTool('pay', ['paid']);
    const broken = fakeTool(
      'ship',
      [
        () => {
          if (when === 'at once') throw new Error('no ship');
          return Promise.reject(new Error('no ship'));
        },
      ],
      { onError: { executionError: recover.throwException('stop it all') } },
    );
    const model = scriptedModel([calls(['pay'], ['ship'])]);
    const run = createAgent({ model, tools: [paid, broken], silent: true }).run('Go');
    const result = await run;
    expect(result).toMatchObject({ reason: 'thrown', toolsUsed: ['pay', 'ship'] });
    expect(toolResults(result)[0]).toBe(JSON.stringify({ status: 'success', data: 'paid' }));
  },
);
