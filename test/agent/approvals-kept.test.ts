import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import type { Run } from '../../src/agent/run/run.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

const inputSchema = { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] };

function payTwice(options: AgentOptions) {
  const pay = fakeTool('pay', ['paid'], { policy: 'confirm', inputSchema });
  const model = scriptedModel([calls(['pay', { to: 'Ann' }]), calls(['pay', { to: 'Bob' }]), 'Done.']);
  return { pay, run: createAgent({ model, tools: [pay], silent: true, ...options }).run('Pay') };
}

/** Everything that happened, with an answer to each call that waits. */
async function answering(run: Run, answer: (event: RunEvent & { readonly type: 'approval.requested' }) => unknown) {
  const events: RunEvent[] = [];
  for await (const event of run) {
    events.push(event);
    if (event.type === 'approval.requested') await answer(event);
  }
  return events;
}

const brokenStore = {
  isAlwaysAllowed: () => false,
  add: () => Promise.reject(new Error('the disk is full')),
};

test('an "always" that cannot be kept is a warning; this call runs, and the next is you will be asked again', async () => {
  let asked = 0;
  const { pay, run } = payTwice({ permissions: brokenStore, confirm: () => (asked++, 'always-allow') });
  const events = await answering(run, () => undefined);
  const warnings = events.flatMap((event) => (event.type === 'warning' ? [event.message] : []));
  expect(warnings).toHaveLength(2);
  expect(warnings[0]).toMatch(/'pay'.*you will be asked again.*the disk is full/);
  expect([asked, pay.calls.length]).toEqual([2, 2]);
  expect(await run).toMatchObject({ status: 'answered', errorHistory: [] });
});

test('run.approve with always and edited arguments does both: they are checked, and nobody is asked again', async () => {
  const kept: string[] = [];
  const permissions = {
    isAlwaysAllowed: (tool: string) => kept.includes(tool),
    add: (tool: string) => void kept.push(tool),
  };
  const { pay, run } = payTwice({ permissions, confirm: 'wait' });
  const asked: string[] = [];
  await answering(run, ({ callId }) => {
    asked.push(callId);
    return run.approve(callId, { always: true, args: { to: 'Eve' } });
  });
  expect(pay.calls).toEqual([{ to: 'Eve' }, { to: 'Bob' }]);
  expect(asked).toHaveLength(1);
  expect(kept).toEqual(['pay']);
});

test('edited arguments that are wrong do not run, always or not', async () => {
  const { pay, run } = payTwice({ permissions: brokenStore, confirm: 'wait' });
  await answering(run, ({ callId }) => run.approve(callId, { always: true, args: { to: [1] } }));
  expect(pay.calls).toEqual([]);
  expect((await run).errorHistory.map(({ code }) => code)).toEqual(['deserialization', 'deserialization']);
});

test('a call that was approved and then mended is you will be asked again, with the new arguments', async () => {
  const seen: unknown[] = [];
  const pay = fakeTool('pay', [new Error('unknown payee'), 'paid'], {
    policy: 'confirm',
    inputSchema,
    onError: { executionError: recover.fix(() => ({ to: 'Eve' })) },
  });
  const agent = createAgent({
    model: scriptedModel([calls(['pay', { to: 'Ann' }]), 'Done.']),
    tools: [pay],
    confirm: ({ args }) => (seen.push(args), seen.length === 1 ? 'allow-once' : 'deny'),
    silent: true,
  });
  await agent.run('Pay');
  expect(seen).toEqual([{ to: 'Ann' }, { to: 'Eve' }]);
  expect(pay.calls).toEqual([{ to: 'Ann' }]);
});
